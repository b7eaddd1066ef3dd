package blackbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// approval is hux.approval.v1, as far as these tests look at it.
type approval struct {
	ID      string
	Status  string
	Request struct {
		Choices  []string
		Evidence []struct{ Hash string }
	}
	Decision *struct{ Choice string }
}

// asked is hux.decision.v1, likewise.
type asked struct {
	Effect, Reason string
	EvidenceHash   string `json:"evidence_hash"`
	ApprovalID     string `json:"approval_id"`
	GrantID        string `json:"grant_id"`
}

func (a asked) String() string { return a.Effect + " " + a.Reason }

// asks sends what a hook sends about a tool call.
func (c *caller) asks(t testing.TB, conversation, run, call, tool, args string, header ...string) asked {
	t.Helper()
	body := fmt.Sprintf(`{"conversation_id":%q,"run_id":%q,"tool_call_id":%q,"tool":%q,"args":%s}`, conversation, run, call, tool, args)
	a := c.call(t, "POST", "/decisions", body, append(header, newKey())...)
	a.want(t, 200, "")
	var d asked
	a.into(t, &d)
	return d
}

func (c *caller) approval(t testing.TB, id string) (found approval) {
	t.Helper()
	a := c.call(t, "GET", "/approvals/"+id, "")
	a.want(t, 200, "")
	a.into(t, &found)
	return found
}

// decides chooses about what was shown.
func (c *caller) decides(t testing.TB, id, choice string) *answer {
	t.Helper()
	return c.call(t, "POST", "/approvals/"+id, fmt.Sprintf(`{"choice":%q,"evidence_hash":%q}`, choice, c.approval(t, id).Request.Evidence[0].Hash))
}

// here makes a person somebody who can decide.
func (c *caller) here(t testing.TB) { c.list(t, "/approvals?status=pending") }

const (
	makeTest   = `{"command":"make test"}`
	deployProd = `{"command":"kubectl apply -f prod.yaml"}`
)

// The order of the rules, for each level and a tool of each capability.
func TestPrecedenceOfDecisions(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h2", "alice"), h.agent(t, "h2", "a")
	tools := map[string]struct{ capability, args string }{
		"read_file": {"read", `{"path":"a"}`}, "write_file": {"write", `{"path":"a","content":"x"}`}, "process": {"execute", `{"action":"list"}`},
		"send_message": {"message", `{"target":"a","message":"x"}`}, "memory": {"memory_write", `{"action":"add"}`}, "web_search": {"network", `{"query":"x"}`}, "terminal": {"deploy", deployProd},
	}
	matrix := map[string]map[string]string{
		"safe":       {"read": "allow", "write": "ask", "execute": "ask", "message": "ask", "memory_write": "ask", "network": "deny"},
		"ask_first":  {"read": "allow", "write": "ask", "execute": "ask", "message": "ask", "memory_write": "ask", "network": "ask"},
		"autonomous": {"read": "allow", "write": "allow", "execute": "allow", "message": "allow", "memory_write": "allow", "network": "allow"},
	}
	n := 0
	for level, row := range matrix {
		for _, budget := range []int{0, 100} {
			id := alice.conversation(t)
			scope := "conversation:" + id
			alice.call(t, "PUT", "/policy?scope="+scope, fmt.Sprintf(`{"level":%q,"level_expires_at":null,"budgets":[{"kind":"tool_calls","limit":%d,"window":"day"}]}`, level, budget),
				`If-Match: "`+scope+`:0"`).want(t, 201, "")
			for tool, c := range tools {
				for _, grants := range [][]string{{}, {"allow"}, {"deny"}, {"allow", "deny"}} {
					want := row[c.capability] + " matrix"
					switch {
					case slices.Contains(grants, "deny"):
						want = "deny grant_deny"
					case c.capability == "deploy":
						want = "ask deploy_always_asks"
						if level == "safe" {
							want = "deny matrix" // the shell that deploys could use the network too
						}
					case slices.Contains(grants, "allow"):
						want = "allow grant_allow"
					}
					if budget == 0 && strings.HasPrefix(want, "allow") && c.capability != "read" {
						want = "ask budget_exhausted"
					}
					n++
					call := fmt.Sprintf("call-%d", n)
					first := agent.asks(t, id, "probe-"+call, call, tool, c.args) // for its hash
					for _, effect := range grants {
						if effect == "allow" && c.capability == "deploy" {
							continue
						}
						match := fmt.Sprintf(`{"tool":%q,"args_hash":%q}`, tool, first.EvidenceHash)
						a := alice.call(t, "POST", "/grants", fmt.Sprintf(`{"capability":%q,"effect":%q,"duration":"session","match":%s,"scope":{"conversation_id":%q}}`, c.capability, effect, match, id))
						a.want(t, 201, "")
						granted, _ := a.object(t)["id"].(string)
						defer alice.call(t, "POST", "/grants/"+granted+"/revoke", "")
					}
					if got := agent.asks(t, id, "run-"+call, call, tool, c.args); got.String() != want {
						t.Errorf("%s in %s with %v and a budget of %d: %s, want %s", tool, level, grants, budget, got, want)
					}
					for _, g := range alice.list(t, "/grants?state=active&limit=200").Items {
						alice.call(t, "POST", "/grants/"+g["id"].(string)+"/revoke", "").want(t, 200, "")
					}
				}
			}
		}
	}
}

// A choice grants what was shown and nothing beside it, and
// what was seen is what runs.
func TestGrantsAreWhatWasShown(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, bob, agent := h.person(t, proto, "alice"), h.person(t, proto, "bob"), h.agent(t, proto, "a")
		alice.here(t)
		for choice, after := range map[string]map[string]string{
			"once":    {"same": "ask matrix", "changed": "ask matrix", "longer": "ask matrix", "elsewhere": "ask matrix", "deploy": "ask deploy_always_asks", "session": "ask matrix"},
			"session": {"same": "allow grant_allow", "changed": "ask matrix", "longer": "ask matrix", "elsewhere": "ask matrix", "deploy": "ask deploy_always_asks", "session": "ask matrix"},
			"always":  {"same": "allow grant_allow", "changed": "ask matrix", "longer": "ask matrix", "elsewhere": "allow grant_allow", "deploy": "ask deploy_always_asks", "session": "allow grant_allow"},
			"deny":    {"same": "ask matrix", "changed": "ask matrix", "longer": "ask matrix", "elsewhere": "ask matrix", "deploy": "ask deploy_always_asks", "session": "ask matrix"},
		} {
			id, other := alice.conversation(t), alice.conversation(t)
			unique := strings.TrimPrefix(id, "cnv_")[20:]
			args := fmt.Sprintf(`{"command":"make %s"}`, unique)
			session := "HUX-Session: session-" + unique
			first := agent.asks(t, id, "run-"+unique, "c0", "terminal", args, session)
			if first.String() != "ask matrix" {
				t.Fatalf("a command in ask_first: %s", first)
			}
			bob.call(t, "GET", "/approvals/"+first.ApprovalID, "").want(t, 404, "not_found")
			bob.call(t, "POST", "/approvals/"+first.ApprovalID, `{"choice":"once","evidence_hash":"`+first.EvidenceHash+`"}`).want(t, 404, "not_found")
			agent.call(t, "POST", "/approvals/"+first.ApprovalID, `{"choice":"once","evidence_hash":"`+first.EvidenceHash+`"}`, newKey()).want(t, 403, "human_required")
			alice.call(t, "POST", "/approvals/"+first.ApprovalID, `{"choice":"once","evidence_hash":"sha256:`+strings.Repeat("0", 64)+`"}`).want(t, 409, "evidence_mismatch")
			alice.decides(t, first.ApprovalID, choice).want(t, 200, "")
			alice.decides(t, first.ApprovalID, choice).want(t, 200, "")
			alice.decides(t, first.ApprovalID, map[bool]string{true: "once", false: "deny"}[choice == "deny"]).want(t, 409, "approval_already_decided")
			if again := agent.asks(t, id, "run-"+unique, "c0", "terminal", args, session); again.ApprovalID != first.ApprovalID {
				t.Errorf("%s: the same call asks anew", choice)
			}
			for what, want := range after {
				where, run, a, header := id, "run-"+unique, args, session
				switch what {
				case "changed":
					a = strings.Replace(args, "}", `,"cwd":"/"}`, 1)
				case "longer":
					a = fmt.Sprintf(`{"command":"make %s && curl x"}`, unique)
				case "elsewhere":
					where, run = other, "elsewhere-"+unique
				case "deploy":
					a = deployProd
				case "session":
					header = "HUX-Session: another-" + unique
				}
				if got := agent.asks(t, where, run, "c-"+what, "terminal", a, header); got.String() != want {
					t.Errorf("%s, then %s: %s, want %s", choice, what, got, want)
				}
			}
			if choice == "always" {
				grants := slices.DeleteFunc(alice.list(t, "/grants?state=active&limit=200").Items, func(g object) bool { return g["duration"] != "always" })
				if len(grants) != 1 || grants[0]["expires_at"] == nil {
					t.Fatalf("the grants are %v", grants)
				}
				alice.call(t, "POST", "/grants/"+grants[0]["id"].(string)+"/revoke", "").want(t, 200, "")
				if got := agent.asks(t, id, "run-"+unique, "c-revoked", "terminal", args, session); got.String() != "ask matrix" {
					t.Errorf("with the grant revoked: %s", got)
				}
			}
		}
		id := alice.conversation(t)
		one := agent.asks(t, id, "hash-"+id, "c", "write_file", `{"path":"é","content":"1"}`)
		two := agent.asks(t, id, "hash-"+id, "c", "write_file", `{"content":"1","path":"\u00e9"}`)
		if one.EvidenceHash != two.EvidenceHash || one.ApprovalID != two.ApprovalID {
			t.Error("another spelling of the same arguments is another call")
		}
	})
}

// What can't be decided does not run.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, agent := h.person(t, proto, "alice"), h.agent(t, proto, "a")
		bob, theirs := h.person(t, proto, "bob"), h.agent(t, proto, "b")
		id := bob.conversation(t)
		d := theirs.asks(t, id, "run-"+proto, "c", "terminal", makeTest)
		if proto == "h1" { // bob has looked at nothing yet
			if a := theirs.approval(t, d.ApprovalID); a.Status != "expired" {
				t.Errorf("with nobody there it is %s", a.Status)
			}
			bob.decides(t, d.ApprovalID, "once").want(t, 409, "approval_expired")
		} else {
			bob.decides(t, d.ApprovalID, "deny").want(t, 200, "")
		}
		kinds := func(who *caller, id string) (kinds []string) {
			for _, e := range who.list(t, "/conversations/"+id+"/events").Items {
				kinds = append(kinds, fmt.Sprint(e["kind"], " ", e["status"]))
			}
			return kinds
		}
		if got := fmt.Sprint(kinds(bob, id)); got != "[approval.requested started approval.resolved failed]" {
			t.Errorf("the log has %s", got)
		}

		id = alice.conversation(t)
		alice.here(t)
		body := fmt.Sprintf(`{"conversation_id":%q,"run_id":"short-%s","tool_call_id":"c","tool":"terminal","args":%s,"expires_in_ms":10000}`, id, proto, makeTest)
		a := agent.call(t, "POST", "/decisions", body, newKey())
		a.want(t, 200, "")
		a.into(t, &d)
		begin := time.Now()
		var ended approval
		agent.call(t, "GET", "/approvals/"+d.ApprovalID+"?wait=30", "").into(t, &ended)
		if took := time.Since(begin); ended.Status != "expired" || took < 5*time.Second || took > 25*time.Second {
			t.Errorf("after %v it is %s", took, ended.Status)
		}

		scope := "conversation:" + id
		put := `{"level":"autonomous","level_expires_at":null,"budgets":[]}`
		agent.call(t, "PUT", "/policy?scope="+scope, put, `If-Match: "`+scope+`:0"`, newKey()).want(t, 403, "human_required")
		agent.call(t, "POST", "/grants", `{"capability":"write","effect":"allow","duration":"always","match":{"tool":"terminal","target":"x"},"scope":{}}`, newKey()).want(t, 403, "human_required")
		alice.call(t, "POST", "/decisions", body).want(t, 403, "agent_required")
		theirs.call(t, "POST", "/decisions", body, newKey()).want(t, 404, "not_found")
		alice.call(t, "PUT", "/policy?scope="+scope, `{"level":"safe","level_expires_at":null,"budgets":[]}`, `If-Match: "`+scope+`:0"`).want(t, 201, "")
		if got := agent.asks(t, id, "net-"+proto, "c", "web_search", `{"query":"x"}`); got.String() != "deny matrix" {
			t.Errorf("the network in safe: %s", got)
		}
		if got := kinds(alice, id); got[len(got)-1] != "approval.resolved failed" {
			t.Errorf("a refusal is told by %v", got)
		}
	})
}

// A browser decides on the console alone, with its own origin.
func TestOnlyTheConsoleDecides(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		b, agent := h.browser(t, proto), h.agent(t, proto, "a")
		b.signIn(t, "alice")
		made := b.fetch(t, "POST", consoleURL+"/hux/v1/conversations", "{}")
		made.want(t, 201, "")
		id, _ := made.object(t)["id"].(string)
		b.visit(t, consoleURL+"/hux/v1/approvals").want(t, 200, "")
		d := agent.asks(t, id, "run-"+proto, "c", "terminal", makeTest)
		body := fmt.Sprintf(`{"choice":"once","evidence_hash":%q}`, d.EvidenceHash)
		b.fetch(t, "POST", chatURL+"/hux/v1/approvals/"+d.ApprovalID, body).want(t, 403, "console_required")
		b.do(t, "POST", consoleURL+"/hux/v1/approvals/"+d.ApprovalID, strings.NewReader(body), "Content-Type: application/json", "Origin: "+chatURL, "Sec-Fetch-Site: same-site").want(t, 403, "cross_origin")
		b.do(t, "POST", consoleURL+"/hux/v1/approvals/"+d.ApprovalID, strings.NewReader(body), "Content-Type: text/plain", "Origin: "+consoleURL, "Sec-Fetch-Site: same-origin").want(t, 415, "")
		b.do(t, "POST", consoleURL+"/hux/v1/approvals/"+d.ApprovalID, strings.NewReader(body), "Content-Type: application/json").want(t, 403, "cross_origin")
		scope := "conversation:" + id
		b.fetch(t, "POST", chatURL+"/hux/v1/grants", `{"capability":"write","effect":"allow","duration":"always","match":{"tool":"terminal","target":"x"},"scope":{}}`).want(t, 403, "console_required")
		b.do(t, "PUT", chatURL+"/hux/v1/policy?scope="+scope, strings.NewReader(`{"level":"autonomous","level_expires_at":null,"budgets":[]}`),
			"Content-Type: application/json", "Origin: "+chatURL, "Sec-Fetch-Site: same-origin", `If-Match: "`+scope+`:0"`).want(t, 403, "console_required")
		still := b.visit(t, chatURL+"/hux/v1/approvals/"+d.ApprovalID)
		still.want(t, 200, "")
		if s := still.object(t)["status"]; s != "pending" {
			t.Errorf("it is %v", s)
		}
		b.fetch(t, "POST", consoleURL+"/hux/v1/approvals/"+d.ApprovalID, body).want(t, 200, "")
	})
}

// Stop means stopped. The receipt is the last thing of a run.
func TestStopMeansStopped(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, bob, agent := h.person(t, proto, "alice"), h.person(t, proto, "bob"), h.agent(t, proto, "a")
		id, run := alice.conversation(t), "run-"+proto
		alice.here(t)
		event := func(kind, status, data string) {
			t.Helper()
			agent.call(t, "POST", "/conversations/"+id+"/events", fmt.Sprintf(`{"kind":%q,"status":%q,"summary":"x","run_id":%q,"data":%s}`, kind, status, run, data), newKey()).want(t, 201, "")
		}
		event("run.started", "started", "{}")
		event("tool.started", "started", `{"tool":"write_file","tool_call_id":"1"}`)
		event("tool.finished", "completed", `{"tool":"write_file","tool_call_id":"1"}`)
		event("tool.started", "started", `{"tool":"terminal","tool_call_id":"2"}`)
		pending := agent.asks(t, id, run, "3", "terminal", makeTest)
		path := "/conversations/" + id + "/runs/" + run + "/cancel"
		alice.call(t, "GET", path, "").want(t, 404, "not_found")
		bob.call(t, "POST", path, "").want(t, 404, "not_found")
		alice.call(t, "POST", "/conversations/"+id+"/runs/nothing/cancel", "").want(t, 404, "not_found")
		f := alice.follow(t, id, "?after_seq=4")
		first := alice.call(t, "POST", path, "")
		first.want(t, 202, "")
		if o := first.object(t); o["state"] != "stopping" || o["receipt_id"] != nil {
			t.Errorf("at once: %s", first.body)
		}
		if a := alice.approval(t, pending.ApprovalID); a.Status != "cancelled" {
			t.Errorf("what it asked is %s", a.Status)
		}
		agent.call(t, "POST", "/decisions", fmt.Sprintf(`{"conversation_id":%q,"run_id":%q,"tool_call_id":"4","tool":"terminal","args":{}}`, id, run), newKey()).want(t, 409, "run_ended")
		alice.call(t, "POST", path, "").want(t, 202, "")
		event("run.finished", "cancelled", "{}")
		second := alice.call(t, "POST", path, "")
		second.want(t, 200, "")
		if o := second.object(t); o["state"] != "partially_stopped" {
			t.Errorf("in the end: %s", second.body)
		}
		receipt := alice.call(t, "GET", "/receipts/"+second.object(t)["receipt_id"].(string), "")
		receipt.want(t, 200, "")
		var r struct {
			Outcome     string
			Coverage    string
			SideEffects []struct {
				Kind     string
				Reverted *bool
				Evidence struct{ ID string } `json:"evidence_ref"`
			} `json:"side_effects"`
		}
		receipt.into(t, &r)
		if len(r.SideEffects) != 2 || r.SideEffects[0].Evidence.ID != "1" || r.SideEffects[1].Evidence.ID != "2" || r.SideEffects[0].Reverted == nil || *r.SideEffects[1].Reverted || r.Coverage != "partial" {
			t.Errorf("the receipt: %s", receipt.body)
		}
		bob.call(t, "GET", "/receipts/"+second.object(t)["receipt_id"].(string), "").want(t, 404, "not_found")
		for _, late := range []string{"tool.started", "tool.finished", "message.committed"} {
			agent.call(t, "POST", "/conversations/"+id+"/events", fmt.Sprintf(`{"kind":%q,"summary":"late","run_id":%q,"data":{"tool_call_id":"9"}}`, late, run), newKey()).want(t, 409, "run_ended")
		}
		var got []string
		for e, ok := f.next(); ok; e, ok = f.next() {
			got = append(got, e.Kind)
			if e.Kind == "run.receipt" {
				break
			}
		}
		if want := "approval.requested run.cancel_requested approval.resolved run.finished run.receipt"; strings.Join(got, " ") != want {
			t.Errorf("a follower saw %v", got)
		}
		if head := alice.list(t, "/conversations/"+id+"/events?limit=1").HeadSeq; head != 9 {
			t.Errorf("the head is %d", head)
		}
	})
}

// Two who change a policy at once: one is told.
func TestPolicyConcurrency(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		id := alice.conversation(t)
		path := "/policy?scope=conversation:" + id
		first := alice.call(t, "GET", path, "")
		first.want(t, 200, "")
		tag := first.Header.Get("ETag")
		if o := first.object(t); tag != `"conversation:`+id+`:0"` || o["level"] != "ask_first" || o["revision"] != float64(0) {
			t.Errorf("the default: %s %s", tag, first.body)
		}
		alice.call(t, "PUT", path, `{"level":"safe","level_expires_at":null,"budgets":[]}`).want(t, 428, "precondition_required")
		var mu sync.Mutex
		statuses := map[int]int{}
		var wg sync.WaitGroup
		for _, level := range []string{"safe", "autonomous"} {
			wg.Go(func() {
				a := alice.call(t, "PUT", path, fmt.Sprintf(`{"level":%q,"level_expires_at":null,"budgets":[]}`, level), "If-Match: "+tag)
				mu.Lock()
				statuses[a.StatusCode]++
				mu.Unlock()
			})
		}
		wg.Wait()
		if statuses[http.StatusCreated] != 1 || statuses[http.StatusPreconditionFailed] != 1 {
			t.Errorf("two at once: %v", statuses)
		}
		now := alice.call(t, "GET", path, "")
		alice.call(t, "PUT", path, `{"level":"ask_first","level_expires_at":null,"budgets":[]}`, "If-Match: "+now.Header.Get("ETag")).want(t, 200, "")
		last := alice.list(t, "/conversations/"+id+"/events").Items
		data, _ := json.Marshal(last[len(last)-1]["data"])
		if last[len(last)-1]["kind"] != "policy.changed" || !strings.Contains(string(data), `"from":"`+now.object(t)["level"].(string)+`"`) || !strings.Contains(string(data), `"to":"ask_first"`) {
			t.Errorf("the event: %v", last[len(last)-1])
		}
	})
}

// A thousand calls of one agent at once, each answered once; those who wait are
// told, also when the router goes.
func TestManyApprovalsAtOnce(t *testing.T) {
	t.Parallel()
	h := house(t, map[string]any{"access_log": false})
	alice, agent := h.person(t, "h2", "alice"), h.agent(t, "h2", "a")
	id := alice.conversation(t)
	alice.here(t)
	const many = 100
	var wg sync.WaitGroup
	ids := make([]string, many)
	for i := range many {
		wg.Go(func() {
			ids[i] = agent.asks(t, id, "run", fmt.Sprintf("c%d", i), "terminal", fmt.Sprintf(`{"command":"make %d"}`, i)).ApprovalID
		})
	}
	wg.Wait()
	if l := alice.list(t, "/approvals?status=pending&limit=200&conversation_id="+id); len(l.Items) != many {
		t.Fatalf("%d are pending", len(l.Items))
	}
	statuses := make([]string, many)
	for i := range many {
		wg.Go(func() {
			var a approval
			res, err := agent.try(t, context.Background(), "GET", "/approvals/"+ids[i]+"?wait=60", "")
			if err != nil || res.StatusCode != http.StatusOK {
				t.Errorf("waiting: %v %v", err, res)
				return
			}
			res.into(t, &a)
			statuses[i] = a.Status
		})
	}
	for i := range many / 2 {
		alice.decides(t, ids[i], []string{"once", "deny"}[i%2]).want(t, 200, "")
	}
	eventually(t, 20*time.Second, "half are decided", func() bool {
		return len(alice.list(t, "/approvals?status=pending&limit=200&conversation_id="+id).Items) == many/2
	})
	h.stop(t) // the others are told that it is pending
	wg.Wait()
	for i, s := range statuses {
		want := "pending"
		if i < many/2 {
			want = []string{"approved", "denied"}[i%2]
		}
		if s != want {
			t.Errorf("%d is %s, want %s", i, s, want)
		}
	}
	h.relaunch(t)
	alice = h.person(t, "h2", "alice")
	if l := alice.list(t, "/approvals?status=pending&limit=200&conversation_id="+id); len(l.Items) != many/2 {
		t.Errorf("after a restart %d are pending", len(l.Items))
	}
}
