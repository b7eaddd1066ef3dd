package autonomy

import (
	"encoding/json"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// What is told of calls is held against what was said about them. A call that
// has no allowance when it is told is judged a little later, since a hook's
// question and the reports of its call come in any order.

const (
	toldCalls   = record.Table[toldCall]("told") // by conversation, run and call
	judgeAfter  = 5 * time.Second                // the last report of a call
	mostCounted = 2000                           // calls of a conversation; of more it is not counted which were asked about
)

// toldCall is a call of which nobody has seen an allowance when it was told.
type toldCall struct {
	ConversationID string    `json:"conversation_id"`
	RunID          string    `json:"run_id"` // "" where no turn was named and no run was under way
	CallID         string    `json:"call_id"`
	Tool           string    `json:"tool"`
	Began          bool      `json:"began"`
	Ended          string    `json:"ended"` // the status of tool.finished
	Blocked        bool      `json:"blocked"`
	SessionID      string    `json:"session_id"` // as the agent named it
	Agent          hux.Agent `json:"agent"`      // who told; "" where only a page has
	At             hux.Time  `json:"at"`
}

func (s *Service) toldKey(t *toldCall) string {
	return t.ConversationID + s.Keys.Short("run", t.RunID) + s.Keys.Short("call", t.CallID)
}

// Earliest is when the first of what Observe lets fall due for an event of a kind
// may; zero where it lets nothing.
func (s *Service) Earliest(kind string) time.Time {
	if kind != toolStarted && kind != toolFinished {
		return time.Time{}
	}
	return time.Now().Add(judgeAfter)
}

const (
	toolStarted  = "tool.started"
	toolFinished = "tool.finished"
)

// toolTold notes a call that is told and that nothing has allowed so far, and
// settles what was asked about a call that its agent says has ended.
func (s *Service) toolTold(ch *record.Change, e *event.Event) error {
	call := ch.Call
	t := toldCall{ConversationID: e.ConversationID, RunID: e.RunID, At: ch.At}
	if t.Tool, t.CallID = toolOf(e); t.CallID == "" {
		if t.Tool == "" {
			return nil // it could be of any call
		}
		t.CallID = e.ID // a call of its own, which is counted
	}
	if e.Reporter == "" && call.Actor.Kind == hux.KindAgent {
		t.Agent = hux.Agent(call.Actor.ID)
		if call.Session != nil {
			t.SessionID = *call.Session
		}
	}
	if t.Began = e.Kind == toolStarted; !t.Began && e.Status != nil {
		t.Ended, t.Blocked = *e.Status, t.Agent != "" && blocked(e)
	}
	asked, err := s.askedAs(ch, &t)
	if err != nil {
		return err
	}
	if t.Agent != "" && !t.Began {
		if err := s.settleEnded(ch, asked, &t); err != nil {
			return err
		}
	}
	key := s.toldKey(&t)
	if allowed, err := s.allowed(ch, asked); err != nil || allowed || t.Agent == "" && len(asked) > 0 {
		return err
	}
	if said, err := s.saidAlready(ch, &t); err != nil || said {
		return err
	}
	before, err := toldCalls.Get(ch, key)
	if err != nil {
		return err
	}
	if before != nil {
		if before.Agent != "" && t.Agent == "" {
			return nil // a page adds nothing to what the agent says
		}
		if (before.Agent == "") == (t.Agent == "") {
			t.join(before)
		}
	}
	if err := toldCalls.Put(ch, key, &t); err != nil {
		return err
	}
	return ch.LetFallDue(due.Item{At: t.At.Add(judgeAfter), Kind: dueBypass, ID: key})
}

// saidAlready reports whether all that could come of a judgement has come, so
// that a run which tells of many such calls costs no more.
func (s *Service) saidAlready(tx store.Reader, t *toldCall) (bool, error) {
	b, err := s.readBypass(tx, t)
	if err != nil || b != nil {
		return b != nil && (b.Stopped || t.Agent == "" || !s.StopBypassed), err
	}
	if ever, _, err := s.hooksAsked(tx, t.Agent); err != nil || ever || t.Agent != "" {
		return false, err
	}
	o, err := readOversight(tx)
	return o.UnaskedSince != nil, err
}

// join adds what was told of the call before by the same.
func (t *toldCall) join(before *toldCall) {
	t.Began = t.Began || before.Began
	t.Blocked = t.Blocked || before.Blocked
	if t.Ended == "" {
		t.Ended = before.Ended
	}
}

// blocked reports whether a call's end says that it never ran.
func blocked(e *event.Event) bool {
	var data struct {
		Blocked bool `json:"blocked"`
	}
	_ = json.Unmarshal(e.Data, &data) // data is free
	return data.Blocked
}

// askedAs is what was asked about a call: under its id, and in its run, unless
// the run has no name or is named by a page, which may name it otherwise.
func (s *Service) askedAs(tx store.Reader, t *toldCall) (asked []askedCall, err error) {
	all, err := readAsked(tx, s.callPrefix(t.ConversationID, t.CallID))
	return slices.DeleteFunc(all, func(a askedCall) bool {
		return t.Agent != "" && (t.RunID != "" && a.RunID != t.RunID || t.Tool != "" && a.Tool != t.Tool)
	}), err
}

func readAsked(tx store.Reader, prefix string) (asked []askedCall, err error) {
	rows, err := calls.List(tx, prefix)
	for _, row := range rows {
		asked = append(asked, *row.Value)
	}
	return asked, err
}

// allowed reports whether anything that was said lets the call run.
func (s *Service) allowed(tx store.Reader, asked []askedCall) (bool, error) {
	for _, a := range asked {
		if a.ApprovalID == nil {
			if a.Ruling.Effect == Allow {
				return true, nil
			}
			continue
		}
		approval, err := s.approvals.Read(tx, *a.ApprovalID)
		if err != nil {
			return false, err
		}
		if approval != nil && approval.Status == Once.Status() {
			return true, nil
		}
	}
	return false, nil
}

// bypassed reports whether a call ran though nothing had allowed it. A hook of
// its agent may have been killed before it asked, or after; a gateway tells of
// a call before it is asked about, and tells of one that is blocked too. What
// was asked and refused has run if it is told to have ended, well or badly, and
// not as blocked. A page can't tell what was blocked, and may have other ids.
func (s *Service) bypassed(tx store.Reader, t *toldCall) (bool, error) {
	if t.Blocked {
		return false, nil
	}
	asked, err := s.askedAs(tx, t)
	if err != nil {
		return false, err
	}
	if len(asked) > 0 {
		allowed, err := s.allowed(tx, asked)
		return !allowed && t.Agent != "" && (t.Ended == "completed" || t.Ended == "failed"), err
	}
	if t.Ended == "cancelled" && !t.Began { // what a stop leaves out is told so too
		return false, nil
	}
	if t.Agent != "" && t.named() {
		return true, nil
	}
	return s.moreThanAsked(tx, t)
}

// named reports whether the call's id is one that its hook asks under.
func (t *toldCall) named() bool { return !hux.ValidID("evt", t.CallID) }

// moreThanAsked reports whether more calls of a tool were told than were asked
// about, of the run where anything of it was asked, and else of the
// conversation.
func (s *Service) moreThanAsked(tx store.Reader, t *toldCall) (bool, error) {
	asked, err := readAsked(tx, t.ConversationID)
	if err != nil {
		return false, err
	}
	told, err := toldCalls.List(tx, t.ConversationID)
	if err != nil {
		return false, err
	}
	if len(asked) > mostCounted || len(told) > mostCounted {
		return false, nil
	}
	sameRun := slices.ContainsFunc(asked, func(a askedCall) bool { return a.RunID == t.RunID && !a.Foreign })
	counts := func(tool, run string) bool { return tool == t.Tool && (!sameRun || run == t.RunID) }
	questions, began, ended := 0, 0, 0
	for _, a := range asked {
		if counts(a.Tool, a.RunID) && !a.Foreign {
			questions++
		}
	}
	for _, row := range told {
		other := row.Value
		if !counts(other.Tool, other.RunID) || (other.Agent == "") != (t.Agent == "") || other.Blocked {
			continue
		}
		if other.Began {
			began++
		}
		if other.Ended != "" {
			ended++
		}
	}
	return max(began, ended) > questions, nil
}

// settleEnded ends what a person is still asked about a call that its agent
// says has ended, and says of what they have allowed that it never ran.
func (s *Service) settleEnded(ch *record.Change, asked []askedCall, t *toldCall) error {
	ch = s.bySystem(ch)
	for _, q := range asked {
		if q.ApprovalID == nil {
			continue
		}
		a, err := s.approvals.Read(ch, *q.ApprovalID)
		switch {
		case err != nil:
			return err
		case a == nil:
		case a.Status == ApprovalStates.Start:
			err = s.end(ch, a, "cancelled", callEnded)
		case a.Status == Once.Status() && t.Blocked:
			err = notRun(ch, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notRun tells that a call did not run that a person has allowed.
func notRun(ch *record.Change, a *Approval) error {
	cancelled := "cancelled"
	return ch.Tell(event.Event{
		ConversationID: a.ConversationID, RunID: a.RunID, Kind: "approval.resolved", Status: &cancelled,
		Summary:  oneLine("Allowed, but the agent did not run it; the answer may have come too late: " + a.Request.Tool),
		Evidence: a.refs(), Data: facts{"approval_id": a.ID, "tool": a.Request.Tool, "tool_call_id": a.Request.Evidence[0].ID, "status": a.Status, "cause": "not_run"}.json(),
	})
}
