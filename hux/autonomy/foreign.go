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

// Foreign is an approval of another system, such as one of the WebUI's own,
// that hux decides in that system's place. Session and ID name it: who asks
// again under the same names gets the same answer, also after a restart.
type Foreign struct {
	Session conversation.Ref // the other system's session
	ID      string           // the other system's id of the approval, of the form of a hux.ForeignID
	RunID   string           // the run that waits, of that form too; "" for the run that is under way
	Tool    string
	Args    map[string]any // as schema.Parse gives them
	Command string         // a command in Args that runs in a shell besides; "" for none
	Why     string         // why the other system asks, in its words; "" if it does not say
	Unfit   string         // why no person can be asked, so that it is denied; "" if one can
}

// maxWhy is how many characters of a Foreign's Why are shown.
const maxWhy = 80

// maxForeign is how many Foreigns of one tenant may wait at a time.
const maxForeign = 100

// Standing is how a Foreign stands.
type Standing struct {
	Choice Choice          // the answer: Once or DenyChoice; "" while a person is asked
	Moved  <-chan struct{} // closed when there may be an answer; nil once there is one
	Over   bool            // the other system does not take the answer; don't give it again
}

// foreign is what the store keeps of a Foreign while the other system waits.
type foreign struct {
	Session    conversation.Ref `json:"session"`
	ID         string           `json:"id"`
	Effect     Effect           `json:"effect"`
	ApprovalID *string          `json:"approval_id"`
	Conv       string           `json:"conversation_id"`
	RunID      string           `json:"run_id"`
	Tool       string           `json:"tool"`
	Told       bool             `json:"told"` // the timeline says that the answer was not taken
}

// foreigns are kept by session and id, both hashed.
const foreigns = record.Table[foreign]("foreign")

func (s *Service) foreignKey(ref conversation.Ref, id string) string {
	return s.Keys.Short("foreign", ref.System, ref.ID) + s.Keys.Short("foreign_id", id)
}

// Stand says how a Foreign stands. ok is false if Take was never called for it.
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
// conversation of its session, and says how it stands. Called again for the
// same Foreign it changes nothing. If the session has no conversation yet,
// member gets a new one. If a run asks that has ended or is to stop, the answer
// is a denial. If the Foreign is unfit, or the API would not take it from an
// agent either, the answer is a denial and the timeline says so.
//
// The error is human_required if the session has no conversation and member is
// "", and rate_limited if too many wait.
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

// standing says how a Foreign stands now.
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
		ch.Belongs(q.conversation.ID, string(foreigns), key)
		return foreigns.Put(ch, key, &foreign{
			Session: f.Session, ID: id, Effect: said.Ruling.Effect, ApprovalID: said.ApprovalID, Conv: q.conversation.ID, RunID: q.runID, Tool: q.tool,
		})
	})
}

// question makes a question of a Foreign, within the limits that hold for an
// agent's question. unfit says why it can't; it is "" if it can.
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
			unfit = "it can't be read" // the API would refuse it from an agent too
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

// grantExactly lets a person grant only this very call. A grant for its tool's
// target would allow every command that runs besides.
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

// Withdraw ends all Foreigns of a session but the one with the id except, since
// the session no longer waits for them. Their pending approvals are cancelled.
func (s *Service) Withdraw(ctx context.Context, db *store.Lease, session conversation.Ref, except string) error {
	prefix := s.Keys.Short("foreign", session.System, session.ID)
	stay := s.foreignKey(session, except)
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
			ch.BelongsNoMore(row.Value.Conv, string(foreigns), row.Key)
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

// NotTaken says in the timeline, once, that the other system has not taken the
// answer to a Foreign. From then on the Foreign is Over. It says nothing about a
// denial that no person was asked about, since the timeline has that already.
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

// Sessions are the sessions of which a Foreign waits.
func (s *Service) Sessions(ctx context.Context, db *store.Lease) (refs []conversation.Ref, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		refs = nil
		rows, err := foreigns.List(tx, "")
		for _, row := range rows {
			if ref := row.Value.Session; len(refs) == 0 || refs[len(refs)-1] != ref { // the rows of a session follow each other
				refs = append(refs, ref)
			}
		}
		return err
	})
	return refs, err
}
