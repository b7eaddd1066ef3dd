package blackbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bstein.dev/hux/router/demo/provider"
)

// A name that comes back is another person.
func TestSubjectReuse(t *testing.T) {
	t.Parallel()
	old, next := newUpstream(t), newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "one", up: old}, {id: "two", up: next}}})
	alice := h.signIn(t, "h1", "alice")
	before := alice.me(t, chatURL)
	if before.Tenant == nil || before.Tenant.Slot != "one" {
		t.Fatalf("alice's slot is %+v", before.Tenant)
	}
	if err := h.provider.RemovePerson("alice"); err != nil {
		t.Fatal(err)
	}
	if err := h.provider.AddPerson(provider.Person{Name: "alice", FullName: "Alice Sentinel"}); err != nil {
		t.Fatal(err)
	}
	h.secrets.add("new subject of alice", h.provider.Subject("alice"))
	protocols(t, func(t *testing.T, proto string) {
		old.forget()
		again := h.signIn(t, proto, "alice")
		after := again.me(t, chatURL)
		if after.User == before.User || after.Tenant == nil || after.Tenant.Slot != "two" || after.Tenant.ID == before.Tenant.ID {
			t.Errorf("the new alice is %s in %+v, the old one %s in %+v", after.User, after.Tenant, before.User, before.Tenant)
		}
		old.untouched(t)
		for name, change := range map[string]func(map[string]any){
			"no sub":      func(c map[string]any) { delete(c, "sub") },
			"empty sub":   func(c map[string]any) { c["sub"] = "" },
			"sub of null": func(c map[string]any) { c["sub"] = nil },
			"a long sub":  func(c map[string]any) { c["sub"] = strings.Repeat("a", 256) },
			"a number":    func(c map[string]any) { c["sub"] = 42 },
		} {
			claims, err := h.provider.Claims("alice")
			if err != nil {
				t.Fatal(err)
			}
			change(claims)
			token, err := h.provider.Sign(nil, claims)
			if err != nil {
				t.Fatal(err)
			}
			again.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(token)).want(t, 401, "unauthenticated")
			_ = name
		}
	})
}

// Signing in fails while the provider is away, and nothing else does.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{down: true, slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	protocols(t, func(t *testing.T, proto string) {
		h.provider.SetDown(true)
		if a := h.browser(t, proto).do(t, "GET", chatURL+"/hux/readyz", nil); a.StatusCode != http.StatusOK {
			t.Errorf("not ready without the provider: %d", a.StatusCode)
		}
		if proto == "h1" { // it was never there
			b := h.browser(t, proto)
			steps := b.follow(t, chatURL+"/", "")
			end := steps[len(steps)-1]
			if end.StatusCode != http.StatusServiceUnavailable || end.Header.Get("Retry-After") == "" || !strings.Contains(end.Header.Get("Content-Type"), "text/html") {
				t.Errorf("signing in without a provider: %d %v", end.StatusCode, end.Header)
			}
			b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(h.token(t, "alice"))).want(t, 503, "sign_in_unavailable")
		}
		h.provider.SetDown(false)
		h.log.wait(t, `"sign-in provider found"`)
		alice := h.signIn(t, proto, "alice")
		alice.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(h.token(t, "alice"))).want(t, 200, "")
		h.provider.SetDown(true)
		if alice.me(t, chatURL) == nil {
			t.Error("alice is signed out because the provider is down")
		}
		alice.fetch(t, "GET", chatURL+"/api/sessions", "").want(t, 200, "")
		alice.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(h.token(t, "alice"))).want(t, 200, "") // the keys are known
		h.provider.SetDown(false)
	})
}

// A provider that accepts and says nothing makes nobody wait for the others.
func TestProviderSilent(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, config: map[string]any{"trusted_proxies": "127.0.0.0/8"}})
	var asked atomic.Int64
	signIn := func(t *testing.T) *answer { // each from an address of its own, so that no limit is met
		t.Helper()
		n := asked.Add(1)
		return h.browser(t, "h2").visit(t, consoleURL+"/hux/auth/sign-in?next=/", fmt.Sprintf("X-Forwarded-For: 198.51.%d.%d", n/250, n%250))
	}
	alice := h.signIn(t, "h2", "alice")
	talks := make(chan struct{})
	h.silent.Store(&talks)
	eventually(t, 15*time.Second, "the router has noticed", func() bool {
		return signIn(t).StatusCode == http.StatusServiceUnavailable
	})
	var wg sync.WaitGroup
	within(t, 8*time.Second, "twenty who want to sign in are told", func() {
		for range 20 {
			wg.Go(func() {
				if a := signIn(t); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
					t.Errorf("signing in: status %d", a.StatusCode)
				}
			})
		}
		wg.Wait()
	})
	if alice.me(t, chatURL) == nil {
		t.Error("alice is signed out because the provider is silent")
	}
	close(talks)
	h.silent.Store(nil)
	eventually(t, 5*time.Second, "signing in works again", func() bool {
		return signIn(t).StatusCode == http.StatusFound
	})
}

// A session outlives a restart, in both its cookies, and ends at its limits.
func TestSessionsOutliveARestart(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t)}}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		before := alice.me(t, chatURL)
		h.stop(t)
		h.launch(t)
		for _, site := range []string{chatURL, consoleURL} {
			if after := alice.me(t, site); after == nil || after.User != before.User || after.Tenant.ID != before.Tenant.ID {
				t.Errorf("after a restart %s says %+v", site, after)
			}
		}
	})
}
