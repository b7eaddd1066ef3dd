package identity_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/identity"
)

func TestSignInForBothSites(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.roles = []string{"hux-operator", "other"} })
	b := rt.browser()
	if got := b.status(chatURL + "/who"); got != 401 {
		t.Fatalf("signed out: %d", got)
	}
	a := b.signIn()
	user := identity.NewUserID(testKey, rt.idp.issuer, "s-alice")
	for _, want := range []string{string(user), "Alice Example", `"Roles":["hux-operator"]`, `"kind":"human"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%s is not in %s", want, a.body)
		}
	}
	if got := b.status(consoleURL + "/who"); got != 200 {
		t.Errorf("the console does not know the session: %d", got)
	}
	if got := b.status("https://api.example.test/who"); got != 401 {
		t.Errorf("a cookie counts on the API's host: %d", got)
	}
	for _, c := range b.Jar.Cookies(mustURL(chatURL)) {
		for _, d := range b.Jar.Cookies(mustURL(consoleURL)) {
			if strings.HasSuffix(c.Name, "chat") && strings.HasSuffix(d.Name, "console") && c.Value == d.Value {
				t.Error("both sites have one handle")
			}
		}
	}
	// A handle of one site is nothing on the other.
	for _, c := range b.Jar.Cookies(mustURL(consoleURL)) {
		other := rt.browser()
		for _, name := range []string{c.Name, "__Host-hux_chat"} {
			if a := other.get(chatURL+"/who", "Cookie", name+"="+c.Value); a.StatusCode != 401 {
				t.Errorf("%s of the console as %s on chat: %d", c.Name, name, a.StatusCode)
			}
		}
	}
	// The second time the console hands over without the provider.
	before := rt.idp.redemptions()
	b.signIn()
	if rt.idp.redemptions() != before {
		t.Error("a second sign-in went to the provider")
	}
	for _, secret := range []string{"s-alice", "Alice", string(user)} {
		if strings.Contains(rt.log.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}

func TestCookieAttributes(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	callback := b.until(consoleURL+"/hux/auth/sign-in?next=/who", "/hux/auth/callback")
	b.follow = func(*http.Request) bool { return false }
	a := b.get(callback)
	found := false
	for _, c := range a.Cookies() {
		if c.MaxAge < 0 {
			continue
		}
		found = found || c.Name == "__Host-hux_console"
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			t.Errorf("cookie %s: %+v", c.Name, c)
		}
	}
	if !found {
		t.Error("no session cookie")
	}
	if to := a.Header.Get("Location"); !strings.HasPrefix(to, consoleURL+"/hux/auth/sign-in?") || strings.Contains(to, "code") {
		t.Errorf("went to %q", to)
	}
}

// The state is checked before the code is redeemed.
func TestCallbackOfAnotherBrowser(t *testing.T) {
	rt := newRouter(t)
	mallory, alice := rt.browser(), rt.browser()
	callback := mallory.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback")
	alice.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback") // a flow of her own is under way
	before := rt.idp.redemptions()
	if a := alice.get(callback); a.StatusCode != 400 {
		t.Errorf("another browser's callback: %d", a.StatusCode)
	}
	for name, change := range map[string]func(url.Values){
		"no state":     func(q url.Values) { q.Del("state") },
		"other state":  func(q url.Values) { q.Set("state", "ABCDEFGHIJKLMNOPQRSTUVWXYZ") },
		"two states":   func(q url.Values) { q.Add("state", q.Get("state")) },
		"other issuer": func(q url.Values) { q.Set("iss", "https://evil.example") },
		"no issuer":    func(q url.Values) { q.Del("iss") },
	} {
		b := rt.browser()
		u := mustURL(b.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback"))
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		if a := b.get(u.String()); a.StatusCode != 400 {
			t.Errorf("%s: %d", name, a.StatusCode)
		}
	}
	if rt.idp.redemptions() != before {
		t.Errorf("%d codes were redeemed", rt.idp.redemptions()-before)
	}
}

func TestCallbackReplayed(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	callback := b.until(consoleURL+"/hux/auth/sign-in?next=/who", "/hux/auth/callback")
	cookies := b.Jar.Cookies(mustURL(consoleURL))
	if got := b.status(callback); got != 200 {
		t.Fatalf("the first time: %d", got)
	}
	if got := b.status(callback); got != 400 {
		t.Errorf("again: %d", got)
	}
	// With the old cookies too, it is the provider who refuses the code.
	other := rt.browser()
	other.Jar.SetCookies(mustURL(consoleURL), cookies)
	if got := other.status(callback); got != 400 {
		t.Errorf("again with the flow cookie: %d", got)
	}
}

// A provider that takes long to redeem a code is waited for, and a browser
// that is loaded again meanwhile waits for the same answer.
func TestCodeRedeemedLate(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	b := rt.browser()
	callback := b.until(consoleURL+"/hux/auth/sign-in?next=/who", "/hux/auth/callback")
	send := rt.idp.stall(t)
	impatient, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		r, _ := http.NewRequestWithContext(impatient, http.MethodGet, callback, nil)
		if resp, err := b.Do(r); err == nil {
			resp.Body.Close()
			t.Errorf("an answer before the provider's: %d", resp.StatusCode)
		}
	}()
	eventually(t, func() bool { return rt.idp.redemptions() == 1 })
	cancel()
	<-left
	arrived := make(chan int)
	go func() { arrived <- b.status(callback) }()
	select {
	case status := <-arrived:
		t.Fatalf("the browser is told %d before the provider has answered", status)
	case <-time.After(6 * time.Second): // longer than requests wait for a refresh
	}
	send()
	if got := <-arrived; got != 200 {
		t.Errorf("status %d", got)
	}
	if n := rt.idp.redemptions(); n != 1 {
		t.Errorf("the code was sent %d times", n)
	}
}

// A code that another browser got is of no use here: its verifier is there.
func TestCodeInjected(t *testing.T) {
	rt := newRouter(t)
	mallory, alice := rt.browser(), rt.browser()
	hers := mustURL(alice.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback"))
	his := mustURL(mallory.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback"))
	q := hers.Query()
	q.Set("code", his.Query().Get("code"))
	hers.RawQuery = q.Encode()
	if a := alice.get(hers.String()); a.StatusCode != 400 {
		t.Errorf("%d", a.StatusCode)
	}
}

func TestLongNext(t *testing.T) {
	rt := newRouter(t)
	for _, next := range []string{"/who?" + strings.Repeat("a", 1000), "/who?" + strings.Repeat("&", 1000)} {
		a := rt.browser().get(consoleURL + "/hux/auth/sign-in?next=" + url.QueryEscape(next))
		if a.StatusCode != 200 {
			t.Errorf("%d at %s", a.StatusCode, a.Request.URL.Path)
		}
	}
}

func TestRateLimitedByUser(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	last := 0
	for range 40 {
		if last = rt.browser().status(consoleURL + "/hux/auth/sign-in?next=/who"); last != 200 {
			break
		}
	}
	if last != 429 {
		t.Errorf("forty sign-ins of one user: %d", last)
	}
	rt.idp.set(func(p *idp) { p.subject = "s-bob" })
	rt.browser().signIn()
}

func TestFlowExpires(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	callback := b.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback")
	rt.clock.Advance(11 * 60e9)
	if got := b.status(callback); got != 400 {
		t.Errorf("after eleven minutes: %d", got)
	}
}

// What an ID token may not be.
func TestIDTokenRefused(t *testing.T) {
	rt := newRouter(t)
	for name, claims := range map[string]map[string]any{
		"nonce":           {"nonce": "another"},
		"no nonce":        {"nonce": nil},
		"no sub":          {"sub": nil},
		"empty sub":       {"sub": ""},
		"issuer":          {"iss": "https://other.example/realms/hux"},
		"audience":        {"aud": "another"},
		"azp":             {"azp": "another"},
		"two audiences":   {"aud": []string{clientID, "another"}, "azp": nil},
		"at_hash":         {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
		"expired":         {"exp": rt.clock.Now().Unix() - 120},
		"from the future": {"iat": rt.clock.Now().Unix() + 120},
	} {
		rt.idp.set(func(p *idp) { p.idClaims = claims })
		b := rt.browser()
		if a := b.get(consoleURL + "/hux/auth/sign-in?next=/who"); a.StatusCode != 401 || strings.Contains(a.body, "Roles") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
		}
		if len(b.Jar.Cookies(mustURL(consoleURL))) != 0 {
			t.Errorf("%s: it left a cookie", name)
		}
	}
}

// A subject that comes anew under the same name is another user.
func TestSubjectNeverReused(t *testing.T) {
	rt := newRouter(t)
	a := rt.browser().signIn().body
	rt.idp.set(func(p *idp) { p.subject = "s-alice-2" })
	if b := rt.browser().signIn().body; a == b || !strings.Contains(b, string(identity.NewUserID(testKey, rt.idp.issuer, "s-alice-2"))) {
		t.Errorf("the new subject is %s", b)
	}
}

func TestProviderSaysNo(t *testing.T) {
	rt := newRouter(t)
	for code, want := range map[string]int{"access_denied": 403, "server_error": 503, "invalid_scope": 503} {
		b := rt.browser()
		u := mustURL(b.until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback"))
		q := u.Query()
		q.Del("code")
		q.Set("error", code)
		q.Set("error_description", "<b>words</b>")
		u.RawQuery = q.Encode()
		if a := b.get(u.String()); a.StatusCode != want || strings.Contains(a.body, "words") {
			t.Errorf("%s: %d %s", code, a.StatusCode, a.body)
		}
	}
}

// An answer that only asks to begin anew is followed once, by itself.
func TestProviderAsksToBeginAnew(t *testing.T) {
	refuse := func(callback, code, description string) string {
		u := mustURL(callback)
		q := u.Query()
		q.Del("code")
		q.Set("error", code)
		q.Set("error_description", description)
		u.RawQuery = q.Encode()
		return u.String()
	}
	for _, c := range []struct {
		code, description string
		twice             int // the status if it comes again
	}{
		{"temporarily_unavailable", "authentication_expired", 400},
		{"temporarily_unavailable", "", 503},
		{"login_required", "", 400},
		{"interaction_required", "", 400},
		{"account_selection_required", "", 400},
		{"consent_required", "", 400},
	} {
		rt := newRouter(t)
		b := rt.browser()
		for _, next := range []string{"/who?one", "/who?two"} {
			callback := refuse(b.until(chatURL+"/hux/auth/start?next="+next, "/hux/auth/callback"), c.code, c.description)
			if a := b.get(callback); a.StatusCode != 200 || a.Request.URL.String() != chatURL+next {
				t.Errorf("%s: %d at %s", c.code, a.StatusCode, a.Request.URL)
			}
			b = rt.browser()
		}
		callback := refuse(b.until(chatURL+"/hux/auth/start?next=/who", "/hux/auth/callback"), c.code, c.description)
		again := refuse(b.until(callback, "/hux/auth/callback"), c.code, c.description)
		if a := b.get(again); a.StatusCode != c.twice {
			t.Errorf("%s twice: %d", c.code, a.StatusCode)
		}
		if got := rt.count("hux_sign_ins_total", "begun_anew"); got != 3 {
			t.Errorf("%s: begun anew %v times", c.code, got)
		}
		if got := rt.count("hux_sign_ins_total", "unavailable"); got != map[int]float64{400: 0, 503: 1}[c.twice] {
			t.Errorf("%s counts as an outage %v times", c.code, got)
		}
		// Another browser is not even sent to begin.
		stolen := refuse(rt.browser().until(consoleURL+"/hux/auth/sign-in", "/hux/auth/callback"), c.code, c.description)
		if got := rt.browser().status(stolen); got != 400 {
			t.Errorf("%s in another browser: %d", c.code, got)
		}
		// Whoever is asked again is asked again, though there is a session.
		b = rt.browser()
		b.signIn()
		fresh := refuse(b.until(consoleURL+"/hux/auth/sign-in?fresh=1&next=/who", "/hux/auth/callback"), c.code, c.description)
		if to := b.until(fresh, "/authorize"); !strings.Contains(to, "prompt=login") {
			t.Errorf("%s: sent to %s", c.code, to)
		}
	}
}

// However many tabs stand at the provider's form, whoever signs in in one of
// them gets to the page of each.
func TestManyTabsAtTheForm(t *testing.T) {
	for _, tabs := range []int{10, 30} {
		for _, order := range []string{"one after the other", "at once", "over night", "as Keycloak answers"} {
			rt := newRouter(t)
			b := rt.browser()
			page := func(i int) string { return fmt.Sprintf("%s/who?tab=%d", chatURL, i) }
			var callbacks []string
			for i := range tabs {
				callbacks = append(callbacks, b.until(fmt.Sprintf("%s/hux/auth/start?next=/who%%3Ftab=%d", chatURL, i), "/hux/auth/callback"))
			}
			if cookies := len(b.cookies(consoleURL, "")); cookies > 7000 {
				t.Errorf("%d tabs have %d bytes of cookies", tabs, cookies)
			}
			arrives := func(i int, resp *http.Response, err error) {
				if err != nil || resp.StatusCode != 200 || resp.Request.URL.String() != page(i) {
					t.Errorf("%s, tab %d of %d: %v %v", order, i+1, tabs, resp, err)
				}
			}
			if order == "over night" {
				rt.clock.Advance(9 * time.Hour)
				callbacks[tabs-1] = b.until(fmt.Sprintf("%s/hux/auth/start?next=/who%%3Ftab=%d", chatURL, tabs-1), "/hux/auth/callback")
			}
			last := b.get(callbacks[tabs-1])
			arrives(tabs-1, last.Response, nil)
			before := rt.idp.redemptions()
			var wg sync.WaitGroup
			for i, callback := range callbacks[:tabs-1] {
				reload := func() {
					resp, err := b.Get(callback)
					arrives(i, resp, err)
				}
				switch order {
				case "at once":
					wg.Go(reload)
				case "as Keycloak answers":
					u := mustURL(callback)
					q := u.Query()
					q.Del("code")
					q.Set("error", "temporarily_unavailable")
					q.Set("error_description", "authentication_expired")
					u.RawQuery = q.Encode()
					callback = u.String()
					reload()
				default:
					reload()
				}
			}
			wg.Wait()
			if order != "at once" && order != "one after the other" && rt.idp.redemptions() != before {
				t.Errorf("%s: %d codes were redeemed", order, rt.idp.redemptions()-before)
			}
			if got := rt.count("hux_sessions_ended_total", "replaced"); got != 0 {
				t.Errorf("%s, %d tabs: %v sessions replaced each other", order, tabs, got)
			}
			if got := b.status(callbacks[0]); got != 400 { // each is good once
				t.Errorf("%s: a callback again: %d", order, got)
			}
			stranger := rt.browser()
			stranger.signIn()
			unused := b.until(consoleURL+"/hux/auth/sign-in?fresh=1", "/hux/auth/callback")
			if got := stranger.status(unused); got != 400 {
				t.Errorf("another browser's callback, signed in: %d", got)
			}
		}
	}
}

func TestProviderDownAtStart(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	rt.idp.set(func(p *idp) { p.down = true })
	rt.restartUnfound()
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Errorf("who is signed in does not go on: %d", got)
	}
	a := rt.browser().get(consoleURL + "/hux/auth/sign-in")
	if a.StatusCode != 503 || a.Header.Get("Retry-After") == "" || !strings.Contains(a.body, "sign_in_unavailable") {
		t.Errorf("sign-in: %d %v %s", a.StatusCode, a.Header, a.body)
	}
	rt.idp.set(func(p *idp) { p.down = false })
	rt.findProvider()
	rt.browser().signIn()
}

// Whoever comes while the provider is looked for waits for what is found.
func TestRequestsWaitForDiscovery(t *testing.T) {
	rt := newRouter(t)
	token := rt.idp.token(nil, nil)
	hold := make(chan struct{})
	rt.idp.set(func(p *idp) { p.holdFind = hold })
	rt.restartUnfound()
	answers := make(chan int)
	go func() { answers <- rt.browser().get(consoleURL + "/hux/auth/sign-in").StatusCode }()
	go func() { answers <- rt.browser().get(apiURL+"/who", "Authorization", "Bearer "+token).StatusCode }()
	select {
	case got := <-answers:
		t.Fatalf("answered with %d before the provider is found", got)
	case <-time.After(300 * time.Millisecond):
	}
	close(hold)
	for range 2 {
		if got := <-answers; got != 302 && got != 200 {
			t.Errorf("answered with %d", got)
		}
	}
}

// Whoever failed begins again where they were going.
func TestFailureLeadsBack(t *testing.T) {
	var again string
	rt := newRouter(t, func(o *identity.Options) {
		o.Fail = func(w http.ResponseWriter, r *http.Request, err error, page string) {
			again = page
			api.WriteError(w, r, err)
		}
	})
	for _, path := range []string{"/hux/auth/none", "/hux/auth/callback", "/hux/auth/sign-in?flow=damaged"} {
		if rt.browser().get(consoleURL + path); again != chatURL+"/" {
			t.Errorf("%s leads back to %q", path, again)
		}
	}
	for start, want := range map[string]string{
		chatURL + "/hux/auth/start?next=/session/x%3Fq=1": chatURL + "/session/x?q=1",
		consoleURL + "/hux/auth/start?next=/hux/api/ui/":  consoleURL + "/hux/api/ui/",
		chatURL + "/hux/auth/start?next=//evil.example/":  chatURL + "/",
	} {
		b := rt.browser()
		u := mustURL(b.until(start, "/hux/auth/callback"))
		q := u.Query()
		q.Del("code")
		q.Set("error", "access_denied")
		u.RawQuery = q.Encode()
		if b.get(u.String()); again != want {
			t.Errorf("cancelled, %s leads back to %q, want %q", start, again, want)
		}
	}
	rt.idp.set(func(p *idp) { p.down = true })
	rt.clock.Advance(time.Minute)
	if rt.browser().get(chatURL + "/hux/auth/start?next=/session/x"); again != chatURL+"/session/x" {
		t.Errorf("with the provider down, it leads back to %q", again)
	}
}

// Neither in a frame nor by a script that fetches does anybody sign in, or drop
// a sign-in under way.
func TestSignInIsInAWindow(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	for _, u := range []string{chatURL + "/hux/auth/start", consoleURL + "/hux/auth/sign-in", consoleURL + "/hux/auth/callback", chatURL + "/hux/auth/accept", chatURL + "/login"} {
		for _, dest := range []string{"iframe", "frame", "embed", "object"} {
			a := b.get(u, "Sec-Fetch-Dest", dest)
			if a.StatusCode != 403 || !strings.Contains(a.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
				t.Errorf("%s as %s: %d", u, dest, a.StatusCode)
			}
		}
		for _, mode := range []string{"no-cors", "cors"} {
			if a := b.get(u, "Sec-Fetch-Dest", "empty", "Sec-Fetch-Mode", mode); a.StatusCode != 403 {
				t.Errorf("%s fetched with %s: %d", u, mode, a.StatusCode)
			}
		}
	}
}

// The provider is reached at another URL than its own, and nothing is taken
// that does not name the public one.
func TestInternalURL(t *testing.T) {
	rt := newRouter(t, func(o *identity.Options) { o.InternalURL, o.Issuer = o.Issuer, publicIssuer })
	rt.browser().signIn()
	rt.idp.set(func(p *idp) {
		for _, host := range p.hosts {
			if host != "id.example.test" {
				t.Errorf("the provider was asked as %s", host)
			}
		}
	})
	rt.idp.set(func(p *idp) { p.idClaims = map[string]any{"iss": rt.idp.URL} })
	if a := rt.browser().get(consoleURL + "/hux/auth/sign-in?next=/who"); a.StatusCode != 401 {
		t.Errorf("a token that names the internal URL: %d", a.StatusCode)
	}
}

// A discovery document that names another issuer is not believed.
func TestIssuerToTheLetter(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.issuer += "/" })
	rt.restartUnfound()
	eventually(t, func() bool { return strings.Contains(rt.log.String(), "to the letter") })
	if got := rt.browser().status(consoleURL + "/hux/auth/sign-in"); got != 503 {
		t.Errorf("sign-in: %d", got)
	}
}

func TestRateLimitedByAddress(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.follow = func(*http.Request) bool { return false }
	limited := false
	for range 400 {
		if a := b.get(consoleURL + "/hux/auth/sign-in"); a.StatusCode == 429 {
			limited = a.Header.Get("Retry-After") != ""
			break
		}
	}
	if !limited {
		t.Error("400 sign-ins at once are not limited")
	}
}
