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
	Asking      bool      `json:"asking"`    // whatever runs it is to be asked, and has not answered
	Confirmed   bool      `json:"confirmed"` // it has said that the run is at its end
	Refused     bool      `json:"refused"`   // or that it can't stop it
	ReceiptID   string    `json:"receipt_id"`
	SessionID   string    `json:"session_id"` // whose turn it is, where nobody knows the run by name; "" where that may be another turn by now
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

// askAgain is how long after a restart, at most, whatever runs a run is asked
// again to stop it.
const askAgain = 5 * time.Second

// again is when to look whether somebody is still asking.
func (st *stop) again(conversationID string) due.Item {
	return due.Item{At: time.Now().Add(askAgain), Kind: dueStop, ID: conversationID + " " + st.RunID}
}

// ofStop reads what names a stop in what falls due.
func ofStop(i due.Item) (conversationID, runID string) {
	conversationID, runID, _ = strings.Cut(i.ID, " ")
	return conversationID, runID
}

// stopped reports whether the run of a question is to stop. A turn that is not
// known as the run that a person has stopped may be that run all the same,
// since a hook names it otherwise than a page: it is stopped with any run of
// its conversation that was stopped after it began, or that is stopping now.
func (s *Service) stopped(tx store.Reader, q *question) (bool, error) {
	if st, err := s.readStop(tx, q.conversation.ID, q.runID); err != nil || st != nil || q.heard.IsZero() {
		return st != nil, err
	}
	all, err := stops.List(tx, q.conversation.ID)
	return slices.ContainsFunc(all, func(st record.Row[stop]) bool {
		return st.Value.ReceiptID == "" || !st.Value.RequestedAt.Before(q.heard)
	}), err
}

// cancellation is how far a stop is.
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

// cancel answers POST …/cancel: 202 with stopping, or 200 with what came of it
// where there is a receipt. The run is the key: to ask again has whatever runs it
// asked again, unless it has confirmed its end, and changes nothing else.
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

// askStop notes that a run is to stop, unless that is known, and has whatever
// runs it asked to stop it once this is durable, unless it has confirmed its end.
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
	ch.After(func() { go s.stopUpstream(db, owner, conv.ID, runID, session) })
	if st.Asking {
		return st, nil
	}
	st.Asking = true
	if err := ch.LetFallDue(st.again(conv.ID)); err != nil {
		return nil, err
	}
	return st, s.writeStop(ch, conv.ID, st)
}

// beginStop notes that a run is to stop and cancels what it asks. One of which
// its agent has told that it has finished has its receipt at once.
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

// stopMargin is how much sooner than the receipt is overdue nobody waits any
// more for a stop that was asked for at once.
const stopMargin = 2 * time.Second

// stopTries is how long what runs a run is asked again while it says nothing.
const stopTries = time.Hour

// stopUpstream really stops the run, and writes the receipt once it is at its
// end there. A receipt that somebody else writes meanwhile ends nothing there.
func (s *Service) stopUpstream(db *store.Lease, owner hux.User, conversationID, runID, sessionID string) {
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
		return // the router ends, and asks again when it is back
	}
	if stopped != nil {
		slog.Warn("stopping a run", "tenant", db.Tenant(), "cause", stopped)
	}
	silent := stopped != nil && ctx.Err() != nil // neither yes nor no
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

// stopAgain asks whatever runs a run to stop it if that has not answered and
// nobody is waiting for its answer, as after a restart.
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
			ch.After(func() { go s.stopUpstream(db, conv.Owner, conversationID, runID, st.SessionID) })
		}
		return ch.LetFallDue(st.again(conversationID))
	})
}

// overdueReceipt is what falls due at the deadline of a receipt.
func (s *Service) overdueReceipt(ctx context.Context, db *store.Lease, i due.Item) error {
	conversationID, runID := ofStop(i)
	return s.Change(ctx, s.system(db), record.Plan{}, func(ch *record.Change) error {
		ch.NoLongerDue(i)
		return s.conclude(ch, conversationID, runID, func(*stop) bool { return true })
	})
}

// conclude writes the receipt of a stop that has none, if now says yes; what now
// notes in the stop is kept.
func (s *Service) conclude(ch *record.Change, conversationID, runID string, now func(*stop) bool) error {
	st, err := s.readStop(ch, conversationID, runID)
	if err != nil || st == nil {
		return err
	}
	if !now(st) || st.ReceiptID != "" {
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
