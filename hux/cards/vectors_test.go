package cards_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
)

// vectors reads a file of tests/vectors.
func vectors(t *testing.T, file string, into any) {
	t.Helper()
	text, err := fs.ReadFile(contract.Vectors, "tests/vectors/"+file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestFlagsAreTheVectors(t *testing.T) {
	var want struct{ Flags map[string][]string }
	vectors(t, "rules.json", &want)
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, f := range registry {
		got[f.Name] = f.DependsOn
	}
	if !maps.EqualFunc(got, want.Flags, slices.Equal[[]string]) {
		t.Errorf("flags %v, want %v", got, want.Flags)
	}
}
