package autonomy

import (
	"errors"
	"slices"
	"time"

	"bstein.dev/hux/hux"
)

// ApprovalStates is the state machine of an approval: it moves once.
var ApprovalStates = hux.Machine{Name: "approval", Start: "pending", Moves: map[string][]string{
	"pending": {"approved", "denied", "expired", "cancelled"}, "approved": {}, "denied": {}, "expired": {}, "cancelled": {},
}}

// How long an approval waits (contracts 2.7). A hook of Hermes lives 300 s at
// most, and says how long it has.
const (
	MinApproval     = 10 * time.Second
	DefaultApproval = 280 * time.Second
	MaxApproval     = 24 * time.Hour
)

// ApprovalLifetime is how long an approval waits if that long is asked for; 0
// asks for nothing. Where no person is there to see it, it does not wait.
func ApprovalLifetime(asked time.Duration, attended bool) time.Duration {
	switch {
	case !attended:
		return 0
	case asked <= 0:
		return DefaultApproval
	}
	return max(MinApproval, min(asked, MaxApproval))
}

// Choices are what a person may choose about a call of these capabilities.
// always is whether the surface they decide on may grant that.
func Choices(capabilities []Capability, always bool) []Choice {
	if slices.Contains(capabilities, Deploy) {
		return []Choice{Once, DenyChoice}
	}
	if !always {
		return []Choice{Once, Session, DenyChoice}
	}
	return []Choice{Once, Session, Always, DenyChoice}
}

// StateAt is the approval's status at a moment: a pending one whose time is
// over has expired, whether or not that is written down yet.
func (a Approval) StateAt(now time.Time) string {
	if a.Status == "pending" && !now.Before(a.ExpiresAt.Time) {
		return "expired"
	}
	return a.Status
}

// Status is what a choice makes of an approval.
func (c Choice) Status() string {
	if c == DenyChoice {
		return "denied"
	}
	return "approved"
}

// shown reports whether a hash is that of the request.
func (a Approval) shown(hash string) bool {
	return slices.ContainsFunc(a.Request.Evidence, func(e hux.EvidenceRef) bool { return e.Hash != nil && *e.Hash == hash })
}

// decidedSo reports whether somebody has decided just this before.
func (a Approval) decidedSo(in ApprovalDecide, by hux.Actor) bool {
	d := a.Decision
	return d != nil && d.Choice == in.Choice && d.Actor == by && a.shown(in.EvidenceHash)
}

// Decidable says why a person can't decide the approval so at a moment; nil
// where they can. The hash is that of the request that they saw. The error is
// an *hux.Error: approval_already_decided with the member decision,
// approval_expired, invalid_transition, evidence_mismatch or
// choice_not_allowed.
func (a Approval) Decidable(choice Choice, hash string, now time.Time) error {
	switch state := a.StateAt(now); {
	case a.Decision != nil:
		e := hux.Errorf(hux.ApprovalAlreadyDecided, "This was decided before.")
		e.Members = map[string]any{"decision": a.Decision}
		return e
	case state == "expired":
		return hux.Errorf(hux.ApprovalExpired, "The time to decide this is over.")
	default:
		err := ApprovalStates.Check(state, choice.Status())
		if e := (*hux.Error)(nil); errors.As(err, &e) {
			e.Detail = "This comes too late: nobody waits for the answer any more, and nothing is allowed by it."
		}
		if err != nil {
			return err
		}
	}
	if !a.shown(hash) {
		return hux.Errorf(hux.EvidenceMismatch, "This is no longer the request that was shown; read it again.")
	}
	if !slices.Contains(a.Request.Choices, choice) {
		return hux.Errorf(hux.ChoiceNotAllowed, "This choice is not offered here.")
	}
	return nil
}
