package mirror

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

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

	running  sync.WaitGroup
	mu       sync.Mutex
	sessions map[string]bool // that are seen to; true where one is to be looked at again
}

const (
	maxSessions  = 64                     // seen to at a time, of one slot
	between      = 500 * time.Millisecond // two looks at the list of sessions
	pendingEvery = 2 * time.Second        // a look whether an approval is still waited for
	afterAnswer  = 50 * time.Millisecond  // until it is looked what a session waits for next
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
		ended <- w.webUI.changes(ctx, func() {
			select {
			case w.changed <- struct{}{}:
			default:
			}
		})
	}()
	first := true
	for {
		select {
		case err := <-ended:
			return err
		case <-w.changed:
		}
		if first {
			refs, err := w.autonomy.Sessions(ctx, w.db)
			if err != nil {
				return err
			}
			for _, ref := range refs {
				w.look(ref.ID)
			}
		}
		ids, err := w.webUI.waiting(ctx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			w.look(id)
		}
		first = false
		retry.reset()
		if !pause(ctx, between, nil) {
			return ctx.Err()
		}
	}
}

// look sees to a session, once more where that is done already.
func (w *watcher) look(session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, seen := w.sessions[session]
	if !seen && len(w.sessions) >= maxSessions || w.ctx.Err() != nil {
		return
	}
	w.sessions[session] = seen
	if !seen {
		w.running.Go(func() {
			for again := true; again; again = w.again(session) {
				w.see(session)
			}
		})
	}
}

// again reports whether a session is to be looked at again; else it is seen to
// no more.
func (w *watcher) again(session string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	again := w.sessions[session] && w.ctx.Err() == nil
	if w.sessions[session] = false; !again {
		delete(w.sessions, session)
	}
	return again
}

// see decides about what a session waits for, one after the other, until it
// waits for nothing.
func (w *watcher) see(session string) {
	retry := backoff{least: time.Second, most: 15 * time.Second}
	for {
		more, moved, err := w.settle(session)
		switch {
		case err != nil:
			failed(w.ctx, "an approval of a WebUI", w.slot, err)
			if !retry.wait(w.ctx) {
				return
			}
		case !more:
			return
		case moved != nil:
			retry.reset()
			if !pause(w.ctx, pendingEvery, moved) {
				return
			}
		case !pause(w.ctx, afterAnswer, nil):
			return
		}
	}
}

// settle looks at what a session waits for first and answers it, if there is an
// answer; else moved is closed when there may be one.
func (w *watcher) settle(session string) (more bool, moved <-chan struct{}, err error) {
	p, err := w.webUI.pending(w.ctx, session)
	if err != nil {
		return true, nil, err
	}
	if p == nil || p.ID == "" { // without a name no answer could be for just this
		return false, nil, w.autonomy.Withdraw(w.ctx, w.db, refOf(session), "")
	}
	f := asked(session, p)
	if err := w.autonomy.Withdraw(w.ctx, w.db, f.Session, f.ID); err != nil {
		return true, nil, err
	}
	st, known, err := w.autonomy.Stand(w.ctx, w.db, f)
	if err == nil && !known {
		st, err = w.take(session, f)
	}
	if err != nil || st.Choice == "" {
		return true, st.Moved, err
	}
	err = w.webUI.respond(w.ctx, session, p, string(st.Choice))
	if errors.Is(err, errStale) {
		err = errors.Join(err, w.autonomy.TooLate(w.ctx, w.db, f))
	}
	return true, nil, err
}

// take asks about an approval that is new.
func (w *watcher) take(session string, f autonomy.Foreign) (autonomy.Standing, error) {
	stream, err := w.webUI.stream(w.ctx, session)
	if err != nil {
		return autonomy.Standing{}, err
	}
	f.RunID = hux.ForeignID(stream)
	st, err := w.autonomy.Take(w.ctx, w.db, w.soleMember(), f)
	if e := (*hux.Error)(nil); errors.As(err, &e) && e.Code == hux.HumanRequired {
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
