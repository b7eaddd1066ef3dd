package autonomy

import (
	"errors"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/store"
)

// question is a tool call that an agent asks about, with the conversation and
// run of the tenant that it belongs to.
type question struct {
	tool, callID string
	target       string // what the call is aimed at, as a person is shown it; "" for nothing
	claimed      string // what the agent says the call is aimed at
	args         map[string]any
	hash         string
	capabilities []Capability
	surface      *hux.Surface
	gate         string        // who asks if it is not the agent's hook, and why; "" for the hook
	lives        time.Duration // how long the approval is to wait; 0 for the default

	conversation *conversation.Conversation
	runID        string
	heard        time.Time // when hux first heard of the turn that names the run; zero if the run was named itself
}

// newQuestion makes a question of a call that obeys the schema's rules. The hash
// is of what the agent sends; the target is the one that the catalogue finds in
// the arguments. For a tool without a target in the catalogue, the target that
// the agent states is shown. That one can match a denial but no allowance.
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

// call is the question in the form that Judge takes.
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

// verdict judges a question now, and gives the policy that applies.
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

// retryWindow is how long an allowance or a person's approval answers the same
// call again, as when a hook got no answer and asks once more. Afterwards the
// first call may have run, so the question is decided anew.
const retryWindow = time.Minute

// stands reports whether the earlier answer to a call is given again. A denial
// that applies now wins over the earlier answer, and a stricter level wins over
// an allowance. A grant that the allowance itself has used up still counts.
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

// stands reports whether the approval still answers its call: a person's
// approval does so for retryWindow.
func (a *Approval) stands(now time.Time) bool {
	return a.Status != Once.Status() || now.Sub(a.Decision.At.Time) < retryWindow
}

// kept turns a refusal into nil, so that its transaction commits. What it wrote
// says when hux first heard of a turn; without that the turn could ask again
// after the stop. An error of the store stays one.
func kept(refused error) error {
	if e := (*hux.Error)(nil); errors.As(refused, &e) {
		return nil
	}
	return refused
}

// asked is the verdict with ask as its effect, for an agent that wants a person
// asked whatever the policy says.
func (v Verdict) asked() (said askedCall) {
	said.Ruling, said.At = Ruling{Ask, v.Reason}, hux.Now()
	for _, c := range v.Each {
		c.Effect = Ask
		said.Capabilities = append(said.Capabilities, c)
	}
	return said
}
