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
		a := mallory.get(accept)
		if a.StatusCode != 400 || a.Request.URL.String() != chatURL+"/hux/auth/failed" {
			t.Errorf("%d at %s", a.StatusCode, a.Request.URL)
		}
		if got := mallory.status(chatURL + "/who"); got != 401 {
			t.Errorf("mallory is in: %d", got)
		}
		if a := alice.get(accept); a.StatusCode != 400 {
			t.Errorf("the code outlived the first look: %d", a.StatusCode)
		}
	})
	t.Run("without a flow cookie", func(t *testing.T) {
		accept := rt.browser().until(start, "/hux/auth/accept")
		if a := rt.browser().get(accept); a.StatusCode != 400 || strings.Contains(a.Request.URL.String(), "code") {
			t.Errorf("%d at %s", a.StatusCode, a.Request.URL)
		}
	})
	t.Run("twice", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		if got := b.status(accept); got != 200 {
			t.Fatalf("once: %d", got)
		}
		if got := b.status(accept); got != 400 {
			t.Errorf("twice: %d", got)
		}
	})
	t.Run("expired", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		rt.clock.Advance(31 * time.Second)
		if got := b.status(accept); got != 400 {
			t.Errorf("after 31 seconds: %d", got)
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
	t.Run("for signing out", func(t *testing.T) {
		b := rt.browser()
		accept := b.until(start, "/hux/auth/accept")
		if a := b.get(strings.Replace(accept, "accept", "end", 1)); len(b.clears) != 0 {
			t.Errorf("%d %v", a.StatusCode, b.clears)
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

func TestAnotherUserClears(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	b.signIn()
	if len(b.clears) != 0 {
		t.Errorf("the same user again: %v", b.clears)
	}
	if err := rt.EndAll(t.Context(), rt.user("s-alice")); err != nil {
		t.Fatal(err)
	}
	rt.idp.set(func(p *idp) { p.subject = "s-bob" })
	b.signIn()
	want := []string{`console.example.test "cache", "storage"`, `chat.example.test "cache", "storage"`}
	if strings.Join(b.clears, "|") != strings.Join(want, "|") {
		t.Errorf("another user: %v", b.clears)
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
		if a.Request.URL.String() != consoleURL+"/hux/api/ui/signed-out" || len(b.clears) != 1 {
			t.Errorf("sign-out ended at %s, %v", a.Request.URL, b.clears)
		}
	}
}

// RTR-5.
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
