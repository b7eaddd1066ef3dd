package autonomy

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// stops are kept by conversation and run.
const stops = record.Table[stop]("stops")

// stop is a run that somebody asked to stop.
type stop struct {
	RunID       string    `json:"run_id"`
	RequestedAt hux.Time  `json:"requested_at"`
	RequestedBy hux.Actor `json:"requested_by"`
	Asking      bool      `json:"asking"`    // the WebUI is to be asked, and has not answered
	Confirmed   bool      `json:"confirmed"` // the WebUI has said that the run has ended
	Refused     bool      `json:"refused"`   // the WebUI has said that it can't stop the run
	ReceiptID   string    `json:"receipt_id"`
	SessionID   string    `json:"session_id"` // the session to stop if the WebUI does not know the run; "" if another turn may run there by now
}

func (s *Service) stopKey(conversationID, runID string) string {
	return conversationID + s.Keys.Short("run", runID)
}

func (s *Service) readStop(tx store.Reader, conversationID, runID string) (*stop, error) {
	return stops.Get(tx, s.stopKey(conversationID, runID))
}

func (s *Service) writeStop(ch *record.Change, conversationID string, st *stop) error {
	return stops.Put(ch, s.stopKey(conversationID, st.RunID), st)
}

func (st *stop) due(conversationID string) due.Item {
	return due.Item{At: st.RequestedAt.Add(ReceiptDeadline), Kind: dueReceipt, ID: conversationID + " " + st.RunID}
}

// askAgain is how long after a restart hux waits, at most, before it asks the
// WebUI again to stop a run.
const askAgain = 5 * time.Second

// retry is the item that has the WebUI asked again if it has not answered.
func (st *stop) retry(conversationID string) due.Item {
	return due.Item{At: time.Now().Add(askAgain), Kind: dueStop, ID: conversationID + " " + st.RunID}
}

// ofStop reads conversation and run from an item that is about a stop.
func ofStop(i due.Item) (conversationID, runID string) {
	conversationID, runID, _ = strings.Cut(i.ID, " ")
	return conversationID, runID
}

// stopped reports whether the run of a question is to stop. A hook names a turn
// otherwise than a page does, so a turn that a person has not stopped by name
// may be one that they have stopped. It counts as stopped if a run of its
// conversation was stopped after the turn began, or is stopping now.
func (s *Service) stopped(tx store.Reader, q *question) (bool, error) {
	if st, err := s.readStop(tx, q.conversation.ID, q.runID); err != nil || st != nil || q.heard.IsZero() {
		return st != nil, err
	}
	all, err := stops.List(tx, q.conversation.ID)
	return slices.ContainsFunc(all, func(st record.Row[stop]) bool {
		return st.Value.ReceiptID == "" || !st.Value.RequestedAt.Before(q.heard)
	}), err
}

// cancellation says how far a stop has come.
func (s *Service) cancellation(tx store.Reader, call *api.Call, st *stop) (c Cancellation, err error) {
	var receipt *Receipt
	if st.ReceiptID != "" {
		if receipt, err = s.receipts.Read(tx, st.ReceiptID); err != nil {
			return c, err
		}
	}
	c = CancellationOf(st.RequestedAt, receipt)
	c.Provenance = call.Provenance()
	return c, nil
}

// cancel answers POST …/cancel: 202 while the run is stopping, 200 with the
// outcome once there is a receipt. To ask again for the same run has the WebUI
// asked again, unless it has confirmed the end, and changes nothing else.
func (s *Service) cancel(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	id, runID := r.PathValue("id"), r.PathValue("run_id")
	var answer Cancellation
	err := s.Change(r.Context(), call, record.Plan{Due: time.Now().Add(askAgain)}, func(ch *record.Change) error {
		conv, err := s.Conversations.Peek(ch, call, id)
		if err != nil {
			return err
		}
		if s.Conversations.RunOf(ch, conv.ID, runID) != conv.ID {
			return hux.Errorf(hux.NotFound, "There is no such run in this conversation.")
		}
		st, err := s.askStop(ch, conv, runID, "")
		if err != nil {
			return err
		}
		answer, err = s.cancellation(ch, call, st)
		return err
	})
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if answer.ReceiptID != nil {
		status = http.StatusOK
	}
	return api.JSON(w, status, answer)
}

// askStop notes that a run is to stop, unless that is noted already. Once the
// note is durable it has the WebUI asked, unless that has confirmed the end.
func (s *Service) askStop(ch *record.Change, conv *conversation.Conversation, runID, sessionID string) (st *stop, err error) {
	if st, err = s.readStop(ch, conv.ID, runID); err != nil {
		return nil, err
	}
	if st == nil {
		st = &stop{RunID: runID, RequestedAt: ch.At, RequestedBy: ch.Call.Actor, SessionID: sessionID}
		if err := s.beginStop(ch, conv, st); err != nil || st.ReceiptID != "" {
			return st, err
		}
	}
	if st.Confirmed || s.Stop == nil {
		return st, nil
	}
	db, owner, session := ch.Call.DB, conv.Owner, st.SessionID
	ch.After(func() { go s.stopAtWebUI(db, owner, conv.ID, runID, session) })
	if st.Asking {
		return st, nil
	}
	st.Asking = true
	if err := ch.LetFallDue(st.retry(conv.ID)); err != nil {
		return nil, err
	}
	return st, s.writeStop(ch, conv.ID, st)
}

// beginStop notes that a run is to stop and cancels its pending approvals. If
// its agent has reported that the run has finished, the receipt is written at
// once.
func (s *Service) beginStop(ch *record.Change, conv *conversation.Conversation, st *stop) error {
	started := "started"
	if err := ch.Tell(event.Event{
		ConversationID: conv.ID, RunID: st.RunID, Kind: "run.cancel_requested", Status: &started, Summary: "Asked to stop",
	}); err != nil {
		return err
	}
	if err := s.cancelPending(ch, conv, st.RunID, "the run was stopped"); err != nil {
		return err
	}
	if err := s.writeStop(ch, conv.ID, st); err != nil {
		return err
	}
	seen, err := s.observed(ch, conv.ID, st.RunID)
	if err != nil {
		return err
	}
	if seen.finished {
		return s.writeReceipt(ch, conv, st, seen.outcome(st), seen.effects, "partial")
	}
	return ch.LetFallDue(st.due(conv.ID))
}

// stopMargin is how long before the receipt's deadline hux ends an attempt to
// stop a run at the WebUI.
const stopMargin = 2 * time.Second

// stopTries is how long hux keeps asking the WebUI to stop a run while the WebUI
// does not answer.
const stopTries = time.Hour

// stopAtWebUI has the WebUI stop the run, and writes the receipt once the WebUI
// says that the run has ended. It goes on if somebody else writes the receipt
// meanwhile.
func (s *Service) stopAtWebUI(db *store.Lease, owner hux.User, conversationID, runID, sessionID string) {
	key := s.stopKey(conversationID, runID)
	s.mu.Lock()
	busy := s.stopping[key]
	s.stopping[key] = true
	s.mu.Unlock()
	if busy {
		return
	}
	defer func() {
		s.mu.Lock()
		delete(s.stopping, key)
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(s.Closing, ReceiptDeadline-stopMargin)
	defer cancel()
	stopped := s.Stop(ctx, db.Tenant(), owner, runID, sessionID)
	if stopped != nil && s.Closing.Err() != nil {
		return // the router ends, and asks again after its next start
	}
	if stopped != nil {
		slog.Warn("stopping a run", "tenant", db.Tenant(), "cause", stopped)
	}
	silent := stopped != nil && ctx.Err() != nil // the WebUI said neither yes nor no
	err := s.Change(s.Closing, s.system(db), record.Plan{}, func(ch *record.Change) error {
		return s.conclude(ch, conversationID, runID, func(st *stop) bool {
			st.Asking = silent && time.Since(st.RequestedAt.Time) < stopTries
			st.Confirmed, st.Refused = stopped == nil, stopped != nil
			return st.Confirmed // else its events or the deadline say how it ended
		})
	})
	if err != nil {
		slog.Warn("writing a receipt", "tenant", db.Tenant(), "cause", err)
	}
}

// stopAgain asks the WebUI again to stop a run, if the WebUI has not answered
// and nothing waits for its answer, as after a restart.
func (s *Service) stopAgain(ctx context.Context, db *store.Lease, i due.Item) error {
	conversationID, runID := ofStop(i)
	return s.Change(ctx, s.system(db), record.Plan{Due: time.Now().Add(askAgain)}, func(ch *record.Change) error {
		ch.NoLongerDue(i)
		st, err := s.readStop(ch, conversationID, runID)
		if err != nil || st == nil || !st.Asking {
			return err
		}
		conv, err := s.Conversations.Read(ch, conversationID)
		if err != nil || conv == nil {
			return err
		}
		if s.Stop != nil {
			ch.After(func() { go s.stopAtWebUI(db, conv.Owner, conversationID, runID, st.SessionID) })
		}
		return ch.LetFallDue(st.retry(conversationID))
	})
}

// overdueReceipt writes the receipt of a stop at its deadline.
func (s *Service) overdueReceipt(ctx context.Context, db *store.Lease, i due.Item) error {
	conversationID, runID := ofStop(i)
	return s.Change(ctx, s.system(db), record.Plan{}, func(ch *record.Change) error {
		ch.NoLongerDue(i)
		return s.conclude(ch, conversationID, runID, func(*stop) bool { return true })
	})
}

// conclude calls update, which may change the stop, and saves the stop. It
// writes the receipt if update returns true and there is none yet.
func (s *Service) conclude(ch *record.Change, conversationID, runID string, update func(*stop) bool) error {
	st, err := s.readStop(ch, conversationID, runID)
	if err != nil || st == nil {
		return err
	}
	if !update(st) || st.ReceiptID != "" {
		return s.writeStop(ch, conversationID, st)
	}
	conv, err := s.Conversations.Read(ch, conversationID)
	if err != nil || conv == nil {
		return err
	}
	seen, err := s.observed(ch, conversationID, runID)
	if err != nil {
		return err
	}
	return s.writeReceipt(ch, conv, st, seen.outcome(st), seen.effects, "partial")
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
		answer, err = s.cancellation(tx, call, st)
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, answer)
}
