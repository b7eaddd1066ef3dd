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

// Reports of calls are compared with what the calls were allowed. A call that
// nothing has allowed when it is reported is judged a little later, since a
// hook's question and the reports of its call come in any order.

const (
	toldCalls   = record.Table[toldCall]("told") // reported calls, by conversation, run and call
	judgeAfter  = 5 * time.Second                // from the last report of a call to its judgement
	mostCounted = 2000                           // of a conversation with more calls they are not counted (see moreThanAsked)
)

// toldCall is a call that nothing had allowed when it was reported.
type toldCall struct {
	ConversationID string    `json:"conversation_id"`
	RunID          string    `json:"run_id"` // "" if the report names none and no run was under way
	CallID         string    `json:"call_id"`
	Tool           string    `json:"tool"`
	Began          bool      `json:"began"`
	Ended          string    `json:"ended"` // the status of tool.finished
	Blocked        bool      `json:"blocked"`
	SessionID      string    `json:"session_id"` // as the agent named it
	Agent          hux.Agent `json:"agent"`      // the agent that reported it; "" if only a page has
	At             hux.Time  `json:"at"`
}

func (s *Service) toldKey(t *toldCall) string {
	return t.ConversationID + s.Keys.Short("run", t.RunID) + s.Keys.Short("call", t.CallID)
}

// Earliest is the earliest time at which what Observe schedules for an event of
// this kind may fall due; zero if it schedules nothing.
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

// toolTold notes a reported call that nothing has allowed so far, to be judged.
// If its agent reports that the call has ended, it settles what a person is
// still asked about the call.
func (s *Service) toolTold(ch *record.Change, e *event.Event) error {
	call := ch.Call
	t := toldCall{ConversationID: e.ConversationID, RunID: e.RunID, At: ch.At}
	if t.Tool, t.CallID = toolOf(e); t.CallID == "" {
		if t.Tool == "" {
			return nil // it may be about any call
		}
		t.CallID = e.ID // it counts as a call of its own
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
			return nil // a page's report adds nothing to the agent's
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

// saidAlready reports whether a judgement of the call could have no further
// effect: the alarm is raised and the run stopped. So a run that reports many
// such calls costs no more than one that reports a few.
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

// join adds an earlier report of the same call from the same reporter.
func (t *toldCall) join(before *toldCall) {
	t.Began = t.Began || before.Began
	t.Blocked = t.Blocked || before.Blocked
	if t.Ended == "" {
		t.Ended = before.Ended
	}
}

// blocked reports whether an event says that its call was blocked and never ran.
func blocked(e *event.Event) bool {
	var data struct {
		Blocked bool `json:"blocked"`
	}
	_ = json.Unmarshal(e.Data, &data) // data is free
	return data.Blocked
}

// askedAs lists the questions about a call: those with its id, its tool and its
// run. Tool and run are not compared for a page's report, since a page may name
// both otherwise, nor where the report does not say them.
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

// allowed reports whether an answer to one of the questions lets the call run.
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

// bypassed reports whether a call ran though nothing had allowed it. The agent's
// hook may have been killed before it asked, or after. A gateway reports a call
// before the hook asks about it, and reports blocked calls too. A call that was
// asked about and refused has run if its agent reports that it completed or
// failed, and not that it was blocked. A page does not see what was blocked, and
// may give calls other ids.
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
	if t.Ended == "cancelled" && !t.Began { // a call that a stop left out is reported so too
		return false, nil
	}
	if t.Agent != "" && t.named() {
		return true, nil
	}
	return s.moreThanAsked(tx, t)
}

// named reports whether the call has an id of its own, under which its hook
// asks.
func (t *toldCall) named() bool { return !hux.ValidID("evt", t.CallID) }

// moreThanAsked reports whether more calls of a tool were reported than were
// asked about. It counts the calls of the run if anything of the run was asked,
// and else those of the whole conversation.
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

// settleEnded cancels the pending approvals of a call that its agent reports as
// ended. Of one that a person has allowed and the agent has blocked, it tells
// that the call did not run.
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

// notRun tells that a call did not run although a person had allowed it.
func notRun(ch *record.Change, a *Approval) error {
	cancelled := "cancelled"
	return ch.Tell(event.Event{
		ConversationID: a.ConversationID, RunID: a.RunID, Kind: "approval.resolved", Status: &cancelled,
		Summary:  oneLine("Allowed, but the agent did not run it; the answer may have come too late: " + a.Request.Tool),
		Evidence: a.refs(), Data: facts{"approval_id": a.ID, "tool": a.Request.Tool, "tool_call_id": a.Request.Evidence[0].ID, "status": a.Status, "cause": "not_run"}.json(),
	})
}
