package autonomy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// Foreign is an approval that another system waits for, such as the WebUI for
// one of its own, and that is decided here in its place. Session and ID name
// it: whoever asks again, also after a restart, is told the same.
type Foreign struct {
	Session conversation.Ref // where the other system asks
	ID      string           // the approval there, with the shape of the gateway's ids
	RunID   string           // the run that waits, likewise; "" for the one that is under way
	Tool    string
	Args    map[string]any // as schema.Parse gives them
	Command string         // what runs in a shell besides, and is in Args; "" for nothing
	Why     string         // what the other system says of why it asks; "" for nothing
	Unfit   string         // why nobody can be asked about it, so that it is denied; "" where somebody can
}

// maxWhy bounds what is shown of a Foreign's Why, in characters.
const maxWhy = 80

// maxForeign is how many are kept at a time, of one tenant.
const maxForeign = 100

// Standing is how a Foreign stands.
type Standing struct {
	Choice Choice          // what to answer: Once or DenyChoice; "" while a person is asked
	Moved  <-chan struct{} // closed when that may have changed; nil once there is an answer
	Over   bool            // the other system does not take the answer, and is not given it again
}

// foreign is what is kept of a Foreign as long as the other system waits.
type foreign struct {
	Session    conversation.Ref `json:"session"`
	ID         string           `json:"id"`
	Effect     Effect           `json:"effect"`
	ApprovalID *string          `json:"approval_id"`
	Conv       string           `json:"conversation_id"`
	RunID      string           `json:"run_id"`
	Tool       string           `json:"tool"`
	Told       bool             `json:"told"` // that the answer was not taken
}

// foreigns are kept by session and id, both hashed.
const foreigns = record.Table[foreign]("foreign")

func (s *Service) foreignKey(ref conversation.Ref, id string) string {
	return s.Keys.Short("foreign", ref.System, ref.ID) + s.Keys.Short("foreign_id", id)
}

// Stand says how a Foreign stands that Take has taken; ok is false for any
// other.
func (s *Service) Stand(ctx context.Context, db *store.Lease, f Foreign) (st Standing, ok bool, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		kept, err := foreigns.Get(tx, s.foreignKey(f.Session, f.ID))
		if err == nil && kept != nil {
			ok = true
			st, err = s.standing(tx, kept)
		}
		return err
	})
	return st, ok, err
}

// Take decides about a Foreign as POST /decisions does about a call, in the
// conversation of its session, and gives how it stands; taken again it changes
// nothing. Where the session has no conversation, it becomes one of member's; a
// human_required error says that nobody knows whose it is (member is ""), and a
// rate_limited one that too many are kept. What a run asks that is over or to
// stop is denied, and what is unfit, or would not be read from an agent either,
// is denied and told in the timeline.
func (s *Service) Take(ctx context.Context, db *store.Lease, member hux.User, f Foreign) (Standing, error) {
	err := s.take(ctx, db, member, f)
	var e *hux.Error
	switch {
	case err == nil:
		st, _, err := s.Stand(ctx, db, f)
		return st, err
	case errors.As(err, &e) && slices.Contains([]hux.Code{hux.RunEnded, hux.ConversationForgotten, hux.UnknownReference}, e.Code):
		return Standing{Choice: DenyChoice}, nil
	}
	return Standing{}, err
}

// standing is how what is kept stands now.
func (s *Service) standing(tx store.Reader, kept *foreign) (Standing, error) {
	if kept.ApprovalID == nil {
		return Standing{Choice: choiceOf(kept.Effect == Allow), Over: kept.Told}, nil
	}
	moved := s.waiting.of(*kept.ApprovalID)
	a, err := s.approvals.Read(tx, *kept.ApprovalID)
	if err != nil {
		return Standing{}, err
	}
	if a != nil && a.StateAt(time.Now()) == ApprovalStates.Start {
		return Standing{Moved: moved}, nil
	}
	s.waiting.wake(*kept.ApprovalID)
	return Standing{Choice: choiceOf(a != nil && a.Status == "approved"), Over: kept.Told}, nil
}

func choiceOf(allowed bool) Choice {
	if allowed {
		return Once
	}
	return DenyChoice
}

func (s *Service) take(ctx context.Context, db *store.Lease, member hux.User, f Foreign) error {
	id := f.ID
	if masked, _ := redact.MaskText(id); masked != id {
		id = s.Keys.Hash("foreign_id", id)
	}
	q, unfit, err := s.question(f, id)
	if err != nil {
		return err
	}
	call := s.system(db)
	call.User, call.Surface, call.Session = member, hux.SurfaceChat, &f.Session.ID
	return s.Change(ctx, call, record.Plan{Due: time.Now().Add(ApprovalLifetime(0, true))}, func(ch *record.Change) error {
		key := s.foreignKey(f.Session, f.ID)
		if kept, err := foreigns.Get(ch, key); err != nil || kept != nil {
			return err
		}
		if len(ch.List(string(foreigns), "")) >= maxForeign {
			return hux.Errorf(hux.RateLimited, "%d calls of this tenant wait elsewhere already.", maxForeign)
		}
		if q.conversation, err = s.Conversations.OfSession(ch, f.Session); err != nil {
			return err
		}
		if q.conversation == nil || q.conversation.State == conversation.Forgotten {
			return hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
		}
		if q.runID = f.RunID; q.runID == "" {
			q.runID = s.Conversations.ActiveRun(ch, q.conversation.ID)
		}
		if q.runID == "" {
			q.runID = id
		}
		if err := s.Conversations.ClaimRun(ch, q.conversation.ID, q.runID); err != nil {
			return err
		}
		if err := s.running(ch, &q); err != nil {
			return err
		}
		call.Run = &q.runID
		said := &askedCall{Ruling: Ruling{Effect: Deny}}
		if unfit != "" {
			err = tellUnfit(ch, &q, unfit)
		} else {
			said, err = s.judge(ch, &q)
		}
		if err == nil && f.Command != "" && said.ApprovalID != nil {
			err = s.grantExactly(ch, &q, *said.ApprovalID)
		}
		if err != nil {
			return err
		}
		return foreigns.Put(ch, key, &foreign{
			Session: f.Session, ID: id, Effect: said.Ruling.Effect, ApprovalID: said.ApprovalID, Conv: q.conversation.ID, RunID: q.runID, Tool: q.tool,
		})
	})
}

// question reads a Foreign within the limits of an agent's own question, and
// says why it is unfit where it is.
func (s *Service) question(f Foreign, id string) (q question, unfit string, err error) {
	if unfit = f.Unfit; unfit == "" {
		text, err := json.Marshal(f.Args)
		if err != nil {
			return q, "", err
		}
		switch {
		case len(text) > schema.MaxBody:
			unfit = "it is too large"
		case s.Schemas.Validate("hux.decision.create.v1", map[string]any{
			"session": map[string]any{"system": f.Session.System, "id": f.Session.ID}, "turn_id": "none",
			"tool": f.Tool, "args": f.Args, "tool_call_id": id,
		}) != nil:
			unfit = "it can't be read" // as from an agent
		}
	}
	if unfit != "" {
		return question{tool: "unknown", callID: id}, unfit, nil
	}
	if q, err = newQuestion(f.Tool, f.Args, targetOf(f), id); err != nil {
		return q, "", err
	}
	q.gate = "the agent's own check asks this, whatever its hook has asked"
	if why, _ := redact.MaskText(f.Why); why != "" {
		q.gate += ": " + within(why, maxWhy)
	}
	if f.Command != "" {
		q.capabilities = union(q.capabilities, Capabilities("terminal", map[string]any{"command": f.Command}))
	}
	return q, "", nil
}

// grantExactly has a person grant just the call: a grant for what its tool is
// aimed at would let every command through that runs besides.
func (s *Service) grantExactly(ch *record.Change, q *question, approvalID string) error {
	a, err := s.approvals.Read(ch, approvalID)
	if err != nil {
		return err
	}
	a.Request.GrantMatch = Match{Tool: q.tool, ArgsHash: q.hash}
	return s.approvals.Save(ch, a)
}

// union joins capabilities, in the order of AllCapabilities.
func union(a, b []Capability) []Capability {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(a, b Capability) int { return gravity(a) - gravity(b) })
	return slices.Compact(all)
}

// tellUnfit tells that a call was denied without anybody being asked.
func tellUnfit(ch *record.Change, q *question, why string) error {
	failed := "failed"
	return ch.Tell(event.Event{
		ConversationID: q.conversation.ID, RunID: q.runID, Kind: "approval.resolved", Status: &failed,
		Summary: oneLine("Not allowed, since nobody can be asked: " + why),
		Data:    facts{"tool": q.tool, "tool_call_id": q.callID, "effect": Deny}.json(),
	})
}

func targetOf(f Foreign) *string {
	if target := Target(f.Tool, f.Args); target != "" {
		return &target
	}
	return nil
}

// Withdraw ends what a session asked for and no longer waits for: all but the
// one that is named. What a person was still asked about is cancelled.
func (s *Service) Withdraw(ctx context.Context, db *store.Lease, session conversation.Ref, but string) error {
	prefix := s.Keys.Short("foreign", session.System, session.ID)
	stay := s.foreignKey(session, but)
	gone := func(tx store.Reader) (rows []record.Row[foreign], err error) {
		rows, err = foreigns.List(tx, prefix)
		return slices.DeleteFunc(rows, func(row record.Row[foreign]) bool { return row.Key == stay }), err
	}
	var some bool
	err := db.View(ctx, func(tx *store.Tx) error {
		rows, err := gone(tx)
		some = len(rows) > 0
		return err
	})
	if err != nil || !some {
		return err
	}
	return s.Change(ctx, s.system(db), record.Plan{}, func(ch *record.Change) error {
		rows, err := gone(ch)
		for _, row := range rows {
			foreigns.Delete(ch, row.Key)
			if err == nil {
				err = s.withdraw(ch, row.Value)
			}
		}
		return err
	})
}

func (s *Service) withdraw(ch *record.Change, kept *foreign) error {
	if kept.ApprovalID == nil {
		return nil
	}
	a, err := s.approvals.Read(ch, *kept.ApprovalID)
	if err != nil || a == nil || a.Status != ApprovalStates.Start {
		return err
	}
	return s.end(ch, a, "cancelled", "nobody waits for it any more")
}

// NotTaken tells, once, that the other system has not taken the answer to a
// Foreign, which is not given again. A refusal that nobody was asked about was
// told before.
func (s *Service) NotTaken(ctx context.Context, db *store.Lease, f Foreign) error {
	return s.Change(ctx, s.system(db), record.Plan{}, func(ch *record.Change) error {
		key := s.foreignKey(f.Session, f.ID)
		kept, err := foreigns.Get(ch, key)
		if err != nil || kept == nil || kept.Told {
			return err
		}
		kept.Told = true
		if err := foreigns.Put(ch, key, kept); err != nil {
			return err
		}
		if kept.ApprovalID == nil && kept.Effect != Allow {
			return nil
		}
		cancelled := "cancelled"
		data := facts{"tool": kept.Tool, "tool_call_id": kept.ID, "status": "cancelled", "cause": "not_run"}
		var evidence []hux.EvidenceRef
		if kept.ApprovalID != nil {
			data["approval_id"] = *kept.ApprovalID
			evidence = []hux.EvidenceRef{{Kind: "approval", ID: *kept.ApprovalID, Owner: "hux"}}
		}
		return ch.Tell(event.Event{
			ConversationID: kept.Conv, RunID: kept.RunID, Kind: "approval.resolved", Status: &cancelled,
			Summary: oneLine("The answer was not taken, it may have come too late: " + kept.Tool), Evidence: evidence, Data: data.json(),
		})
	})
}

// Sessions are those of which a Foreign is kept.
func (s *Service) Sessions(ctx context.Context, db *store.Lease) (refs []conversation.Ref, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		refs = nil
		rows, err := foreigns.List(tx, "")
		for _, row := range rows {
			if ref := row.Value.Session; len(refs) == 0 || refs[len(refs)-1] != ref { // rows of a session stand together
				refs = append(refs, ref)
			}
		}
		return err
	})
	return refs, err
}
