package autonomy

import (
	"context"
	"encoding/json"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

const (
	bypassBucket = "bypasses"     // conversation id and hash of run → Bypass
	hookedFor    = 24 * time.Hour // since its last question an agent counts as one with a hook
)

// Bypass is the alarm about a run in which a call ran that nothing had allowed:
// it has gone round the hook, as where the hook was killed.
type Bypass struct {
	At             hux.Time `json:"at"`
	Owner          hux.User `json:"owner"`
	ConversationID string   `json:"conversation_id"`
	RunID          string   `json:"run_id"`
	Tool           string   `json:"tool"` // of the first such call
	ByAgent        bool     `json:"by_agent"`
	Stopped        bool     `json:"stopped"` // the run was asked to stop
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
		if err := store.Decode(toldBucket, i.ID, value, &t); err != nil {
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
		go s.stopUpstream(db, owner, t.ConversationID, t.RunID, t.SessionID)
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
	stop := !b.Stopped && s.StopBypassed && lately && t.RunID != "" && t.Agent != "" && !s.Conversations.HasFinished(tx, t.ConversationID, t.RunID)
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
		_, stopping, err = s.askStop(tx, call, conv, t.RunID, t.SessionID, c)
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
	key := s.bypassKey(t)
	value := tx.Get(bypassBucket, key)
	if value == nil {
		return nil, nil
	}
	b := new(Bypass)
	return b, store.Decode(bypassBucket, key, value, b)
}

func putJSON(tx *store.Tx, bucket, key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return tx.Put(bucket, key, value)
}
