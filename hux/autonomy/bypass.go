package autonomy

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

// A call that ran though nothing had allowed it has gone round the hook, as
// where the hook was killed. What is told of calls shows that: a call that is
// told and has no allowance is judged a little later, since a hook's question
// and the reports of its call come in any order.

const (
	toldBucket   = "told"     // conversation id, hash of run and hash of call → toldCall
	bypassBucket = "bypasses" // conversation id and hash of run → Bypass

	mostCounted = 2000            // calls of a conversation; of more it is not counted which were asked about
	judgeAfter  = 5 * time.Second // the last report of a call
	hookedFor   = 24 * time.Hour  // since its last question an agent counts as one with a hook
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
	Agent          hux.Agent `json:"agent"` // who told; "" where only a page has
	At             hux.Time  `json:"at"`
}

// Bypass is the alarm about a run in which a call ran that nothing had allowed.
type Bypass struct {
	At             hux.Time `json:"at"`
	Owner          hux.User `json:"owner"`
	ConversationID string   `json:"conversation_id"`
	RunID          string   `json:"run_id"`
	Tool           string   `json:"tool"` // of the first such call
	ByAgent        bool     `json:"by_agent"`
	Stopped        bool     `json:"stopped"` // the run was asked to stop
}

func (s *Service) toldKey(t *toldCall) string {
	return t.ConversationID + s.Keys.Short("run", t.RunID) + s.Keys.Short("call", t.CallID)
}

// Expect holds the index of what falls due for an event of a kind that Observe
// may put something there for.
func (s *Service) Expect(ctx context.Context, t hux.Tenant, kind string) (release func(), err error) {
	if kind != toolStarted && kind != toolFinished {
		return func() {}, nil
	}
	return s.Due.Hold(ctx, t, time.Now().Add(judgeAfter))
}

const (
	toolStarted  = "tool.started"
	toolFinished = "tool.finished"
)

// toolTold notes a call that is told and that nothing has allowed so far, and
// settles what was asked about a call that its agent says has ended.
func (s *Service) toolTold(tx *store.Tx, call *api.Call, e *event.Event, c *changes) error {
	t := toldCall{ConversationID: e.ConversationID, RunID: e.RunID, At: hux.Now()}
	if t.Tool, t.CallID = toolOf(e); t.CallID == "" {
		if t.Tool == "" {
			return nil // it could be of any call
		}
		t.CallID = e.ID // a call of its own, which is counted
	}
	if e.Reporter == "" && call.Actor.Kind == hux.KindAgent {
		t.Agent = hux.Agent(call.Actor.ID)
	}
	if t.Began = e.Kind == toolStarted; !t.Began && e.Status != nil {
		t.Ended, t.Blocked = *e.Status, blocked(e)
	}
	asked, err := s.askedAs(tx, &t)
	if err != nil {
		return err
	}
	if t.Agent != "" && !t.Began {
		if err := s.settleEnded(tx, call, asked, &t, c); err != nil {
			return err
		}
	}
	key := s.toldKey(&t)
	if allowed, err := s.allowed(tx, asked); err != nil || allowed || t.Agent == "" && len(asked) > 0 {
		return err
	}
	if said, err := s.saidAlready(tx, &t); err != nil || said {
		return err
	}
	if value := tx.Get(toldBucket, key); value != nil {
		var before toldCall
		if err := json.Unmarshal(value, &before); err != nil {
			return err
		}
		t.join(&before)
	}
	if err := putJSON(tx, toldBucket, key, t); err != nil {
		return err
	}
	return due.Put(tx, due.Item{At: t.At.Add(judgeAfter), Kind: dueBypass, ID: key})
}

// saidAlready reports whether all that could come of a judgement has come, so
// that a run which tells of many such calls costs no more.
func (s *Service) saidAlready(tx *store.Tx, t *toldCall) (bool, error) {
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

// join adds what was told of the call before.
func (t *toldCall) join(before *toldCall) {
	t.Began = t.Began || before.Began
	t.Blocked = t.Blocked || before.Blocked
	if t.Ended == "" {
		t.Ended = before.Ended
	}
	if t.Agent == "" {
		t.Agent = before.Agent
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
func (s *Service) askedAs(tx *store.Tx, t *toldCall) (asked []askedCall, err error) {
	all, err := readAsked(tx, s.callPrefix(t.ConversationID, t.CallID))
	return slices.DeleteFunc(all, func(a askedCall) bool {
		return t.Agent != "" && (t.RunID != "" && a.RunID != t.RunID || t.Tool != "" && a.Tool != t.Tool)
	}), err
}

func readAsked(tx *store.Tx, prefix string) (asked []askedCall, err error) {
	for _, e := range tx.List(callsBucket, prefix) {
		var a askedCall
		if err := json.Unmarshal(e.Value, &a); err != nil {
			return nil, err
		}
		asked = append(asked, a)
	}
	return asked, nil
}

// allowed reports whether anything that was said lets the call run.
func (s *Service) allowed(tx *store.Tx, asked []askedCall) (bool, error) {
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
// was asked and refused has run only if it is told as completed. A page can't
// tell what was blocked, and may have other ids.
func (s *Service) bypassed(tx *store.Tx, t *toldCall) (bool, error) {
	if t.Blocked {
		return false, nil
	}
	asked, err := s.askedAs(tx, t)
	if err != nil {
		return false, err
	}
	if len(asked) > 0 {
		allowed, err := s.allowed(tx, asked)
		return !allowed && t.Agent != "" && t.Ended == "completed", err
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
func (s *Service) moreThanAsked(tx *store.Tx, t *toldCall) (bool, error) {
	asked, err := readAsked(tx, t.ConversationID)
	if err != nil {
		return false, err
	}
	told := tx.List(toldBucket, t.ConversationID)
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
	for _, e := range told {
		var other toldCall
		if err := json.Unmarshal(e.Value, &other); err != nil {
			return false, err
		}
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

// judgeTold is what falls due some time after a call was told.
func (s *Service) judgeTold(ctx context.Context, db *store.Lease, i due.Item) error {
	call := s.system(db)
	var c changes
	var owner hux.User
	var t toldCall
	err := db.Update(ctx, func(tx *store.Tx) error {
		c, owner, t = changes{}, "", toldCall{}
		if err := due.Done(tx, i); err != nil {
			return err
		}
		value := tx.Get(toldBucket, i.ID)
		if value == nil {
			return nil
		}
		if err := json.Unmarshal(value, &t); err != nil {
			return err
		}
		conv, err := s.Conversations.Read(tx, t.ConversationID)
		if err != nil {
			return err
		}
		if conv == nil || conv.State == conversation.Forgotten {
			return tx.Delete(toldBucket, i.ID)
		}
		gone, err := s.bypassed(tx, &t)
		if err != nil {
			return err
		}
		if t.Agent != "" && t.named() { // others are counted together with those to come
			if err := tx.Delete(toldBucket, i.ID); err != nil {
				return err
			}
		}
		if !gone {
			return nil
		}
		stopping, err := s.alarm(tx, call, conv, &t, &c)
		if stopping {
			owner = conv.Owner
		}
		return err
	})
	if err != nil {
		return err
	}
	s.wake(db.Tenant(), c)
	if owner != "" {
		go s.stopUpstream(db, owner, t.ConversationID, t.RunID)
	}
	return nil
}

// alarm tells of a bypass, once a run, and asks for the stop of the run where
// it is an agent's own word and the agent has a hook that asks. stopping says
// that whatever runs the run is to be asked.
func (s *Service) alarm(tx *store.Tx, call *api.Call, conv *conversation.Conversation, t *toldCall, c *changes) (stopping bool, err error) {
	ever, lately, err := s.hooksAsked(tx, t.Agent)
	if err != nil {
		return false, err
	}
	if !lately {
		if err := s.noteUnasked(tx, t.At, c); err != nil || t.Agent == "" && !ever {
			return false, err
		}
	}
	b, err := s.readBypass(tx, t)
	if err != nil {
		return false, err
	}
	known := b != nil
	if !known {
		b = &Bypass{At: hux.Now(), Owner: conv.Owner, ConversationID: conv.ID, RunID: t.RunID, Tool: t.Tool, ByAgent: t.Agent != ""}
	}
	stop := !b.Stopped && s.StopBypassed && lately && t.RunID != "" && t.Agent != "" && !s.Conversations.HasFinished(tx, t.RunID)
	if known && !stop {
		return false, nil
	}
	b.Stopped = b.Stopped || stop
	if err := putJSON(tx, bypassBucket, s.bypassKey(t), b); err != nil {
		return false, err
	}
	if !known {
		if err := s.tellBypass(tx, call, b, t, c); err != nil {
			return false, err
		}
	}
	if stop {
		_, stopping, err = s.askStop(tx, call, conv, t.RunID, c)
	}
	return stopping, err
}

func (s *Service) tellBypass(tx *store.Tx, call *api.Call, b *Bypass, t *toldCall, c *changes) error {
	failed := "failed"
	data := facts{"tool": t.Tool, "stopped": b.Stopped}
	var evidence []hux.EvidenceRef
	if t.named() {
		data["tool_call_id"] = t.CallID
		evidence = []hux.EvidenceRef{{Kind: "tool_call", ID: t.CallID, Owner: "gateway"}}
	}
	summary := "Ran without being allowed: " + t.Tool
	if t.Agent == "" {
		summary = "Ran without being asked about, as a page saw it: " + t.Tool
	}
	if err := c.tell(tx, call, event.Event{
		ConversationID: b.ConversationID, RunID: b.RunID, Kind: "policy.bypassed", Status: &failed, Summary: oneLine(summary), Evidence: evidence, Data: data.json(),
	}); err != nil {
		return err
	}
	return s.noteBypass(tx, b, c)
}

func (s *Service) bypassKey(t *toldCall) string {
	return t.ConversationID + s.Keys.Short("run", t.RunID)
}

func (s *Service) readBypass(tx *store.Tx, t *toldCall) (*Bypass, error) {
	value := tx.Get(bypassBucket, s.bypassKey(t))
	if value == nil {
		return nil, nil
	}
	b := new(Bypass)
	return b, json.Unmarshal(value, b)
}

// settleEnded ends what a person is still asked about a call that its agent
// says has ended, and says of what they have allowed that it never ran.
func (s *Service) settleEnded(tx *store.Tx, call *api.Call, asked []askedCall, t *toldCall, c *changes) error {
	for _, q := range asked {
		if q.ApprovalID == nil {
			continue
		}
		a, err := s.approvals.Read(tx, *q.ApprovalID)
		switch {
		case err != nil:
			return err
		case a == nil:
		case a.Status == ApprovalStates.Start:
			err = s.end(tx, s.system(call.DB), a, "cancelled", callEnded, c)
		case a.Status == Once.Status() && t.Blocked:
			err = c.notRun(tx, s.system(call.DB), a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// notRun tells that a call did not run that a person has allowed.
func (c *changes) notRun(tx *store.Tx, call *api.Call, a *Approval) error {
	cancelled := "cancelled"
	return c.tell(tx, call, event.Event{
		ConversationID: a.ConversationID, RunID: a.RunID, Kind: "approval.resolved", Status: &cancelled,
		Summary:  oneLine("Allowed, but the agent did not run it; the answer may have come too late: " + a.Request.Tool),
		Evidence: a.refs(), Data: facts{"approval_id": a.ID, "tool": a.Request.Tool, "tool_call_id": a.Request.Evidence[0].ID, "status": a.Status, "cause": "not_run"}.json(),
	})
}

func putJSON(tx *store.Tx, bucket, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(bucket, key, value)
}
