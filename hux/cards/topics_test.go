package cards_test

import (
	"encoding/json"
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// The topics that are never written are the first of the schema's, as it says.
func TestForbiddenTopicsAreTheFirst(t *testing.T) {
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
	if topics := defs.Defs["topic"].Enum; len(topics) < 5 || !slices.Equal(topics[:4], hux.ForbiddenTopics) {
		t.Errorf("the schema begins with other topics: %v", topics)
	}
}
