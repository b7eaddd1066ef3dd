package blackbox_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/demo/provider"
)

// Fifty people sign in for the first time at once, for ten slots, and
// the router dies and comes back in the middle.
func TestSlotAssignment(t *testing.T) {
	t.Parallel()
	const people, slots = 50, 10
	s := setup{config: map[string]any{"listen": freeAddr(t), "metrics_listen": freeAddr(t)}}
	for i := range people {
		name := fmt.Sprintf("person-%02d", i)
		s.people = append(s.people, provider.Person{Name: name, Subject: "subject-" + rand.Text(), FullName: "Full Name " + rand.Text()})
	}
	ups := map[string]*upstream{}
	for i := range slots {
		id := fmt.Sprintf("slot-%d", i)
		ups[id] = newUpstream(t)
		s.slots = append(s.slots, slot{id: id, up: ups[id]})
	}
	h := start(t, s)
	metrics := s.config["metrics_listen"].(string)

	settled := make(chan struct{}, people)
	proto := func(i int) string { return []string{"h1", "h2"}[i%2] }
	browsers, answers := make([]*browser, people), make([]*answer, people)
	var wg sync.WaitGroup
	for i := range people {
		wg.Go(func() {
			deadline := time.Now().Add(30 * time.Second)
			for time.Now().Before(deadline) {
				b := h.browser(t, proto(i))
				steps, err := b.walk(t, chatURL+"/", fmt.Sprintf("person-%02d", i))
				if err != nil || len(steps) == 0 {
					continue // the router is away
				}
				end := steps[len(steps)-1]
				if end.Request.URL.String() == chatURL+"/" && (end.StatusCode == http.StatusOK || end.StatusCode == http.StatusServiceUnavailable) {
					browsers[i], answers[i] = b, end
					settled <- struct{}{}
					return
				}
			}
			settled <- struct{}{}
		})
	}
	for range 8 {
		<-settled
	}
	h.crash(t)
	h.launch(t)
	wg.Wait()

	holders, refused := map[string]string{}, 0
	for i := range people {
		if answers[i] == nil {
			t.Fatalf("person %d got no answer", i)
		}
		m := browsers[i].me(t, chatURL)
		if answers[i].StatusCode == http.StatusOK {
			if m.Tenant == nil {
				t.Errorf("person %d has a page and no tenant", i)
				continue
			}
			if other, taken := holders[m.Tenant.Slot]; taken {
				t.Errorf("slot %s is %s's and %s's", m.Tenant.Slot, other, m.User)
			}
			holders[m.Tenant.Slot] = m.User
			continue
		}
		refused++
		if m.Tenant != nil {
			t.Errorf("person %d was turned away and has %+v", i, m.Tenant)
		}
		page := answers[i]
		if !strings.Contains(page.Header.Get("Content-Type"), "text/html") || page.Header.Get("Retry-After") == "" {
			t.Fatalf("the page without a slot: %v\n%.500s", page.Header, page.body)
		}
		res := browsers[i].fetch(t, "GET", chatURL+"/api/sessions", "")
		res.want(t, 503, "no_slot")
		var problem struct{ User string }
		if err := json.Unmarshal([]byte(res.body), &problem); err != nil || res.Header.Get("Retry-After") == "" || problem.User != m.User { // the id is what an operator needs
			t.Errorf("no_slot for %s: %v %s", m.User, res.Header, res.body)
		}
		if m.SlotFree || !hux.User(m.User).Valid() {
			t.Errorf("person %d was turned away and is told %+v", i, m)
		}
	}
	if len(holders) != slots || refused != people-slots {
		t.Errorf("%d slots are taken and %d people turned away", len(holders), refused)
	}
	for id, up := range ups {
		users := map[string]bool{}
		for _, s := range up.requests() {
			users[s.get("X-Hux-User")] = true
		}
		if len(users) != 1 || !users[holders[id]] {
			t.Errorf("%s's upstream saw %v, its holder is %s", id, users, holders[id])
		}
	}
	if n := metric(t, metrics, "hux_slot_claims_total", `outcome="refused"`); n < people-slots {
		t.Errorf("hux_slot_claims_total counts %v refused", n)
	}
	if free, taken := metric(t, metrics, "hux_slots", `assignment="free"`), metric(t, metrics, "hux_slots", `assignment="assigned"`); free != 0 || taken != slots {
		t.Errorf("hux_slots: %v free, %v assigned", free, taken)
	}
	list, _, ok := h.run(t, "slots", "list")
	if !ok {
		t.Error("hux slots list fails")
	}
	for id, user := range holders {
		if !strings.Contains(list, id) || !strings.Contains(list, user) {
			t.Errorf("hux slots list lacks %s or %s:\n%s", id, user, list)
		}
	}
}

// ok runs a command and expects it to succeed, or to fail with a word.
func (h *router) command(t *testing.T, fails string, args ...string) string {
	t.Helper()
	stdout, stderr, ok := h.run(t, args...)
	switch {
	case fails == "" && !ok:
		t.Errorf("hux %s: %s", strings.Join(args, " "), stderr)
	case fails != "" && (ok || !strings.Contains(stderr, fails)):
		t.Errorf("hux %s: ok %v, %q does not say %q", strings.Join(args, " "), ok, stderr, fails)
	}
	if strings.Contains(stderr, "goroutine ") || strings.Contains(stderr, "DATA RACE") {
		t.Errorf("hux %s: %s", strings.Join(args, " "), stderr)
	}
	return stdout
}

// Operators move slots about, with a router running and without one.
func TestSlotsCommands(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running=%v", running), func(t *testing.T) {
			t.Parallel()
			h := start(t, setup{slots: []slot{{id: "one", up: newUpstream(t)}, {id: "two", up: newUpstream(t)}}})
			alice := h.signIn(t, "h2", "alice")
			old := alice.me(t, chatURL).Tenant
			if old == nil || old.Slot != "one" {
				t.Fatalf("alice has %+v", old)
			}
			during := func(f func()) {
				if !running {
					h.stop(t)
					defer h.launch(t)
				}
				f()
			}
			during(func() {
				for _, args := range [][]string{{"slots", "nonsense"}, {"slots", "assign", "one"}, {"agents", "create"}, {"nonsense"}} {
					if _, _, ok := h.run(t, args...); ok {
						t.Errorf("hux %v succeeds", args)
					}
				}
				h.command(t, "taken", "slots", "assign", "one", h.user("bob"))
				h.command(t, "usr_", "slots", "assign", "two", "bob")
				h.command(t, "no slot", "slots", "assign", "three", h.user("bob"))
				h.command(t, "", "slots", "assign", "--share", "one", h.user("bob"))
				if list := h.command(t, "", "slots", "list"); !strings.Contains(list, h.user("alice")+","+h.user("bob")) {
					t.Errorf("the list:\n%s", list)
				}
			})
			bob := h.signIn(t, "h1", "bob")
			if m := bob.me(t, chatURL); m.Tenant == nil || m.Tenant.ID != old.ID {
				t.Errorf("bob has %+v", m.Tenant)
			}
			during(func() { h.command(t, "", "slots", "remove", "one", h.user("bob")) })
			if bob.me(t, chatURL) != nil {
				t.Error("bob was taken out of the slot and is still signed in")
			}
			during(func() {
				h.command(t, "last member", "slots", "remove", "one", h.user("alice"))
				h.command(t, "", "slots", "free", "one")
				h.command(t, "wiped", "slots", "assign", "one", h.user("carol"))
				if list := h.command(t, "", "slots", "list"); strings.Contains(list, h.user("alice")) || !strings.Contains(list, "freed") {
					t.Errorf("the list:\n%s", list)
				}
			})
			if alice.me(t, chatURL) != nil {
				t.Error("alice's slot was freed and she is still signed in")
			}
			alice.signIn(t, "alice") // she gets nothing of her old self
			if m := alice.me(t, chatURL); m.Tenant == nil || m.Tenant.Slot != "two" || m.Tenant.ID == old.ID {
				t.Errorf("alice came back to %+v", m.Tenant)
			}
			carol := h.browser(t, "h2")
			if steps := carol.follow(t, chatURL+"/", "carol"); steps[len(steps)-1].StatusCode != http.StatusServiceUnavailable {
				t.Error("a freed slot was claimed before it was wiped")
			}
			during(func() { h.command(t, "", "slots", "free", "one", "--wiped") })
			carol.visit(t, chatURL+"/").want(t, 200, "")
			if m := carol.me(t, chatURL); m.Tenant == nil || m.Tenant.Slot != "one" || m.Tenant.ID == old.ID {
				t.Errorf("carol has %+v", m.Tenant)
			}
		})
	}
}

// An agent's credential opens the API and nothing that is for people.
func TestAgentsCommands(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprintf("running=%v", running), func(t *testing.T) {
			t.Parallel()
			up := newUpstream(t)
			h := start(t, setup{slots: []slot{{id: "one", up: up, members: []string{"alice"}}, {id: "free", up: newUpstream(t)}}})
			during := func(f func()) {
				if !running {
					h.stop(t)
					defer h.launch(t)
				}
				f()
			}
			credential := func(args ...string) string {
				c := strings.TrimSpace(h.command(t, "", args...))
				if !strings.HasPrefix(c, "hux_agt_") || strings.ContainsAny(c, " \n") {
					t.Fatalf("hux %v prints %q", args, c)
				}
				h.secrets.add("agent credential", c)
				h.secrets.add("agent secret", c[len("hux_agt_")+33:])
				return c
			}
			var first, second string
			during(func() {
				h.command(t, "Let the person open the chat once", "agents", "create", "free", "x")
				h.command(t, "no slot", "agents", "create", "none", "x")
				first = credential("agents", "create", "one", "the assistant")
			})
			id := first[len("hux_") : len("hux_agt_")+32]
			protocols(t, func(t *testing.T, proto string) {
				b := h.browser(t, proto)
				m := b.me(t, apiURL, bearer(first))
				if m == nil || m.Actor.Kind != "agent" || m.Actor.ID != id || m.User != "" || m.Tenant == nil || m.Tenant.Slot != "one" {
					t.Fatalf("the agent is %+v", m)
				}
				b.do(t, "GET", apiURL+"/hux/v1/capabilities", nil, bearer(first)).want(t, 200, "")
				up.forget()
				b.do(t, "GET", apiURL+"/api/sessions", nil, bearer(first)).want(t, 403, "human_required")
				b.do(t, "GET", chatURL+"/", nil, bearer(first)).want(t, 403, "human_required")
				b.do(t, "POST", apiURL+"/hux/api/sessions/end", strings.NewReader("{}"), bearer(first), "Content-Type: application/json").want(t, 403, "human_required")
				b.do(t, "GET", apiURL+"/hux/api/status", nil, bearer(first)).want(t, 403, "operator_required")
				b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(first+"A")).want(t, 401, "unauthenticated")
				up.untouched(t)
			})
			during(func() {
				if list := h.command(t, "", "agents", "list", "one"); !strings.Contains(list, id) || !strings.Contains(list, "the assistant") {
					t.Errorf("the list:\n%s", list)
				}
				second = credential("agents", "rotate", id)
			})
			b := h.browser(t, "h2")
			if b.me(t, apiURL, bearer(first)) != nil || b.me(t, apiURL, bearer(second)) == nil {
				t.Error("after the rotation the old credential works or the new one does not")
			}
			during(func() {
				h.command(t, "", "agents", "revoke", id)
				h.command(t, "no such agent", "agents", "rotate", id)
				if list := h.command(t, "", "agents", "list"); !strings.Contains(list, "revoked") {
					t.Errorf("the list:\n%s", list)
				}
			})
			if b.me(t, apiURL, bearer(second)) != nil {
				t.Error("a revoked credential works")
			}
		})
	}
}

// Roles come from the provider at each renewal, and a person who is gone there
// is gone here.
func TestRolesAndPeopleFollowTheProvider(t *testing.T) {
	t.Parallel()
	h := start(t, setup{access: 2 * time.Second, slots: []slot{{id: "a", up: newUpstream(t)}}})
	olga, alice := h.signIn2(t, "olga"), h.signIn(t, "h2", "alice")
	olga.fetch(t, "GET", consoleURL+"/hux/api/status", "").want(t, 200, "")
	alice.fetch(t, "GET", consoleURL+"/hux/api/status", "").want(t, 403, "operator_required")
	alice.visit(t, consoleURL+"/hux/api/ui/status").want(t, 403, "")
	if err := h.provider.SetRoles("olga"); err != nil {
		t.Fatal(err)
	}
	if err := h.provider.RemovePerson("alice"); err != nil {
		t.Fatal(err)
	}
	eventually(t, 6*time.Second, "olga is no operator any more", func() bool {
		return olga.fetch(t, "GET", consoleURL+"/hux/api/status", "").StatusCode == http.StatusForbidden
	})
	eventually(t, 6*time.Second, "alice is signed out", func() bool { return alice.me(t, chatURL) == nil })
	if olga.me(t, consoleURL) == nil {
		t.Error("olga lost her session with her role")
	}
}

// signIn2 signs in somebody for whom there may be no slot.
func (h *router) signIn2(t testing.TB, name string) *browser {
	t.Helper()
	b := h.browser(t, "h2")
	b.follow(t, chatURL+"/", name)
	if b.cookie(t, chatURL, "__Host-hux_c") == "" {
		t.Fatalf("%s is not signed in", name)
	}
	return b
}

// Ending one's sessions ends all of them, and what they have open.
func TestSessionsEnd(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	up.handle(streaming(make(chan string)))
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}, {id: "b", up: newUpstream(t)}}})
	protocols(t, func(t *testing.T, proto string) {
		one, two, bob := h.signIn(t, proto, "alice"), h.signIn(t, proto, "alice"), h.signIn(t, proto, "bob")
		_, lines := openStream(t, two)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		one.fetch(t, "POST", consoleURL+"/hux/api/sessions/end", "{}").want(t, 204, "")
		within(t, 3*time.Second, "the stream of another session ends", func() {
			for {
				if _, err := lines.ReadString('\n'); err != nil {
					return
				}
			}
		})
		if one.me(t, consoleURL) != nil || two.me(t, chatURL) != nil {
			t.Error("a session of alice's goes on")
		}
		if bob.me(t, chatURL) == nil {
			t.Error("bob was signed out too")
		}
	})
	// By bearer too, where the token is a person's.
	alice := h.signIn(t, "h2", "alice")
	if a := h.browser(t, "h2").do(t, "POST", apiURL+"/hux/api/sessions/end", strings.NewReader("{}"), bearer(h.token(t, "worker")), "Content-Type: application/json"); a.StatusCode != http.StatusForbidden {
		t.Errorf("a worker ends sessions: status %d", a.StatusCode)
	}
	h.browser(t, "h2").do(t, "POST", apiURL+"/hux/api/sessions/end", strings.NewReader("{}"), bearer(h.token(t, "alice")), "Content-Type: application/json").want(t, 204, "")
	if alice.me(t, chatURL) != nil {
		t.Error("alice is still signed in")
	}
}
