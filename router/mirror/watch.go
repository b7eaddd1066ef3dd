package mirror

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
	webUI    *webUI
	autonomy *autonomy.Service
	db       *store.Lease
	ctx      context.Context
	stop     context.CancelFunc
	changed  chan struct{} // holds one: the list of sessions has changed

	fresh *rate.Limiter // approvals that are new

	running  sync.WaitGroup
	mu       sync.Mutex
	sessions map[string]bool // that are seen to; true where one is to be looked at again
	queue    []string        // those whose turn comes then
	more     bool            // the queue was full: the list is to be read again
}

const (
	maxSessions  = 64                     // seen to at a time, of one slot
	maxQueue     = 1024                   // that wait for that
	freshRate    = 5                      // approvals a second that are new, of one slot
	freshBurst   = 20                     // of them at once
	between      = 500 * time.Millisecond // two looks at the list of sessions
	pendingEvery = 2 * time.Second        // a look whether an approval is still waited for
	afterAnswer  = 50 * time.Millisecond  // until it is looked what a session waits for next; more where it is the same
	atMost       = 30 * time.Second       // between two attempts
	maxAnswers   = 6                      // that a WebUI is given to one approval
)

func (w *watcher) serves(s Slot) bool {
	return s.Name == w.slot.Name && *s.Upstream == *w.slot.Upstream && slices.Equal(s.Members, w.slot.Members)
}

// run follows the WebUI's list of sessions, whatever happens to the connection.
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

// follow sees to every session that waits for an approval, those of before a
// restart among them, until the list can't be followed any more.
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
		if !pause(ctx, between, nil) {
			return ctx.Err()
		}
	}
}

// look sees to a session, once more where that is done already, and later where
// there are many.
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

// begin sees to a session; mu is held.
func (w *watcher) begin(session string) {
	w.sessions[session] = false
	w.running.Go(func() {
		for again := true; again; again = w.again(session) {
			w.see(session)
		}
	})
}

// again reports whether a session is to be looked at again; else it is seen to
// no more, and another's turn comes.
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

// see decides about what a session waits for, one after the other, until it
// waits for nothing.
func (w *watcher) see(session string) {
	failing := backoff{least: time.Second, most: atMost}
	answered := backoff{least: afterAnswer, most: atMost}
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

// looked is what came of a look at a session. The zero value is that it waits
// for nothing that it could be told.
type looked struct {
	asked    autonomy.Foreign // what it waits for first
	moved    <-chan struct{}  // closed when there may be an answer
	answered bool             // the WebUI was given one, taken or not
}

// settle looks at what a session waits for first and answers it, if there is an
// answer.
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

// take asks about an approval that is new, when its turn comes.
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
		return autonomy.Standing{Moved: never}, nil // whose page opens the session first says whose it is
	}
	return st, err
}

var never = make(chan struct{})

// soleMember is whose a session is of which nobody knows.
func (w *watcher) soleMember() hux.User {
	if len(w.slot.Members) == 1 {
		return w.slot.Members[0]
	}
	return ""
}
