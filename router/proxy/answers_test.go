package proxy_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// parts is an upstream on bare TCP that writes its answer in parts, the next
// one each time next is given a value.
type parts struct {
	net.Listener
	next chan struct{}
}

func newParts(t testing.TB, answer ...string) *parts {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &parts{l, make(chan struct{})}
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() { end(); _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				for i, part := range answer {
					if i > 0 {
						select {
						case <-p.next:
						case <-ctx.Done():
							return
						}
					}
					if _, err := io.WriteString(c, part); err != nil {
						return
					}
				}
			}()
		}
	}()
	return p
}

func (p *parts) URL() string { return "http://" + p.Addr().String() }

// What an upstream sends that HTTP does not have, or that net/http would add
// to, reaches no client.
func TestOddAnswers(t *testing.T) {
	for name, test := range map[string]struct {
		answer, body string
		status       int
		header       map[string]string // "" for none
	}{
		"no type":            {"200 OK\r\nContent-Length: 6\r\nX-Content-Type-Options: nosniff\r\n\r\n<html>", "<html>", 200, map[string]string{"Content-Type": "", "X-Content-Type-Options": "nosniff"}},
		"a type":             {"200 OK\r\nContent-Length: 6\r\nContent-Type: a/b\r\n\r\n<html>", "<html>", 200, map[string]string{"Content-Type": "a/b"}},
		"204 with a length":  {"204 No Content\r\nContent-Length: 5\r\n\r\n", "", 204, map[string]string{"Content-Length": "", "Content-Type": ""}},
		"304 with a length":  {"304 Not Modified\r\nContent-Length: 5\r\nETag: \"x\"\r\n\r\n", "", 304, map[string]string{"Etag": `"x"`, "Content-Length": ""}},
		"status 099":         {"099 What\r\nContent-Length: 0\r\n\r\n", "", 502, nil},
		"status 000":         {"000 What\r\nContent-Length: 0\r\n\r\n", "", 502, nil},
		"status 600":         {"600 What\r\nContent-Length: 0\r\n\r\n", "", 502, nil},
		"status 999":         {"999 What\r\nContent-Length: 0\r\n\r\n", "", 502, nil},
		"status 101 unasked": {"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "", 502, nil},
		"status 599":         {"599 What\r\nContent-Length: 1\r\n\r\nx", "x", 599, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRouter(t, newParts(t, "HTTP/1.1 "+test.answer).URL(), nil, nil)
			both(t, r, func(t *testing.T, c *http.Client) {
				resp, body := do(t, c, "GET", r.URL+"/p", nil)
				if resp.StatusCode != test.status || test.status != 502 && body != test.body {
					t.Errorf("%s, %q", resp.Status, body)
				}
				for name, want := range test.header {
					if got := resp.Header.Get(name); got != want {
						t.Errorf("%s: %q, want %q", name, got, want)
					}
				}
				if test.status == 502 && code(t, body) != "slot_down" {
					t.Errorf("%q", body)
				}
			})
		})
	}
}

// A 101 says nothing of the upstream's connection but that it switches.
func TestSwitchIsClean(t *testing.T) {
	up := newParts(t, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade, Keep-Alive, X-Hop\r\nKeep-Alive: timeout=5\r\n"+
		"X-Hop: 1\r\nProxy-Connection: keep-alive\r\nContent-Length: 5\r\nX-Kept: 1\r\n\r\nframe")
	r := newRouter(t, up.URL(), nil, nil)
	conn := r.dial(t)
	defer conn.Close()
	fmt.Fprintf(conn, "GET /ws HTTP/1.1\r\nHost: chat.example.org\r\nOrigin: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", origin)
	b := bufio.NewReader(conn)
	resp, err := http.ReadResponse(b, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatal(resp, err)
	}
	h := resp.Header
	if h.Get("Upgrade") != "websocket" || strings.Join(h["Connection"], ",") != "Upgrade" || h.Get("X-Kept") != "1" {
		t.Errorf("%v", h)
	}
	for _, name := range []string{"Keep-Alive", "X-Hop", "Proxy-Connection", "Content-Length"} {
		if len(h[name]) > 0 {
			t.Errorf("%s is left", name)
		}
	}
	frame := make([]byte, 5)
	if _, err := io.ReadFull(b, frame); err != nil || string(frame) != "frame" {
		t.Errorf("%q, %v", frame, err)
	}
}

// What has come of an answer goes out before there is more of it.
func TestAnswersGoOutAsTheyCome(t *testing.T) {
	const start, end = "<html><head><title>x</title></head><body>", "<p>done</p>"
	const paged = "<html><head>" + plain + "<title>x</title></head><body>"
	text, html := "Content-Type: text/plain\r\n", "Content-Type: text/html\r\n"
	chunk := func(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }
	length := func(s string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n", len(s)) }
	const chunked = "Transfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct {
		path   string
		answer []string // each part is sent once the client has what it should of the one before
		wants  []string
	}{
		"a page without a length":              {"/", []string{html + chunked + chunk(start), chunk(end), "0\r\n\r\n"}, []string{paged, end, ""}},
		"a page with a length":                 {"/", []string{html + length(start+end) + start, end}, []string{paged, end}},
		"a page whose body comes late":         {"/", []string{html + length(start+end), start, end}, []string{"", paged, end}},
		"a page whose body comes late, chunks": {"/", []string{html + chunked, chunk(start), chunk(end) + "0\r\n\r\n"}, []string{"", paged, end}},
		"a head in pieces":                     {"/", []string{html + chunked + chunk("<html><he"), chunk("ad></head><body>"), chunk(end) + "0\r\n\r\n"}, []string{"", "<html><head>" + plain + "</head><body>", end}},
		"something else with a length":         {"/p", []string{text + length("1234") + "12", "34"}, []string{"12", "34"}},
		"a body that comes late":               {"/p", []string{text + length("1234"), "1234"}, []string{"", "1234"}},
		"something else without a length":      {"/p", []string{text + chunked + chunk("12"), chunk("34") + "0\r\n\r\n"}, []string{"12", "34"}},
	} {
		t.Run(name, func(t *testing.T) {
			answer := append([]string{"HTTP/1.1 200 OK\r\nConnection: close\r\n" + test.answer[0]}, test.answer[1:]...)
			up := newParts(t, answer...)
			r := newRouter(t, up.URL(), nil, nil)
			both(t, r, func(t *testing.T, c *http.Client) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				req, err := http.NewRequestWithContext(ctx, "GET", r.URL+test.path, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := c.Do(req)
				if err != nil || resp.StatusCode != 200 {
					t.Fatal(resp, err)
				}
				defer resp.Body.Close()
				for i, want := range test.wants {
					if i > 0 {
						up.next <- struct{}{}
					}
					got := make([]byte, len(want))
					if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want {
						t.Fatalf("part %d: %q, %v", i, got, err)
					}
				}
				if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) > 0 {
					t.Errorf("behind the end: %q, %v", rest, err)
				}
			})
		})
	}
}

// A page that stalls ends with its client.
func TestStalledPageEndsWithItsClient(t *testing.T) {
	up := newParts(t, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\n<html>", "")
	r := newRouter(t, up.URL(), nil, nil)
	both(t, r, func(t *testing.T, c *http.Client) {
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "GET", r.URL+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		leave()
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
	})
	r.Close() // waits for its requests
}
