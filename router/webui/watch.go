package webui

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/store"
)

// watcher watches one slot's WebUI.
type watcher struct {
	slot     Slot
	webUI    *client
	autonomy *autonomy.Service
	db       *store.Lease
	ctx      context.Context
	stop     context.CancelFunc
	changed  chan struct{} // holds one: the list of sessions has changed

	fresh *rate.Limiter // of approvals that hux has not seen before

	running  sync.WaitGroup
	mu       sync.Mutex
	sessions map[string]bool // sessions with a goroutine in see; true: see the session once more after that
	queue    []string        // sessions that wait for a place in sessions
	more     bool            // the queue was full: read the list again when there is room
}

const (
	maxSessions  = 64                     // sessions of a slot that are seen to at a time
	maxQueue     = 1024                   // sessions that wait for their turn
	freshRate    = 5                      // new approvals a second, of one slot
	freshBurst   = 20                     // new approvals at once
	listEvery    = 500 * time.Millisecond // least time between two reads of the list of sessions
	pendingEvery = 2 * time.Second        // how often hux asks whether the WebUI still waits for an approval
	afterAnswer  = 50 * time.Millisecond  // from an answer to the next look at the session; grows while it waits for the same
	maxBackoff   = 30 * time.Second       // most time between two attempts
	maxAnswers   = 6                      // how often hux gives a WebUI the answer to one approval
)

func (w *watcher) serves(s Slot) bool {
	return s.Name == w.slot.Name && *s.Upstream == *w.slot.Upstream && slices.Equal(s.Members, w.slot.Members)
}

// run follows the WebUI's list of sessions until ctx ends, and connects again
// when the connection breaks.
func (w *watcher) run() {
	defer w.running.Wait()
	retry := backoff{least: time.Second, most: time.Minute}
	for {
		err := w.follow(&retry)
		failed(w.ctx, "watching a WebUI for approvals", w.slot, err)
		if !retry.wait(w.ctx) {
			return
		}
	}
}

// follow sees to every session that waits for an approval, and at first to those
// of which hux still has a question from before. It returns when the list can't
// be followed any more.
func (w *watcher) follow(retry *backoff) error {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		ended <- w.webUI.changes(ctx, w.moved)
	}()
	first := true
	for {
		select {
		case err := <-ended:
			return err
		case <-w.changed:
		}
		ids, err := w.webUI.waiting(ctx)
		if err != nil {
			return err
		}
		listed := map[string]bool{}
		for _, id := range ids {
			w.look(id)
			listed[refOf(id).ID] = true
		}
		if first {
			refs, err := w.autonomy.Sessions(ctx, w.db)
			if err != nil {
				return err
			}
			for _, ref := range refs {
				if !listed[ref.ID] {
					w.look(ref.ID)
				}
			}
		}
		first = false
		retry.reset()
		if !pause(ctx, listEvery, nil) {
			return ctx.Err()
		}
	}
}

// look has a session seen to: now, once more if that is under way already, or
// later if too many others are.
func (w *watcher) look(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, seen := w.sessions[session]
	switch {
	case w.ctx.Err() != nil:
	case seen:
		w.sessions[session] = true
	case len(w.sessions) < maxSessions:
		w.begin(session)
	case slices.Contains(w.queue, session):
	case len(w.queue) < maxQueue:
		w.queue = append(w.queue, session)
	default:
		w.more = true
	}
}

// begin starts a goroutine that sees to a session. The caller holds mu.
func (w *watcher) begin(session string) {
	w.sessions[session] = false
	w.running.Go(func() {
		for again := true; again; again = w.again(session) {
			w.see(session)
		}
	})
}

// again reports whether see is to be called for the session once more. If not it
// gives the session's place to the next in the queue.
func (w *watcher) again(session string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.sessions[session] && w.ctx.Err() == nil {
		w.sessions[session] = false
		return true
	}
	delete(w.sessions, session)
	if w.ctx.Err() != nil {
		return false
	}
	if len(w.queue) > 0 {
		w.begin(w.queue[0])
		w.queue = w.queue[1:]
	} else if w.more {
		w.more = false
		w.moved()
	}
	return false
}

// moved has the list of sessions read again.
func (w *watcher) moved() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// see answers the approvals that a session waits for, one after the other, until
// it waits for none.
func (w *watcher) see(session string) {
	failing := backoff{least: time.Second, most: maxBackoff}
	answered := backoff{least: afterAnswer, most: maxBackoff}
	last, answers := "", 0
	for {
		l, err := w.settle(session)
		if l.answered {
			if l.asked.ID != last {
				last, answers = l.asked.ID, 0
				answered.reset()
			}
			if answers++; answers == maxAnswers {
				failed(w.ctx, "an approval of a WebUI, which does not take the answer", w.slot, cmp.Or(err, errStale))
				failed(w.ctx, "an approval of a WebUI", w.slot, w.autonomy.NotTaken(w.ctx, w.db, l.asked))
				return
			}
		}
		if err == nil {
			failing.reset()
		}
		switch {
		case err != nil:
			failed(w.ctx, "an approval of a WebUI", w.slot, err)
			if !failing.wait(w.ctx) {
				return
			}
		case l.moved != nil:
			if !pause(w.ctx, pendingEvery, l.moved) {
				return
			}
		case !l.answered:
			return
		default:
			if !answered.wait(w.ctx) {
				return
			}
		}
	}
}

// looked is what settle found and did. The zero value says that the session
// waits for nothing.
type looked struct {
	asked    autonomy.Foreign // the first approval that the session waits for
	moved    <-chan struct{}  // closed when there may be an answer; nil if hux waits for none
	answered bool             // the WebUI was given an answer, whether or not it took it
}

// settle reads the first approval that a session waits for, asks about it if it
// is new, and gives the WebUI the answer if there is one.
func (w *watcher) settle(session string) (looked, error) {
	p, err := w.webUI.pending(w.ctx, session)
	if err != nil {
		return looked{}, err
	}
	if p == nil {
		return looked{}, w.autonomy.Withdraw(w.ctx, w.db, refOf(session), "")
	}
	l := looked{asked: asked(session, p)}
	if err := w.autonomy.Withdraw(w.ctx, w.db, l.asked.Session, l.asked.ID); err != nil {
		return l, err
	}
	st, known, err := w.autonomy.Stand(w.ctx, w.db, l.asked)
	if err == nil && !known {
		st, err = w.take(session, l.asked)
	}
	if err != nil || st.Choice == "" || st.Over {
		l.moved = st.Moved
		return l, err
	}
	err = w.webUI.respond(w.ctx, session, p, string(st.Choice))
	refusal := (*refused)(nil)
	l.answered = err == nil || errors.Is(err, errStale) || errors.As(err, &refusal)
	return l, err
}

// take asks about a new approval once the limit on new approvals allows it.
func (w *watcher) take(session string, f autonomy.Foreign) (autonomy.Standing, error) {
	if err := w.fresh.Wait(w.ctx); err != nil {
		return autonomy.Standing{}, err
	}
	stream, err := w.webUI.stream(w.ctx, session)
	if err != nil {
		return autonomy.Standing{}, err
	}
	f.RunID = idOf(stream)
	st, err := w.autonomy.Take(w.ctx, w.db, w.soleMember(), f)
	if e := (*hux.Error)(nil); errors.As(err, &e) && e.Code == hux.HumanRequired {
		if f.Unfit != "" {
			return autonomy.Standing{Choice: autonomy.DenyChoice}, nil
		}
		return autonomy.Standing{Moved: never}, nil // nobody is asked until a member's page opens the session
	}
	return st, err
}

var never = make(chan struct{}) // is never closed

// soleMember is the slot's member, if it has one alone: a session whose owner is
// not known is theirs. Else it is "".
func (w *watcher) soleMember() hux.User {
	if len(w.slot.Members) == 1 {
		return w.slot.Members[0]
	}
	return ""
}
