package blackbox_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Whatever a link asks for, signing in ends on our own host.
func TestSignInReturnsToOurOwnHost(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}})
	evil := []string{
		"//evil.test", "//evil.test/", "///evil.test", "////evil.test", `/\evil.test`, `\\evil.test`, `\/evil.test`, "https:evil.test", "https://evil.test/", "http://evil.test",
		"//chat.hux.test@evil.test", "@evil.test", "/@evil.test/../../\\evil.test", "https://chat.hux.test@evil.test/", "https://chat.hux.test.evil.test/", "javascript:alert(1)", "data:text/html,x",
		"/%2f/evil.test", "/%2fevil.test", "/%5cevil.test", "%2f%2fevil.test", "/%252fevil.test", "/%09/evil.test", "/\t/evil.test", "/\n/evil.test", "\t//evil.test", " //evil.test",
		"/\r\nLocation: https://evil.test", "/x\x00//evil.test", "/./\\evil.test", "/.//evil.test", "/..//evil.test", "/x/..//evil.test", "evil.test", "?next=//evil.test", "", "/hux/auth/start?next=/hux/auth/start", "/login", "/session/login?next=//evil.test",
	}
	kept := []string{"/ok/page?x=1", "/", "/session/0123456789ab", "/session/a?q=a%2Fb&z=//c", "/static/a%20b"}
	starts := []string{"/hux/auth/start?next=", "/login?next=", "/session/login?next="}
	protocols(t, func(t *testing.T, proto string) {
		b := h.signIn(t, proto, "alice") // the second time there is no form, and the same checks
		for i, start := range starts {
			for j, next := range append(slices.Clone(evil), kept...) {
				if i > 0 && j%5 != i { // all three begin the same; a sample shows it
					continue
				}
				want := "/"
				if slices.Contains(kept, next) {
					want = next
				}
				at := chatURL + start + url.QueryEscape(next)
				for range 6 {
					a := b.visit(t, at)
					if a.StatusCode/100 != 3 {
						t.Fatalf("next=%q: status %d at %s", next, a.StatusCode, at)
					}
					to := a.Header.Get("Location")
					u, err := a.Request.URL.Parse(to)
					if err != nil || (u.Host != "chat.hux.test" && u.Host != "console.hux.test" && u.Host != "sso.hux.test") || u.Scheme == "http" && u.Host != "sso.hux.test" {
						t.Fatalf("next=%q leads to %q", next, to)
					}
					at = u.String()
					if u.Host == "chat.hux.test" && !strings.HasPrefix(u.Path, "/hux/auth/") {
						break
					}
				}
				if at != chatURL+want {
					t.Errorf("%s%q ends at %s, want %s", start, next, at, want)
				}
			}
		}
	})
}

// Only somebody who goes to a page is sent to sign in.
func TestSignedOut(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up}}})
	protocols(t, func(t *testing.T, proto string) {
		for _, c := range []struct {
			name, method, url string
			header            []string
			status            int
		}{
			{"navigation", "GET", chatURL + "/", navigation, 302},
			{"navigation of an old browser", "GET", chatURL + "/session/x?q=1", []string{"Accept: text/html,*/*"}, 302},
			{"our page", "GET", consoleURL + "/hux/api/ui/", navigation, 302},
			{"form", "POST", chatURL + "/api/session/new", navigation, 401},
			{"frame", "GET", chatURL + "/", []string{"Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 401},
			{"XHR", "GET", chatURL + "/api/sessions", []string{"Accept: */*", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, 401},
			{"old XHR", "GET", chatURL + "/api/sessions", []string{"Accept: application/json"}, 401},
			{"EventSource", "GET", chatURL + "/api/chat/stream?stream_id=1", []string{"Accept: text/event-stream", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, 401},
			{"service worker", "GET", chatURL + "/sw.js", []string{"Accept: */*", "Sec-Fetch-Mode: same-origin", "Sec-Fetch-Dest: serviceworker", "Service-Worker: script"}, 401},
			{"manifest", "GET", chatURL + "/manifest.json", []string{"Accept: */*", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: manifest"}, 401},
			{"script", "GET", chatURL + "/static/ui.js", []string{"Accept: */*", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"}, 401},
			{"fetch that asks for HTML", "GET", chatURL + "/", []string{"Accept: text/html", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, 401},
			{"our API", "GET", chatURL + "/hux/api/me", nil, 401},
			{"our API on the console", "GET", consoleURL + "/hux/api/me", nil, 401},
			{"the API host", "GET", apiURL + "/hux/v1/capabilities", nil, 401},
		} {
			a := h.browser(t, proto).do(t, c.method, c.url, nil, c.header...)
			if a.StatusCode != c.status {
				t.Errorf("%s: status %d, want %d", c.name, a.StatusCode, c.status)
				continue
			}
			if c.status == http.StatusUnauthorized {
				a.want(t, 401, "unauthenticated")
				if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || a.Header.Get("Location") != "" {
					t.Errorf("%s: the headers are %v", c.name, a.Header)
				}
			} else if to := a.Header.Get("Location"); !strings.HasPrefix(to, "/hux/auth/start?next=") {
				t.Errorf("%s: sent to %q", c.name, to)
			}
		}
		a := h.browser(t, proto).visit(t, apiURL+"/") // no sign-in there
		if a.StatusCode != http.StatusFound || a.Header.Get("Location") != chatURL+"/" {
			t.Errorf("a browser at the API host: %d to %q", a.StatusCode, a.Header.Get("Location"))
		}
		up.untouched(t)
	})
}

// Who can sign whom in and out.
func TestSessionsEndByTheirOwnerAlone(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}, {id: "b", up: newUpstream(t), members: []string{"bob"}}}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		signedIn := func() bool { return alice.me(t, chatURL) != nil && alice.me(t, consoleURL) != nil }
		for _, path := range []string{"/hux/auth/sign-out", "/hux/api/ui/sign-out", "/hux/api/sessions/end", "/hux/auth/clear", "/hux/api/ui/signed-out", "/api/auth/logout"} {
			for _, site := range []string{chatURL, consoleURL} {
				alice.visit(t, site+path)
				if !signedIn() {
					t.Fatalf("GET %s%s signs out", site, path)
				}
			}
		}
		form := "Content-Type: application/x-www-form-urlencoded"
		for name, header := range map[string][]string{
			"cross-site":         {form, "Origin: https://evil.test", "Sec-Fetch-Site: cross-site"},
			"the chat's page":    {form, "Origin: " + chatURL, "Sec-Fetch-Site: same-site"},
			"no Origin":          {form},
			"Origin null":        {form, "Origin: null", "Sec-Fetch-Site: same-origin"},
			"only Sec-Fetch":     {form, "Sec-Fetch-Site: same-origin"},
			"a look-alike":       {form, "Origin: https://console.hux.test.evil.test", "Sec-Fetch-Site: cross-site"},
			"two origins":        {form, "Origin: " + consoleURL, "Origin: https://evil.test", "Sec-Fetch-Site: same-origin"},
			"Origin, cross-site": {form, "Origin: " + consoleURL, "Sec-Fetch-Site: cross-site"},
		} {
			a := alice.do(t, "POST", consoleURL+"/hux/auth/sign-out", strings.NewReader(""), header...)
			if a.StatusCode != http.StatusForbidden || !signedIn() {
				t.Errorf("sign-out from %s: status %d, signed in %v", name, a.StatusCode, signedIn())
			}
			if a, err := alice.read(alice.clear(t, nil, header[1:]...)); err != nil || a.StatusCode != http.StatusForbidden || a.Header.Get("Clear-Site-Data") != "" || !signedIn() {
				t.Errorf("clearing the chat host from %s: %v, %v", name, a, err)
			}
			a = alice.do(t, "POST", consoleURL+"/hux/api/sessions/end", strings.NewReader("{}"), append([]string{"Content-Type: application/json"}, header[1:]...)...)
			if a.StatusCode != http.StatusForbidden || !signedIn() {
				t.Errorf("ending sessions from %s: status %d", name, a.StatusCode)
			}
		}
		alice.fetch(t, "POST", chatURL+"/hux/api/sessions/end", "{}").want(t, 403, "console_required")
		if !signedIn() {
			t.Fatal("a script on the chat origin signed alice out")
		}

		// A callback is good in the browser that asked for it, and once.
		bob := h.browser(t, proto)
		steps := bob.follow(t, chatURL+"/", "bob")
		i := slices.IndexFunc(steps, func(a *answer) bool { return a.Request.URL.Path == "/hux/auth/callback" })
		callback := steps[i].Request.URL.String()
		fresh := h.browser(t, proto)
		stolen := stealCallback(t, fresh, "bob") // a code that was never redeemed
		redeemed := h.secrets.count()
		alice.visit(t, stolen).want(t, 400, "")
		alice.visit(t, callback).want(t, 400, "")
		bob.visit(t, callback).want(t, 400, "")
		if m := alice.me(t, chatURL); m == nil || m.User != h.user("alice") {
			t.Error("another browser's callback changed who alice is")
		}
		if h.secrets.count() != redeemed {
			t.Error("a code with another browser's state was redeemed")
		}
		if a := fresh.visit(t, stolen); a.StatusCode != http.StatusFound {
			t.Errorf("the browser that asked: status %d", a.StatusCode)
		}

		// A one-time code for the chat host is bound too, and in no URL.
		thief, victim := h.browser(t, proto), h.browser(t, proto)
		flow := strings.Repeat("a", 64)
		steps = thief.follow(t, consoleURL+"/hux/auth/sign-in?flow="+flow+"&next=/", "bob")
		i = slices.IndexFunc(steps, func(a *answer) bool { return a.Request.URL.Path == "/hux/auth/accept" })
		if i < 0 {
			t.Fatalf("no hand-over: %d at %s", steps[len(steps)-1].StatusCode, steps[len(steps)-1].Request.URL.Path)
		}
		if got := steps[i].Request.URL.String(); got != chatURL+"/hux/auth/accept?flow="+flow {
			t.Errorf("the hand-over is at %s", got)
		}
		code := handoverCode(t, steps[:i])
		start := victim.visit(t, chatURL+"/hux/auth/start?next=/")
		to, err := url.Parse(start.Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		mine := to.Query().Get("flow")
		victim.visit(t, chatURL+"/hux/auth/accept?flow="+mine, "Cookie: __Secure-hux_handover_"+mine[:8]+"="+code)
		if victim.me(t, chatURL) != nil {
			t.Error("a hand-over that another browser began signs this one in")
		}

		old := alice.cookie(t, consoleURL, "__Host-hux_console")
		signOut := alice.do(t, "POST", consoleURL+"/hux/auth/sign-out", strings.NewReader(""), form, "Origin: "+consoleURL, "Sec-Fetch-Site: same-origin")
		if signOut.StatusCode != http.StatusOK || !strings.Contains(signOut.Header.Get("Clear-Site-Data"), `"storage"`) || strings.Contains(signOut.Header.Get("Clear-Site-Data"), "cookies") {
			t.Errorf("sign-out: %d, Clear-Site-Data %q", signOut.StatusCode, signOut.Header.Get("Clear-Site-Data"))
		}
		if a := h.browser(t, proto).do(t, "GET", chatURL+"/hux/api/me", nil, "Cookie: __Host-hux_chat="+alice.cookie(t, chatURL, "__Host-hux_chat")); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("the chat before it is cleared: status %d", a.StatusCode)
		}
		cleared, onward, err := alice.onward(t, signOut)
		if err != nil || onward == "" {
			t.Fatalf("the page after sign-out: %q, %v", onward, err)
		}
		if v := cleared.Header.Get("Clear-Site-Data"); !strings.Contains(v, `"cache"`) || strings.Contains(v, "cookies") {
			t.Errorf("the chat host at sign-out: Clear-Site-Data %q", v)
		}
		steps = alice.follow(t, onward, "")
		end := steps[len(steps)-1]
		if end.Request.URL.String() != consoleURL+"/hux/api/ui/signed-out" || end.StatusCode != http.StatusOK {
			t.Errorf("sign-out ends at %s with %d", end.Request.URL, end.StatusCode)
		}
		if signedIn() || alice.cookie(t, chatURL, "__Host-hux_chat") != "" || alice.cookie(t, consoleURL, "__Host-hux_console") != "" {
			t.Error("alice is still signed in")
		}
		if a := h.browser(t, proto).do(t, "GET", consoleURL+"/hux/api/me", nil, "Cookie: __Host-hux_console="+old); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("the old cookie after sign-out: status %d", a.StatusCode)
		}
		if len(h.provider.Sessions("alice")) > 0 {
			t.Error("the provider still has alice's session")
		}
	})
}

// handoverCode is the code of the hand-over that steps lead to.
func handoverCode(t testing.TB, steps []*answer) string {
	t.Helper()
	for _, step := range steps {
		for _, c := range step.Cookies() {
			if strings.HasPrefix(c.Name, "__Secure-hux_handover_") && c.MaxAge > 0 {
				if !c.HttpOnly || !c.Secure || c.Domain != "hux.test" || c.Path != "/hux/auth/accept" {
					t.Errorf("the cookie of a hand-over: %s", c.Raw)
				}
				return c.Value
			}
		}
	}
	t.Fatal("no hand-over")
	return ""
}

// stealCallback signs in at the provider and stops before the callback.
func stealCallback(t *testing.T, b *browser, name string) string {
	t.Helper()
	begun := b.visit(t, consoleURL+"/hux/auth/sign-in?next=/")
	at := begun.Header.Get("Location")
	form := url.Values{"username": {name}, "password": {name}}
	a := b.do(t, http.MethodPost, at, strings.NewReader(form.Encode()), "Content-Type: application/x-www-form-urlencoded", "Origin: "+issuer, "Sec-Fetch-Site: same-origin")
	to := a.Header.Get("Location")
	if !strings.HasPrefix(to, consoleURL+"/hux/auth/callback?") {
		t.Fatalf("the provider sends to %q", to)
	}
	return to
}

// What the provider answers is checked, and a code that is not for this
// browser's sign-in is not even redeemed.
func TestSignInChecksWhatComesBack(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}})
	claims := func(change func(map[string]any)) func(map[string]any) {
		return func(answer map[string]any) {
			var c map[string]any
			part := strings.Split(answer["id_token"].(string), ".")[1]
			payload, err := base64.RawURLEncoding.DecodeString(part)
			if err != nil || json.Unmarshal(payload, &c) != nil {
				t.Errorf("an ID token that does not read: %v", err)
				return
			}
			header := map[string]any{}
			change(c)
			if alg, ok := c["test alg"]; ok {
				header["alg"] = alg
				delete(c, "test alg")
			}
			if answer["id_token"], err = h.provider.Sign(header, c); err != nil {
				t.Error(err)
			}
		}
	}
	set := func(name string, value any) func(map[string]any) {
		return claims(func(c map[string]any) { c[name] = value })
	}
	protocols(t, func(t *testing.T, proto string) {
		for name, tamper := range map[string]func(map[string]any){
			"another nonce":       set("nonce", "another"),
			"no nonce":            claims(func(c map[string]any) { delete(c, "nonce") }),
			"another audience":    set("aud", "other"),
			"a foreign azp":       set("azp", "other"),
			"another issuer":      set("iss", "http://other.hux.test"),
			"expired":             set("exp", time.Now().Add(-time.Hour).Unix()),
			"no subject":          claims(func(c map[string]any) { delete(c, "sub") }),
			"another access hash": set("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
			"alg none":            set("test alg", "none"),
			"HS256":               set("test alg", "HS256"),
			"no ID token":         func(answer map[string]any) { delete(answer, "id_token") },
			"an ID token of text": func(answer map[string]any) { answer["id_token"] = "nonsense" },
		} {
			h.secrets.forge(tamper)
			b := h.browser(t, proto)
			steps := b.follow(t, chatURL+"/", "alice")
			if end := steps[len(steps)-1]; end.StatusCode/100 != 4 || end.Request.URL.Path != "/hux/auth/callback" || b.me(t, chatURL) != nil || b.me(t, consoleURL) != nil {
				t.Errorf("%s: signing in ends at %s with %d", name, end.Request.URL.Path, end.StatusCode)
			}
		}
		h.secrets.forge(nil)

		for name, change := range map[string]func(url.Values){
			"another issuer": func(q url.Values) { q.Set("iss", "http://other.hux.test") },
			"no issuer":      func(q url.Values) { q.Del("iss") },
			"two states":     func(q url.Values) { q.Add("state", "x") },
			"two codes":      func(q url.Values) { q.Add("code", "x") },
			"no state":       func(q url.Values) { q.Del("state") },
		} {
			b := h.browser(t, proto)
			callback, err := url.Parse(stealCallback(t, b, "alice"))
			if err != nil {
				t.Fatal(err)
			}
			q := callback.Query()
			change(q)
			redeemed := false
			h.secrets.forge(func(map[string]any) { redeemed = true })
			callback.RawQuery = q.Encode()
			b.visit(t, callback.String()).want(t, 400, "")
			h.secrets.forge(nil)
			if redeemed || b.me(t, consoleURL) != nil {
				t.Errorf("%s: the code was redeemed", name)
			}
		}
		b := h.browser(t, proto)
		callback, err := url.Parse(stealCallback(t, b, "alice"))
		if err != nil {
			t.Fatal(err)
		}
		q := callback.Query()
		q.Del("code")
		q.Set("error", "access_denied")
		q.Set("error_description", "<script>words of the provider</script>")
		callback.RawQuery = q.Encode()
		if a := b.visit(t, callback.String()); a.StatusCode != http.StatusForbidden || strings.Contains(a.body, "words of the provider") {
			t.Errorf("a refusal at the provider: %d %.300s", a.StatusCode, a.body)
		}

		// Signing in for real, and what the cookies are.
		steps := b.follow(t, chatURL+"/", "alice")
		handoverCode(t, steps)
		for _, a := range steps {
			for _, c := range a.Cookies() {
				if !strings.Contains(c.Name, "hux_") || a.Request.URL.Host == "sso.hux.test" {
					continue
				}
				if strings.HasPrefix(c.Name, "__Secure-hux_handover_") {
					continue // handoverCode looks at that
				}
				if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.Path != "/" || c.Domain != "" || c.SameSite != http.SameSiteLaxMode {
					t.Errorf("a cookie of ours: %s", c.Raw)
				}
			}
		}
	})
}

// A new id at every sign-in, and none for whoever brings one.
func TestSessionIDsAreNewAtSignIn(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t)}, {id: "b", up: newUpstream(t)}}})
	protocols(t, func(t *testing.T, proto string) {
		b := h.signIn(t, proto, "alice")
		first := [2]string{b.cookie(t, chatURL, "__Host-hux_chat"), b.cookie(t, consoleURL, "__Host-hux_console")}
		if first[0] == first[1] {
			t.Error("both hosts have one cookie")
		}
		b.do(t, "POST", consoleURL+"/hux/auth/sign-out", strings.NewReader(""), "Origin: "+consoleURL, "Sec-Fetch-Site: same-origin", "Content-Type: application/x-www-form-urlencoded")
		fixed := "AAAAAAAAAAAAAAAAAAAAAAAAAA"
		chat, _ := url.Parse(chatURL)
		console, _ := url.Parse(consoleURL)
		b.jar.SetCookies(chat, []*http.Cookie{{Name: "__Host-hux_chat", Value: fixed, Secure: true, Path: "/"}})
		b.jar.SetCookies(console, []*http.Cookie{{Name: "__Host-hux_console", Value: fixed, Secure: true, Path: "/"}})
		if err := h.provider.EndSessions(context.Background(), "alice"); err != nil {
			t.Fatal(err)
		}
		b.signIn(t, "bob")
		for site, old := range map[string][]string{chatURL: {first[0], fixed}, consoleURL: {first[1], fixed}} {
			if now := b.cookie(t, site, "__Host-hux_c"); slices.Contains(old, now) {
				t.Errorf("%s: the session's id was not changed at sign-in", site)
			}
		}
		// A cookie is good on its own host alone.
		swapped := h.browser(t, proto)
		if a := swapped.do(t, "GET", chatURL+"/hux/api/me", nil, "Cookie: __Host-hux_chat="+b.cookie(t, consoleURL, "__Host-hux_console")); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("the console's cookie on the chat host: status %d", a.StatusCode)
		}
		if a := swapped.do(t, "GET", apiURL+"/hux/api/me", nil, "Cookie: "+b.cookieHeader(t, chatURL)+"; "+b.cookieHeader(t, consoleURL)); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("cookies on the API host: status %d", a.StatusCode)
		}
	})
}

func TestSignInIsNeverFramed(t *testing.T) {
	t.Parallel()
	h := start(t, setup{})
	protocols(t, func(t *testing.T, proto string) {
		for _, dest := range []string{"iframe", "frame", "embed", "object"} {
			a := h.browser(t, proto).do(t, "GET", consoleURL+"/hux/auth/sign-in?next=/", nil, "Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: "+dest)
			if a.StatusCode != http.StatusForbidden {
				t.Errorf("sign-in in an %s: status %d", dest, a.StatusCode)
			}
		}
		b := h.signIn(t, proto, "alice")
		for _, path := range []string{"/hux/api/ui/", "/hux/api/ui/panel", "/hux/api/ui/sign-out"} {
			a := b.visit(t, consoleURL+path)
			csp := a.Header.Get("Content-Security-Policy")
			by := regexp.MustCompile(`frame-ancestors ([^;]*)`).FindStringSubmatch(csp)
			if a.StatusCode != http.StatusOK || by == nil || by[1] != "'none'" && by[1] != "'self'" && by[1] != chatURL {
				t.Errorf("%s: %d with policy %q", path, a.StatusCode, csp)
			}
			if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
				t.Errorf("%s: Cache-Control %q", path, a.Header.Get("Cache-Control"))
			}
		}
	})
}
