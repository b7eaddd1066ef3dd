package blackbox_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"testing"
	"time"
)

// A client that sends a part of a body and no more gets its answer and loses
// its connection.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	for name, c := range map[string]struct {
		request string
		status  int
		within  time.Duration // generous; the point is that there is an end
	}{
		"one of our own":          {"POST /hux/auth/backchannel HTTP/1.1\r\nHost: console.hux.test\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 60000\r\n\r\nl", 400, 25 * time.Second},
		"refused here":            {"POST /api/x HTTP/1.1\r\nHost: chat.hux.test\r\nContent-Length: 100000\r\n\r\nl", 401, 15 * time.Second},
		"refused here, chunked":   {"POST /hux/nothing HTTP/1.1\r\nHost: chat.hux.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nl\r\n", 404, 15 * time.Second},
		"refused by the rules":    {"POST /api/terminal/start HTTP/1.1\r\nHost: chat.hux.test\r\n" + cookie + "\r\nContent-Length: 100000\r\n\r\nl", 403, 15 * time.Second},
		"refused by the upstream": {"POST /api/session/clear HTTP/1.1\r\nHost: chat.hux.test\r\n" + cookie + "\r\nContent-Type: text/plain\r\nContent-Length: 100000\r\n\r\nl", 403, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := h.dialTLS(t, "h1")
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(c.within))
			if _, err := io.WriteString(conn, c.request); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(conn)
			if a := readH1(r, "POST"); a.status != c.status || !a.closed {
				t.Errorf("status %d, %v; want %d and the connection's end", a.status, a.header, c.status)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("%q, and the connection is still there: %v", rest, err)
			}
		})
	}
	t.Run("http2", func(t *testing.T) {
		t.Parallel()
		body, more := io.Pipe()
		defer more.Close()
		go func() { _, _ = io.WriteString(more, "l") }()
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, consoleURL+"/hux/auth/backchannel", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := h.transport("h2").RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest || res.ProtoMajor != 2 {
			t.Errorf("%s %s", res.Proto, res.Status)
		}
	})
}
