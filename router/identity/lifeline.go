package identity

import (
	"context"
	"errors"
	"sync"
)

// errEnded is the cause in a context that ended with its session, token or
// credential.
var errEnded = errors.New("the session has ended")

// lifeline ends the requests that a session or a credential has open when that
// ends. Joining costs a request a cancellable context and nothing when it is
// over: the contexts of past requests are dropped by those that join later.
type lifeline struct {
	mu      sync.Mutex
	over    bool
	open    []openRequest
	sweepAt int // length of open at which past requests are dropped from it
}

type openRequest struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// leastSweep is how many past requests a lifeline may hold on to.
const leastSweep = 8

// join is ctx, ended besides when l ends.
func (l *lifeline) join(ctx context.Context) context.Context {
	joint, cancel := context.WithCancelCause(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		cancel(errEnded)
		return joint
	}
	if len(l.open) >= max(l.sweepAt, leastSweep) {
		kept := l.open[:0]
		for _, o := range l.open {
			if o.ctx.Err() == nil {
				kept = append(kept, o)
			}
		}
		clear(l.open[len(kept):])
		l.open, l.sweepAt = kept, 2*len(kept)
	}
	l.open = append(l.open, openRequest{joint, cancel})
	return joint
}

// end ends every request that has joined, and those that will.
func (l *lifeline) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	for _, o := range l.open {
		o.cancel(errEnded)
	}
	l.open = nil
}

func (l *lifeline) ended() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}
