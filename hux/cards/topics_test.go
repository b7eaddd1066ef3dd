package cards_test

import (
	"encoding/json"
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/privacy"
	"bstein.dev/hux/hux/schema"
)

// The topics that are never written are the first of the schema's and the
// sensitive ones the next, as it says; the policy has the same classes.
func TestTopicsHaveTheirClasses(t *testing.T) {
	set, err := schema.Load(contract.Schemas, nil)
	if err != nil {
		t.Fatal(err)
	}
	var defs struct {
		Defs map[string]struct{ Enum []string } `json:"$defs"`
	}
	if err := json.Unmarshal(set.File("defs"), &defs); err != nil {
		t.Fatal(err)
	}
	if topics := defs.Defs["topic"].Enum; len(topics) < 5 || !slices.Equal(topics[:4], hux.ForbiddenTopics) {
		t.Errorf("the schema begins with other topics: %v", topics)
	} else if n := len(hux.SensitiveTopics); !slices.Equal(topics[4:4+n], hux.SensitiveTopics) {
		t.Errorf("the schema goes on with other topics: %v", topics)
	}
	for _, topic := range privacy.Default().Topics {
		if (topic.Class == privacy.NeverWrite) != slices.Contains(hux.ForbiddenTopics, topic.Topic) || (topic.Class == privacy.Sensitive) != slices.Contains(hux.SensitiveTopics, topic.Topic) {
			t.Errorf("%s is %s in the policy", topic.Topic, topic.Class)
		}
	}
}
