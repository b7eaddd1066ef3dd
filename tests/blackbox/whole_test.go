package blackbox_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/demo/standin"
)

// A whole turn of chat with the stand-in WebUI: page, token, message, stream.
func TestChatThroughTheRouter(t *testing.T) {
	t.Parallel()
	ui := standin.New(standin.Options{Wait: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }})
	t.Cleanup(ui.Close)
	server := httptest.NewServer(ui)
	t.Cleanup(server.Close)
	h := start(t, setup{slots: []slot{{id: "a", url: server.URL, members: []string{"alice"}}}, config: map[string]any{"slot_health_path": "/health"}})
	h.log.wait(t, `"self-check done"`)
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		shell := alice.visit(t, chatURL+"/session/abc")
		shell.want(t, 200, "")
		if len(snippet.FindAllString(shell.body, -1)) != 1 || !strings.Contains(shell.Header.Get("Content-Security-Policy"), "frame-src 'self' "+consoleURL) {
			t.Errorf("the page: %v", shell.Header)
		}
		token := regexp.MustCompile(`__HERMES_CSRF_TOKEN__="([0-9a-f]{64})"`).FindStringSubmatch(shell.body)
		if token == nil {
			t.Fatal("the page has no CSRF token")
		}
		call := func(method, path, body string, into any) {
			t.Helper()
			a := alice.fetch(t, method, chatURL+path, body, "X-Hermes-CSRF-Token: "+token[1], "Referer: "+chatURL+"/session/abc")
			a.want(t, 200, "")
			if err := json.Unmarshal([]byte(a.body), into); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		var made struct {
			Session struct {
				ID string `json:"session_id"`
			}
		}
		call("POST", "/api/session/new", "{}", &made)
		var turn struct {
			Stream string `json:"stream_id"`
		}
		call("POST", "/api/chat/start", `{"session_id":"`+made.Session.ID+`","message":"hello"}`, &turn)
		stream := alice.open(t, context.Background(), "GET", chatURL+"/api/chat/stream?stream_id="+turn.Stream, nil, "Accept: text/event-stream")
		defer stream.Body.Close()
		var events []byte
		within(t, 10*time.Second, "the answer is streamed to its end", func() { events, _ = io.ReadAll(stream.Body) })
		for _, want := range []string{"event: token", "event: done", "event: stream_end"} {
			if !bytes.Contains(events, []byte(want)) {
				t.Errorf("the stream lacks %q:\n%.500s", want, events)
			}
		}
		if a := alice.fetch(t, "POST", chatURL+"/api/session/new", "{}"); a.StatusCode != http.StatusForbidden {
			t.Errorf("without the page's token: status %d", a.StatusCode)
		}
		for _, path := range []string{"/api/terminal/start", "/api/shutdown", "/api/settings", "/api/session/toolsets", "/api/updates/apply", "/api/commands/exec"} {
			alice.fetch(t, "POST", chatURL+path, "{}").want(t, 403, "path_denied")
		}
		health := alice.fetch(t, "GET", chatURL+"/health", "")
		if health.StatusCode != 200 || strings.Contains(health.body, "model") {
			t.Errorf("health: %d %s", health.StatusCode, health.body)
		}
	})
	for line := range strings.Lines(h.log.String()) { // the version is its own; all else is as the real one has it
		if strings.Contains(line, `"finding"`) && !strings.Contains(line, "stand-in") {
			t.Errorf("the self-check finds something off with the stand-in: %s", line)
		}
	}
}

// The WebUI's service worker keeps whatever page of its host is a 200,
// unless its path has /api/ in it or ends in /login. It finds none of ours.
func TestServiceWorkerKeepsNoPageOfOurs(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{"two origins": {}, "one origin": {"console_url": nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			config["metrics_listen"] = nil
			h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: config})
			protocols(t, func(t *testing.T, proto string) {
				nobody := h.browser(t, proto)
				for _, path := range []string{"/sw.js", "/session/sw.js", "/manifest.json", "/manifest.webmanifest", "/session/manifest.json", "/session/manifest.webmanifest", "/static/ui.js", "/favicon.ico", "/api/settings", "/health"} {
					a := nobody.do(t, "GET", chatURL+path, nil, "Accept: */*", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: empty")
					if a.StatusCode != http.StatusUnauthorized || a.Header.Get("Location") != "" {
						t.Errorf("signed out, %s: status %d", path, a.StatusCode)
					}
				}
				alice, carol := h.signIn(t, proto, "alice"), h.signIn2(t, "carol") // carol has no slot
				kept := func(a *answer) bool {
					path := a.Request.URL.Path
					return a.StatusCode == 200 && strings.Contains(a.Header.Get("Content-Type"), "text/html") && !strings.Contains(path, "/api/") && !strings.HasSuffix(path, "/login")
				}
				paths := []string{"/hux", "/hux/", "/hux/auth/start", "/hux/auth/accept", "/hux/auth/failed", "/hux/auth/clear", "/hux/auth/sign-in", "/hux/auth/callback", "/hux/api/ui/", "/hux/api/ui/panel", "/hux/api/ui/sign-out", "/hux/api/ui/signed-out", "/hux/api/ui/status", "/hux/api/ui/contract", "/hux/api/ui/contract/hux.event.v1", "/hux/healthz", "/hux/none", "/login", "/session/login", "/api/terminal/x"}
				for _, b := range []*browser{nobody, alice, carol} {
					for _, path := range paths {
						if a := b.visit(t, chatURL+path); kept(a) {
							t.Errorf("%s is a page that the worker would keep as the shell", path)
						}
					}
				}
				if a := carol.visit(t, chatURL+"/"); kept(a) {
					t.Error("the page without a slot would be kept")
				}
				shell := alice.visit(t, chatURL+"/session/x")
				if !kept(shell) || snippet.ReplaceAllString(shell.body, "") != page {
					t.Errorf("the shell is not the WebUI's: %d %s", shell.StatusCode, shell.body)
				}
				up.kill()
				if a := alice.visit(t, chatURL+"/"); kept(a) || a.StatusCode < 500 {
					t.Errorf("the page of a slot that is down: %d", a.StatusCode)
				}
				up.revive(t)
				eventually(t, 5*time.Second, "the slot is back", func() bool { return alice.visit(t, chatURL+"/").StatusCode == 200 })
			})
		})
	}
}

// Without a console_url chat and console share an origin, and hux says what
// that costs.
func TestOneOrigin(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}, {id: "b", up: newUpstream(t)}}, config: map[string]any{"console_url": nil}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.browser(t, proto)
		for _, a := range alice.follow(t, chatURL+"/session/x?q=1", "alice") {
			if host := a.Request.URL.Host; host != "chat.hux.test" && host != "sso.hux.test" {
				t.Errorf("sign-in goes by %s", host)
			}
		}
		a := alice.visit(t, chatURL+"/session/x?q=1")
		a.want(t, 200, "")
		if !strings.Contains(a.body, `data-hux-console="`+chatURL+`"`) {
			t.Errorf("the marker: %s", snippet.FindString(a.body))
		}
		if m := alice.me(t, chatURL); m == nil || m.Tenant == nil || m.User != h.user("alice") {
			t.Fatalf("alice is %+v", m)
		}
		alice.visit(t, chatURL+"/hux/api/ui/").want(t, 200, "")
		if a := alice.visit(t, chatURL+"/hux/auth/accept?code=x"); a.StatusCode != http.StatusNotFound {
			t.Errorf("a hand-over on one origin: status %d", a.StatusCode)
		}
		if a := alice.do(t, "GET", consoleURL+"/hux/api/ui/", nil); a.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("the console's host: status %d", a.StatusCode)
		}
		out := alice.do(t, "POST", chatURL+"/hux/auth/sign-out", strings.NewReader(""), "Content-Type: application/x-www-form-urlencoded", "Origin: "+chatURL, "Sec-Fetch-Site: same-origin")
		steps := alice.follow(t, out.Header.Get("Location"), "")
		if end := steps[len(steps)-1]; end.Request.URL.String() != chatURL+"/hux/api/ui/signed-out" || alice.me(t, chatURL) != nil {
			t.Errorf("sign-out ends at %s", end.Request.URL)
		}
	})
	if !strings.Contains(h.log.String(), "console_url is not set") {
		t.Error("the log does not warn of one origin")
	}
	olga := h.browser(t, "h2")
	olga.follow(t, chatURL+"/", "olga")
	if a := olga.fetch(t, "GET", chatURL+"/hux/api/status", ""); !strings.Contains(a.body, "console_url is not set") {
		t.Errorf("the status does not warn of one origin: %s", a.body)
	}
}

// What a person types into an address, and what they upload, is in no log and
// in no file of ours.
func TestNothingOfWhatPeopleSendIsKept(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	sentinel := func(what string) string {
		v := "sentinel-" + rand.Text()
		h.secrets.add(what, v)
		return v
	}
	protocols(t, func(t *testing.T, proto string) {
		b := h.browser(t, proto)
		b.follow(t, chatURL+"/session/x?q="+sentinel("return path"), "alice")
		b.fetch(t, "GET", chatURL+"/api/list?q="+sentinel("query"), "", "X-Anything: "+sentinel("header"), "Referer: "+chatURL+"/?q="+sentinel("Referer")).want(t, 200, "")
		b.fetch(t, "GET", chatURL+"/api/terminal/x?q="+sentinel("query of a denied path"), "").want(t, 403, "")
		b.fetch(t, "GET", chatURL+"/hux/api/none?q="+sentinel("query of nothing"), "").want(t, 404, "")
		b.fetch(t, "GET", chatURL+"/api/list;x?q="+sentinel("query of an ambiguous path"), "")
		b.fetch(t, "GET", consoleURL+"/hux/auth/callback?code="+sentinel("code")+"&state="+sentinel("state"), "")
		b.fetch(t, "GET", chatURL+"/hux/auth/accept?code="+sentinel("code"), "")
		b.fetch(t, "GET", apiURL+"/hux/api/me", "", bearer(sentinel("bearer"))).want(t, 401, "")
		b.fetch(t, "POST", chatURL+"/api/session/new", `{"text":"`+sentinel("body")+`"}`).want(t, 200, "")
		upload := bytes.Repeat([]byte(sentinel("upload")+"\n"), 40_000)
		b.do(t, "POST", chatURL+"/api/upload", io.MultiReader(bytes.NewReader(upload)), "Origin: "+chatURL, "Sec-Fetch-Site: same-origin", "Content-Type: application/octet-stream").want(t, 200, "")
		b.do(t, "POST", consoleURL+"/hux/auth/backchannel", strings.NewReader(url.Values{"logout_token": {sentinel("logout token")}}.Encode()), "Content-Type: application/x-www-form-urlencoded").want(t, 400, "")
		up.handle(func(x *exchange) { x.write("HTTP/1.1 nonsense " + sentinel("answer") + "\r\n\r\n"); x.closed = true })
		if a := b.fetch(t, "GET", chatURL+"/api/list", ""); a.StatusCode != http.StatusBadGateway {
			t.Errorf("an answer that is none: status %d", a.StatusCode)
		}
		up.handle(func(x *exchange) { x.ordinary() })
		eventually(t, 5*time.Second, "the slot is back", func() bool { return b.fetch(t, "GET", chatURL+"/api/list", "").StatusCode == 200 })

		// Nor after a crash in the middle of an upload.
		reading, writing := io.Pipe()
		ctx, leave := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() {
			defer close(done)
			if res, err := b.try(t, ctx, "POST", chatURL+"/api/upload", reading, "Origin: "+chatURL, "Sec-Fetch-Site: same-origin", "Content-Type: application/octet-stream"); err == nil {
				_ = res.Body.Close()
			}
		}()
		half := bytes.Repeat([]byte(sentinel("half an upload")+"\n"), 60_000)
		if _, err := writing.Write(half); err != nil {
			t.Fatal(err)
		}
		h.crash(t)
		leave()
		_ = writing.Close()
		<-done
		h.launch(t)
	})
	entries, err := os.ReadDir(h.data)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %v", e.Name(), info.Mode())
		}
		if e.Name() != "router.db" && e.Name() != "admin.sock" {
			t.Errorf("the data directory has %s", e.Name())
		}
	}
}

// Sign-ins are limited by who and from where, never for everybody.
func TestSignInLimits(t *testing.T) {
	t.Parallel()
	h := start(t, setup{plain: true, slots: []slot{{id: "a", up: newUpstream(t)}}, config: map[string]any{"trusted_proxies": "127.0.0.0/8"}})
	b := h.browser(t, "plain")
	limited := false
	for range 400 {
		a := b.visit(t, consoleURL+"/hux/auth/sign-in?next=/", "X-Forwarded-For: 198.51.100.7")
		if a.StatusCode == http.StatusTooManyRequests {
			limited = true
			if a.Header.Get("Retry-After") == "" {
				t.Error("429 without Retry-After")
			}
			break
		}
	}
	if !limited {
		t.Error("400 sign-ins from one address are not limited")
	}
	if a := b.visit(t, consoleURL+"/hux/auth/sign-in?next=/", "X-Forwarded-For: 198.51.100.8"); a.StatusCode != http.StatusFound {
		t.Errorf("another address is limited too: status %d", a.StatusCode)
	}
	alice := h.signIn(t, "plain", "alice") // from 127.0.0.1
	if alice.me(t, chatURL) == nil {
		t.Error("alice cannot sign in")
	}
}

// Origins may be written with the port that goes without saying.
func TestOriginsWithADefaultPort(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, config: map[string]any{"public_url": chatURL + ":443/", "console_url": "https://CONSOLE.hux.test:443"}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		alice.fetch(t, "POST", chatURL+"/api/session/new", "{}").want(t, 200, "")
		alice.fetch(t, "POST", consoleURL+"/hux/api/sessions/end", "{}").want(t, 204, "")
	})
}

// Two routers on one data directory would give one slot to two people.
func TestOneRouterPerDataDirectory(t *testing.T) {
	t.Parallel()
	h := start(t, setup{})
	begun := time.Now()
	_, stderr, ok := h.run(t, "serve", "--metrics-listen", "")
	if ok || time.Since(begun) > 15*time.Second || strings.Contains(stderr, "goroutine ") {
		t.Errorf("a second router: ok %v after %v: %s", ok, time.Since(begun), stderr)
	}
	h.command(t, "", "slots", "list") // the first goes on
}
