package cards_test

import (
	"maps"
	"slices"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/cards"
)

// Every pair of states of every machine, each state with itself and with
// names that are no states.
func TestMachinesAreTheVectors(t *testing.T) {
	var want struct {
		Machines map[string]map[string][]string
	}
	vectors(t, "rules.json", &want)
	have := map[string]hux.Machine{}
	for _, m := range cards.Machines() {
		have[m.Name] = m
	}
	if got, want := slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(want.Machines)); !slices.Equal(got, want) || len(want) != 9 {
		t.Fatalf("machines %v, want %v", got, want)
	}
	for name, moves := range want.Machines {
		m := have[name]
		if got, want := slices.Sorted(maps.Keys(m.Moves)), slices.Sorted(maps.Keys(moves)); !slices.Equal(got, want) {
			t.Errorf("%s has the states %v, want %v", name, got, want)
		}
		if _, ok := moves[m.Start]; !ok {
			t.Errorf("%s starts as %q, which is none of its states", name, m.Start)
		}
		names := append(slices.Sorted(maps.Keys(moves)), "", "nonsense")
		for _, from := range names {
			for _, to := range names {
				if legal := m.Check(from, to) == nil; legal != slices.Contains(moves[from], to) {
					t.Errorf("%s: %q to %q is legal: %v", name, from, to, legal)
				}
			}
		}
	}
}
