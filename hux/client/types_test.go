package client_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	contract "bstein.dev/hux"
)

// open are the schemas that say of what is in them only a part.
var open = []string{"hux.memory_export.v1"}

// The contract's examples go through the types without loss.
func TestTypesHoldTheExamples(t *testing.T) {
	for name, record := range records {
		if slices.Contains(open, name) {
			continue
		}
		example, err := contract.Examples.ReadFile("examples/" + name + ".json")
		if err != nil {
			t.Error(err)
			continue
		}
		v := record()
		d := json.NewDecoder(bytes.NewReader(example))
		d.DisallowUnknownFields()
		if err := d.Decode(v); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var want, got any
		if err := json.Unmarshal(example, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %s comes back as %s", name, example, again)
		}
	}
	if len(records) == 0 {
		t.Error("there are no schemas")
	}
}
