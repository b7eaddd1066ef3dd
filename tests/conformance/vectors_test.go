package conformance_test

import (
	"encoding/json"
	"slices"
	"testing"

	repository "bstein.dev/hux"
)

// The rules' vectors, where a route shows a rule. The rest of them is for the
// code of an implementation, which has them by the hash in its manifest.
func TestVectors(t *testing.T) {
	var vectors struct {
		Machines  map[string]map[string][]string
		Flags     map[string][]string
		Decisions []decision
	}
	text, err := repository.Vectors.ReadFile("tests/vectors/rules.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if sum := server.manifest.Rules.VectorsSHA256; sum == nil || *sum != repository.VectorsSHA256() {
		t.Errorf("the manifest's vectors_sha256 is not that of tests/vectors, %s: the server goes by other rules", repository.VectorsSHA256())
	}
	for name, needs := range vectors.Flags {
		says := server.capabilities.Flags[name].DependsOn
		if slices.Sort(needs); !slices.Equal(slices.Sorted(slices.Values(says)), needs) {
			t.Errorf("%s depends on %v, want %v", name, says, needs)
		}
	}
	checked("vectors: flags")
	t.Run("conversation", func(t *testing.T) {
		if o := server.find("PATCH", "/conversations/{id}"); o == nil {
			off(t, "vectors: states of conversations", "PATCH /conversations/{id} is not served")
			return
		}
		moves(t, vectors.Machines["conversation"])
		checked("vectors: states of conversations")
	})
	for rule, r := range map[string]struct {
		path string
		test func(t *testing.T)
	}{
		"decisions":           {"/decisions", func(t *testing.T) { matrix(t, vectors.Decisions) }},
		"states of approvals": {"/approvals", approvals},
		"states of grants":    {"/grants", grants},
		"states of memory":    {"/memory", nil},
		"states of releases":  {"/releases", nil},
		"states of sources":   {"/sources", nil},
		"states of notices":   {"/privacy/notices", nil},
	} {
		switch {
		case server.find("POST", r.path) == nil:
			off(t, "vectors: "+rule, "POST "+r.path+" is not served")
		case r.test == nil:
			lacking(t, "vectors: "+rule, "nothing here asks POST "+r.path)
		default:
			t.Run(rule, r.test)
			checked("vectors: " + rule)
		}
	}
}

// decision is one of the vectors.
type decision struct {
	Level, Capability string
	AllowGrant        bool `json:"allow_grant"`
	DenyGrant         bool `json:"deny_grant"`
	Private           bool
	Effect, Reason    string
}

// matrix holds what a policy says of each capability against the vectors
// without grants. The level autonomous needs a recent sign-in, which a token
// has not.
func matrix(t *testing.T, decisions []decision) {
	x, why := prepare(t, server.find("PUT", "/policy"))
	if why != "" {
		off(t, "vectors: decisions", why)
		return
	}
	for _, level := range []string{"safe", "ask_first"} {
		a := x.send(t, `{"level":"`+level+`"}`, append(x.current(t), newKey())...)
		var policy struct {
			Effective map[string]struct{ Effect, Reason string }
		}
		if into(t, a, &policy); a.status/100 != 2 {
			t.Fatalf("level %s: %d %.300s", level, a.status, a.body)
		}
		for _, d := range decisions {
			if d.Level != level || d.AllowGrant || d.DenyGrant || d.Private || d.Reason == "budget_exhausted" {
				continue
			}
			if got := policy.Effective[d.Capability]; got.Effect != d.Effect || got.Reason != d.Reason {
				t.Errorf("%s at level %s: %+v, want %s for %s", d.Capability, level, got, d.Effect, d.Reason)
			}
		}
	}
}

// approvals are decided once.
func approvals(t *testing.T) {
	for choice, state := range map[string]string{"once": "approved", "deny": "denied"} {
		x, why := prepare(t, server.find("POST", "/approvals/{id}"))
		if why != "" {
			off(t, "vectors: states of approvals", why)
			return
		}
		x.body["choice"] = choice
		body := encoded(x.body)
		a := x.send(t, body, newKey())
		a.want(t, choice, 200, "")
		if got := a.text(t, "status"); got != state {
			t.Errorf("%s makes an approval %q, want %s", choice, got, state)
		}
		x.send(t, body, newKey()).want(t, "the same decision by the same person", 200, "")
		x.body["choice"] = map[string]string{"once": "deny", "deny": "once"}[choice]
		x.send(t, encoded(x.body), newKey()).want(t, "a second decision", 409, "approval_already_decided")
	}
}

// grants are revoked once.
func grants(t *testing.T) {
	x, why := prepare(t, server.find("POST", "/grants/{id}/revoke"))
	if why != "" {
		off(t, "vectors: states of grants", why)
		return
	}
	a := x.send(t, "", newKey())
	a.want(t, "revoking", 200, "")
	if got := a.text(t, "state"); got != "revoked" {
		t.Errorf("a revoked grant is %q", got)
	}
	x.send(t, "", newKey()).want(t, "revoking again", 409, "invalid_transition")
}

// moves tries every move that a change can ask for. Only forget forgets, so
// that state is refused as the server's own.
func moves(t *testing.T, machine map[string][]string) {
	t.Helper()
	for from, legal := range machine {
		for to := range machine {
			if from == to || from == "forgotten" {
				continue
			}
			id := openConversation(t)
			a := human().call(t, "GET", "/conversations/{id}", "", []string{id})
			patch := func(state string) *answer {
				t.Helper()
				a = human().call(t, "PATCH", "/conversations/{id}", `{"state":"`+state+`"}`, []string{id}, newKey(), "If-Match: "+a.header.Get("ETag"))
				return a
			}
			if from != "active" {
				patch(from).want(t, "active to "+from, 200, "")
			}
			switch a := patch(to); {
			case to == "forgotten":
				a.want(t, from+" to "+to, 422, "read_only_field")
			case slices.Contains(legal, to):
				a.want(t, from+" to "+to, 200, "")
			default:
				a.want(t, from+" to "+to, 409, "invalid_transition")
			}
		}
	}
}
