package cards_test

import (
	"cmp"
	"slices"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/releases"
)

func TestReleaseVectors(t *testing.T) {
	type problem struct{ Pointer, Code string }
	var want struct {
		Problems []struct {
			Release    releases.Release
			Transition releases.Transition
			Now        hux.Time
			Problems   []problem
		}
		Claims []struct {
			State        string
			CurrentCheck *string `json:"current_check"`
			ClaimAllowed bool    `json:"claim_allowed"`
		}
	}
	vectors(t, "releases.json", &want)
	for _, v := range want.Problems {
		got := []problem{}
		for _, fault := range releases.Problems(&v.Release, &v.Transition, v.Now.Time) {
			got = append(got, problem{fault.Pointer, fault.Code})
		}
		slices.SortFunc(got, func(a, b problem) int { return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code)) })
		if !slices.Equal(got, v.Problems) {
			t.Errorf("from %s to %s with %+v: %v, want %v", v.Release.State, v.Transition.To, v.Transition, got, v.Problems)
		}
	}
	for _, v := range want.Claims {
		if got := releases.ClaimAllowed(v.State, v.CurrentCheck); got != v.ClaimAllowed {
			t.Errorf("%+v: %v", v, got)
		}
	}
	if len(want.Problems) == 0 || len(want.Claims) == 0 {
		t.Error("a list is empty")
	}
}
