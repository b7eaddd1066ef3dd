package identity_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/identity"
)

func TestHandOverCode(t *testing.T) {
	rt := newRouter(t)
	const start = chatURL + "/hux/auth/start?next=/who"

	t.Run("of another browser", func(t *testing.T) {
		alice, mallory := rt.browser(), rt.browser()
		accept := alice.until(start, "/hux/auth/accept")
		mallory.until(start, "/hux/auth/sign-in") // has a flow cookie of its own
		stolen := mallory.cookies(accept, "hux_flow")
		code := alice.cookies(accept, "hux_handover")
		for name, headers := range map[string][]string{
			"no cookie of hers": nil, "her code": {"Cookie", code}, "her code, his flow": {"Cookie", code + "; " + stolen},
		} {
			a := mallory.get(accept, headers...)
			if a.StatusCode != 400 || a.Request.URL.String() != chatURL+"/hux/auth/failed" {
				t.Errorf("%s: %d at %s", name, a.StatusCode, a.Request.URL)
			}
			if got := mallory.status(chatURL + "/who"); got != 401 {
				t.Errorf("%s: mallory is in: %d", name, got)
			}
		}
		his := mustURL(mallory.until(start, "/hux/auth/accept")).Query().Get("flow")
		hers := alice.until(start, "/hux/auth/accept")
		_, code, _ = strings.Cut(alice.cookies(hers, "hux_handover"), "=")
		mallory.Jar.SetCookies(mustURL(chatURL+"/hux/auth/accept"), []*http.Cookie{{Name: "__Secure-hux_handover_" + his[:8], Value: code, Domain: "example.test", Path: "/hux/auth/accept", Secure: true}})
		if a := mallory.get(chatURL + "/hux/auth/accept?flow=" + his); a.StatusCode != 400 {
			t.Errorf("her code as his own: %d", a.StatusCode)
		}
		if a := alice.get(accept); a.StatusCode != 400 {
			t.Errorf("the code outlived the first look: %d", a.StatusCode)
		}
	})
	t.Run("nothing secret in a URL", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		flow := mustURL(accept).Query().Get("flow")
		for _, walked := range b.walked {
			for _, pair := range strings.Split(b.cookies(accept, ""), "; ") {
				if _, value, _ := strings.Cut(pair, "="); strings.Contains(walked, value) {
					t.Errorf("%s holds the cookie %s", walked, pair)
				}
			}
		}
		if accept != chatURL+"/hux/auth/accept?flow="+flow {
			t.Errorf("the hand-over is at %s", accept)
		}
	})
	t.Run("the cookie", func(t *testing.T) {
		b := rt.browser()
		b.follow = func(r *http.Request) bool { return r.URL.Path != "/hux/auth/accept" }
		sent := b.get(start)
		accept := sent.Header.Get("Location")
		b.follow = func(*http.Request) bool { return false }
		name := "__Secure-hux_handover_" + mustURL(accept).Query().Get("flow")[:8]
		for when, c := range map[string]struct {
			a    answer
			life int
		}{"on its way": {sent, 30}, "accepted": {b.get(accept), -1}} {
			found := false
			for _, set := range c.a.Cookies() {
				if set.Name != name {
					continue
				}
				found = true
				if !set.Secure || !set.HttpOnly || set.SameSite != http.SameSiteLaxMode || set.Domain != "example.test" || set.Path != "/hux/auth/accept" || set.MaxAge != c.life {
					t.Errorf("%s: %+v", when, set)
				}
			}
			if !found {
				t.Errorf("%s: no cookie %s", when, name)
			}
		}
		if left := b.cookies(accept, "hux_flow") + b.cookies(accept, "hux_handover"); left != "" {
			t.Errorf("left after it: %s", left)
		}
		if elsewhere := b.cookies(chatURL+"/", "hux_handover"); elsewhere != "" {
			t.Errorf("sent with every request: %s", elsewhere)
		}
	})
	t.Run("a cookie twice", func(t *testing.T) {
		for _, name := range []string{"hux_handover", "hux_flow"} {
			b := rt.browser()
			accept := b.until(start, "/hux/auth/accept")
			if got := b.get(accept, "Cookie", b.cookies(accept, name)).StatusCode; got != 400 { // beside the jar's
				t.Errorf("%s: %d", name, got)
			}
		}
	})
	t.Run("a flow cookie that came", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		again := b.until(start, "/hux/auth/accept")
		if accept == again {
			t.Error("it was kept")
		}
	})
	t.Run("twice", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		all := b.cookies(accept, "")
		if got := b.status(accept); got != 200 {
			t.Fatalf("once: %d", got)
		}
		if got := rt.browser().get(accept, "Cookie", all).StatusCode; got != 400 {
			t.Errorf("twice: %d", got)
		}
	})
	t.Run("expired", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		all := b.cookies(accept, "")
		rt.clock.Advance(31 * time.Second)
		if got := rt.browser().get(accept, "Cookie", all).StatusCode; got != 400 {
			t.Errorf("after 31 seconds: %d", got)
		}
	})
	t.Run("after a restart", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		rt.restart()
		if got := b.status(accept); got != 400 {
			t.Errorf("%d", got)
		}
		before := rt.idp.redemptions()
		b.signIn()
		if rt.idp.redemptions() != before {
			t.Error("beginning again went to the provider")
		}
	})
	t.Run("after the session", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		if err := rt.EndAll(t.Context(), rt.user("s-alice")); err != nil {
			t.Fatal(err)
		}
		if got := b.status(accept); got != 400 {
			t.Errorf("%d", got)
		}
	})
	t.Run("a damaged flow", func(t *testing.T) {
		for _, q := range []string{"?flow=x", "?flow=" + strings.Repeat("g", 64), "?flow=a&flow=b"} {
			if got := rt.browser().status(consoleURL + "/hux/auth/sign-in" + q); got != 400 {
				t.Errorf("%s: %d", q, got)
			}
		}
	})
}

// Two tabs sign in at once; both arrive.
func TestTwoTabs(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	one := b.until(chatURL+"/hux/auth/start?next=/who?tab=1", "/hux/auth/callback")
	two := b.until(chatURL+"/hux/auth/start?next=/who?tab=2", "/hux/auth/callback")
	for _, callback := range []string{two, one} {
		if a := b.get(callback); a.StatusCode != 200 || a.Request.URL.Path != "/who" {
			t.Errorf("%d at %s", a.StatusCode, a.Request.URL)
		}
	}
}

// Tabs that are opened all at once, each with a hand-over of its own.
func TestManyTabs(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	var accepts []string
	for range 20 {
		accepts = append(accepts, b.until(chatURL+"/hux/auth/start?next=/who", "/hux/auth/accept"))
	}
	for i, accept := range accepts {
		if got := b.status(accept); got != 200 {
			t.Errorf("tab %d: %d", i, got)
		}
	}
	for range 20 { // never to the end
		b.until(chatURL+"/hux/auth/start", "/hux/auth/sign-in")
	}
	if n := strings.Count(b.cookies(chatURL, "hux_flow"), "="); n > 16 {
		t.Errorf("%d flow cookies", n)
	}
}

func TestHandOversLimited(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	b.follow = func(*http.Request) bool { return false }
	last := answer{}
	for range 250 {
		if last = b.get(consoleURL + "/hux/auth/sign-in?next=/&flow=" + strings.Repeat("a", 64)); last.StatusCode != 302 {
			break
		}
	}
	if last.StatusCode != 429 || last.Header.Get("Retry-After") == "" {
		t.Errorf("250 hand-overs at once: %d", last.StatusCode)
	}
}

func TestOneOrigin(t *testing.T) {
	rt := newRouter(t, func(o *identity.Options) { o.PublicURL, o.ConsoleURL = o.ConsoleURL, nil })
	for _, start := range []string{"/hux/auth/start?next=/who", "/login?next=/who", "/session/login?next=/who"} {
		b := rt.browser()
		if a := b.get(consoleURL + start); a.StatusCode != 200 || a.Request.URL.String() != consoleURL+"/who" {
			t.Errorf("%s: %d at %s", start, a.StatusCode, a.Request.URL)
		}
		a := b.post(consoleURL+"/hux/auth/sign-out", nil, "Origin", consoleURL, "Sec-Fetch-Site", "same-origin")
		if a.Request.URL.String() != consoleURL+"/hux/api/ui/signed-out" || len(b.clears) != 2 { // at the first sign-in too: who was here before is not known
			t.Errorf("sign-out ended at %s, %v", a.Request.URL, b.clears)
		}
	}
}

func TestOpenRedirect(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	for _, next := range hostileNext {
		rt.clock.Advance(10 * time.Second) // for the rate limits
		for _, start := range []string{"/hux/auth/start", "/login", "/session/login"} {
			b := rt.browser()
			b.follow = func(r *http.Request) bool {
				return r.URL.Path != "/" && !strings.HasPrefix(r.URL.Path, "/who")
			}
			a := b.get(chatURL + start + "?next=" + url.QueryEscape(next))
			if loc := a.Header.Get("Location"); loc != chatURL+"/" {
				t.Errorf("%s %q: ended at %q", start, next, loc)
			}
		}
		// The console is asked directly, as anybody's link can.
		b := rt.browser()
		b.follow = func(r *http.Request) bool { return r.URL.Path != "/" }
		if a := b.get(consoleURL + "/hux/auth/sign-in?next=" + url.QueryEscape(next)); a.Header.Get("Location") != consoleURL+"/" {
			t.Errorf("console %q: ended at %q", next, a.Header.Get("Location"))
		}
	}
	b := rt.browser()
	if loc := b.until(chatURL+"/login?next="+url.QueryEscape("/ok/page?x=1"), "/ok/page"); loc != chatURL+"/ok/page?x=1" {
		t.Errorf("a good one went to %s", loc)
	}
}
