package autonomy

import (
	"context"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

const (
	bypasses  = record.Table[Bypass]("bypasses") // by conversation and run
	hookedFor = 24 * time.Hour                   // how long after its last question an agent counts as one with a hook
)

// Bypass is the alarm about a run in which a call ran that nothing had allowed.
// The call went round the hook, for example because the hook was killed.
type Bypass struct {
	At             hux.Time `json:"at"`
	Owner          hux.User `json:"owner"`
	ConversationID string   `json:"conversation_id"`
	RunID          string   `json:"run_id"`
	Tool           string   `json:"tool"` // of the first such call
	ByAgent        bool     `json:"by_agent"`
	Stopped        bool     `json:"stopped"` // the run was asked to stop
}

// judgeTold judges a reported call, judgeAfter its last report: it raises the
// alarm if the call ran and nothing had allowed it.
func (s *Service) judgeTold(ctx context.Context, db *store.Lease, i due.Item) error {
	return s.Change(ctx, s.system(db), record.Plan{Due: time.Now().Add(askAgain)}, func(ch *record.Change) error {
		ch.NoLongerDue(i)
		t, err := toldCalls.Get(ch, i.ID)
		if err != nil || t == nil {
			return err
		}
		conv, err := s.Conversations.Read(ch, t.ConversationID)
		if err != nil {
			return err
		}
		if conv == nil || conv.State == conversation.Forgotten {
			toldCalls.Delete(ch, i.ID)
			return nil
		}
		bypassed, err := s.bypassed(ch, t)
		if err != nil {
			return err
		}
		if t.Agent != "" && t.named() { // calls without an id of their own stay, to be counted with later ones
			toldCalls.Delete(ch, i.ID)
		}
		if !bypassed {
			return nil
		}
		return s.alarm(ch, conv, t)
	})
}

// alarm tells of a bypass, once for each run. It also stops the run, if the
// agent itself reported the call and the agent's hook has asked lately.
func (s *Service) alarm(ch *record.Change, conv *conversation.Conversation, t *toldCall) error {
	ever, lately, err := s.hooksAsked(ch, t.Agent)
	if err != nil {
		return err
	}
	if !lately {
		if err := s.noteUnasked(ch, t.At); err != nil || t.Agent == "" && !ever {
			return err
		}
	}
	b, err := s.readBypass(ch, t)
	if err != nil {
		return err
	}
	known := b != nil
	if !known {
		b = &Bypass{At: ch.At, Owner: conv.Owner, ConversationID: conv.ID, RunID: t.RunID, Tool: t.Tool, ByAgent: t.Agent != ""}
	}
	stop := !b.Stopped && s.StopBypassed && lately && t.RunID != "" && t.Agent != "" && !s.Conversations.HasFinished(ch, t.ConversationID, t.RunID)
	if known && !stop {
		return nil
	}
	b.Stopped = b.Stopped || stop
	if err := bypasses.Put(ch, s.bypassKey(t), b); err != nil {
		return err
	}
	if !known {
		if err := s.tellBypass(ch, b, t); err != nil {
			return err
		}
	}
	if stop {
		_, err = s.askStop(ch, conv, t.RunID, t.SessionID)
	}
	return err
}

func (s *Service) tellBypass(ch *record.Change, b *Bypass, t *toldCall) error {
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
	if err := ch.Tell(event.Event{
		ConversationID: b.ConversationID, RunID: b.RunID, Kind: "policy.bypassed", Status: &failed, Summary: oneLine(summary), Evidence: evidence, Data: data.json(),
	}); err != nil {
		return err
	}
	return s.noteBypass(ch, b)
}

func (s *Service) bypassKey(t *toldCall) string {
	return t.ConversationID + s.Keys.Short("run", t.RunID)
}

func (s *Service) readBypass(tx store.Reader, t *toldCall) (*Bypass, error) {
	return bypasses.Get(tx, s.bypassKey(t))
}
