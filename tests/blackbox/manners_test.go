package blackbox_test

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A page of another origin gets nothing done in the WebUI with a person's
// cookie, by GET or by POST.
func TestOtherOriginsReachNoWebUI(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	protocols(t, func(t *testing.T, proto string) {
		up.forget()
		for _, from := range [][]string{
			{"Origin: https://evil.test", "Sec-Fetch-Site: cross-site"}, {"Origin: https://evil.test"}, {"Origin: null"}, {"Origin: " + consoleURL, "Sec-Fetch-Site: same-site"},
			{"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"}, {"Origin: https://chat.hux.test.evil.test"}, {"Origin: http://chat.hux.test"},
			{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, {"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"},
		} {
			for _, q := range []raw{
				{method: "GET", target: "/api/chat/cancel?stream_id=1"}, // it changes things
				{method: "POST", target: "/api/session/new", body: "{}"},
				{method: "GET", target: "/api/chat/stream?stream_id=1"},
			} {
				q.header = append([]string{cookie, "Content-Type: text/plain"}, from...)
				if a := h.send(t, proto, q); a.status != http.StatusForbidden || !strings.Contains(a.body, `"cross_origin"`) {
					t.Errorf("%s %s from %v: status %d %s", q.method, q.target, from, a.status, a.body)
				}
			}
		}
		// A link from elsewhere that changes nothing may lead to a page.
		if a := h.send(t, proto, raw{target: "/api/chat/cancel?stream_id=1", header: []string{cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}}); a.status != http.StatusForbidden {
			t.Errorf("a link to what changes things: status %d", a.status)
		}
		up.untouched(t)
		if a := h.send(t, proto, raw{target: "/session/x", header: []string{cookie, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}}); a.status != http.StatusOK {
			t.Errorf("a link to a page: status %d", a.status)
		}
	})
}

// Two Host lines, or one that differs from the authority, are one host or none.
func TestOneHost(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	protocols(t, func(t *testing.T, proto string) {
		for _, q := range []raw{
			{target: "/api/sessions", header: []string{cookie, "Host: evil.test"}},
			{host: "evil.test", target: "/api/sessions", header: []string{cookie, "Host: chat.hux.test"}},
			{host: "evil.test", target: "/api/sessions", header: []string{cookie, "X-Forwarded-Host: chat.hux.test", "Forwarded: host=chat.hux.test"}},
		} {
			up.forget()
			a := h.send(t, proto, q)
			for _, s := range up.requests() {
				if !slices.Equal(s.values("Host"), []string{"chat.hux.test"}) || strings.Contains(s.raw, "evil.test") || q.host != "" {
					t.Errorf("%d, and the upstream reads:\n%s", a.status, s.raw)
				}
			}
			if q.host != "" && a.status == http.StatusOK {
				t.Errorf("%q: status 200", q.host)
			}
		}
		// HTTP/2 browsers send cookies in crumbs.
		up.forget()
		crumbs := raw{target: "/api/sessions"}
		for pair := range strings.SplitSeq(alice.cookieHeader(t, chatURL), "; ") {
			crumbs.header = append(crumbs.header, "Cookie: "+pair)
		}
		if a := h.send(t, proto, crumbs); a.status != http.StatusOK || len(up.last(t).values("Cookie")) > 1 {
			t.Errorf("cookies one by one: status %d", a.status)
		}
		// A session cookie that comes twice is none: one of them is not ours.
		if a := h.send(t, proto, raw{target: "/api/sessions", header: []string{cookie, "Cookie: __Host-hux_chat=AAAAAAAAAAAAAAAAAAAAAAAAAA"}}); a.status != http.StatusUnauthorized {
			t.Errorf("two session cookies: status %d", a.status)
		}
	})
}

// What an upstream answers that would mislead the browser stops here.
func TestAnswersThatMislead(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	protocols(t, func(t *testing.T, proto string) {
		up.handle(func(x *exchange) { x.ordinary() })
		alice := h.signIn(t, proto, "alice")
		for name, c := range map[string]struct {
			head   string
			status int
			code   string
		}{
			"401":                     {"HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\nWWW-Authenticate: Basic\r\n\r\n{}", 502, "slot_refused_identity"},
			"its own sign-in":         {"HTTP/1.1 302 Found\r\nLocation: login?next=/\r\nContent-Length: 0\r\n\r\n", 502, "slot_refused_identity"},
			"its own sign-in, whole":  {"HTTP/1.1 302 Found\r\nLocation: /login?next=%2F\r\nContent-Length: 0\r\n\r\n", 502, "slot_refused_identity"},
			"an unasked 101":          {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: foo\r\nConnection: Upgrade\r\n\r\n", 502, "slot_down"},
			"no HTTP":                 {"SSH-2.0-OpenSSH_9.9\r\n", 502, "slot_down"},
			"two lengths":             {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x", 502, "slot_down"},
			"a head that never stops": {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Long: "+strings.Repeat("a", 1000)+"\r\n", 2000) + "\r\n", 502, "slot_down"},
		} {
			up.handle(func(x *exchange) { x.closed = true; x.write(c.head) })
			a := alice.fetch(t, "GET", chatURL+"/api/list", "")
			if a.StatusCode != c.status || a.code(t) != c.code {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
			}
			if a.Header.Get("Location") != "" || len(a.Header.Values("Www-Authenticate")) > 0 {
				t.Errorf("%s: %v", name, a.Header)
			}
		}
		up.handle(func(x *exchange) {
			x.answer(200, "{}", "HUX-Request-Id: forged", "HUX-Contract: forged", "X-Hux-User: forged", "Access-Control-Allow-Origin: *", "Alt-Svc: h3=\":443\"", "X-Theirs: kept", "Keep-Alive: timeout=5", "Server: theirs")
		})
		a := alice.fetch(t, "GET", chatURL+"/api/list", "", "HUX-Request-Id: my-own-id")
		if a.StatusCode != 200 || a.Header.Get("X-Theirs") != "kept" {
			t.Errorf("an ordinary answer: %d %v", a.StatusCode, a.Header)
		}
		for _, name := range []string{"Access-Control-Allow-Origin", "Alt-Svc", "X-Hux-User", "Hux-Contract", "Keep-Alive"} {
			if a.Header.Get(name) != "" {
				t.Errorf("an upstream says %s: %s", name, a.Header.Get(name))
			}
		}
		if got := a.Header.Values("Hux-Request-Id"); !slices.Equal(got, []string{"my-own-id"}) {
			t.Errorf("request ids %q", got)
		}
		if a := alice.fetch(t, "GET", chatURL+"/api/list", "", "HUX-Request-Id: "+strings.Repeat("a", 65)); a.Header.Get("Hux-Request-Id") == strings.Repeat("a", 65) {
			t.Error("a request id of 65 characters is taken over")
		}
	})
}

// A crash between the steps of a sign-in leaves nothing to read, and the
// browser begins again without being asked who it is.
func TestHandOverIsNotKept(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t)}}})
	h.secrets.add("return path", "sentinel-in-the-return-path")
	b := h.browser(t, "h2")
	page := chatURL + "/session/x?q=sentinel-in-the-return-path"
	target := page
	for range 10 {
		a := b.visit(t, target)
		_, onward, err := b.onward(t, a)
		if err != nil {
			t.Fatal(err)
		}
		if onward != "" {
			target = onward
			continue
		}
		if a.StatusCode == http.StatusOK { // the provider's form
			a = b.do(t, "POST", target, strings.NewReader("username=alice&password=alice"), "Content-Type: application/x-www-form-urlencoded", "Origin: "+issuer, "Sec-Fetch-Site: same-origin")
		}
		next, err := a.Request.URL.Parse(a.Header.Get("Location"))
		if err != nil || a.StatusCode/100 != 3 {
			t.Fatalf("%s: %d", target, a.StatusCode)
		}
		if target = next.String(); next.Path == "/hux/auth/accept" {
			break
		}
	}
	h.crash(t)
	h.audit(t)
	h.launch(t)
	if a := b.visit(t, target); a.StatusCode != http.StatusFound || a.Header.Get("Location") != chatURL+"/hux/auth/failed" {
		t.Errorf("after a restart the hand-over ends with %d at %q", a.StatusCode, a.Header.Get("Location"))
	}
	steps := b.follow(t, page, "")
	if end := steps[len(steps)-1]; end.Request.URL.String() != page || end.StatusCode != http.StatusOK {
		t.Errorf("begun again, it ends at %s with %d", end.Request.URL, end.StatusCode)
	}
	content, err := os.ReadFile(filepath.Join(h.data, "router.db"))
	if err != nil || bytes.Contains(content, []byte(`"name":"Alice`)) {
		t.Errorf("%v, or a name in clear", err)
	}
}
