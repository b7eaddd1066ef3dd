package autonomy_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

const (
	write = `{"path":"a.go","content":"x"}`
	other = `{"path":"a.go","content":"y"}`
	shell = `{"command":"make test"}`
)

func (a answer) decision() string { return a.text("effect") + " " + a.text("reason") }

// What each choice grants is what was shown, and no more.
func TestChoicesGrantWhatWasShown(t *testing.T) {
	type step struct{ where, tool, args, want string }
	for choice, steps := range map[string][]step{
		"once":    {{"here", "terminal", shell, "ask matrix"}, {"here", "terminal", `{"command":"make test && make"}`, "ask matrix"}},
		"session": {{"here", "terminal", shell, "allow grant_allow"}, {"here", "terminal", `{"command":"make all"}`, "ask matrix"}, {"there", "terminal", shell, "ask matrix"}},
		"always":  {{"here", "terminal", shell, "allow grant_allow"}, {"there", "terminal", shell, "allow grant_allow"}, {"here", "terminal", `{"command":"make test","x":1}`, "ask matrix"}, {"here", "terminal", `{"command":"kubectl apply -f x"}`, "ask deploy_always_asks"}},
		"deny":    {{"here", "terminal", shell, "ask matrix"}},
	} {
		t.Run(choice, func(t *testing.T) {
			r := newRig(t)
			elsewhere := r.open("elsewhere")
			first := r.ask(r.id, "run-1", "call-0", "terminal", shell)
			if first.decision() != "ask matrix" {
				t.Fatalf("a command in ask_first: %s", first.body)
			}
			id := first.text("approval_id")
			decided := r.choose(id, choice)
			if decided.status != http.StatusOK || decided.text("status") != map[bool]string{true: "denied", false: "approved"}[choice == "deny"] {
				t.Fatalf("deciding: %d %s %s", decided.status, decided.code, decided.body)
			}
			if again := r.ask(r.id, "run-1", "call-0", "terminal", shell); again.text("approval_id") != id || again.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("the same call asks anew: %s", again.body)
			}
			for i, s := range steps {
				where := map[string]string{"here": r.id, "there": elsewhere}[s.where]
				got := r.ask(where, "run-"+s.where, fmt.Sprintf("call-%d", i+1), s.tool, s.args)
				if got.decision() != s.want {
					t.Errorf("then %s %s %s: %s, want %s", s.where, s.tool, s.args, got.decision(), s.want)
				}
			}
			told := len(r.events(r.id))
			if a := r.choose(id, choice); a.status != http.StatusOK || a.header.Get("ETag") != decided.header.Get("ETag") || len(r.events(r.id)) != told {
				t.Errorf("deciding so again: %d %s", a.status, a.code)
			}
			other := map[string]string{"deny": "once"}[choice]
			if other == "" {
				other = "deny"
			}
			if a := r.choose(id, other); a.code != hux.ApprovalAlreadyDecided || a.object["decision"] == nil {
				t.Errorf("deciding otherwise: %d %s", a.status, a.code)
			}
		})
	}
}

// A deploy is asked about whatever the level and the grants are, and offers
// once and deny alone.
func TestADeployIsAskedEachTime(t *testing.T) {
	r := newRig(t)
	if a := r.do(r.human, "PUT /policy", `{"level":"autonomous","level_expires_at":null,"budgets":[]}`, "If-None-Match: *"); a.status != http.StatusCreated {
		t.Fatalf("autonomous: %d %s", a.status, a.code)
	}
	if a := r.ask(r.id, "r", "c1", "terminal", shell); a.decision() != "allow matrix" {
		t.Errorf("a command in autonomous: %s", a.body)
	}
	for i := range 2 {
		a := r.ask(r.id, "r", fmt.Sprintf("d%d", i), "terminal", `{"command":"kubectl apply -f x"}`)
		if a.decision() != "ask deploy_always_asks" {
			t.Fatalf("a deploy: %s", a.body)
		}
		id := a.text("approval_id")
		for _, choice := range []string{"session", "always"} {
			if a := r.choose(id, choice); a.code != hux.ChoiceNotAllowed {
				t.Errorf("%s for a deploy: %d %s", choice, a.status, a.code)
			}
		}
		if a := r.choose(id, "once"); a.status != http.StatusOK {
			t.Errorf("once for a deploy: %d %s", a.status, a.code)
		}
	}
	if a := r.do(r.human, "POST /grants", `{"capability":"deploy","effect":"allow","duration":"always","match":{"tool":"terminal","target":"x"},"scope":{}}`); a.code != hux.DeployNotGrantable {
		t.Errorf("granting a deploy: %d %s", a.status, a.code)
	}
}

// What was seen is what runs: a decision is for one hash.
func TestADecisionIsForWhatWasShown(t *testing.T) {
	r := newRig(t)
	one := r.ask(r.id, "r", "c", "write_file", write)
	same := r.ask(r.id, "r", "c", "write_file", `{"content":"x","path":"a.go"}`)
	two := r.ask(r.id, "r", "c", "write_file", other)
	if one.text("evidence_hash") != same.text("evidence_hash") || one.text("approval_id") != same.text("approval_id") {
		t.Error("another order of members is another call")
	}
	if one.text("evidence_hash") == two.text("evidence_hash") || one.text("approval_id") == two.text("approval_id") {
		t.Error("other arguments are the same call")
	}
	body := fmt.Sprintf(`{"choice":"once","evidence_hash":%q}`, two.text("evidence_hash"))
	if a := r.do(r.human, "POST /approvals/{id} id="+one.text("approval_id"), body); a.code != hux.EvidenceMismatch {
		t.Errorf("a decision for another hash: %d %s", a.status, a.code)
	}
	if a := r.approval(one.text("approval_id")); a.text("status") != "pending" {
		t.Errorf("it moved: %s", a.body)
	}
}

// Many decide at once: the first counts; who wanted the same is told so, and all
// others that it was decided.
func TestTheFirstDecisionWins(t *testing.T) {
	r := newRig(t)
	id := r.ask(r.id, "r", "c", "terminal", shell).text("approval_id")
	hash := r.hash(id)
	var mu sync.Mutex
	count := map[string]int{} // choices that count, "" for one that came too late
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			a := r.do(r.human, "POST /approvals/{id} id="+id, fmt.Sprintf(`{"choice":%q,"evidence_hash":%q}`, []string{"once", "session", "deny"}[i%3], hash))
			mu.Lock()
			if choice := ""; a.status == http.StatusOK {
				choice, _ = a.object["decision"].(map[string]any)["choice"].(string)
				count[choice]++
			} else if a.code == hux.ApprovalAlreadyDecided {
				count[choice]++
			}
			mu.Unlock()
		})
	}
	wg.Wait()
	if late := count[""]; len(count) != 2 || late != 13 && late != 14 {
		t.Errorf("choices %v", count)
	}
	if n := strings.Count(strings.Join(r.events(r.id), "\n"), "approval.resolved"); n != 1 {
		t.Errorf("%d resolutions", n)
	}
}

// Nobody there: what would be asked expires at once. Somebody there who does
// not answer: it expires at its time, also over a restart, and the one who
// waits is told.
func TestApprovalsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.ask(r.id, "r", "c1", "terminal", shell).text("approval_id")
		waited := make(chan answer)
		go func() { waited <- r.do(r.agent, "GET /approvals/{id} id="+id+" wait=60", "") }()
		if a := <-waited; a.text("status") != "pending" {
			t.Errorf("after a minute: %s", a.body)
		}
		time.Sleep(2 * time.Minute)
		id2 := r.ask(r.id, "r", "c2", "terminal", shell).text("approval_id") // alice looked at the first two minutes ago
		if a := r.approval(id2); a.text("status") != "expired" {
			t.Errorf("with nobody there: %s", a.body)
		}
		go func() { waited <- r.do(r.agent, "GET /approvals/{id} id="+id+" wait=60", "") }()
		synctest.Wait()
		begin := time.Now()
		time.Sleep(50 * time.Second)
		go func() { waited <- r.do(r.agent, "GET /approvals/{id} id="+id+" wait=60", "") }()
		for range 2 {
			if a := <-waited; a.text("status") != "pending" && a.text("status") != "expired" {
				t.Errorf("waiting for the end: %s", a.body)
			}
		}
		if a := r.approval(id); a.text("status") != "expired" {
			t.Errorf("%v later: %s", time.Since(begin), a.body)
		}
		if a := r.choose(id, "once"); a.code != hux.ApprovalExpired {
			t.Errorf("deciding what has expired: %d %s", a.status, a.code)
		}

		r.there()
		id3 := r.ask(r.id, "r", "c3", "terminal", shell).text("approval_id")
		r.close()
		time.Sleep(time.Hour)
		r.start()
		synctest.Wait()
		if got := r.events(r.id); got[len(got)-1] != "approval.resolved failed" {
			t.Errorf("after a restart: %v", got)
		}
		if a := r.approval(id3); a.text("status") != "expired" {
			t.Errorf("after a restart: %s", a.body)
		}
	})
}

// A wait ends when the decision is there.
func TestAWaitEndsWithTheDecision(t *testing.T) {
	r := newRig(t)
	id := r.ask(r.id, "r", "c", "terminal", shell).text("approval_id")
	waited := make(chan answer)
	for range 8 {
		go func() { waited <- r.do(r.agent, "GET /approvals/{id} id="+id+" wait=60", "") }()
	}
	if a := r.choose(id, "deny"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.code)
	}
	for range 8 {
		if a := <-waited; a.text("status") != "denied" {
			t.Errorf("a waiter got %s", a.body)
		}
	}
}

// How long a wait is at most is what capabilities say, and asking for more is no
// fault.
func TestAWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.ask(r.id, "r", "c", "terminal", shell).text("approval_id")
		most := api.NewCapabilities(hux.Flags{}, nil, &api.Call{}).Limits["approval_wait_seconds"]
		for wait, want := range map[string]int64{"0": 0, "5": 5, "30": 30, "60": most, "61": most, "3600": most, strings.Repeat("9", 30): most} {
			begin := time.Now()
			a := r.do(r.agent, "GET /approvals/{id} id="+id+" wait="+wait, "")
			if got := int64(time.Since(begin).Seconds()); a.text("status") != "pending" || got != want {
				t.Errorf("wait=%s: %s after %d s, want %d", wait, a.text("status"), got, want)
			}
		}
		for _, wait := range []string{"", "-1", "1.5", "long", "-" + strings.Repeat("9", 30)} {
			if a := r.do(r.agent, "GET /approvals/{id} id="+id+" wait="+wait, ""); a.code != hux.BadRequest {
				t.Errorf("wait=%s: %d %s", wait, a.status, a.code)
			}
		}
	})
}

// A budget turns what is allowed into a question, and its day begins anew.
func TestBudgetsAreSpent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		put := `{"level":"autonomous","level_expires_at":null,"budgets":[{"kind":"tool_calls","limit":3,"window":"day"},{"kind":"network_calls","limit":1,"window":"run"},{"kind":"seconds","limit":10,"window":"day"}]}`
		if a := r.do(r.human, "PUT /policy scope=conversation:"+r.id, put, `If-Match: "conversation:`+r.id+`:0"`); a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.code)
		}
		steps := []struct{ run, call, tool, args, want string }{
			{"r1", "1", "read_file", `{"path":"a"}`, "allow matrix"},
			{"r1", "2", "web_search", `{"query":"a"}`, "allow matrix"},
			{"r1", "2", "web_search", `{"query":"a"}`, "allow matrix"}, // the same call spends nothing
			{"r1", "3", "web_search", `{"query":"b"}`, "ask budget_exhausted"},
			{"r2", "4", "web_search", `{"query":"b"}`, "allow matrix"}, // another run
			{"r2", "5", "write_file", write, "allow matrix"},
			{"r2", "6", "write_file", write, "ask budget_exhausted"},
			{"r2", "7", "read_file", `{"path":"a"}`, "allow matrix"}, // reading needs none
		}
		for _, s := range steps {
			if a := r.ask(r.id, s.run, s.call, s.tool, s.args); a.decision() != s.want {
				t.Errorf("%s of %s: %s, want %s", s.tool, s.run, a.decision(), s.want)
			}
		}
		time.Sleep(24 * time.Hour)
		r.there()
		if a := r.ask(r.id, "r3", "8", "write_file", write); a.decision() != "allow matrix" {
			t.Errorf("a day later: %s", a.body)
		}
		r.event(r.id, "tool.finished", "completed", "r3", `{"tool":"write_file","tool_call_id":"8","duration_ms":10500}`)
		if a := r.ask(r.id, "r3", "9", "write_file", write); a.decision() != "ask budget_exhausted" {
			t.Errorf("with the seconds spent: %s", a.body)
		}
		a := r.do(r.human, "GET /policy scope=conversation:"+r.id, "")
		if spent := fmt.Sprint(a.object["budgets"]); !strings.Contains(spent, "spent:1") || !strings.Contains(spent, "spent:11") {
			t.Errorf("what is spent: %s", a.body)
		}
	})
}

// A level may have an end, and a sign-in for a rise must be recent.
func TestLevels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		a := r.do(r.human, "GET /policy", "")
		if a.text("level") != "ask_first" || a.header.Get("ETag") != `"user:0"` {
			t.Errorf("the default: %s %v", a.body, a.header)
		}
		until := time.Now().Add(time.Hour).UTC().Format(hux.TimeFormat)
		first := r.do(r.human, "PUT /policy", fmt.Sprintf(`{"level":"autonomous","level_expires_at":%q,"budgets":[]}`, until), `If-Match: "user:0"`)
		if first.status != http.StatusCreated {
			t.Fatalf("%d %s", first.status, first.code)
		}
		if a := r.do(r.human, "PUT /policy", `{"level":"safe","level_expires_at":null,"budgets":[]}`, `If-Match: "user:0"`); a.code != hux.PreconditionFailed {
			t.Errorf("two first ones: %d %s", a.status, a.code)
		}
		if a := r.do(r.human, "PUT /policy", `{"level":"safe","level_expires_at":null,"budgets":[]}`, "If-None-Match: *"); a.code != hux.PreconditionFailed {
			t.Errorf("two first ones: %d %s", a.status, a.code)
		}
		if a := r.ask(r.id, "r", "1", "terminal", shell); a.decision() != "allow matrix" {
			t.Errorf("autonomous: %s", a.body)
		}
		time.Sleep(61 * time.Minute)
		r.there()
		if a := r.ask(r.id, "r", "2", "terminal", shell); a.decision() != "ask matrix" {
			t.Errorf("an hour later: %s", a.body)
		}
		if a := r.do(r.human, "PUT /policy", `{"level":"autonomous","level_expires_at":null,"budgets":[]}`, "If-Match: "+first.header.Get("ETag")); a.code != hux.RecentSignIn {
			t.Errorf("with a sign-in of an hour ago: %d %s", a.status, a.code)
		}
		r.event(r.id, "run.started", "started", "r", "{}")
		second := r.do(r.human, "PUT /policy", `{"level":"safe","level_expires_at":null,"budgets":[]}`, "If-Match: "+first.header.Get("ETag"))
		if second.status != http.StatusOK {
			t.Errorf("%d %s", second.status, second.code)
		}
		if a := r.ask(r.id, "r", "3", "web_search", `{"query":"a"}`); a.decision() != "deny matrix" {
			t.Errorf("the network in safe: %s", a.body)
		}
		got := r.events(r.id)
		if !slices.Contains(got, "policy.changed") || got[len(got)-1] != "approval.resolved failed" {
			t.Errorf("events %v", got)
		}
	})
}

// A deny by hand beats every grant; a revoked grant counts no more; grants end.
func TestGrantsCountUntilTheyEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.ask(r.id, "r", "1", "web_extract", `{"urls":["https://example.org/a"]}`).text("approval_id")
		if a := r.choose(id, "always"); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.code)
		}
		n := 1
		next := func() string {
			n++
			return r.ask(r.id, "r", fmt.Sprint(n), "web_extract", `{"urls":["https://example.org/a"]}`).decision()
		}
		if got := next(); got != "allow grant_allow" {
			t.Errorf("granted: %s", got)
		}
		deny := r.do(r.human, "POST /grants", `{"capability":"network","effect":"deny","duration":"always","match":{"tool":"web_extract"},"scope":{}}`)
		if deny.status != http.StatusCreated {
			t.Fatalf("%d %s", deny.status, deny.code)
		}
		if got := next(); got != "deny grant_deny" {
			t.Errorf("denied by hand: %s", got)
		}
		if a := r.do(r.human, "POST /grants/{id}/revoke id="+deny.text("id"), ""); a.text("state") != "revoked" {
			t.Errorf("revoking: %d %s", a.status, a.code)
		}
		if a := r.do(r.human, "POST /grants/{id}/revoke id="+deny.text("id"), ""); a.code != hux.InvalidTransition {
			t.Errorf("revoking again: %d %s", a.status, a.code)
		}
		if got := next(); got != "allow grant_allow" {
			t.Errorf("with the denial revoked: %s", got)
		}
		if list := r.do(r.human, "GET /grants state=active", ""); len(list.object["items"].([]any)) != 1 {
			t.Errorf("active grants: %s", list.body)
		}
		time.Sleep(31 * 24 * time.Hour)
		synctest.Wait()
		r.there()
		if got := next(); got != "ask matrix" {
			t.Errorf("a month later: %s", got)
		}
		if list := r.do(r.human, "GET /grants state=expired", ""); len(list.object["items"].([]any)) != 1 {
			t.Errorf("expired grants: %s", list.body)
		}
	})
}

// To stop is done when there is a receipt, and nothing of the run comes after.
func TestStop(t *testing.T) {
	effects := func(r *rig, run string) {
		r.event(r.id, "run.started", "started", run, "{}")
		r.event(r.id, "tool.started", "started", run, `{"tool":"read_file","tool_call_id":"0"}`)
		r.event(r.id, "tool.started", "started", run, `{"tool":"write_file","tool_call_id":"1"}`)
		r.event(r.id, "tool.finished", "completed", run, `{"tool":"write_file","tool_call_id":"1"}`)
		r.event(r.id, "tool.started", "started", run, `{"tool":"terminal","tool_call_id":"2"}`)
	}
	for name, c := range map[string]struct {
		stop    func(ctx context.Context, run string) error
		before  func(r *rig)
		after   func(r *rig)
		outcome string
		effects int
		late    bool // the receipt comes at the deadline
	}{
		"upstream says so":         {stop: func(context.Context, string) error { return nil }, outcome: "partially_stopped", effects: 2},
		"upstream can't":           {stop: func(context.Context, string) error { return errors.New("no") }, outcome: "failed_to_stop", effects: 2, late: true},
		"upstream does not say":    {stop: func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }, outcome: "failed_to_stop", effects: 2, late: true},
		"its events say so":        {stop: func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }, after: func(r *rig) { r.event(r.id, "run.finished", "cancelled", "run", "{}") }, outcome: "partially_stopped", effects: 2},
		"it had finished":          {before: func(r *rig) { r.event(r.id, "run.finished", "completed", "run", "{}") }, outcome: "completed_before_stop", effects: 2},
		"it finishes all the same": {stop: func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }, after: func(r *rig) { r.event(r.id, "run.finished", "completed", "run", "{}") }, outcome: "completed_before_stop", effects: 2},
		"the hook tells": {
			stop: func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }, outcome: "stopped", effects: 1,
			after: func(r *rig) {
				a := r.do(r.agent, "POST /receipts", `{"kind":"cancellation","conversation_id":"`+r.id+`","run_id":"run","outcome":"stopped","coverage":"full","side_effects":[{"evidence_ref":{"kind":"tool_call","id":"1","owner":"gateway"},"kind":"file","summary":"a.go was written","reversible":true,"reverted":true}]}`)
				if a.status != http.StatusCreated {
					r.t.Errorf("the hook's receipt: %d %s", a.status, a.code)
				}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.stopped = c.stop
				effects(r, "run")
				pending := r.ask(r.id, "run", "9", "terminal", shell).text("approval_id")
				if c.before != nil {
					c.before(r)
				}
				path := "/conversations/{id}/runs/{run_id}/cancel id=" + r.id + " run_id=run"
				a := r.do(r.human, "POST "+path, "")
				if done := c.before != nil; done != (a.status == http.StatusOK) || !done && (a.status != http.StatusAccepted || a.text("state") != "stopping" || a.object["receipt_id"] != nil) {
					t.Errorf("asking to stop: %d %s", a.status, a.body)
				}
				if a := r.approval(pending); a.text("status") != "cancelled" {
					t.Errorf("what it asks: %s", a.body)
				}
				if c.before == nil && c.stop != nil && c.late {
					if a := r.do(r.agent, "POST /decisions", `{"conversation_id":"`+r.id+`","run_id":"run","tool":"terminal","args":{},"tool_call_id":"10"}`); a.code != hux.RunEnded {
						t.Errorf("it goes on asking: %d %s", a.status, a.code)
					}
				}
				if c.after != nil {
					c.after(r)
				}
				synctest.Wait()
				if c.late {
					if a := r.do(r.human, "GET "+path, ""); a.text("state") != "stopping" {
						t.Errorf("before the deadline: %s", a.body)
					}
					time.Sleep(31 * time.Second)
					synctest.Wait()
				}
				a = r.do(r.human, "GET "+path, "")
				if a.text("state") != c.outcome || a.text("receipt_id") == "" {
					t.Fatalf("in the end: %s", a.body)
				}
				receipt := r.do(r.human, "GET /receipts/{id} id="+a.text("receipt_id"), "")
				if got, _ := receipt.object["side_effects"].([]any); len(got) != c.effects {
					t.Errorf("the receipt: %s", receipt.body)
				}
				if again := r.do(r.human, "POST "+path, ""); again.status != http.StatusOK || again.text("receipt_id") != a.text("receipt_id") {
					t.Errorf("stopping again: %s", again.body)
				}
				second := r.do(r.agent, "POST /receipts", `{"kind":"cancellation","conversation_id":"`+r.id+`","run_id":"run","outcome":"unknown","coverage":"partial","side_effects":[]}`)
				if second.status != http.StatusOK || second.text("id") != a.text("receipt_id") {
					t.Errorf("a second receipt: %d %s", second.status, second.body)
				}
				before := r.events(r.id)
				if got := before[len(before)-1]; !strings.HasPrefix(got, "run.receipt ") {
					t.Errorf("the last event is %s: %v", got, before)
				}
				for _, kind := range []string{"tool.started", "tool.finished", "message.committed"} {
					if a := r.event(r.id, kind, "started", "run", `{"tool_call_id":"77"}`); a.code != hux.RunEnded {
						t.Errorf("%s after the receipt: %d %s", kind, a.status, a.code)
					}
				}
				if a := r.event(r.id, "run.started", "started", "another", "{}"); a.status != http.StatusCreated {
					t.Errorf("another run: %d %s", a.status, a.code)
				}
				if list := r.do(r.human, "GET /receipts run_id=run", ""); len(list.object["items"].([]any)) != 1 {
					t.Errorf("receipts: %s", list.body)
				}
			})
		})
	}
}
