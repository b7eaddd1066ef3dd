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
		Machines map[string]map[string][]string
		Flags    map[string][]string
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
	for rule, path := range map[string]string{
		"decisions": "/decisions", "states of memory": "/memory", "states of approvals": "/approvals", "states of grants": "/grants",
		"states of releases": "/releases", "states of sources": "/sources", "states of notices": "/privacy/notices",
	} {
		if server.find("POST", path) == nil {
			off(t, "vectors: "+rule, "POST "+path+" is not served")
		} else {
			lacking(t, "vectors: "+rule, "nothing here asks POST "+path)
		}
	}
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
			a := human().call(t, "POST", "/conversations", `{"title":"`+mark+`"}`, nil, newKey())
			a.want(t, "a conversation", 201, "")
			id := a.text(t, "id")
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
