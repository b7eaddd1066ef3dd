package autonomy

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

const stopsBucket = "stops" // conversation id and hash of run → stop

// stop is a run that somebody asked to stop.
type stop struct {
	RunID       string    `json:"run_id"`
	RequestedAt hux.Time  `json:"requested_at"`
	RequestedBy hux.Actor `json:"requested_by"`
	Confirmed   bool      `json:"confirmed"` // whatever runs it said that it is at its end
	Refused     bool      `json:"refused"`   // or that it can't stop it
	ReceiptID   string    `json:"receipt_id"`
}

func (s *Service) stopKey(conversationID, runID string) string {
	return conversationID + s.Keys.Short("run", runID)
}

func (s *Service) readStop(tx *store.Tx, conversationID, runID string) (*stop, error) {
	value := tx.Get(stopsBucket, s.stopKey(conversationID, runID))
	if value == nil {
		return nil, nil
	}
	st := new(stop)
	return st, json.Unmarshal(value, st)
}

func (s *Service) writeStop(tx *store.Tx, conversationID string, st *stop) error {
	value, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return tx.Put(stopsBucket, s.stopKey(conversationID, st.RunID), value)
}

func (st *stop) due(conversationID string) due.Item {
	return due.Item{At: st.RequestedAt.Add(ReceiptDeadline), Kind: dueReceipt, ID: conversationID + " " + st.RunID}
}

// cancellation is how far a stop is.
func (s *Service) cancellation(tx *store.Tx, st *stop) (Cancellation, error) {
	var receipt *Receipt
	if st.ReceiptID != "" {
		var err error
		if receipt, err = s.receipt(tx, st.ReceiptID); err != nil {
			return Cancellation{}, err
		}
	}
	return CancellationOf(st.RequestedAt, receipt), nil
}

// cancel answers POST …/cancel: 202 with stopping, or 200 with what came of it
// where there is a receipt. The run is the key: to ask again changes nothing.
func (s *Service) cancel(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	if _, err := s.Keys.Of(r, call, nil); err != nil {
		return err
	}
	id, runID := r.PathValue("id"), r.PathValue("run_id")
	release, err := s.Due.Hold(r.Context(), call.Tenant(), time.Now().Add(ReceiptDeadline))
	if err != nil {
		return err
	}
	defer release()
	var c changes
	var answer Cancellation
	var owner hux.User
	begun := false
	err = call.DB.Update(r.Context(), func(tx *store.Tx) error {
		c, begun = changes{}, false
		conv, err := s.Conversations.Peek(tx, call, id)
		if err != nil {
			return err
		}
		owner = conv.Owner
		if s.Conversations.RunOf(tx, runID) != conv.ID {
			return hux.Errorf(hux.NotFound, "There is no such run in this conversation.")
		}
		st, err := s.readStop(tx, conv.ID, runID)
		if err != nil {
			return err
		}
		if st == nil {
			st, begun = &stop{RunID: runID, RequestedAt: hux.Now(), RequestedBy: call.Actor}, true
			if err := s.beginStop(tx, call, conv, st, &c); err != nil {
				return err
			}
			begun = st.ReceiptID == ""
		}
		answer, err = s.cancellation(tx, st)
		return err
	})
	if err != nil {
		return err
	}
	s.wake(call.Tenant(), c)
	if begun && s.Stop != nil {
		go s.stopUpstream(call.DB, owner, id, runID)
	}
	status := http.StatusAccepted
	if answer.ReceiptID != nil {
		status = http.StatusOK
	}
	return api.JSON(w, status, answer)
}

// beginStop notes that a run is to stop and cancels what it asks. One that has
// finished has its receipt at once.
func (s *Service) beginStop(tx *store.Tx, call *api.Call, conv *conversation.Conversation, st *stop, c *changes) error {
	started := "started"
	if err := c.tell(tx, call, event.Event{
		ConversationID: conv.ID, RunID: st.RunID, Kind: "run.cancel_requested", Status: &started, Summary: "Asked to stop",
	}); err != nil {
		return err
	}
	if err := s.cancelPending(tx, call, conv.ID, st.RunID, "the run was stopped", c); err != nil {
		return err
	}
	if err := s.writeStop(tx, conv.ID, st); err != nil {
		return err
	}
	seen, err := s.observed(tx, conv.ID, st.RunID)
	if err != nil {
		return err
	}
	if seen.finished {
		return s.writeReceipt(tx, call, conv, st, seen.outcome(st), seen.effects, "partial", c)
	}
	return due.Put(tx, st.due(conv.ID))
}

// stopMargin is how long before the deadline of the receipt nobody is asked to
// stop the run any more.
const stopMargin = 2 * time.Second

// stopUpstream really stops the run, and writes the receipt once it is at its
// end there.
func (s *Service) stopUpstream(db *store.Lease, owner hux.User, conversationID, runID string) {
	ctx, cancel := context.WithTimeout(s.Closing, ReceiptDeadline-stopMargin)
	defer cancel()
	key := s.stopKey(conversationID, runID)
	s.mu.Lock()
	s.stopping[key] = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.stopping, key)
		s.mu.Unlock()
	}()
	err := s.Stop(ctx, db.Tenant(), owner, runID)
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), context.Canceled) {
		return // there is a receipt, or the router ends
	}
	if err != nil {
		slog.Warn("stopping a run", "tenant", db.Tenant(), "cause", err)
	}
	err = s.conclude(s.Closing, db, conversationID, runID, func(st *stop) bool {
		st.Confirmed, st.Refused = err == nil, err != nil
		return st.Confirmed // else its events or the deadline say how it ended
	})
	if err != nil {
		slog.Warn("writing a receipt", "tenant", db.Tenant(), "cause", err)
	}
}

// overdueReceipt is what falls due at the deadline of a receipt.
func (s *Service) overdueReceipt(ctx context.Context, db *store.Lease, i due.Item) error {
	conversationID, runID := i.ID[:len("cnv_")+32], i.ID[len("cnv_")+33:]
	if err := s.conclude(ctx, db, conversationID, runID, func(*stop) bool { return true }); err != nil {
		return err
	}
	return db.Update(ctx, func(tx *store.Tx) error { return due.Done(tx, i) })
}

// conclude writes the receipt of a stop that has none, if now says yes.
func (s *Service) conclude(ctx context.Context, db *store.Lease, conversationID, runID string, now func(*stop) bool) error {
	call := s.system(db)
	var c changes
	err := db.Update(ctx, func(tx *store.Tx) error {
		c = changes{}
		st, err := s.readStop(tx, conversationID, runID)
		if err != nil || st == nil || st.ReceiptID != "" {
			return err
		}
		if !now(st) {
			return s.writeStop(tx, conversationID, st)
		}
		conv, err := s.Conversations.Read(tx, conversationID)
		if err != nil || conv == nil {
			return err
		}
		seen, err := s.observed(tx, conversationID, runID)
		if err != nil {
			return err
		}
		return s.writeReceipt(tx, call, conv, st, seen.outcome(st), seen.effects, "partial", &c)
	})
	s.wake(db.Tenant(), c)
	return err
}

func (s *Service) getCancel(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var answer Cancellation
	err := call.DB.View(r.Context(), func(tx *store.Tx) error {
		c, err := s.Conversations.Peek(tx, call, r.PathValue("id"))
		if err != nil {
			return err
		}
		st, err := s.readStop(tx, c.ID, r.PathValue("run_id"))
		if err != nil {
			return err
		}
		if st == nil {
			return hux.Errorf(hux.NotFound, "Nobody has asked this run to stop.")
		}
		answer, err = s.cancellation(tx, st)
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, answer)
}
