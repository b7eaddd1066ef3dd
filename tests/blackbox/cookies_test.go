package blackbox_test

import (
	"net/url"
	"strings"
	"testing"
)

// Our cookies stay here, an upstream's go back to it alone.
func TestCookiesStayHome(t *testing.T) {
	t.Parallel()
	a, b := newUpstream(t), newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: a, members: []string{"alice"}}, {id: "b", up: b, members: []string{"bob"}}}})
	hostile := func(mark string) func(*exchange) {
		return func(x *exchange) {
			x.answer(200, "{}",
				"Set-Cookie: hermes_session="+mark+"; Path=/; HttpOnly; SameSite=Lax",
				"Set-Cookie: __Host-theirs="+mark+"; Path=/; Secure",
				"Set-Cookie: __Host-hux_chat=taken-"+mark+"; Path=/; Secure",
				"Set-Cookie: __host-HUX_chat=taken-"+mark+"; Path=/; Secure",
				"Set-Cookie: __Host-hux_console=taken-"+mark+"; Path=/; Secure; Domain=hux.test",
				"Set-Cookie: hux_console=taken-"+mark+"; Domain=.hux.test; Path=/",
				"Set-Cookie: parent="+mark+"; Domain=hux.test; Path=/",
				"Set-Cookie: =__Host-hux_chat=nameless-"+mark+"; Path=/; Secure",
				"Set-Cookie: __Host-hux_chat; Path=/; Secure",
				`Clear-Site-Data: "cookies", "storage"`, "Strict-Transport-Security: max-age=1; includeSubDomains")
		}
	}
	a.handle(hostile("mark-of-a"))
	b.handle(hostile("mark-of-b"))
	protocols(t, func(t *testing.T, proto string) {
		a.forget()
		b.forget()
		one := h.browser(t, proto)
		one.signInTo(t, "alice")
		chat, console := one.cookie(t, chatURL, "__Host-hux_chat"), one.cookie(t, consoleURL, "__Host-hux_console")
		res := one.fetch(t, "GET", chatURL+"/api/sessions", "")
		one.fetch(t, "GET", chatURL+"/api/sessions", "")
		s := a.last(t)
		if got := s.get("Cookie"); !strings.Contains(got, "hermes_session=mark-of-a") || !strings.Contains(got, "parent=mark-of-a") {
			t.Errorf("the upstream's own cookies come back as %q", got)
		}
		for _, line := range res.Header.Values("Set-Cookie") {
			if strings.Contains(strings.ToLower(line), "domain=") {
				t.Errorf("an upstream sets %q", line)
			}
			name, _, _ := strings.Cut(line, "=")
			if name = strings.ToLower(name); name == "" || strings.HasPrefix(name, "__host-hux") || strings.HasPrefix(name, "hux") {
				t.Errorf("an upstream sets %q", line)
			}
		}
		if res.Header.Get("Clear-Site-Data") != "" || res.Header.Get("Strict-Transport-Security") != "" {
			t.Errorf("an upstream speaks for the host: %v", res.Header)
		}
		if one.cookie(t, chatURL, "__Host-hux_chat") != chat || one.cookie(t, consoleURL, "__Host-hux_console") != console {
			t.Error("an upstream changed a cookie of ours")
		}
		if other, _ := url.Parse("https://x.hux.test/"); len(one.jar.Cookies(other)) > 0 {
			t.Errorf("an upstream set a parent domain's cookie: %v", one.jar.Cookies(other))
		}

		// Bob in the same browser, without a sign-out between.
		if err := h.provider.EndSessions(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		one.signInTo(t, "bob")
		one.fetch(t, "GET", chatURL+"/api/sessions", "")
		one.fetch(t, "GET", chatURL+"/api/sessions", "", "Cookie: hermes_session=planted; __Host-hux_chat="+chat)
		for _, up := range []*upstream{a, b} {
			for _, s := range up.requests() {
				for _, secret := range []string{chat, console, one.cookie(t, chatURL, "__Host-hux_chat"), one.cookie(t, consoleURL, "__Host-hux_last"), one.cookie(t, chatURL, "__Host-hux_flow"), one.cookie(t, chatURL, "__Secure-hux_handover"), "planted"} {
					if secret != "" && strings.Contains(s.raw, secret) {
						t.Errorf("an upstream read a cookie of ours or an untagged one:\n%s", s.raw)
					}
				}
			}
		}
		for _, s := range b.requests() {
			if strings.Contains(s.raw, "mark-of-a") {
				t.Errorf("alice's cookie reached bob's upstream:\n%s", s.raw)
			}
		}
		if b.last(t).get("X-Hux-User") != h.user("bob") {
			t.Error("bob is not bob")
		}
	})
}

// signInTo signs in where the upstream's answer is no page.
func (b *browser) signInTo(t testing.TB, name string) {
	t.Helper()
	steps := b.follow(t, chatURL+"/", name)
	if end := steps[len(steps)-1]; end.Request.URL.String() != chatURL+"/" || end.StatusCode != 200 {
		t.Fatalf("signing in ends at %s with %d", end.Request.URL.Path, end.StatusCode)
	}
}

// A second user in one browser finds nothing of the first.
func TestAnotherUserClearsWhatTheBrowserKeeps(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t)}, {id: "b", up: newUpstream(t)}}})
	protocols(t, func(t *testing.T, proto string) {
		b := h.browser(t, proto)
		cleared := func(name string) map[string]bool {
			hosts := map[string]bool{}
			for _, a := range b.follow(t, chatURL+"/", name) {
				if v := a.Header.Get("Clear-Site-Data"); v != "" {
					hosts[a.Request.URL.Host] = true
					if strings.Contains(v, "cookies") || !strings.Contains(v, `"storage"`) || !strings.Contains(v, `"cache"`) {
						t.Errorf("Clear-Site-Data: %s", v)
					}
				}
			}
			if err := h.provider.EndSessions(t.Context(), name); err != nil {
				t.Fatal(err)
			}
			return hosts
		}
		if hosts := cleared("alice"); !hosts["chat.hux.test"] || !hosts["console.hux.test"] {
			t.Errorf("a sign-in after nobody knows whom clears %v", hosts)
		}
		if hosts := cleared("alice"); len(hosts) > 0 {
			t.Errorf("signing in again clears %v", hosts)
		}
		if hosts := cleared("bob"); !hosts["chat.hux.test"] || !hosts["console.hux.test"] {
			t.Errorf("another's sign-in clears %v", hosts)
		}
	})
}
