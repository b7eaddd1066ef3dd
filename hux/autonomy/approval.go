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

// ApprovalLifetime is how long an approval waits if the agent asks for so long;
// 0 means the default. Without a person there to see it, it does not wait at
// all.
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
// always says whether Always may be among them.
func Choices(capabilities []Capability, always bool) []Choice {
	if slices.Contains(capabilities, Deploy) {
		return []Choice{Once, DenyChoice}
	}
	if !always {
		return []Choice{Once, Session, DenyChoice}
	}
	return []Choice{Once, Session, Always, DenyChoice}
}

// StateAt is the approval's status at a moment. A pending one whose time is over
// has expired, even if the store does not say so yet.
func (a Approval) StateAt(now time.Time) string {
	if a.Status == "pending" && !now.Before(a.ExpiresAt.Time) {
		return "expired"
	}
	return a.Status
}

// Status is the status of an approval after the choice.
func (c Choice) Status() string {
	if c == DenyChoice {
		return "denied"
	}
	return "approved"
}

// shown reports whether a hash is the hash of this request.
func (a Approval) shown(hash string) bool {
	return slices.ContainsFunc(a.Request.Evidence, func(e hux.EvidenceRef) bool { return e.Hash != nil && *e.Hash == hash })
}

// decidedSo reports whether this person has made this very decision before.
func (a Approval) decidedSo(in ApprovalDecide, by hux.Actor) bool {
	d := a.Decision
	return d != nil && d.Choice == in.Choice && d.Actor == by && a.shown(in.EvidenceHash)
}

// Decidable says why a person can't make this choice now; nil if they can. hash
// is the hash of the request that they saw. The error is a *hux.Error:
// approval_already_decided with the member decision, approval_expired,
// invalid_transition, evidence_mismatch or choice_not_allowed.
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
