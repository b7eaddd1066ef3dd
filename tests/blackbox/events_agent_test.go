package blackbox_test

import (
	"strconv"
	"strings"
	"sync"
	"testing"
)

// What an agent says, and where: a key on every write, a surface of its own,
// its own tenant, and no second report of what is known.
func TestAgents(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, agent, other := h.person(t, proto, "alice"), h.agent(t, proto, "a"), h.agent(t, proto, "b")
		id := alice.conversation(t)
		path := "/conversations/" + id + "/events"
		agent.call(t, "POST", path, note("x")).want(t, 400, "idempotency_key_required")
		agent.call(t, "PATCH", "/conversations/"+id, `{"title":"x"}`, `If-Match: "`+id+`:1"`).want(t, 400, "idempotency_key_required")
		for surface, status := range map[string]int{"chat": 201, "worker": 201, "telegram": 201, "voice": 201, "": 403, "console": 403, "Chat": 403} {
			a := agent.call(t, "POST", path, note("x"), newKey(), "HUX-Surface: "+surface, "HUX-Session: s:1", "HUX-Run: r."+proto)
			if a.StatusCode != status {
				t.Errorf("an agent on %q: %d %s", surface, a.StatusCode, a.body)
			}
			if status != 201 {
				a.want(t, 403, "surface_forbidden")
				continue
			}
			var e struct {
				Provenance struct {
					Surface   string
					Actor     struct{ Kind, ID string }
					SessionID string `json:"session_id"`
					RunID     string `json:"run_id"`
				}
				By string `json:"reported_by"`
			}
			a.into(t, &e)
			p := e.Provenance
			if p.Surface != surface || p.Actor.Kind != "agent" || !strings.HasPrefix(p.Actor.ID, "agt_") || p.SessionID != "s:1" || p.RunID != "r."+proto || e.By != "" {
				t.Errorf("on %s: %s", surface, a.body)
			}
		}
		for _, surface := range []string{"worker", "telegram", "voice", "x"} {
			alice.call(t, "POST", path, note("x"), "HUX-Surface: "+surface).want(t, 403, "surface_forbidden")
		}
		agent.call(t, "POST", path, note("x"), newKey(), "HUX-Surface: chat", "HUX-Surface: voice").want(t, 403, "surface_forbidden")
		for _, bad := range []string{"HUX-Run: a b", "HUX-Session: ", "HUX-Run: " + strings.Repeat("r", 129), "HUX-Session: <x>", "HUX-Run: ghp_" + strings.Repeat("x1", 18)} {
			agent.call(t, "POST", path, note("x"), newKey(), bad).want(t, 400, "bad_identity")
		}

		report := func(kind, call string) string {
			return `{"kind":"` + kind + `","summary":"x","data":{"tool_call_id":"` + call + `"}}`
		}
		for i, order := range [][]*caller{{agent, alice}, {alice, agent}, {alice, alice}, {agent, agent}} {
			call := "call." + strconv.Itoa(i)
			before := len(alice.told(t, path+"?limit=200").Items)
			first, second := newKey(), newKey()
			one := order[0].call(t, "POST", path, report("tool.started", call), first)
			one.want(t, 201, "")
			two := order[1].call(t, "POST", path, report("tool.started", call), second)
			two.want(t, 201, "")
			if one.body != two.body || one.Header.Get("Idempotency-Replayed") != "" || two.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("order %d: %s\n%s", i, one.body, two.body)
			}
			order[1].call(t, "POST", path, note("another"), second).want(t, 422, "idempotency_key_reused")
			third := order[1].call(t, "POST", path, report("tool.finished", call), newKey())
			third.want(t, 201, "")
			if head := len(alice.told(t, path+"?limit=200").Items); head != before+2 {
				t.Errorf("order %d: %d events, want 2", i, head-before)
			}
			if by, _ := one.object(t)["reported_by"].(string); (by == "page") != (order[0] == alice) {
				t.Errorf("order %d: reported by %q", i, by)
			}
		}
		var wg sync.WaitGroup
		before := len(alice.told(t, path+"?limit=200").Items)
		for i := range 20 {
			wg.Go(func() {
				[]*caller{alice, agent}[i%2].call(t, "POST", path, report("tool.started", "at once"), newKey()).want(t, 201, "")
			})
		}
		wg.Wait()
		if head := len(alice.told(t, path+"?limit=200").Items); head != before+1 {
			t.Errorf("twenty reports of one call at once: %d events", head-before)
		}

		theirs, own := other.call(t, "GET", path, ""), other.call(t, "GET", "/conversations/cnv_0123456789ab7def8123456789abcdef/events", "")
		if theirs.StatusCode != 404 || theirs.plainBody() != own.plainBody() {
			t.Errorf("another tenant's agent: %d %s", theirs.StatusCode, theirs.body)
		}
		other.call(t, "POST", path, note("x"), newKey()).want(t, 404, "not_found")
		a := agent.call(t, "POST", "/conversations", `{"external_ref":{"system":"hermes_session","id":"s1"}}`, newKey())
		a.want(t, map[string]int{"h1": 201, "h2": 200}[proto], "")
		if o := a.object(t); o["owner"] != h.user("alice") {
			t.Errorf("an agent's conversation is %v's", o["owner"])
		}
		again := alice.call(t, "POST", "/conversations", `{"external_ref":{"system":"hermes_session","id":"s1"}}`)
		again.want(t, 200, "")
		if a.object(t)["id"] != again.object(t)["id"] || strings.Contains(again.body, `"s1"`) {
			t.Errorf("one session has two conversations: %s", again.body)
		}
		if b := other.call(t, "POST", "/conversations", `{"external_ref":{"system":"hermes_session","id":"s1"}}`, newKey()); b.object(t)["id"] == a.object(t)["id"] {
			t.Error("two tenants share a conversation")
		}
	})
	worker := h.person(t, "h1", "worker")
	worker.call(t, "GET", "/conversations", "").want(t, 404, "not_found")
}

// A run and a message are of the conversation that names them first; in another
// one of the same tenant they are refused, and another tenant's are its own.
func TestRunsAndMessagesBelongToOneConversation(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, bob, agent := h.person(t, proto, "alice"), h.person(t, proto, "bob"), h.agent(t, proto, "a")
		first, second := "/conversations/"+alice.conversation(t)+"/events", "/conversations/"+alice.conversation(t)+"/events"
		run := `{"kind":"tool.started","summary":"x","run_id":"run.` + proto + `"}`
		agent.call(t, "POST", first, run, newKey()).want(t, 201, "")
		agent.call(t, "POST", first, run, newKey()).want(t, 201, "")
		agent.call(t, "POST", second, run, newKey()).want(t, 422, "unknown_reference")
		alice.call(t, "POST", second, run).want(t, 422, "unknown_reference")
		agent.call(t, "POST", second, note("x"), newKey(), "HUX-Run: run."+proto).want(t, 422, "unknown_reference")
		agent.call(t, "POST", second, note("x"), newKey(), "HUX-Run: other."+proto).want(t, 201, "")
		agent.call(t, "POST", first, note("x"), newKey(), "HUX-Run: other."+proto).want(t, 422, "unknown_reference")

		message := `{"kind":"message.committed","summary":"x","data":{"message_id":"s.` + proto + `.1"}}`
		one := agent.call(t, "POST", first, message, newKey())
		one.want(t, 201, "")
		again := alice.call(t, "POST", first, message)
		again.want(t, 201, "")
		if one.body != again.body {
			t.Errorf("one message is two events: %s\n%s", one.body, again.body)
		}
		agent.call(t, "POST", second, message, newKey()).want(t, 422, "unknown_reference")
		bob.call(t, "POST", "/conversations/"+bob.conversation(t)+"/events", message).want(t, 201, "")
		if l := alice.list(t, second); len(l.Items) != 1 {
			t.Errorf("what was refused is there: %v", l.Items)
		}
	})
}
