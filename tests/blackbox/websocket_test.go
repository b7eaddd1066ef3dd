package blackbox_test

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// withWebSocket is the shipped allow-list with a WebSocket at /api/socket.
func withWebSocket(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../router/proxy/hermes-webui.json")
	if err != nil {
		t.Fatal(err)
	}
	var rules map[string]any
	if err := json.Unmarshal(content, &rules); err != nil {
		t.Fatal(err)
	}
	rules["allow"] = append(rules["allow"].([]any), map[string]any{"methods": []string{"GET"}, "paths": []string{"/api/socket"}, "websocket": true})
	changed, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, filepath.Join(t.TempDir(), "rules.json"), string(changed))
}

func echo(x *exchange) {
	sum := sha1.Sum([]byte(x.get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	x.start(http.StatusSwitchingProtocols, "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Accept: "+base64.StdEncoding.EncodeToString(sum[:]))
	_, _ = io.Copy(x.conn, x.reader)
	x.closed = true
}

// A handshake from a foreign page, or from nobody, never reaches the
// upstream.
func TestWebSocketOrigin(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	up.handle(func(x *exchange) {
		if x.path() == "/api/socket" {
			echo(x)
			return
		}
		x.ordinary()
	})
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"rules_file": withWebSocket(t)}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	handshake := func(more ...string) raw {
		return raw{target: "/api/socket", header: append([]string{
			"Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}, more...)}
	}
	protocols(t, func(t *testing.T, proto string) {
		up.forget()
		for name, c := range map[string]struct {
			q      raw
			status int
		}{
			"foreign":          {handshake(cookie, "Origin: https://evil.test"), 403},
			"suffix":           {handshake(cookie, "Origin: https://chat.hux.test.evil.test"), 403},
			"prefix":           {handshake(cookie, "Origin: https://evilchat.hux.test"), 403},
			"the console":      {handshake(cookie, "Origin: "+consoleURL), 403},
			"another scheme":   {handshake(cookie, "Origin: http://chat.hux.test"), 403},
			"another port":     {handshake(cookie, "Origin: https://chat.hux.test:8443"), 403},
			"null":             {handshake(cookie, "Origin: null"), 403},
			"none":             {handshake(cookie), 403},
			"two":              {handshake(cookie, "Origin: "+chatURL, "Origin: https://evil.test"), 403},
			"no session":       {handshake("Origin: " + chatURL), 401},
			"a false session":  {handshake("Origin: "+chatURL, "Cookie: __Host-hux_chat=AAAAAAAAAAAAAAAAAAAAAAAAAA"), 401},
			"where there none": {raw{target: "/api/sessions/events", header: append(handshake().header, cookie, "Origin: https://evil.test")}, 0},
		} {
			if proto == "h2" { // RFC 8441, which nobody enabled
				c.q.method, c.q.pseudo, c.q.header = "CONNECT", []string{":protocol=websocket"}, c.q.header[2:]
			}
			a := h.send(t, proto, c.q)
			switch {
			case a.status == http.StatusSwitchingProtocols || proto == "h2" && a.status == http.StatusOK:
				t.Errorf("%s: the handshake succeeds", name)
			case proto == "h1" && c.status != 0 && a.status != c.status:
				t.Errorf("%s: status %d, want %d", name, a.status, c.status)
			}
		}
		for _, s := range up.requests() {
			if s.path() == "/api/socket" || len(s.values("Upgrade")) > 0 {
				t.Errorf("the upstream was touched:\n%s", s.raw)
			}
		}
	})

	// And a good one is a working pipe, to its end.
	c := h.dialTLS(t, "h1")
	if _, err := io.WriteString(c, handshake(cookie, "Origin: "+chatURL).h1()); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	if a := readH1(r, "GET"); a.status != http.StatusSwitchingProtocols {
		t.Fatalf("a good handshake: status %d: %s", a.status, a.body)
	}
	if s := up.last(t); s.get("X-Hux-User") != h.user("alice") {
		t.Errorf("the upstream reads:\n%s", s.raw)
	}
	if _, err := io.WriteString(c, "ping"); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != "ping" {
		t.Fatalf("the pipe gives %q, %v", got, err)
	}
	if err := h.provider.EndSessions(t.Context(), "alice"); err != nil { // and ends with the session
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
	if _, err := io.Copy(io.Discard, r); err != nil {
		if timeout, ok := err.(interface{ Timeout() bool }); ok && timeout.Timeout() {
			t.Error("the pipe outlives the session")
		}
	}
}
