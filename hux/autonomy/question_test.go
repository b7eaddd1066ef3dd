package autonomy_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

const autonomous = `{"level":"autonomous","level_expires_at":null,"budgets":[{"kind":"tool_calls","limit":2,"window":"day"}]}`

// An allowance stands for a retry, spends once, and stands against no denial
// and no stricter level of now; after a minute it is decided anew.
func TestAnAllowanceStandsForARetryAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := r.do(r.human, "PUT /policy", autonomous, "If-None-Match: *")
		ask := func(call string) answer { return r.ask(r.id, "r", call, "terminal", shell) }
		for range 3 {
			if a := ask("1"); a.decision() != "allow matrix" {
				t.Fatalf("a retry: %s", a.body)
			}
		}
		time.Sleep(61 * time.Second)
		r.there()
		for range 2 {
			if a := ask("1"); a.decision() != "allow matrix" {
				t.Fatalf("a minute later: %s", a.body)
			}
		}
		time.Sleep(61 * time.Second)
		r.there()
		if a := ask("1"); a.decision() != "ask budget_exhausted" {
			t.Fatalf("the third time: %s", a.body)
		}

		p = r.do(r.human, "PUT /policy", `{"level":"autonomous","level_expires_at":null,"budgets":[]}`, "If-Match: "+p.header.Get("ETag"))
		if a := ask("2"); a.decision() != "allow matrix" {
			t.Fatalf("without a budget: %s", a.body)
		}
		p = r.do(r.human, "PUT /policy", `{"level":"ask_first","level_expires_at":null,"budgets":[]}`, "If-Match: "+p.header.Get("ETag"))
		if a := ask("2"); a.decision() != "ask matrix" {
			t.Errorf("at a stricter level: %d %s", p.status, a.body)
		}
		r.do(r.human, "POST /grants", `{"capability":"execute","effect":"deny","duration":"always","match":{"tool":"terminal"}}`)
		if a := ask("2"); a.decision() != "deny grant_deny" {
			t.Errorf("denied since: %s", a.body)
		}
	})
}

// A grant for one call stands for the call's retry, and for no other.
func TestAGrantForOnceStandsForARetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		hash := r.ask(r.id, "r", "0", "terminal", shell).text("evidence_hash")
		for _, c := range []string{"network", "execute", "write"} {
			r.do(r.human, "POST /grants", fmt.Sprintf(`{"capability":%q,"effect":"allow","duration":"once","match":{"tool":"terminal","args_hash":%q}}`, c, hash))
		}
		for _, c := range []struct{ call, want string }{{"1", "allow grant_allow"}, {"1", "allow grant_allow"}, {"2", "ask matrix"}} {
			if a := r.ask(r.id, "r", c.call, "terminal", shell); a.decision() != c.want {
				t.Errorf("%s: %s", c.call, a.body)
			}
		}
		time.Sleep(61 * time.Second)
		if a := r.ask(r.id, "r", "1", "terminal", shell); a.decision() != "ask matrix" {
			t.Errorf("a minute later: %s", a.body)
		}
	})
}

// What was approved once passes for a minute.
func TestAnApprovalOnceIsNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.ask(r.id, "r", "c", "terminal", shell).text("approval_id")
		r.choose(id, "once")
		if a := r.ask(r.id, "r", "c", "terminal", shell); a.text("approval_id") != id {
			t.Errorf("a retry: %s", a.body)
		}
		time.Sleep(61 * time.Second)
		r.there()
		a := r.ask(r.id, "r", "c", "terminal", shell)
		if again := a.text("approval_id"); a.decision() != "ask matrix" || again == id || r.approval(again).text("status") != "pending" {
			t.Errorf("a minute later: %s", a.body)
		}
	})
}

// A call that an agent has a person asked about is one that was decided, with
// all that it needs.
func TestARequestIsADecision(t *testing.T) {
	r := newRig(t)
	r.do(r.human, "PUT /policy", autonomous, "If-None-Match: *")
	hash, err := autonomy.EvidenceHash("terminal", map[string]any{"command": "ls"}, "")
	if err != nil {
		t.Fatal(err)
	}
	a := r.do(r.agent, "POST /approvals", fmt.Sprintf(`{"conversation_id":%q,"run_id":"r","request":{"tool":"terminal","args":{"command":"ls"},"summary":"Nothing at all",`+
		`"evidence":[{"kind":"tool_call","id":"c","hash":%q}]}}`, r.id, hash))
	if request, _ := a.object["request"].(map[string]any); a.status != http.StatusCreated || request["summary"] != "terminal: ls" {
		t.Fatalf("%d %s %s", a.status, a.code, a.body)
	}
	d := r.ask(r.id, "r", "c", "terminal", `{"command":"ls"}`)
	r.valid("hux.decision.v1", d.body)
	if d.text("approval_id") != a.text("id") || d.decision() != "ask matrix" || len(d.object["capabilities"].([]any)) != 3 {
		t.Errorf("%s", d.body)
	}
}

// Whatever makes a policy more permissive than what applies now needs a recent
// sign-in.
func TestNothingIsLoosenedUnseen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) string { return `"` + time.Now().Add(d).UTC().Format(hux.TimeFormat) + `"` }
		put := func(level, until, budgets string) string {
			return fmt.Sprintf(`{"level":%q,"level_expires_at":%s,"budgets":[%s]}`, level, until, budgets)
		}
		const forAMinute = `{"level":"autonomous","level_expires_in_ms":60000,"budgets":[]}`
		budget := func(limit int) string { return fmt.Sprintf(`{"kind":"tool_calls","limit":%d,"window":"day"}`, limit) }
		for name, c := range map[string]struct {
			user, before, after string // policies; "" for none
			free                bool
		}{
			"of the user's level":        {put("safe", "null", ""), "", put("ask_first", "null", ""), false},
			"the user's level again":     {put("safe", "null", ""), "", put("safe", "null", ""), true},
			"the default again":          {"", "", put("ask_first", "null", ""), true},
			"autonomous for longer":      {"", put("autonomous", in(time.Hour), ""), put("autonomous", in(2*time.Hour), ""), false},
			"autonomous for ever":        {"", put("autonomous", in(time.Hour), ""), put("autonomous", "null", ""), false},
			"autonomous for less":        {"", put("autonomous", in(time.Hour), ""), put("autonomous", in(time.Minute*50), ""), true},
			"autonomous that has ended":  {"", forAMinute, put("autonomous", "null", ""), false},
			"to what it has become":      {"", forAMinute, put("ask_first", "null", ""), true},
			"a budget raised":            {"", put("autonomous", "null", budget(1)), put("autonomous", "null", budget(2)), false},
			"a budget removed":           {"", put("autonomous", "null", budget(1)), put("autonomous", "null", ""), false},
			"a budget lowered":           {"", put("autonomous", "null", budget(2)), put("autonomous", "null", budget(1)), true},
			"a budget added":             {"", put("autonomous", "null", ""), put("autonomous", "null", budget(1)), true},
			"safe after autonomous":      {"", put("autonomous", "null", budget(1)), put("safe", "null", budget(1)), true},
			"safe after asking":          {"", put("ask_first", "null", ""), put("safe", "null", ""), true},
			"asking after autonomous":    {"", put("autonomous", in(time.Hour), ""), put("ask_first", "null", ""), true},
			"stricter than the user's":   {put("autonomous", "null", budget(1)), "", put("safe", "null", budget(1)), true},
			"stricter, without a budget": {"", put("autonomous", "null", budget(1)), put("safe", "null", ""), false},
			"the user's budget, unspent": {put("autonomous", "null", budget(1)), "", put("autonomous", "null", budget(1)), false},
		} {
			r := newRig(t)
			stale := *r.human
			stale.SignedInAt = time.Now().Add(-time.Hour)
			condition := "If-None-Match: *"
			if c.user != "" {
				r.do(r.human, "PUT /policy", c.user, condition)
			}
			if c.before != "" {
				condition = "If-Match: " + r.do(r.human, "PUT /policy scope=conversation:"+r.id, c.before, condition).header.Get("ETag")
			}
			time.Sleep(2 * time.Minute)
			a := r.do(&stale, "PUT /policy scope=conversation:"+r.id, c.after, condition)
			if free := a.code != hux.RecentSignIn; free != c.free || free && a.status > 299 {
				t.Errorf("%s: %d %s", name, a.status, a.code)
			}
			r.close()
			r.start()
		}
	})
}
