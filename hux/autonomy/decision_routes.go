package autonomy

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// calls are the answers to questions about calls, by conversation, call, and run
// with evidence.
const calls = record.Table[askedCall]("calls")

// askedCall is the answer to a question about a tool call of a run. While it
// stands, the same question gets the same answer and spends nothing.
type askedCall struct {
	RunID        string             `json:"run_id"`
	Tool         string             `json:"tool"`
	Foreign      bool               `json:"foreign"` // another system asked, under an id of its own
	Ruling       Ruling             `json:"decision"`
	Capabilities []CapabilityRuling `json:"capabilities"`
	GrantID      *string            `json:"grant_id"`
	ApprovalID   *string            `json:"approval_id"`
	Spends       []string           `json:"spends"`
	At           hux.Time           `json:"at"`
}

// place finds the conversation and the run of a question. It refuses a run that
// belongs to another conversation or has ended.
func (s *Service) place(ch *record.Change, in Run, q *question) (err error) {
	switch {
	case in.ConversationID != "":
		q.conversation, err = s.Conversations.Peek(ch, ch.Call, in.ConversationID)
	case in.Session != nil:
		q.conversation, err = s.Conversations.Open(ch, conversation.Ref(*in.Session))
	}
	if err != nil {
		return err
	}
	if q.conversation.State == conversation.Forgotten {
		return hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
	}
	if q.runID = in.RunID; q.runID == "" {
		q.runID, q.heard = s.Conversations.RunOfTurn(ch, q.conversation.ID, in.TurnID)
	}
	return s.Conversations.ClaimRun(ch, q.conversation.ID, q.runID)
}

// running refuses a question whose run has ended or is to stop.
func (s *Service) running(tx store.Reader, q *question) error {
	stopped, err := s.stopped(tx, q)
	switch {
	case err != nil:
		return err
	case stopped:
		return hux.Errorf(hux.RunEnded, "Somebody has stopped this run; nothing of it may go on.")
	case s.Conversations.HasFinished(tx, q.conversation.ID, q.runID):
		return hux.Errorf(hux.RunEnded, "This run has reported its end; nothing of it may go on.")
	}
	return nil
}

func (s *Service) callKey(q *question) string {
	return s.callPrefix(q.conversation.ID, q.callID) + s.Keys.Short("asked", q.runID, q.hash)
}

// callPrefix begins the keys of all answers about a call of a conversation.
func (s *Service) callPrefix(conversationID, callID string) string {
	return conversationID + s.Keys.Short("call", callID)
}

// keep saves the answer about a call.
func (s *Service) keep(ch *record.Change, q *question, said askedCall) error {
	said.RunID, said.Tool, said.Foreign = q.runID, q.tool, q.gate != ""
	return calls.Put(ch, s.callKey(q), &said)
}

// decide answers POST /decisions: may a call run? To answer that it may spends
// its budgets and grants at once.
func (s *Service) decide(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	in, err := api.In[DecisionCreate](call)
	if err != nil {
		return err
	}
	q, err := newQuestion(in.Tool, in.Args, in.Target, in.ToolCallID)
	if err != nil {
		return err
	}
	q.surface, q.lives = in.SurfaceHint, time.Duration(in.ExpiresInMS)*time.Millisecond
	var said *askedCall
	var replayed bool
	var refused error
	plan := record.Plan{Due: time.Now().Add(ApprovalLifetime(q.lives, true))}
	err = s.Change(r.Context(), call, plan, func(ch *record.Change) (err error) {
		replayed, refused = false, nil
		if err := s.place(ch, in.Run, &q); err != nil {
			return err
		}
		if err := s.hookAsks(ch, hux.Agent(call.Actor.ID)); err != nil {
			return err
		}
		if refused = s.running(ch, &q); refused != nil {
			return kept(refused)
		}
		if said, err = calls.Get(ch, s.callKey(&q)); err != nil {
			return err
		}
		if said != nil {
			if replayed, err = s.stands(ch, call, &q, *said); err != nil || replayed {
				return err
			}
		}
		said, err = s.judge(ch, &q)
		return err
	})
	if err := cmp.Or(err, refused); err != nil {
		return err
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return api.JSON(w, http.StatusOK, Decision{
		Schema: DecisionSchema, Ruling: said.Ruling, Capabilities: said.Capabilities,
		EvidenceHash: q.hash, GrantID: said.GrantID, ApprovalID: said.ApprovalID, Provenance: call.Provenance(),
	})
}

// judge decides about a call without a standing answer, and does what follows:
// it spends budgets and grants, makes an approval, or tells of the refusal.
func (s *Service) judge(ch *record.Change, q *question) (*askedCall, error) {
	now := time.Now()
	v, p, err := s.verdict(ch, ch.Call, q, now)
	if err != nil {
		return nil, err
	}
	said := &askedCall{Ruling: v.Ruling, Capabilities: v.Each, Spends: v.Spends, At: ch.At}
	switch v.Effect {
	case Allow:
		if len(v.Spends) > 0 {
			said.GrantID = &v.Spends[0]
		}
		err = s.spend(ch, p, v, q, now)
	case Ask:
		var a *Approval
		if a, err = s.ask(ch, q); err == nil {
			said.ApprovalID = &a.ID
		}
	default:
		failed := "failed"
		err = ch.Tell(event.Event{
			ConversationID: q.conversation.ID, RunID: q.runID, Kind: "approval.resolved", Status: &failed,
			Summary: oneLine("Not allowed: " + q.tool), Evidence: q.evidence(),
			Data: facts{"tool": q.tool, "tool_call_id": q.callID, "effect": v.Effect, "reason": v.Reason, "capability": v.Capability}.json(),
		})
	}
	if err != nil {
		return nil, err
	}
	return said, s.keep(ch, q, *said)
}

// spend counts an allowance against the budgets, and against the grants that it
// rests on.
func (s *Service) spend(ch *record.Change, p Policy, v Verdict, q *question, now time.Time) error {
	if p.Revision > 0 {
		s.writeBudgets(ch, p, SpendCall(p.Budgets, q.capabilities), q.runID, now)
	}
	for _, id := range v.Spends {
		if err := s.useGrant(ch, id, now); err != nil {
			return err
		}
	}
	return nil
}

func (q *question) evidence() []hux.EvidenceRef {
	return []hux.EvidenceRef{{Kind: "tool_call", ID: q.callID, Owner: "gateway", Hash: &q.hash}}
}

// callLifetime is how long an answer about a call is kept. Reports of the call
// may come after its run has ended.
const callLifetime = 48 * time.Hour

// Sweep deletes answers about calls, reports of calls and alarms that are older
// than callLifetime.
func Sweep(ctx context.Context, db *store.Lease) error {
	for _, bucket := range []string{string(calls), string(toldCalls), string(bypasses)} {
		err := record.SweepBucket(ctx, db, bucket, func(_ store.Reader, _ string, value []byte) bool {
			var kept struct {
				At hux.Time `json:"at"`
			}
			return json.Unmarshal(value, &kept) == nil && time.Since(kept.At.Time) > callLifetime
		})
		if err != nil {
			return err
		}
	}
	return nil
}
