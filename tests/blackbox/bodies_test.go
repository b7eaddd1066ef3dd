package blackbox_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// smuggled is a body that a server which does not read it takes for a request.
const smuggled = "POST /api/terminal/start HTTP/1.1\r\nHost: chat.hux.test\r\nX-Hux-User: victim\r\nContent-Length: 2\r\n\r\n{}"

// What is in a body never becomes a request of its own, and tenants share no
// connection.
func TestUpstreamDesync(t *testing.T) {
	t.Parallel()
	a, b := newUpstream(t), newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: a, members: []string{"alice"}}, {id: "b", up: b, members: []string{"bob"}}}})
	alice, bob := h.signIn(t, "h1", "alice"), h.signIn(t, "h1", "bob")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	upgrade := []string{"Connection: Upgrade", "Upgrade: x"}
	protocols(t, func(t *testing.T, proto string) {
		meaningless := []raw{
			{method: "GET", target: "/api/sessions", body: smuggled},
			{method: "GET", target: "/api/sessions", body: smuggled, header: upgrade},
			{method: "GET", target: "/api/chat/stream?stream_id=1", body: smuggled},
			{method: "GET", target: "/", body: smuggled},
			{method: "GET", target: "/health", body: smuggled},
			{method: "GET", target: "/static/x", body: smuggled, chunked: true},
			{method: "HEAD", target: "/api/sessions", body: smuggled},
			{method: "HEAD", target: "/api/sessions", body: smuggled, chunked: true},
			{method: "OPTIONS", target: "/api/sessions", body: smuggled},
			{method: "OPTIONS", target: "/api/session/new", body: smuggled, header: upgrade},
		}
		for _, q := range meaningless {
			a.forget()
			q.header = append([]string{cookie}, q.header...)
			res := h.send(t, proto, q)
			if res.status != http.StatusBadRequest && res.status != http.StatusForbidden && res.status != http.StatusMethodNotAllowed && (proto != "h2" || res.status != 0) {
				t.Errorf("%s %s with a body: status %d", q.method, q.target, res.status)
			}
			a.untouched(t)
		}

		refused := []raw{ // by the upstream, which does not read them
			{method: "POST", target: "/api/session/clear", body: smuggled},
			{method: "POST", target: "/api/session/clear", body: smuggled, chunked: true},
			{method: "POST", target: "/api/session/clear", body: smuggled, header: upgrade},
			{method: "POST", target: "/api/session/clear", body: smuggled, header: []string{"Connection: keep-alive"}},
			{method: "POST", target: "/api/session/clear", body: smuggled, header: []string{"Expect: 100-continue"}},
			{method: "POST", target: "/api/session/clear", body: strings.Repeat("x", 300_000) + smuggled},
		}
		for _, q := range refused {
			if proto == "h2" && len(q.body) > 65_535 {
				continue // more than the first window of a connection
			}
			a.forget()
			q.header = append([]string{cookie, "Content-Type: text/plain"}, q.header...)
			for range 3 {
				res := h.send(t, proto, q)
				// In HTTP/2 a Connection header makes a request malformed.
				if res.status != http.StatusForbidden && (proto != "h2" || res.status != 0 && res.status != http.StatusBadRequest) {
					t.Errorf("%s %s: status %d, want the upstream's 403", q.method, q.target, res.status)
				}
				alice.fetch(t, "GET", chatURL+"/api/sessions", "").want(t, 200, "")
			}
			for _, s := range a.requests() {
				if s.method+" "+s.target != "POST /api/session/clear" && s.method+" "+s.target != "GET /api/sessions" {
					t.Fatalf("the upstream took for a request:\n%s", s.raw)
				}
				if s.get("X-Hux-User") != h.user("alice") {
					t.Fatalf("the upstream reads another identity:\n%s", s.raw)
				}
				if s.method == "POST" && (!hasToken(s.values("Connection"), "close") || len(s.values("Upgrade")) > 0) {
					t.Errorf("a connection with something unread in it may live on:\n%s", s.raw)
				}
			}
		}

		// DELETE has bodies in earnest.
		a.forget()
		res := h.send(t, proto, raw{method: "DELETE", target: "/api/prompts", body: `{"id":1}`, header: []string{cookie, "Content-Type: application/json"}})
		if s := a.last(t); res.status != 200 || s.method != "DELETE" || string(s.body) != `{"id":1}` {
			t.Errorf("DELETE: %d, %s with %q", res.status, s, s.body)
		}

		// Framings that two readers could see differently go nowhere.
		if proto == "h1" {
			a.forget()
			for _, head := range []string{
				"Content-Length: 2\r\nTransfer-Encoding: chunked", "Content-Length: 2\r\nContent-Length: 3", "Content-Length: +2", "Content-Length: 2, 2", "Content-Length: 0x2",
				"Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: identity, chunked", "Transfer-Encoding : chunked", "Transfer-Encoding:\tchunked\r\nContent-Length: 2",
				"Transfer-Encoding: gzip, chunked", "Content-Length: -1", "Content_Length: 5",
			} {
				c := h.dialTLS(t, proto)
				_, _ = io.WriteString(c, "POST /api/session/new HTTP/1.1\r\nHost: chat.hux.test\r\nConnection: close\r\nContent-Type: application/json\r\n"+cookie+"\r\n"+head+"\r\n\r\n2\r\n{}\r\n0\r\n\r\n"+smuggled)
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}
			for _, s := range a.requests() {
				if s.path() != "/api/session/new" || len(s.values("Content-Length")) != 1 || len(s.values("Transfer-Encoding")) > 0 {
					t.Errorf("the upstream reads:\n%s", s.raw)
				}
			}
		}
	})

	// Both tenants at once, and no connection sees two identities.
	a.forget()
	b.forget()
	var wg sync.WaitGroup
	for _, who := range []*browser{alice, bob} {
		for range 10 {
			wg.Go(func() {
				for range 10 {
					res, err := who.try(t, context.Background(), "GET", chatURL+"/api/sessions", nil)
					if err != nil {
						t.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
				}
			})
		}
	}
	wg.Wait()
	for up, name := range map[*upstream]string{a: "alice", b: "bob"} {
		seen := up.requests()
		if len(seen) != 100 {
			t.Errorf("%s made 100 requests, the upstream saw %d", name, len(seen))
		}
		for _, s := range seen {
			if s.get("X-Hux-User") != h.user(name) {
				t.Errorf("%s's upstream reads another identity", name)
			}
		}
	}
}

// Members of one slot are one tenant; still each request has its own identity.
func TestMembersOfASharedSlot(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "shared", up: up, members: []string{"alice", "bob"}}}})
	protocols(t, func(t *testing.T, proto string) {
		up.forget()
		alice, bob := h.signIn(t, proto, "alice"), h.signIn(t, proto, "bob")
		if alice.me(t, chatURL).Tenant.ID != bob.me(t, chatURL).Tenant.ID {
			t.Error("the members of a slot are of two tenants")
		}
		for range 5 {
			for name, b := range map[string]*browser{"alice": alice, "bob": bob} {
				b.fetch(t, "GET", chatURL+"/api/list?who="+name, "")
				if s := up.last(t); s.get("X-Hux-User") != h.user(name) || s.target != "/api/list?who="+name {
					t.Errorf("%s is read as\n%s", name, s.raw)
				}
			}
		}
	})
}

// An upstream that knows no chunks sees a length and the whole body.
func TestChunkedBodies(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"upload_limit": "1MiB"}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		origin := []string{"Origin: " + chatURL, "Sec-Fetch-Site: same-origin", "Content-Type: application/octet-stream"}
		for _, size := range []int{0, 1, 100, 70_000, 1 << 20} {
			up.forget()
			body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
			a := alice.do(t, "POST", chatURL+"/api/upload", io.MultiReader(bytes.NewReader(body)), origin...) // no length is known
			if a.StatusCode != http.StatusOK {
				t.Fatalf("%d bytes: status %d: %s", size, a.StatusCode, a.body)
			}
			s := up.last(t)
			if sha256.Sum256(s.body) != sha256.Sum256(body) || s.get("Content-Length") != strconv.Itoa(size) || len(s.values("Transfer-Encoding")) > 0 {
				t.Errorf("%d bytes: the upstream got %d:\n%s", size, len(s.body), s.raw)
			}
		}
		up.forget()
		big := bytes.Repeat([]byte("x"), 1<<20+1)
		for name, body := range map[string]io.Reader{"with a length": bytes.NewReader(big), "without": io.MultiReader(bytes.NewReader(big))} {
			res, err := alice.try(t, context.Background(), "POST", chatURL+"/api/upload", body, origin...)
			if err != nil {
				t.Errorf("too large, %s: %v", name, err)
				continue
			}
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			(&answer{res, string(text)}).want(t, 413, "too_large")
		}
		for _, s := range up.requests() {
			if s.path() == "/api/upload" && len(s.body) > 0 {
				t.Errorf("a part of what is too large reached the upstream: %d bytes", len(s.body))
			}
		}
	})
}

// A body that breaks off is no body.
func TestBrokenUploads(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	up.forget()
	for _, framing := range []string{"Content-Length: 1000\r\n\r\n{\"half\":", "Transfer-Encoding: chunked\r\n\r\n8\r\n{\"half\":\r\n", "Transfer-Encoding: chunked\r\n\r\nnonsense\r\n"} {
		c := h.dialTLS(t, "h1")
		_, _ = io.WriteString(c, "POST /api/session/new HTTP/1.1\r\nHost: chat.hux.test\r\nContent-Type: application/json\r\n"+cookie+"\r\n"+framing)
		_ = c.CloseWrite()
		_, _ = io.Copy(io.Discard, c)
		_ = c.Close()
	}
	alice.fetch(t, "GET", chatURL+"/api/sessions", "").want(t, 200, "")
	for _, s := range up.requests() {
		if s.method == "POST" && s.get("Content-Length") == strconv.Itoa(len(s.body)) {
			t.Errorf("half a body arrives as a whole one: %q", s.body)
		}
		if s.method != "POST" && s.target != "/api/sessions" {
			t.Errorf("the upstream took for a request: %s", s)
		}
	}
}

// What an agent's answer may grant is a matter of the rules, whatever the
// body's spelling.
func TestRulesReadBodies(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"flags": "hux.foundation"}}) // with hux.autonomy all of it is closed
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		up.forget()
		for _, body := range []string{
			`{"choice":"always"}`, `{"choice":"once","yolo":true}`, `{"choice":"once","choice":"always"}`, `{"choice":"always","choice":"once"}`, `{"Choice":"always","choice":"once"}`,
			`{"choice":"once","\u0079olo":true}`, `{"\u0063hoice":"always"}`, `{"choice":["always"]}`, `{}`, ``, `[]`, `{"choice":"once"} {"choice":"always"}`, `{"choice":"once","YOLO":true}`,
			`{"choice":"once","yolo":1}`, `choice=always`, "\xff\xfe{\x00", `{"choice":"once"`, `{"choice":"once","yolo":"true"}`,
		} {
			a := alice.fetch(t, "POST", chatURL+"/api/approval/respond", body)
			if a.StatusCode != http.StatusForbidden && a.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: status %d", body, a.StatusCode)
			}
		}
		if a := alice.do(t, "POST", chatURL+"/api/approval/respond", strings.NewReader(gzipped(`{"choice":"always"}`)), "Content-Type: application/json", "Content-Encoding: gzip", "Origin: "+chatURL, "Sec-Fetch-Site: same-origin"); a.StatusCode/100 == 2 {
			t.Error("a body that the router cannot read goes up")
		}
		up.untouched(t)
		alice.fetch(t, "POST", chatURL+"/api/approval/respond", `{"choice":"once","session_id":"a","yolo":false}`).want(t, 200, "")
		if s := up.last(t); string(s.body) != `{"choice":"once","session_id":"a","yolo":false}` {
			t.Errorf("the body arrives as %q", s.body)
		}
	})
}

// A request of HTTP/1.0 has no chunks (RFC 9112, 6.1): what follows it is
// never another request.
func TestOldRequestsCloseTheConnection(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	for _, path := range []string{"/hux/healthz", "/", "/hux/api/me"} {
		c := h.dialTLS(t, "h1")
		_, err := fmt.Fprintf(c, "GET %s HTTP/1.0\r\nHost: chat.hux.test\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n"+
			"0\r\n\r\nGET /hux/healthz HTTP/1.1\r\nHost: chat.hux.test\r\n\r\n", path)
		if err != nil {
			t.Fatal(err)
		}
		within(t, 10*time.Second, "the connection ends", func() {
			all, _ := io.ReadAll(c)
			if n := strings.Count(string(all), "HTTP/1."); n != 1 || !strings.Contains(string(all), "Connection: close\r\n") {
				t.Errorf("%s: %d answers: %q", path, n, all)
			}
		})
		c.Close()
	}
}
