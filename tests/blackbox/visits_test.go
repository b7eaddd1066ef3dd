package blackbox_test

import (
	"net/http"
	"strings"
	"testing"
)

// request is one that a browser or a program sends.
type request struct {
	name, method, path string
	header             []string
}

// refused reports whether it is the rules that refuse it.
func (c request) refused() bool {
	return strings.Contains(c.name, "denied") || c.name == "an unknown path"
}

// unvisited are requests of a person that are no visit of theirs.
var unvisited = []request{
	{"an XHR", "GET", "/api/sessions", []string{"Accept: */*", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Sec-Fetch-Site: same-origin"}},
	{"an XHR of the page", "GET", "/", []string{"Accept: text/html", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Sec-Fetch-Site: same-origin"}},
	{"an EventSource", "GET", "/api/sessions/events", []string{"Accept: text/event-stream", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}},
	{"an EventSource over plain HTTP", "GET", "/", []string{"Accept: text/event-stream"}},
	{"HEAD", "HEAD", "/", navigation},
	{"the service worker", "GET", "/sw.js", []string{"Accept: */*", "Service-Worker: script", "Sec-Fetch-Mode: same-origin", "Sec-Fetch-Dest: serviceworker"}},
	{"a frame", "GET", "/", []string{"Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}},
	{"a picture", "GET", "/", []string{"Accept: image/*", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}},
	{"prerender", "GET", "/", append([]string{"Sec-Purpose: prefetch;prerender"}, navigation...)},
	{"prefetch", "GET", "/session/x", append([]string{"Sec-Purpose: prefetch"}, navigation...)},
	{"prefetch without metadata", "GET", "/", []string{"Accept: text/html", "Purpose: prefetch"}},
	{"a preview", "GET", "/", []string{"Accept: text/html", "X-Purpose: preview"}},
	{"prefetch of old", "GET", "/", []string{"Accept: text/html", "X-Moz: prefetch"}},
	{"the health path", "GET", "/health", navigation},
	{"a program", "GET", "/", []string{"Accept: */*"}},
	{"a denied path", "GET", "/api/terminal/output", navigation},
	{"an unknown path", "GET", "/nothing/here", navigation},
	{"a denied query", "GET", "/?all_profiles=1", navigation},
	{"a form", "POST", "/", []string{"Accept: text/html", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: same-origin", "Origin: " + chatURL}},
}

// Nothing but a person's visit begins a sign-in.
func TestNothingButAVisitBeginsASignIn(t *testing.T) {
	t.Parallel()
	h := start(t, setup{})
	protocols(t, func(t *testing.T, proto string) {
		for _, c := range unvisited {
			want := http.StatusUnauthorized
			switch {
			case c.name == "the health path":
				continue // a person who goes there may sign in
			case c.refused():
				want = http.StatusForbidden
			}
			a := h.browser(t, proto).do(t, c.method, chatURL+c.path, nil, c.header...)
			if a.StatusCode != want || len(a.Cookies()) > 0 {
				t.Errorf("%s: status %d, cookies %v", c.name, a.StatusCode, a.Cookies())
			}
		}
		for _, path := range []string{chatURL + "/hux/auth/start?next=/", chatURL + "/login", consoleURL + "/hux/auth/sign-in?next=/", consoleURL + "/hux/auth/callback", chatURL + "/hux/auth/accept"} {
			for _, purpose := range []string{"Sec-Purpose: prefetch;prerender", "Purpose: prefetch"} {
				if a := h.browser(t, proto).visit(t, path, purpose); a.StatusCode != http.StatusForbidden || len(a.Cookies()) > 0 {
					t.Errorf("%s with %s: status %d, cookies %v", path, purpose, a.StatusCode, a.Cookies())
				}
			}
		}
		for name, header := range map[string][]string{"a browser": navigation, "one over plain HTTP, or of old": {"Accept: text/html,*/*"}} {
			if a := h.browser(t, proto).do(t, "GET", chatURL+"/", nil, header...); a.StatusCode != http.StatusFound {
				t.Errorf("%s: status %d", name, a.StatusCode)
			}
		}
	})
}

// Nothing but a person's visit claims a slot of the pool.
func TestNothingButAVisitClaimsASlot(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "pool", up: up}}})
	b := h.browser(t, "h2")
	b.follow(t, consoleURL+"/hux/api/ui/", "alice") // the console claims none
	b.visit(t, chatURL+"/hux/auth/start?next=/sw.js")
	steps := b.follow(t, chatURL+"/hux/auth/start?next=/sw.js", "")
	if end := steps[len(steps)-1]; end.StatusCode != http.StatusServiceUnavailable || !strings.Contains(end.body, "no chat yet") || strings.Contains(end.body, "data-waiting") {
		t.Errorf("a page that is none of the chat's: status %d\n%.600s", end.StatusCode, end.body)
	}
	unclaimed := func(what string) {
		t.Helper()
		if m := b.me(t, chatURL); m == nil || m.Tenant != nil || !m.SlotFree {
			t.Fatalf("%s claims a slot: %+v", what, m)
		}
	}
	unclaimed("signing in")
	for _, c := range unvisited {
		a := b.do(t, c.method, chatURL+c.path, nil, c.header...)
		unclaimed(c.name)
		switch {
		case c.refused(): // the rules come first
			if a.StatusCode != http.StatusForbidden {
				t.Errorf("%s: status %d", c.name, a.StatusCode)
			}
		case a.StatusCode != http.StatusServiceUnavailable && a.StatusCode != http.StatusMethodNotAllowed:
			t.Errorf("%s: status %d", c.name, a.StatusCode)
		}
	}
	told := b.fetch(t, "GET", chatURL+"/api/sessions", "")
	told.want(t, 503, "no_slot")
	if !strings.Contains(told.body, "Open "+chatURL+"/ in a browser") || told.Header.Get("Retry-After") != "" {
		t.Errorf("a script is told %v %s", told.Header, told.body)
	}
	token := bearer(h.token(t, "alice"))
	b.fetch(t, "GET", consoleURL+"/hux/v1/conversations", "").want(t, 503, "no_slot")
	b.do(t, "GET", apiURL+"/hux/v1/conversations", nil, token).want(t, 503, "no_slot")
	b.do(t, "POST", apiURL+"/hux/v1/conversations", strings.NewReader("{}"), token, "Content-Type: application/json").want(t, 503, "no_slot")
	h.browser(t, "h2").do(t, "GET", chatURL+"/", nil, append([]string{token}, navigation...)...)
	h.browser(t, "h2").do(t, "GET", apiURL+"/", nil, token).want(t, 503, "no_slot")
	unclaimed("a call of the API")
	up.untouched(t)

	if a := b.visit(t, chatURL+"/session/x"); a.StatusCode != http.StatusOK {
		t.Errorf("the first visit: status %d", a.StatusCode)
	}
	if m := b.me(t, chatURL); m.Tenant == nil || m.Tenant.Slot != "pool" {
		t.Errorf("the first visit claims %+v", m.Tenant)
	}
	b.fetch(t, "GET", chatURL+"/api/sessions", "").want(t, 200, "")
	b.do(t, "GET", apiURL+"/hux/v1/conversations", nil, token).want(t, 200, "")
}
