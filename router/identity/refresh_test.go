package identity_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// count is a counter with one label.
func (rt *router) count(name, value string) float64 {
	rt.t.Helper()
	families, err := rt.registry.Gather()
	if err != nil {
		rt.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == name && m.GetLabel()[0].GetValue() == value {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func TestRefresh(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.roles = []string{"hux-operator"} })
	b := rt.browser()
	if a := b.signIn(); !strings.Contains(a.body, "hux-operator") {
		t.Fatalf("signed in as %s", a.body)
	}
	before := rt.idp.redemptions()
	b.status(chatURL + "/who")
	if rt.idp.redemptions() != before {
		t.Error("refreshed before it is due")
	}

	// A removed role is gone with the next token, and many requests at once
	// make one refresh.
	rt.idp.set(func(p *idp) { p.roles = nil })
	rt.clock.Advance(5 * time.Minute)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if a := b.Client; a != nil {
				resp, err := a.Get(chatURL + "/who")
				if err != nil || resp.StatusCode != 200 {
					t.Errorf("%v %v", resp, err)
					return
				}
				resp.Body.Close()
			}
		})
	}
	wg.Wait()
	if got := rt.idp.redemptions() - before; got != 1 {
		t.Errorf("%d refreshes", got)
	}
	if a := b.get(chatURL + "/who"); strings.Contains(a.body, "hux-operator") {
		t.Errorf("the role is still there: %s", a.body)
	}

	// The rotated refresh token is on disk.
	rt.restart()
	rt.clock.Advance(5 * time.Minute)
	if got := b.status(chatURL + "/who"); got != 200 || rt.count("hux_session_refreshes_total", "ok") != 1 {
		t.Errorf("after a restart: %d", got)
	}
}

func TestRefreshUnavailable(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.roles = []string{"hux-operator"} })
	b := rt.browser()
	b.signIn()
	for name, trouble := range map[string]func(*idp){
		"down":           func(p *idp) { p.down = true },
		"invalid_client": func(p *idp) { p.refuse = "invalid_client" },
		"slow_down":      func(p *idp) { p.refuse = "temporarily_unavailable" },
	} {
		rt.idp.set(trouble)
		rt.clock.Advance(5 * time.Minute)
		before := rt.count("hux_session_refreshes_total", "unavailable")
		for range 3 {
			if a := b.get(chatURL + "/who"); a.StatusCode != 200 || !strings.Contains(a.body, "hux-operator") {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
			}
		}
		if got := rt.count("hux_session_refreshes_total", "unavailable") - before; got != 1 {
			t.Errorf("%s: %v attempts within the back-off", name, got)
		}
		rt.idp.set(func(p *idp) { p.down, p.refuse = false, "" })
		rt.clock.Advance(16 * time.Second)
		ok := rt.count("hux_session_refreshes_total", "ok")
		if b.status(chatURL+"/who") != 200 || rt.count("hux_session_refreshes_total", "ok") != ok+1 {
			t.Errorf("%s: not mended after the back-off", name)
		}
	}
}

// stall has the token endpoint make its answers and not send them until the
// returned function is called.
func (p *idp) stall(t *testing.T) (send func()) {
	hold := make(chan struct{})
	p.set(func(p *idp) { p.hold = hold })
	send = sync.OnceFunc(func() {
		p.set(func(p *idp) { p.hold = nil })
		close(hold)
	})
	t.Cleanup(send)
	return send
}

// A refresh token is good once, and so the answer that has the next one is
// waited for, while requests go on.
func TestRefreshAnsweredLate(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"in time", "at shutdown"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			rt := newRouter(t)
			b := rt.browser()
			b.signIn()
			send := rt.idp.stall(t)
			rt.clock.Advance(5 * time.Minute)
			began := time.Now()
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if resp, err := b.Get(chatURL + "/who"); err != nil || resp.StatusCode != 200 {
						t.Errorf("while the provider is slow: %v %v", resp, err)
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); took > 7*time.Second {
				t.Errorf("requests waited for %v", took)
			}
			began = time.Now()
			if got := b.status(chatURL + "/who"); got != 200 || time.Since(began) > 3*time.Second {
				t.Errorf("the next request: status %d after %v", got, time.Since(began))
			}
			if end == "in time" {
				send()
				eventually(t, func() bool { return rt.count("hux_session_refreshes_total", "ok") == 1 })
			} else {
				closed := make(chan struct{})
				go func() { rt.close(); close(closed) }()
				send()
				<-closed
				rt.open()
				rt.findProvider()
			}
			// The token that the late answer brought is the one in use, on disk too.
			rt.clock.Advance(5 * time.Minute)
			if got := b.status(chatURL + "/who"); got != 200 || rt.count("hux_session_refreshes_total", "ok") == 0 {
				t.Errorf("the next refresh: status %d", got)
			}
			rt.restart()
			rt.clock.Advance(5 * time.Minute)
			if got := b.status(chatURL + "/who"); got != 200 || rt.count("hux_session_refreshes_total", "ok") != 1 {
				t.Errorf("the refresh after a restart: status %d", got)
			}
		})
	}
}

// A provider that never answers holds a shutdown up for a few seconds at most.
func TestRefreshNeverAnswered(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	rt.idp.stall(t)
	rt.clock.Advance(5 * time.Minute)
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Errorf("status %d", got)
	}
	began := time.Now()
	rt.close()
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
}

// Who signs in again while a refresh is under way keeps what that brought, not
// what the refresh does.
func TestRefreshOvertaken(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	send := rt.idp.stall(t)
	rt.clock.Advance(5 * time.Minute)
	if got := b.status(consoleURL + "/who"); got != 200 {
		t.Fatalf("status %d", got)
	}
	rt.idp.set(func(p *idp) { p.hold = nil })
	if got := b.status(consoleURL + "/hux/auth/sign-in?fresh=1&next=/who"); got != 200 {
		t.Fatalf("signing in again: status %d", got)
	}
	rt.idp.set(func(p *idp) { // what the first refresh was answered with is not to be used
		for token := range p.refresh {
			if token != p.newest {
				delete(p.refresh, token)
			}
		}
	})
	send()
	rt.restart()
	rt.clock.Advance(5 * time.Minute)
	if got := b.status(consoleURL + "/who"); got != 200 || rt.count("hux_session_refreshes_total", "refused") != 0 {
		t.Errorf("the next refresh: status %d", got)
	}
}

func TestRefreshRefused(t *testing.T) {
	for name, trouble := range map[string]func(*idp){
		"invalid_grant": func(p *idp) { p.refuse = "invalid_grant" },
		"other user":    func(p *idp) { p.idClaims = map[string]any{"sub": "s-bob"} },
	} {
		t.Run(name, func(t *testing.T) {
			rt := newRouter(t)
			b := rt.browser()
			b.signIn()
			stream := b.stream(chatURL + "/stream")
			rt.idp.set(trouble)
			rt.clock.Advance(5 * time.Minute)
			if got := b.status(chatURL + "/who"); got != 401 {
				t.Errorf("%d", got)
			}
			ends(t, stream)
			if rt.count("hux_sessions_ended_total", "refresh_refused") != 1 {
				t.Error("it is not counted")
			}
		})
	}
}

func TestRolesOfUserinfo(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.opaque, p.roles = true, []string{"hux-worker", "x"} })
	if a := rt.browser().signIn(); !strings.Contains(a.body, `"Roles":["hux-worker"]`) || !strings.Contains(a.body, `"kind":"worker"`) {
		t.Error(a.body)
	}
	// A token that is not the provider's says nothing.
	rt.idp.set(func(p *idp) {
		p.opaque, p.roles = false, nil
		p.atClaims = map[string]any{"iss": "https://evil.example", "realm_access": map[string]any{"roles": []string{"hux-operator"}}}
	})
	if a := rt.browser().signIn(); strings.Contains(a.body, "hux-operator") {
		t.Error(a.body)
	}
}

func TestMetricsNameNobody(t *testing.T) {
	rt := newRouter(t)
	rt.browser().signIn()
	problems, err := testutil.GatherAndLint(rt.registry)
	if err != nil || len(problems) != 0 {
		t.Error(problems, err)
	}
}
