package cards_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/memory"
	"bstein.dev/hux/hux/privacy"
	"bstein.dev/hux/hux/schema"
)

// Memory refuses the topics that the privacy policy never lets be written, and
// no other.
func TestMemoryAndPrivacyForbidTheSameTopics(t *testing.T) {
	set, err := schema.Load(contract.Schemas)
	if err != nil {
		t.Fatal(err)
	}
	var defs struct {
		Defs map[string]struct{ Enum []string } `json:"$defs"`
	}
	if err := json.Unmarshal(set.File("defs"), &defs); err != nil {
		t.Fatal(err)
	}
	policy := privacy.Default()
	for _, topic := range defs.Defs["topic"].Enum {
		list, err := memory.Rules["hux.memory.create.v1"](fmt.Appendf(nil, `{"topics":[%q]}`, topic))
		if err != nil {
			t.Fatal(err)
		}
		refused := slices.ContainsFunc(list, func(f schema.Fault) bool { return f.Code == string(hux.MemoryTopicForbidden) })
		if never := policy.Class(topic) == privacy.NeverWrite; refused != never {
			t.Errorf("%s: memory refuses it: %v, the policy: %v", topic, refused, never)
		}
	}
}
