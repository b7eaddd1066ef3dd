package cards_test

import (
	"errors"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/modes"
)

func TestModeVectors(t *testing.T) {
	var want struct {
		Constraints []struct {
			Mode        string
			Constraints struct {
				Locality, Memory, Web string
				Ephemeral             bool
			}
		}
		Routes  map[string]modes.Locality
		Resolve []struct {
			Mode    string
			Pin     *string
			Outcome struct {
				Route string
				Code  hux.Code
			}
		}
	}
	vectors(t, "modes.json", &want)
	for _, v := range want.Constraints {
		m, _ := modes.Find(v.Mode)
		if got := m.Constraints; got.Locality != v.Constraints.Locality || got.Memory != v.Constraints.Memory || got.Web != v.Constraints.Web || got.Ephemeral != v.Constraints.Ephemeral {
			t.Errorf("%s: %+v, want %+v", v.Mode, got, v.Constraints)
		}
	}
	if len(want.Constraints) != len(modes.Catalogue) {
		t.Errorf("%d modes, want %d", len(modes.Catalogue), len(want.Constraints))
	}
	switchyard := modes.Switchyard{}
	for id, locality := range want.Routes {
		switchyard[id] = modes.Route{ID: id, Locality: locality}
	}
	for _, v := range want.Resolve {
		got, err := switchyard.Resolve(v.Mode, v.Pin)
		var refused *hux.Error
		errors.As(err, &refused)
		if got.ID != v.Outcome.Route || (err == nil) != (v.Outcome.Code == "") || refused != nil && refused.Code != v.Outcome.Code {
			t.Errorf("%s with %v: %+v, %v, want %+v", v.Mode, v.Pin, got, err, v.Outcome)
		}
	}
	if len(want.Resolve) == 0 {
		t.Error("nothing to resolve")
	}
}
