package blackbox_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// asksAs is what the hook of an agent asks about a call of a session's turn.
func (a *hooked) asksAs(t *testing.T, session, turn, call, tool, args string) asked {
	t.Helper()
	body := fmt.Sprintf(`{"session":{"system":"hermes_session","id":%q},"turn_id":%q,"tool_call_id":%q,"tool":%q,"args":%s}`, session, turn, call, tool, args)
	answer := a.call(t, "POST", "/decisions", body, newKey())
	answer.want(t, 200, "")
	var d asked
	answer.into(t, &d)
	return d
}

// kinds are those of a conversation's events, with their statuses.
func (c *caller) kinds(t *testing.T, conversation string) (kinds []string) {
	t.Helper()
	for _, e := range c.list(t, "/conversations/"+conversation+"/events?limit=200").Items {
		kinds = append(kinds, fmt.Sprint(e["kind"], " ", e["status"]))
	}
	return kinds
}

// told is the list of a conversation's events without the alarms, which come
// where a test has taken its time.
func (c *caller) told(t testing.TB, path string) listed {
	t.Helper()
	l := c.list(t, path)
	l.Items = slices.DeleteFunc(l.Items, func(e object) bool { return e["kind"] == "policy.bypassed" })
	return l
}

func times(kinds []string, kind string) (n int) {
	for _, k := range kinds {
		if k == kind {
			n++
		}
	}
	return n
}

const (
	bypassed = "policy.bypassed failed"
	stopping = "run.cancel_requested started"
)

// A call that ran though nothing had allowed it is an alarm wherever somebody
// looks, once a run, and stops the run; what was asked, blocked or told in
// another order is none.
func TestACallThatRanUnasked(t *testing.T) {
	t.Parallel()
	metrics := freeAddr(t)
	h := house(t, map[string]any{"metrics_listen": metrics})
	alice, bob, olga := h.person(t, "h2", "alice"), h.person(t, "h2", "bob"), h.person(t, "h2", "olga")
	agent := h.hooked(t, "h2", "a")
	alice.here(t)
	tell := func(session, turn, call, event, status string) {
		t.Helper()
		agent.deliver(t, webhook(map[string]any{"hook_event_name": event, "session_id": session}, map[string]any{"turn_id": turn, "tool_call_id": call, "status": status})).want(t, 204, "")
	}
	const quiet, loud, turn = "s.quiet", "s.loud", "turn.of.the.bypass"

	// What is in order, however it is told.
	for i, c := range []struct {
		choice string // "" where it is not asked about
		before bool   // a webhook comes before the question
		status string // "" where the end is not told
	}{
		{"once", false, "ok"}, {"once", true, "ok"}, {"once", true, "error"}, {"once", true, ""},
		{"deny", true, "blocked"}, {"deny", false, "blocked"}, {"deny", true, ""}, {"deny", true, "cancelled"}, {"", true, "blocked"}, {"", false, "blocked"},
	} {
		call := fmt.Sprintf("call.in.good.order.%d", i)
		if c.before {
			tell(quiet, turn, call, "pre_tool_call", "")
		}
		if c.choice != "" {
			alice.decides(t, agent.asksAs(t, quiet, turn, call, "terminal", makeTest).ApprovalID, c.choice).want(t, 200, "")
		}
		if c.status != "" {
			tell(quiet, turn, call, "post_tool_call", c.status)
		}
	}
	// What is not.
	tell(loud, turn, "call.that.nobody.asked", "post_tool_call", "ok")
	tell(loud, turn, "call.that.nobody.asked.2", "post_tool_call", "error")
	tell(loud, turn, "call.that.nobody.asked.3", "pre_tool_call", "")
	denied := agent.asksAs(t, loud, "another", "call.that.was.denied", "terminal", makeTest)
	alice.decides(t, denied.ApprovalID, "deny").want(t, 200, "")
	tell(loud, "another", "call.that.was.denied", "post_tool_call", "ok")

	id := alice.ofSession(t, loud)
	eventually(t, 20*time.Second, "the alarms", func() bool { return times(alice.kinds(t, id), bypassed) == 2 })
	if k := alice.kinds(t, id); times(k, stopping) != 2 {
		t.Errorf("the runs go on: %v", k)
	}
	if k := alice.kinds(t, alice.ofSession(t, quiet)); times(k, bypassed)+times(k, stopping) != 0 {
		t.Errorf("false alarms: %v", k)
	}
	refused := agent.call(t, "POST", "/decisions", fmt.Sprintf(`{"session":{"system":"hermes_session","id":%q},"turn_id":%q,"tool_call_id":"next","tool":"read_file","args":{"path":"a"}}`, loud, turn), newKey())
	refused.want(t, 409, "run_ended")
	status := olga.b.do(t, "GET", apiURL+"/hux/api/status", nil, olga.auth)
	if !strings.Contains(status.body, "slot a: a tool ran that nothing had allowed") || strings.Contains(status.body, "slot b: a tool ran") {
		t.Errorf("the status is %s", status.body)
	}
	if n := metric(t, metrics, "hux_policy_bypassed_total", `by="agent"`); n != 2 {
		t.Errorf("%v alarms were counted", n)
	}
	check := func() {
		t.Helper()
		eventually(t, 10*time.Second, "the alarms of alice", func() bool { return len(alarmsOf(t, alice)) == 2 })
		for _, a := range alarmsOf(t, alice) {
			if a["conversation_id"] != id || a["tool"] != "terminal" || a["stopped"] != true || a["by_agent"] != true {
				t.Errorf("an alarm is %v", a)
			}
		}
		if a := alarmsOf(t, bob); len(a) != 0 {
			t.Errorf("alice's alarms are shown to bob: %v", a)
		}
	}
	check()
	h.crash(t)
	h.relaunch(t)
	alice, bob = h.person(t, "h2", "alice"), h.person(t, "h2", "bob")
	check()
}

func alarmsOf(t *testing.T, c *caller) (alarms []object) {
	t.Helper()
	a := c.b.do(t, "GET", apiURL+"/hux/api/me", nil, c.auth)
	a.want(t, 200, "")
	for _, v := range a.object(t)["alarms"].([]any) {
		alarms = append(alarms, v.(map[string]any))
	}
	return alarms
}

// The judgement outlives a crash; with on_bypass: alarm nothing is stopped; and
// an agent that has no hook is told of, not stopped.
func TestAlarmsAlone(t *testing.T) {
	t.Parallel()
	h := house(t, map[string]any{"on_bypass": "alarm"})
	agent := h.hooked(t, "h1", "a")
	other := h.hooked(t, "h1", "b")
	agent.asksAs(t, "s.alarm", "turn.before", "call.before.it", "read_file", `{"path":"a"}`)
	agent.deliver(t, webhook(map[string]any{"session_id": "s.alarm"}, nil)).want(t, 204, "")
	other.deliver(t, webhook(map[string]any{"session_id": "s.other"}, nil)).want(t, 204, "")
	h.crash(t)
	h.relaunch(t)
	alice, bob := h.person(t, "h1", "alice"), h.person(t, "h1", "bob")
	for c, session := range map[*caller]string{alice: "s.alarm", bob: "s.other"} {
		id := c.ofSession(t, session)
		eventually(t, 20*time.Second, "the alarm of "+session, func() bool { return times(c.kinds(t, id), bypassed) == 1 })
		if k := c.kinds(t, id); times(k, stopping) != 0 {
			t.Errorf("%s is stopped: %v", session, k)
		}
	}
}

// A page that tells of tools while no hook asks is told of on the status page,
// in the metrics and to its person, until the hook asks.
func TestAHookThatIsNotAtWork(t *testing.T) {
	t.Parallel()
	metrics := freeAddr(t)
	h := house(t, map[string]any{"metrics_listen": metrics})
	alice, bob, olga, agent := h.person(t, "h1", "alice"), h.person(t, "h1", "bob"), h.person(t, "h1", "olga"), h.hooked(t, "h1", "a")
	id := alice.conversation(t)
	alice.post(t, id, `{"kind":"tool.finished","status":"completed","summary":"x","run_id":"r","data":{"tool":"terminal","tool_call_id":"call_of_the_page_1"}}`)
	since := func(c *caller) any {
		return c.b.do(t, "GET", apiURL+"/hux/api/me", nil, c.auth).object(t)["unasked_since"]
	}
	status := func() string { return olga.b.do(t, "GET", apiURL+"/hux/api/status", nil, olga.auth).body }
	eventually(t, 20*time.Second, "alice is told", func() bool { return since(alice) != nil })
	if since(bob) != nil || metric(t, metrics, "hux_slots_unasked") != 1 {
		t.Error("it is told of bob's slot, or not counted")
	}
	if s := status(); !strings.Contains(s, "slot a: tools run since") || !strings.Contains(s, "the hook of agent an assistant ("+agent.id+") is not at work") {
		t.Errorf("the status is %s", s)
	}
	if k := alice.kinds(t, id); times(k, bypassed) != 0 {
		t.Errorf("an alarm without a hook: %v", k)
	}
	agent.asksAs(t, "s.hook", "turn.1", "call.of.the.hook", "read_file", `{"path":"a"}`)
	if since(alice) != nil || metric(t, metrics, "hux_slots_unasked") != 0 || strings.Contains(status(), "tools run since") {
		t.Error("the hook asks, and is said not to")
	}
}

// What a person is asked is settled once its call has ended, and an answer that
// comes then allows nothing.
func TestAnAnswerThatComesTooLate(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, agent := h.person(t, proto, "alice"), h.hooked(t, proto, "a")
		alice.here(t)
		session := "s.late." + proto
		for _, choice := range []string{"once", "session", "always"} {
			call := "call.that.has.ended." + choice
			approval := agent.asksAs(t, session, "turn", call, "terminal", makeTest).ApprovalID
			body := fmt.Sprintf(`{"choice":%q,"evidence_hash":%q}`, choice, alice.approval(t, approval).Request.Evidence[0].Hash)
			agent.deliver(t, webhook(map[string]any{"session_id": session}, map[string]any{"turn_id": "turn", "tool_call_id": call, "status": "blocked"})).want(t, 204, "")
			if a := alice.approval(t, approval); a.Status != "cancelled" {
				t.Errorf("the call has ended, and the approval is %s", a.Status)
			}
			alice.call(t, "POST", "/approvals/"+approval, body).want(t, 409, "invalid_transition")
		}
		if l := alice.list(t, "/grants"); len(l.Items) != 0 {
			t.Errorf("granted: %v", l.Items)
		}
		for _, e := range alice.list(t, "/conversations/"+alice.ofSession(t, session)+"/events?limit=200").Items {
			if s := fmt.Sprint(e["summary"]); e["kind"] == "approval.resolved" && s != "Cancelled (the agent ended the call before anybody decided): terminal" {
				t.Errorf("the timeline says %s", s)
			}
		}
	})
}

// An operator sees when each way of an agent was used last, also after a
// restart.
func TestWhenAnAgentWasHeard(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	agent := h.hooked(t, "h1", "a")
	heard := func() (hook, events, webhook string) {
		t.Helper()
		for line := range strings.Lines(h.command(t, "", "agents", "list", "a")) {
			if f := strings.Split(line, "  "); strings.HasPrefix(line, agent.id) {
				var columns []string
				for _, s := range f {
					if s = strings.TrimSpace(s); s != "" {
						columns = append(columns, s)
					}
				}
				return columns[5], columns[6], columns[7]
			}
		}
		t.Fatal("the agent is not listed")
		return "", "", ""
	}
	if a, b, c := heard(); a != "-" || b != "-" || c != "-" {
		t.Errorf("before: %s, %s, %s", a, b, c)
	}
	agent.asksAs(t, "s.heard", "turn", "call.that.is.heard", "read_file", `{"path":"a"}`)
	now := time.Now().UTC()
	recent := func(s string) bool {
		at, err := time.Parse("2006-01-02 15:04", s)
		return err == nil && now.Sub(at) < 2*time.Minute
	}
	if a, b, c := heard(); !recent(a) || b != "-" || c != "-" {
		t.Errorf("after a question: %s, %s, %s", a, b, c)
	}
	agent.deliver(t, webhook(map[string]any{"session_id": "s.heard"}, nil)).want(t, 204, "")
	if _, b, c := heard(); b != "-" || !recent(c) {
		t.Errorf("after a webhook: %s, %s", b, c)
	}
	told := strings.ReplaceAll(*stdin("s.heard", "turn", "call.that.is.heard", "read_file", `{"path":"a"}`), "pre_tool_call", "post_tool_call")
	if p := startHook(t, agent.hookEnv(t), &told, "event"); p.says(t, 20*time.Second) != "allow" {
		t.Error(p.errors.String())
	}
	h.crash(t)
	h.relaunch(t)
	if a, b, c := heard(); !recent(a) || !recent(b) || !recent(c) {
		t.Errorf("after all, and a restart: %s, %s, %s", a, b, c)
	}
}

// The turn of a session is stopped at the WebUI though no page has told hux its
// name there.
func TestABypassStopsTheTurn(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice")
	alice, agent := h.person(t, "h1", "alice"), h.hooked(t, "h1", "a")
	alice.here(t)
	session, _ := u.chat("approve") // its turn waits
	other, _ := u.chat("approve")
	agent.asksAs(t, session, "turn.of.the.hook", "call.that.is.fine", "read_file", `{"path":"a"}`)
	agent.deliver(t, webhook(map[string]any{"session_id": session}, map[string]any{"turn_id": "turn.of.the.hook", "tool_call_id": "call.that.is.not"})).want(t, 204, "")
	under := func(session string) any {
		return u.ask("GET", "/api/session/status?session_id="+session, nil)["active_stream_id"]
	}
	eventually(t, 30*time.Second, "the turn ends there", func() bool { return under(session) == nil })
	if under(other) == nil {
		t.Error("another session's turn is stopped")
	}
	path := "/conversations/" + alice.ofSession(t, session) + "/runs/turn.of.the.hook/cancel"
	eventually(t, 30*time.Second, "the receipt", func() bool {
		state := alice.call(t, "GET", path, "").object(t)["state"]
		return state == "stopped" || state == "partially_stopped"
	})
}
