package autonomy

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
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
	Asking      bool      `json:"asking"`    // whatever runs it is to be asked, and has not answered
	Confirmed   bool      `json:"confirmed"` // it has said that the run is at its end
	Refused     bool      `json:"refused"`   // or that it can't stop it
	ReceiptID   string    `json:"receipt_id"`
	SessionID   string    `json:"session_id"` // whose turn it is, where nobody knows the run by name; "" where that may be another turn by now
}

func (s *Service) stopKey(conversationID, runID string) string {
	return conversationID + s.Keys.Short("run", runID)
}

func (s *Service) readStop(tx *store.Tx, conversationID, runID string) (*stop, error) {
	key := s.stopKey(conversationID, runID)
	value := tx.Get(stopsBucket, key)
	if value == nil {
		return nil, nil
	}
	st := new(stop)
	return st, store.Decode(stopsBucket, key, value, st)
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
func (s *Service) stopped(tx *store.Tx, q *question) (bool, error) {
	if st, err := s.readStop(tx, q.conversation.ID, q.runID); err != nil || st != nil || q.heard.IsZero() {
		return st != nil, err
	}
	for _, e := range tx.List(stopsBucket, q.conversation.ID) {
		var st stop
		if err := store.Decode(stopsBucket, e.Key, e.Value, &st); err != nil {
			return false, err
		}
		if st.ReceiptID == "" || !st.RequestedAt.Before(q.heard) {
			return true, nil
		}
	}
	return false, nil
}

// cancellation is how far a stop is.
func (s *Service) cancellation(tx *store.Tx, call *api.Call, st *stop) (c Cancellation, err error) {
	var receipt *Receipt
	if st.ReceiptID != "" {
		if receipt, err = s.receipt(tx, st.ReceiptID); err != nil {
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
	if _, err := s.Keys.Of(r, call, nil); err != nil {
		return err
	}
	id, runID := r.PathValue("id"), r.PathValue("run_id")
	release, err := s.Due.Hold(r.Context(), call.Tenant(), time.Now().Add(askAgain))
	if err != nil {
		return err
	}
	defer release()
	var c changes
	var answer Cancellation
	var owner hux.User
	var st *stop
	asking := false
	err = call.DB.Update(r.Context(), func(tx *store.Tx) error {
		c, asking = changes{}, false
		conv, err := s.Conversations.Peek(tx, call, id)
		if err != nil {
			return err
		}
		owner = conv.Owner
		if s.Conversations.RunOf(tx, conv.ID, runID) != conv.ID {
			return hux.Errorf(hux.NotFound, "There is no such run in this conversation.")
		}
		if st, asking, err = s.askStop(tx, call, conv, runID, "", &c); err != nil {
			return err
		}
		answer, err = s.cancellation(tx, call, st)
		return err
	})
	if err != nil {
		return err
	}
	s.wake(call.Tenant(), c)
	if asking {
		go s.stopUpstream(call.DB, owner, id, runID, st.SessionID)
	}
	status := http.StatusAccepted
	if answer.ReceiptID != nil {
		status = http.StatusOK
	}
	return api.JSON(w, status, answer)
}

// askStop notes that a run is to stop, unless that is known. asking says that
// whatever runs it is to be asked once this is durable.
func (s *Service) askStop(tx *store.Tx, call *api.Call, conv *conversation.Conversation, runID, sessionID string, c *changes) (st *stop, asking bool, err error) {
	if st, err = s.readStop(tx, conv.ID, runID); err != nil {
		return nil, false, err
	}
	if st == nil {
		st = &stop{RunID: runID, RequestedAt: hux.Now(), RequestedBy: call.Actor, SessionID: sessionID}
		if err := s.beginStop(tx, call, conv, st, c); err != nil {
			return nil, false, err
		}
		asking = st.ReceiptID == ""
	} else {
		asking = !st.Confirmed
	}
	if asking = asking && s.Stop != nil; asking && !st.Asking {
		st.Asking = true
		if err := due.Put(tx, st.again(conv.ID)); err != nil {
			return nil, false, err
		}
		err = s.writeStop(tx, conv.ID, st)
	}
	return st, asking, err
}

// beginStop notes that a run is to stop and cancels what it asks. One of which
// its agent has told that it has finished has its receipt at once.
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
	err := s.Stop(ctx, db.Tenant(), owner, runID, sessionID)
	if err != nil && s.Closing.Err() != nil {
		return // the router ends, and asks again when it is back
	}
	if err != nil {
		slog.Warn("stopping a run", "tenant", db.Tenant(), "cause", err)
	}
	err = s.conclude(s.Closing, db, conversationID, runID, func(st *stop) bool {
		silent := err != nil && ctx.Err() != nil // neither yes nor no
		st.Asking = silent && time.Since(st.RequestedAt.Time) < stopTries
		st.Confirmed, st.Refused = err == nil, err != nil
		return st.Confirmed // else its events or the deadline say how it ended
	})
	if err != nil {
		slog.Warn("writing a receipt", "tenant", db.Tenant(), "cause", err)
	}
}

// stopAgain asks whatever runs a run to stop it if that has not answered and
// nobody is waiting for its answer, as after a restart.
func (s *Service) stopAgain(ctx context.Context, db *store.Lease, i due.Item) error {
	conversationID, runID := ofStop(i)
	var owner hux.User
	var sessionID string
	err := db.Update(ctx, func(tx *store.Tx) error {
		owner = ""
		if err := due.Done(tx, i); err != nil {
			return err
		}
		st, err := s.readStop(tx, conversationID, runID)
		if err != nil || st == nil || !st.Asking {
			return err
		}
		conv, err := s.Conversations.Read(tx, conversationID)
		if err != nil || conv == nil {
			return err
		}
		owner, sessionID = conv.Owner, st.SessionID
		return due.Put(tx, st.again(conversationID))
	})
	if err == nil && owner != "" && s.Stop != nil {
		go s.stopUpstream(db, owner, conversationID, runID, sessionID)
	}
	return err
}

// overdueReceipt is what falls due at the deadline of a receipt.
func (s *Service) overdueReceipt(ctx context.Context, db *store.Lease, i due.Item) error {
	conversationID, runID := ofStop(i)
	if err := s.conclude(ctx, db, conversationID, runID, func(*stop) bool { return true }); err != nil {
		return err
	}
	return db.Update(ctx, func(tx *store.Tx) error { return due.Done(tx, i) })
}

// conclude writes the receipt of a stop that has none, if now says yes; what now
// notes in the stop is kept.
func (s *Service) conclude(ctx context.Context, db *store.Lease, conversationID, runID string, now func(*stop) bool) error {
	call := s.system(db)
	var c changes
	err := db.Update(ctx, func(tx *store.Tx) error {
		c = changes{}
		st, err := s.readStop(tx, conversationID, runID)
		if err != nil || st == nil {
			return err
		}
		if !now(st) || st.ReceiptID != "" {
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
		answer, err = s.cancellation(tx, call, st)
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, answer)
}
