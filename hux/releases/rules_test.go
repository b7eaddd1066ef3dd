package releases_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"bstein.dev/hux/hux/releases"
)

func TestClaimAllowed(t *testing.T) {
	for _, state := range append(slices.Clone(line), releases.RolledBack, "nonsense") {
		claimable := state == releases.Deployed || state == releases.Converged || state == releases.LiveVerified
		if got := releases.ClaimAllowed(state, nil); got != claimable {
			t.Errorf("%s, never checked: %v", state, got)
		}
		for _, result := range []string{"passed", "failed", "error", "inconclusive", "aborted", ""} {
			if got := releases.ClaimAllowed(state, &result); got != (claimable && result == "passed") {
				t.Errorf("%s, %s: %v", state, result, got)
			}
		}
	}
}

func TestTheLastTenChecksAreKept(t *testing.T) {
	var checks []releases.Check
	if releases.CurrentCheck(checks) != nil {
		t.Error("there is a result before the first check")
	}
	r := rand.New(rand.NewPCG(12, 2))
	for n := range 50 {
		before := slices.Clone(checks)
		c := releases.Check{Kind: releases.Probe, Result: []string{"passed", "failed"}[r.IntN(2)], At: minute(n)}
		after := releases.WithCheck(checks, c)
		if len(after) != min(n+1, releases.MaxChecks) || after[len(after)-1].At != c.At || *releases.CurrentCheck(after) != c.Result {
			t.Fatalf("after %d: %v", n+1, after)
		}
		if !slices.EqualFunc(before, checks, func(a, b releases.Check) bool { return a.At == b.At }) {
			t.Fatal("the list before was changed")
		}
		checks = after
	}
	if checks[0].At != minute(40) {
		t.Errorf("the first of the last ten is of %v", checks[0].At)
	}
}

func TestRulesOfARelease(t *testing.T) {
	failed := "failed"
	for name, c := range map[string]struct {
		from   string
		change func(*releases.Release)
		want   []string
	}{
		"reviewed":                     {releases.InReview, func(*releases.Release) {}, nil},
		"live":                         {releases.LiveVerified, func(*releases.Release) {}, nil},
		"taken back":                   {releases.RolledBack, func(*releases.Release) {}, nil},
		"a step left out":              {releases.LiveVerified, func(r *releases.Release) { delete(r.Steps, releases.Built) }, []string{"/steps step_missing"}},
		"a step too early":             {releases.Built, func(r *releases.Release) { r.Steps[releases.Deployed] = releases.Step{} }, []string{"/steps step_unreached"}},
		"taken back, without its step": {releases.RolledBack, func(r *releases.Release) { delete(r.Steps, releases.RolledBack) }, []string{"/steps step_missing"}},
		"the step back, not taken":     {releases.Built, func(r *releases.Release) { r.Steps[releases.RolledBack] = releases.Step{} }, []string{"/steps step_unreached"}},
		"taken back from review": {releases.RolledBack, func(r *releases.Release) {
			r.Rollback.FromState = releases.InReview
			for _, state := range line[1:] {
				delete(r.Steps, state)
			}
		}, []string{"/rollback/from_state invalid_transition"}},
		"another check":     {releases.LiveVerified, func(r *releases.Release) { r.CurrentCheck = &failed }, []string{"/current_check check_mismatch"}},
		"no check":          {releases.LiveVerified, func(r *releases.Release) { r.CurrentCheck = nil }, []string{"/current_check check_mismatch"}},
		"claimed too early": {releases.Verified, func(r *releases.Release) { r.ClaimAllowed = true }, []string{"/claim_allowed claim_mismatch"}},
		"not to be claimed": {releases.Deployed, func(r *releases.Release) { r.ClaimAllowed = false }, []string{"/claim_allowed claim_mismatch"}},
		"a claim that failed": {releases.LiveVerified, func(r *releases.Release) {
			r.Checks = releases.WithCheck(r.Checks, releases.Check{Kind: releases.Probe, Result: failed})
			r.CurrentCheck = &failed
		}, []string{"/claim_allowed claim_mismatch"}},
	} {
		r := in(c.from)
		r.CurrentCheck = releases.CurrentCheck(r.Checks)
		r.ClaimAllowed = releases.ClaimAllowed(r.State, r.CurrentCheck)
		c.change(r)
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		list, err := releases.Rules[releases.Schema](text)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range list {
			got = append(got, f.Pointer+" "+f.Code)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, text := range []string{`{}`, `{"steps":null,"state":"rolled_back"}`, `{"state":"x","checks":[{}]}`} {
		if _, err := releases.Rules[releases.Schema]([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}
