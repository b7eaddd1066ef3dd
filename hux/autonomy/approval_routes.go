package autonomy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/store"
)

// pendingOf is the value in the index pendingOf: conversation and run, while the
// approval is pending.
func (a *Approval) pendingOf() []string {
	if a.Status != ApprovalStates.Start {
		return nil
	}
	return []string{a.ConversationID + " " + a.RunID}
}

// request answers POST /approvals: an agent wants a person asked, whatever the
// policy says. The person is asked once about the same call of the same run.
func (s *Service) request(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[ApprovalCreate](call)
	if err != nil {
		return err
	}
	callID := ""
	for _, e := range in.Request.Evidence {
		if e.Kind == "tool_call" {
			callID = e.ID
		}
	}
	q, err := newQuestion(in.Request.Tool, in.Request.Args, in.Request.Target, callID)
	if err != nil {
		return err
	}
	q.surface, q.lives = in.SurfaceHint, time.Duration(in.ExpiresInMS)*time.Millisecond
	var a *Approval
	var refused error
	status := http.StatusCreated
	plan := record.Plan{Due: time.Now().Add(ApprovalLifetime(q.lives, true))}
	err = s.Change(r.Context(), call, plan, func(ch *record.Change) error {
		status, refused = http.StatusCreated, nil
		if err := s.place(ch, in.Run, &q); err != nil {
			return err
		}
		if err := s.hookAsks(ch, hux.Agent(call.Actor.ID)); err != nil {
			return err
		}
		if refused = s.running(ch, &q); refused != nil {
			return kept(refused)
		}
		said, err := calls.Get(ch, s.callKey(&q))
		if err != nil {
			return err
		}
		if said != nil && said.ApprovalID != nil {
			if a, err = s.approvals.Load(ch, call, *said.ApprovalID); err != nil {
				return err
			}
			if a.stands(time.Now()) {
				status = http.StatusOK
				return nil
			}
		}
		if a, err = s.ask(ch, &q); err != nil {
			return err
		}
		v, _, err := s.verdict(ch, call, &q, time.Now())
		if err != nil {
			return err
		}
		asked := v.asked()
		asked.ApprovalID = &a.ID
		return s.keep(ch, &q, asked)
	})
	if err := cmp.Or(err, refused); err != nil {
		return err
	}
	if status == http.StatusOK {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	a.Status = a.StateAt(time.Now())
	w.Header().Set("ETag", api.ETag(a.ID, a.Revision))
	return api.JSON(w, status, a)
}

// ask makes the approval of a question, and tells of it. If nobody is there to
// see it, it is made as expired.
func (s *Service) ask(ch *record.Change, q *question) (*Approval, error) {
	attended := s.Log.Present(string(q.conversation.Owner))
	shown := show(q.tool, q.args, slices.Contains(q.capabilities, Execute))
	choices := Choices(q.capabilities, true)
	if shown.Hidden > 0 { // nobody can allow for longer what they can't see in full
		choices = []Choice{Once, DenyChoice}
	}
	a, err := s.approvals.Create(ch, q.conversation.Owner, func(m hux.Meta) *Approval {
		a := &Approval{
			Meta: m, ConversationID: q.conversation.ID, RunID: q.runID, SurfaceHint: q.surface, Status: ApprovalStates.Start,
			ExpiresAt: hux.Time{Time: m.CreatedAt.Add(ApprovalLifetime(q.lives, attended))},
			Request: Request{
				Capability: gravest(q.capabilities), Capabilities: q.capabilities, Tool: q.tool, Summary: shown.request(q.gate), ArgsRedacted: shown.Args,
				Evidence: q.evidence(), Choices: choices, GrantMatch: MatchOf(q.tool, q.args, q.hash),
			},
		}
		if q.target != "" {
			a.Request.Target = &q.target
		}
		if !attended {
			a.Status = "expired"
		}
		return a
	})
	if err != nil {
		return nil, err
	}
	started := "started"
	if err := ch.Tell(event.Event{
		ConversationID: a.ConversationID, RunID: a.RunID, Kind: "approval.requested", Status: &started, Summary: a.Request.Summary, Evidence: a.refs(),
		Data: facts{"approval_id": a.ID, "tool": q.tool, "tool_call_id": q.callID, "capability": a.Request.Capability, "expires_at": a.ExpiresAt}.json(),
	}); err != nil {
		return nil, err
	}
	if !attended {
		return a, resolved(ch, a, "nobody was there to decide")
	}
	s.moved(ch, a.ID)
	return a, nil
}

// refs are what an event about the approval refers to.
func (a *Approval) refs() []hux.EvidenceRef {
	return append([]hux.EvidenceRef{{Kind: "approval", ID: a.ID, Owner: "hux"}}, a.Request.Evidence...)
}

// due is the end of an approval that is pending.
func (a *Approval) due() *due.Item {
	if a.Status != ApprovalStates.Start {
		return nil
	}
	return &due.Item{At: a.ExpiresAt.Time, Kind: dueApproval, ID: a.ID}
}

// gravest is the gravest of a call's capabilities, which come in that order.
func gravest(capabilities []Capability) Capability { return capabilities[len(capabilities)-1] }

// looked notes that a person looks at what there is to decide.
func (s *Service) looked(call *api.Call) {
	if call.Actor.Kind == hux.KindHuman {
		s.Log.Looked(call.Actor.ID)
	}
}

// getApproval answers with an approval. With wait it answers once the approval
// is decided or so many seconds are over.
func (s *Service) getApproval(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	wait, err := waitOf(r)
	if err != nil {
		return err
	}
	s.looked(call)
	id := r.PathValue("id")
	if wait > 0 {
		if err := s.await(r.Context(), call, id, wait); err != nil {
			return err
		}
	}
	a, err := s.readApproval(context.WithoutCancel(r.Context()), call, id) // its context has ended if the router shuts down
	if err != nil {
		return err
	}
	return s.approvals.Answer(w, r, a, wait > 0)
}

func (s *Service) readApproval(ctx context.Context, call *api.Call, id string) (a *Approval, err error) {
	err = call.DB.View(ctx, func(tx *store.Tx) (err error) {
		a, err = s.approvals.Load(tx, call, id)
		return err
	})
	if err == nil {
		a.Status = a.StateAt(time.Now())
	}
	return a, err
}

// await waits until an approval is no longer pending, the time is over, the
// caller has gone or the router shuts down. Thousands of callers may wait, so
// it does not keep the record in memory meanwhile.
func (s *Service) await(ctx context.Context, call *api.Call, id string, wait time.Duration) error {
	deadline := time.Now().Add(wait)
	for {
		moved := s.waiting.of(id)
		until, err := s.pendingUntil(ctx, call, id)
		if err != nil || until.IsZero() {
			s.waiting.wake(id) // keeps no channel for an id that nobody waits for
			return err
		}
		if until.After(deadline) {
			until = deadline
		}
		over := time.NewTimer(time.Until(until))
		select {
		case <-moved:
		case <-over.C:
		case <-ctx.Done():
			deadline = time.Time{}
		}
		over.Stop()
		if !time.Now().Before(deadline) {
			return nil
		}
	}
}

// pendingUntil is when an approval expires; zero where it is not pending.
func (s *Service) pendingUntil(ctx context.Context, call *api.Call, id string) (time.Time, error) {
	a, err := s.readApproval(ctx, call, id)
	if err != nil || a.Status != ApprovalStates.Start {
		return time.Time{}, err
	}
	return a.ExpiresAt.Time, nil
}

// waitOf reads how long a caller wants to wait, api.MaxWait at most.
func waitOf(r *http.Request) (time.Duration, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(q) > 1 || len(q["wait"]) != len(q) {
		return 0, hux.Errorf(hux.BadRequest, "The query has the name wait alone, once.")
	}
	if !q.Has("wait") {
		return 0, nil
	}
	n, err := strconv.Atoi(q.Get("wait")) // for a number out of range, Atoi gives the nearest int
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 0 {
		return 0, hux.Errorf(hux.BadRequest, "wait is a whole number of seconds, 0 or more.")
	}
	return min(time.Duration(min(n, 3600))*time.Second, api.MaxWait), nil
}

// decideApproval takes a person's decision. The first decision counts. The same
// decision again from the same person is no error and changes nothing.
func (s *Service) decideApproval(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[ApprovalDecide](call)
	if err != nil {
		return err
	}
	in.Reason, _ = redact.MaskText(in.Reason)
	return s.approvals.Write(w, r, call, time.Now().Add(GrantLifetime(in.Choice, 0)), func(ch *record.Change) (*Approval, int, error) {
		a, err := s.approvals.Load(ch, call, r.PathValue("id"))
		if err != nil {
			return nil, 0, err
		}
		if a.decidedSo(in, call.Actor) {
			return a, http.StatusOK, nil
		}
		if in.Choice == Always {
			if err := call.RecentSignIn(); err != nil {
				return nil, 0, err
			}
		}
		if err := a.Decidable(in.Choice, in.EvidenceHash, time.Now()); err != nil {
			return nil, 0, err
		}
		grant, err := s.grantOf(ch, a, in.Choice)
		if err != nil {
			return nil, 0, err
		}
		a, err = s.approvals.Update(ch, a.ID, func(a *Approval) error {
			a.Status = in.Choice.Status()
			a.Decision = &Answer{Choice: in.Choice, Reason: in.Reason, Actor: call.Actor, At: ch.At, Surface: call.Surface, GrantID: grant}
			return nil
		})
		if err != nil {
			return nil, 0, err
		}
		return a, http.StatusOK, s.settled(ch, a, string(in.Choice))
	})
}

// settled tells of an approval that is no longer pending, and wakes who waits.
func (s *Service) settled(ch *record.Change, a *Approval, how string) error {
	s.moved(ch, a.ID)
	return resolved(ch, a, how)
}

// resolved tells that an approval is no longer pending.
func resolved(ch *record.Change, a *Approval, how string) error {
	status := map[string]string{"approved": "completed", "denied": "failed", "expired": "failed", "cancelled": "cancelled"}[a.Status]
	data := facts{"approval_id": a.ID, "tool": a.Request.Tool, "tool_call_id": a.Request.Evidence[0].ID, "status": a.Status}
	if d := a.Decision; d != nil {
		data["choice"] = d.Choice
		if d.GrantID != nil {
			data["grant_id"] = *d.GrantID
		}
	}
	if how == callEnded {
		data["cause"] = "call_ended"
	}
	outcome := outcomes[a.Status]
	if how != "deny" { // the outcome says that already
		outcome += " (" + how + ")"
	}
	return ch.Tell(event.Event{
		ConversationID: a.ConversationID, RunID: a.RunID, Kind: "approval.resolved", Status: &status,
		Summary: oneLine(outcome + ": " + a.Request.Tool), Evidence: a.refs(), Data: data.json(),
	})
}

var outcomes = map[string]string{"approved": "Allowed", "denied": "Denied", "expired": "Expired", "cancelled": "Cancelled"}

// expireApproval expires an approval that nobody has decided in time.
func (s *Service) expireApproval(ctx context.Context, db *store.Lease, i due.Item) error {
	return s.Change(ctx, s.system(db), record.Plan{}, func(ch *record.Change) error {
		ch.NoLongerDue(i)
		a, err := s.approvals.Read(ch, i.ID)
		if err != nil || a == nil || a.Status != ApprovalStates.Start {
			return err
		}
		return s.end(ch, a, "expired", "nobody decided in time")
	})
}

// callEnded is the reason of an approval that is cancelled since its call has
// ended, for example because the agent no longer waits for its hook.
const callEnded = "the agent ended the call before anybody decided"

// end settles a pending approval without a decision.
func (s *Service) end(ch *record.Change, a *Approval, status, why string) error {
	if err := s.approvals.Revise(ch, a, func(a *Approval) error { a.Status = status; return nil }); err != nil {
		return err
	}
	return s.settled(ch, a, why)
}

// cancelPending cancels the approvals of a run that is stopped or has ended.
func (s *Service) cancelPending(ch *record.Change, c *conversation.Conversation, runID, why string) error {
	pending, err := s.approvals.Find(ch, c.Owner, pendingOf, c.ID+" "+runID)
	for _, a := range pending {
		if err == nil {
			err = s.end(ch, a, "cancelled", why)
		}
	}
	return err
}
