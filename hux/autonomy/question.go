package autonomy

import (
	"errors"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/store"
)

// question is a tool call that an agent asks about, read and held against the
// tenant's records.
type question struct {
	tool, callID string
	target       string // what it is aimed at, to be shown; "" for nothing
	claimed      string // what the agent says it is aimed at
	args         map[string]any
	hash         string
	capabilities []Capability
	surface      *hux.Surface
	gate         string // what asks besides the agent's hook, and why; "" for the hook
	lives        time.Duration

	conversation *conversation.Conversation
	runID        string
	heard        time.Time // when the turn that names the run was heard of first; zero where it was named itself
}

// newQuestion reads a call that obeys the rules. Its hash is of what the agent
// sends; what it is aimed at is what the catalogue sees. Of a tool that the
// catalogue sees no target of, what the agent says is shown, and counts for
// denials alone.
func newQuestion(tool string, args map[string]any, target *string, callID string) (q question, err error) {
	q = question{tool: tool, args: args, callID: callID, capabilities: Capabilities(tool, args), target: Target(tool, args)}
	if target != nil {
		q.claimed = *target
	}
	if !hasTarget(tool) {
		q.target = q.claimed
	}
	q.hash, err = EvidenceHash(tool, args, q.claimed)
	return q, err
}

// call is the question as it is judged.
func (q *question) call(from *api.Call) Call {
	session := ""
	if from.Session != nil {
		session = *from.Session
	}
	return Call{
		Tool: q.tool, Capabilities: q.capabilities, Hash: q.hash, Claimed: q.claimed,
		ConversationID: q.conversation.ID, SessionID: session, Private: q.conversation.Ephemeral,
	}.Aimed(q.args)
}

// verdict is what applies to a question now, and the policy that says so.
func (s *Service) verdict(tx store.Reader, call *api.Call, q *question, now time.Time) (Verdict, Policy, error) {
	p, err := s.applying(tx, q.conversation, q.runID, now)
	if err != nil {
		return Verdict{}, p, err
	}
	grants, err := s.grantsFor(tx, q.conversation.Owner, q)
	if err != nil {
		return Verdict{}, p, err
	}
	return Judge(q.call(call), p, grants, now), p, nil
}

// retryWindow is how long an allowance, or what a person has approved, stands
// for the call when it is asked about again, as by a hook that had no answer.
// Afterwards the call is one that may have run, and is decided anew.
const retryWindow = time.Minute

// stands reports whether what was said about a call is to be said again. A
// denial of now wins over what was said, and so does a stricter level over an
// allowance; what the allowance itself has spent does not count against it.
func (s *Service) stands(tx store.Reader, call *api.Call, q *question, said askedCall) (bool, error) {
	now := time.Now()
	p, err := s.applying(tx, q.conversation, q.runID, now)
	if err != nil {
		return false, err
	}
	grants, err := s.grantsFor(tx, q.conversation.Owner, q)
	if err != nil {
		return false, err
	}
	for _, id := range said.Spends {
		g, err := s.grants.Read(tx, id)
		if err != nil {
			return false, err
		}
		if g != nil && g.State == "spent" {
			g.State, g.Uses.Max = GrantStates.Start, nil
			grants = append(grants, *g)
		}
	}
	p.Budgets = nil
	effect := Judge(q.call(call), p, grants, now).Effect
	switch {
	case said.ApprovalID != nil:
		a, err := s.approvals.Read(tx, *said.ApprovalID)
		if err != nil || a == nil || effect == Deny {
			return false, err
		}
		return a.stands(now), nil
	case said.Ruling.Effect == Allow:
		return effect == Allow && now.Sub(said.At.Time) < retryWindow, nil
	}
	return true, nil
}

// stands reports whether the approval is still the answer to its call: what a
// person has approved is for the length of a retry alone.
func (a *Approval) stands(now time.Time) bool {
	return a.Status != Once.Status() || now.Sub(a.Decision.At.Time) < retryWindow
}

// kept lets a transaction keep what it has written although the request is
// refused: when a turn was heard of first must not be forgotten, or it could
// ask again after the stop. A failure of the store is none of that.
func kept(refused error) error {
	if e := (*hux.Error)(nil); errors.As(refused, &e) {
		return nil
	}
	return refused
}

// asked turns what applies to a call into a question, for an agent that asks a
// person whatever applies.
func (v Verdict) asked() (said askedCall) {
	said.Ruling, said.At = Ruling{Ask, v.Reason}, hux.Now()
	for _, c := range v.Each {
		c.Effect = Ask
		said.Capabilities = append(said.Capabilities, c)
	}
	return said
}
