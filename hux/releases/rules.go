// Package releases is the card HUX-12: releases followed from review to live,
// each step with its evidence.
package releases

import (
	"slices"

	"bstein.dev/hux/hux/schema"
)

// MaxChecks is how many checks a release keeps.
const MaxChecks = 10

// What is checked, and how it may come out.
const (
	Probe  = "probe"
	Passed = "passed"
)

// WithCheck is the list of checks once c is made: the last ten.
func WithCheck(checks []Check, c Check) []Check {
	all := append(slices.Clone(checks), c)
	return all[max(0, len(all)-MaxChecks):]
}

// CurrentCheck is the result of the last check, nil for none.
func CurrentCheck(checks []Check) *string {
	if len(checks) == 0 {
		return nil
	}
	return &checks[len(checks)-1].Result
}

// ClaimAllowed reports whether anybody may say that a release is deployed: from
// that state on, unless its last check came out otherwise than well.
func ClaimAllowed(state string, current *string) bool {
	switch state {
	case Deployed, Converged, LiveVerified:
		return current == nil || *current == Passed
	}
	return false
}

// Rules are what the schema can't say of a release.
var Rules = map[string]schema.Rule{Schema: schema.RuleOf(faultsOfRelease)}

// The rules' names.
const (
	checkMismatch = "check_mismatch"
	claimMismatch = "claim_mismatch"
	stepUnreached = "step_unreached"
)

func faultsOfRelease(r *Release) (faults schema.Faults) {
	current := CurrentCheck(r.Checks)
	if (current == nil) != (r.CurrentCheck == nil) || current != nil && *current != *r.CurrentCheck {
		faults.Add("/current_check", checkMismatch, "is not the result of the last check")
	}
	if r.ClaimAllowed != ClaimAllowed(r.State, current) {
		faults.Add("/claim_allowed", claimMismatch, "is not what state and checks allow")
	}
	reached := r.State
	if r.State == RolledBack && r.Rollback != nil {
		reached = r.Rollback.FromState
		if States.Check(reached, RolledBack) != nil {
			faults.Add("/rollback/from_state", ProblemTransition, "is none from which it can be taken back")
		}
	}
	last := slices.Index(line, reached)
	for i, state := range line {
		_, has := r.Steps[state]
		switch {
		case i <= last && !has:
			faults.Add("/steps", ProblemStepMissing, "lacks a step that it must have taken")
		case i > last && has:
			faults.Add("/steps", stepUnreached, "has a step that it has not taken yet")
		}
	}
	if _, has := r.Steps[RolledBack]; has != (r.State == RolledBack) {
		code := ProblemStepMissing
		if has {
			code = stepUnreached
		}
		faults.Add("/steps", code, "must have the step back exactly if it was taken back")
	}
	return faults
}
