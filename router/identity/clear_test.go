package identity_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Another user's sign-in waits until what the one before left is gone; so does
// one after somebody who is not known.
func TestAnotherUserClears(t *testing.T) {
	rt := newRouter(t)
	both := []string{`console.example.test "cache", "storage"`, `chat.example.test "cache", "storage"`}
	b := rt.browser()
	leave := func(change ...*http.Cookie) {
		t.Helper()
		for _, subject := range []string{"s-alice", "s-bob"} {
			if err := rt.EndAll(t.Context(), rt.user(subject)); err != nil {
				t.Fatal(err)
			}
		}
		b.Jar.SetCookies(mustURL(consoleURL), change)
		b.clears = nil
	}
	for _, step := range []struct {
		name, subject string
		change        []*http.Cookie
		clears        []string
	}{
		{"the first", "s-alice", nil, both},
		{"the same again", "s-alice", nil, nil},
		{"another", "s-bob", nil, both},
		{"the same, unknown", "s-bob", []*http.Cookie{{Name: "__Host-hux_last", MaxAge: -1, Path: "/", Secure: true}}, both},
		{"another, unknown", "s-alice", []*http.Cookie{{Name: "__Host-hux_last", MaxAge: -1, Path: "/", Secure: true}}, both},
		{"a mark that is none", "s-alice", []*http.Cookie{{Name: "__Host-hux_last", Value: "x", Path: "/", Secure: true}}, both},
	} {
		leave(step.change...)
		rt.idp.set(func(p *idp) { p.subject = step.subject })
		b.signIn()
		if !slices.Equal(b.clears, step.clears) {
			t.Errorf("%s: cleared %v", step.name, b.clears)
		}
	}
}

// Nothing but the request itself opens the way to the chat.
func TestChatWaitsForClearing(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.idle = true
	const start = chatURL + "/hux/auth/start?next=/who"
	page := b.get(start)
	first := page.clearing()
	if first == nil || first.Ending || first.Ticket == "" || first.Otherwise != "" || strings.Contains(page.Request.URL.String(), "code=") {
		t.Fatalf("at %s: %s", page.Request.URL, page.body)
	}
	for _, u := range []string{start, first.Onward, first.Onward + "&clear=later"} {
		if a := b.get(u); a.clearing() == nil {
			t.Errorf("%s leads to %s", u, a.Request.URL)
		}
	}
	mallory := rt.browser()
	mallory.signIn()
	for _, ticket := range []string{"", "x", first.Ticket + "x", first.Ticket[1:]} {
		b.clear(ticket)
		if a := b.get(first.Onward); a.clearing() == nil {
			t.Errorf("ticket %q leads to %s", ticket, a.Request.URL)
		}
	}
	// The console has no need of the chat host, and is not marked by going on.
	console := b.get(consoleURL + "/hux/auth/sign-in?next=/who").clearing()
	if console == nil || console.Otherwise == "" {
		t.Fatalf("the console: %+v", console)
	}
	if a := b.get(console.Otherwise); a.Request.URL.String() != consoleURL+"/who" || a.StatusCode != 200 {
		t.Errorf("the console without the chat: %d at %s", a.StatusCode, a.Request.URL)
	}
	if a := b.get(first.Onward); a.clearing() == nil {
		t.Errorf("the console's way opened that to the chat: %s", a.Request.URL)
	}
	if a := b.clear(first.Ticket); a.StatusCode != 204 {
		t.Errorf("clearing: %d %s", a.StatusCode, a.body)
	}
	if a := b.get(first.Onward); a.StatusCode != 200 || a.Request.URL.String() != chatURL+"/who" {
		t.Errorf("after it: %d at %s", a.StatusCode, a.Request.URL)
	}
}

// What is cleared takes its session along, but for the one it is done for.
func TestClearingEndsTheSession(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	b.Jar.SetCookies(mustURL(consoleURL), []*http.Cookie{{Name: "__Host-hux_last", MaxAge: -1, Path: "/", Secure: true}})
	rt.restart() // what was cleared is forgotten too
	before := rt.idp.redemptions()
	b.signIn()
	if rt.idp.redemptions() != before {
		t.Error("clearing for a session ended it")
	}
	stream := b.stream(chatURL + "/stream")
	if a := b.clear(""); a.StatusCode != 204 || a.Header.Get("Access-Control-Allow-Origin") != consoleURL || a.Header.Get("Access-Control-Allow-Credentials") != "true" {
		t.Errorf("%d %v", a.StatusCode, a.Header)
	}
	ends(t, stream)
	if b.status(consoleURL+"/who") != 401 || b.cookies(chatURL, "hux_chat") != "" {
		t.Error("the session goes on")
	}
}

func TestClearRefused(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	b.clears = nil
	for name, headers := range map[string][]string{
		"no headers":  {"Accept", "*/*"},
		"chat":        {"Origin", chatURL, "Sec-Fetch-Site", "same-origin"},
		"no origin":   {"Sec-Fetch-Site", "same-site"},
		"null":        {"Origin", "null", "Sec-Fetch-Site", "same-site"},
		"cross-site":  {"Origin", consoleURL, "Sec-Fetch-Site", "cross-site"},
		"another":     {"Origin", "https://other.example.test", "Sec-Fetch-Site", "same-site"},
		"plain http":  {"Origin", "http://console.example.test", "Sec-Fetch-Site", "cross-site"},
		"two origins": {"Origin", consoleURL, "Origin", consoleURL, "Sec-Fetch-Site", "same-site"},
	} {
		if a := b.clear("", headers...); a.StatusCode != 403 || a.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", name, a.StatusCode, a.Header)
		}
	}
	if a := b.get(chatURL+"/hux/auth/clear", "Origin", consoleURL, "Sec-Fetch-Site", "same-site"); a.StatusCode != 405 {
		t.Errorf("GET: %d", a.StatusCode)
	}
	if a := b.post(consoleURL+"/hux/auth/clear", url.Values{}, sameOrigin...); a.StatusCode != 404 {
		t.Errorf("on the console: %d", a.StatusCode)
	}
	if len(b.clears) != 0 || b.status(chatURL+"/who") != 200 {
		t.Errorf("it cleared %v", b.clears)
	}
}

func TestEveryAnswerIsOnItsOwn(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.follow = func(*http.Request) bool { return false }
	for _, u := range []string{
		chatURL + "/hux/auth/start", chatURL + "/hux/auth/accept", chatURL + "/hux/auth/failed", chatURL + "/hux/auth/none", chatURL + "/login",
		consoleURL + "/hux/auth/sign-in", consoleURL + "/hux/auth/callback", consoleURL + "/hux/auth/sign-out",
	} {
		if got := b.get(u).Header.Get("Cross-Origin-Opener-Policy"); got != "same-origin" {
			t.Errorf("%s: %q", u, got)
		}
	}
}
