package autonomy_test

import (
	"net/http"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

// To ask a person again gives their answer again, also where the policy forbids
// the call.
func TestAQuestionIsPutOnce(t *testing.T) {
	r := newRig(t)
	if a := r.do(r.human, "PUT /policy", `{"level":"safe","level_expires_at":null,"budgets":[]}`, "If-None-Match: *"); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.code)
	}
	hash, err := autonomy.EvidenceHash("terminal", map[string]any{"command": "make test"}, "")
	if err != nil {
		t.Fatal(err)
	}
	put := func() answer {
		t.Helper()
		return r.do(r.agent, "POST /approvals", `{"conversation_id":"`+r.id+`","run_id":"r","request":{"tool":"terminal","args":`+shell+`,"evidence":[{"kind":"tool_call","id":"c","hash":"`+hash+`"}]}}`)
	}
	first := put()
	if first.status != http.StatusCreated {
		t.Fatalf("%d %s", first.status, first.code)
	}
	if again := put(); again.status != http.StatusOK || again.text("id") != first.text("id") {
		t.Errorf("while it is pending: %d %s", again.status, again.body)
	}
	if a := r.choose(first.text("id"), "deny"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.code)
	}
	if again := put(); again.status != http.StatusOK || again.text("status") != "denied" {
		t.Errorf("once it is denied: %d %s", again.status, again.body)
	}
}

// Taking a denial back allows more, and needs a recent sign-in.
func TestTakingADenialBackNeedsARecentSignIn(t *testing.T) {
	r := newRig(t)
	deny := r.do(r.human, "POST /grants", `{"capability":"network","effect":"deny","duration":"always","match":{"tool":"web_extract"},"scope":{}}`)
	if deny.status != http.StatusCreated {
		t.Fatalf("%d %s", deny.status, deny.code)
	}
	r.human.SignedInAt = time.Now().Add(-time.Hour)
	if a := r.do(r.human, "POST /grants/{id}/revoke id="+deny.text("id"), ""); a.code != hux.RecentSignIn {
		t.Errorf("an hour after the sign-in: %d %s", a.status, a.body)
	}
	r.human.SignedInAt = time.Now()
	if a := r.do(r.human, "POST /grants/{id}/revoke id="+deny.text("id"), ""); a.text("state") != "revoked" {
		t.Errorf("after another: %d %s", a.status, a.code)
	}
}
