package identity_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

var sameOrigin = []string{"Origin", consoleURL, "Sec-Fetch-Site", "same-origin"}

func TestSignOutWalk(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	cookies := map[string][]*http.Cookie{}
	for _, u := range []string{chatURL, consoleURL} {
		cookies[u] = b.Jar.Cookies(mustURL(u))
	}
	b.clears = nil
	stream := b.stream(chatURL + "/stream")
	a := b.post(consoleURL+"/hux/auth/sign-out", nil, sameOrigin...)
	if a.Request.URL.String() != consoleURL+"/hux/api/ui/signed-out" {
		t.Errorf("ended at %s", a.Request.URL)
	}
	ends(t, stream)
	if len(b.walked) != 2 {
		t.Fatalf("walked %v", b.walked)
	}
	q := mustURL(b.walked[0]).Query()
	if !strings.HasPrefix(b.walked[0], rt.idp.issuer+"/logout?") || strings.Count(q.Get("id_token_hint"), ".") != 2 ||
		q.Get("client_id") != clientID || q.Get("post_logout_redirect_uri") != consoleURL+"/hux/api/ui/signed-out" {
		t.Errorf("the provider's sign-out is %s", b.walked[0])
	}
	want := `console.example.test "cache", "storage"|chat.example.test "cache", "storage"`
	if got := strings.Join(b.clears, "|"); got != want {
		t.Errorf("cleared %s", got)
	}
	for u, names := range map[string]string{chatURL: "__Host-hux_chat", consoleURL: "__Host-hux_console"} {
		for _, c := range b.Jar.Cookies(mustURL(u)) {
			if c.Name == names {
				t.Errorf("%s is still there", c.Name)
			}
		}
		thief := rt.browser()
		thief.Jar.SetCookies(mustURL(u), cookies[u])
		if got := thief.status(u + "/who"); got != 401 {
			t.Errorf("the old cookie at %s: %d", u, got)
		}
	}
}

// With the console's cookie gone, the chat's session is ended by the page that
// clears, and without scripts nobody says that it was.
func TestSignOutWithoutConsoleCookie(t *testing.T) {
	rt := newRouter(t)
	for _, idle := range []bool{false, true} {
		b := rt.browser()
		b.signIn()
		b.Jar.SetCookies(mustURL(consoleURL), []*http.Cookie{{Name: "__Host-hux_console", MaxAge: -1, Path: "/", Secure: true}})
		b.idle = idle
		a := b.post(consoleURL+"/hux/auth/sign-out", nil, sameOrigin...)
		if got := b.status(chatURL + "/who"); (got == 200) != idle {
			t.Errorf("without scripts %v: the chat answers %d", idle, got)
		}
		if c := a.clearing(); idle && (c == nil || c.Otherwise != consoleURL+"/hux/api/ui/signed-out?chat=unknown") {
			t.Errorf("told %s", a.body)
		}
	}
	// With it, the server has ended both.
	b := rt.browser()
	b.signIn()
	b.idle = true
	c := b.post(consoleURL+"/hux/auth/sign-out", nil, sameOrigin...).clearing()
	if c == nil || !c.Ending || c.Otherwise != c.Onward || b.status(chatURL+"/who") != 401 {
		t.Errorf("with both cookies: %+v", c)
	}
}

func TestSignOutRefused(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	if a := b.get(consoleURL + "/hux/auth/sign-out"); a.StatusCode != 405 || a.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d", a.StatusCode)
	}
	for name, headers := range map[string][]string{
		"neither header": nil,
		"chat":           {"Origin", chatURL, "Sec-Fetch-Site", "same-site"},
		"no origin":      {"Sec-Fetch-Site", "same-origin"},
		"null":           {"Origin", "null", "Sec-Fetch-Site", "same-origin"},
		"cross-site":     {"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"},
		"same-site":      {"Origin", consoleURL, "Sec-Fetch-Site", "same-site"},
		"look-alike":     {"Origin", consoleURL + ".evil.example"},
		"plain http":     {"Origin", "http://console.example.test"},
		"two":            {"Origin", consoleURL, "Origin", consoleURL},
	} {
		if a := b.post(consoleURL+"/hux/auth/sign-out", nil, headers...); a.StatusCode != 403 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	if a := b.post(chatURL+"/hux/auth/sign-out", nil, "Origin", chatURL, "Sec-Fetch-Site", "same-origin"); a.StatusCode != 404 {
		t.Errorf("on chat: %d", a.StatusCode)
	}
	if b.status(chatURL+"/who") != 200 || b.status(consoleURL+"/who") != 200 {
		t.Error("it signed out")
	}
}

func TestSignOutWithProviderDown(t *testing.T) {
	rt := newRouter(t)
	for _, when := range []string{"it was found before", "since the start"} {
		b := rt.browser()
		b.signIn()
		rt.idp.set(func(p *idp) { p.down = true })
		rt.clock.Advance(time.Minute) // that it answered just now counts no more
		if when == "since the start" {
			rt.restartUnfound()
		}
		a := b.post(consoleURL+"/hux/auth/sign-out", nil, sameOrigin...)
		if a.Request.URL.String() != consoleURL+"/hux/api/ui/signed-out?provider=unreachable" {
			t.Errorf("%s: ended at %s", when, a.Request.URL)
		}
		if b.status(chatURL+"/who") != 401 || b.status(consoleURL+"/who") != 401 {
			t.Errorf("%s: still signed in", when)
		}
		rt.idp.set(func(p *idp) { p.down = false })
	}
}

// OpenID Connect Back-Channel Logout 1.0.
func TestBackchannelLogout(t *testing.T) {
	rt := newRouter(t)
	send := func(token string) int {
		a := rt.browser().post(apiURL+"/hux/auth/backchannel", url.Values{"logout_token": {token}})
		if !strings.HasPrefix(a.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("Cache-Control %q", a.Header.Get("Cache-Control"))
		}
		return a.StatusCode
	}
	b := rt.browser()
	b.signIn()
	now := rt.clock.Now().Unix()
	sid := map[string]any{"sid": "sid-s-alice"}
	with := func(claims map[string]any) string {
		overlay(claims, sid)
		return rt.idp.logoutToken(nil, claims)
	}
	for name, token := range map[string]string{
		"nonce":          with(map[string]any{"nonce": "x"}),
		"audience":       with(map[string]any{"aud": "another"}),
		"issuer":         with(map[string]any{"iss": "https://evil.example"}),
		"old":            with(map[string]any{"iat": now - 200}),
		"future":         with(map[string]any{"iat": now + 60}),
		"expired":        with(map[string]any{"exp": now - 60}),
		"no jti":         with(map[string]any{"jti": nil}),
		"no event":       with(map[string]any{"events": map[string]any{}}),
		"null event":     with(map[string]any{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": nil}}),
		"nobody":         rt.idp.logoutToken(nil, nil),
		"access token":   rt.idp.token(nil, nil),
		"typ Bearer":     with(map[string]any{"typ": "Bearer"}),
		"at+jwt":         rt.idp.logoutToken(map[string]any{"typ": "at+jwt"}, sid),
		"alg none":       unsigned(map[string]any{"iss": rt.idp.issuer, "aud": clientID, "sid": "sid-s-alice", "jti": "j", "iat": now, "exp": now + 60}),
		"not a token":    "x",
		"nothing":        "",
		"bigger than ok": strings.Repeat("x", 70<<10),
	} {
		if got := send(token); got != 400 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Fatalf("a bad token ended the session: %d", got)
	}

	// Two sessions of one sid, one of another user.
	second, bob := rt.browser(), rt.browser()
	second.signIn()
	rt.idp.set(func(p *idp) { p.subject = "s-bob" })
	bob.signIn()
	streams := []<-chan struct{}{b.stream(chatURL + "/stream"), b.stream(consoleURL + "/stream"), second.stream(chatURL + "/stream")}
	token := with(map[string]any{"sub": "s-alice", "typ": "Logout"})
	if got := send(token); got != 200 {
		t.Fatalf("a good one: %d", got)
	}
	for _, s := range streams {
		ends(t, s)
	}
	if b.status(chatURL+"/who") != 401 || second.status(consoleURL+"/who") != 401 || bob.status(chatURL+"/who") != 200 {
		t.Error("the wrong sessions ended")
	}
	if got := send(token); got != 400 {
		t.Errorf("replayed: %d", got)
	}
	// A replay is known after a restart too, and is too old after that.
	rt.restart()
	if got := send(token); got != 400 {
		t.Errorf("replayed after a restart: %d", got)
	}
	rt.clock.Advance(3 * time.Minute)
	if got := send(token); got != 400 {
		t.Errorf("replayed later: %d", got)
	}
	// By subject, with the header that the specification asks for.
	if got := send(rt.idp.logoutToken(map[string]any{"typ": "logout+jwt"}, map[string]any{"sub": "s-bob"})); got != 200 || bob.status(chatURL+"/who") != 401 {
		t.Errorf("by subject: %d", got)
	}
	if got := rt.browser().get(apiURL + "/hux/auth/backchannel").StatusCode; got != 405 {
		t.Errorf("GET: %d", got)
	}
}
