package event

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

const (
	tailEvents = 512     // of a conversation that the cache keeps
	tailBytes  = 1 << 20 // likewise
)

// Log is what all readers of all conversations share: who waits for what, and
// the latest events of conversations that are read now, so that a thousand
// readers of one event are one read of the file.
type Log struct {
	perUser int // streams at once
	present presence

	mu    sync.Mutex
	tails map[tailKey]*tail
}

type tailKey struct {
	tenant       hux.Tenant
	conversation string
}

// NewLog makes a log of which one reader may follow perUser streams at once.
func NewLog(perUser int) *Log {
	return &Log{perUser: perUser, present: newPresence(), tails: map[tailKey]*tail{}}
}

// Admit counts a stream of a reader, or says that there are too many. Call
// leave at its end.
func (l *Log) Admit(reader string) (leave func(), err error) {
	p := &l.present
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open[reader] >= l.perUser {
		return nil, hux.Errorf(hux.RateLimited, "You follow %d streams already; close one of them.", l.perUser).After(5 * time.Second)
	}
	p.open[reader]++
	return func() {
		p.look(reader)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.open[reader]--; p.open[reader] == 0 {
			delete(p.open, reader)
		}
	}, nil
}

// tail is the cached end of a conversation that somebody follows.
type tail struct {
	followers int // under Log.mu

	mu     sync.Mutex
	wake   chan struct{} // closed when there may be more
	stale  bool          // something was committed since head was read
	head   uint64        // the conversation's last number, as read last
	first  uint64        // number of frames[0]
	frames [][]byte      // as they go on the wire
	bytes  int
}

// Committed wakes the readers of a conversation, after an append is durable.
func (l *Log) Committed(t hux.Tenant, conversation string) {
	l.mu.Lock()
	tl := l.tails[tailKey{t, conversation}]
	l.mu.Unlock()
	if tl == nil {
		return
	}
	tl.mu.Lock()
	tl.stale = true
	close(tl.wake)
	tl.wake = make(chan struct{})
	tl.mu.Unlock()
}

func (l *Log) follow(k tailKey) *tail {
	l.mu.Lock()
	defer l.mu.Unlock()
	tl := l.tails[k]
	if tl == nil {
		tl = &tail{wake: make(chan struct{}), stale: true}
		l.tails[k] = tl
	}
	tl.followers++
	return tl
}

func (l *Log) leave(k tailKey, tl *tail) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if tl.followers--; tl.followers == 0 {
		delete(l.tails, k)
	}
}

// waiter is closed when there may be more than a read that comes after this
// call can see.
func (tl *tail) waiter() <-chan struct{} {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	return tl.wake
}

// after gives the frames that follow a number: from the cache if it has them,
// else from the database, through the cache where they join its end.
func (tl *tail) after(ctx context.Context, db *store.Lease, conversation string, after uint64) ([][]byte, error) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	end := tl.first + uint64(len(tl.frames)) // one past the last
	switch {
	case !tl.stale && after >= tl.head:
		return nil, nil
	case len(tl.frames) == 0:
	case after+1 < tl.first: // far behind: it reads for itself, and nobody waits for it
		tl.mu.Unlock()
		frames, _, err := readFrames(ctx, db, conversation, after)
		tl.mu.Lock()
		return frames, err
	case after+1 < end:
		return tl.frames[after+1-tl.first:], nil
	}
	frames, head, err := readFrames(ctx, db, conversation, after)
	if err != nil {
		return nil, err
	}
	tl.stale, tl.head = false, head // Committed waits for tl.mu, so nothing that it told of is unread
	if len(frames) == 0 {
		return nil, nil
	}
	if len(tl.frames) == 0 || after+1 != end {
		tl.first, tl.frames, tl.bytes = after+1, nil, 0
	}
	tl.frames = append(tl.frames, frames...)
	for _, f := range frames {
		tl.bytes += len(f)
	}
	drop := 0
	for len(tl.frames)-drop > tailEvents || tl.bytes > tailBytes && len(tl.frames)-drop > 1 {
		tl.bytes -= len(tl.frames[drop])
		drop++
	}
	if drop > 0 {
		tl.frames = append([][]byte(nil), tl.frames[drop:]...) // a new array: readers hold parts of the old one
		tl.first += uint64(drop)
	}
	return frames, nil
}

// readFrames reads a page after a number and writes it as frames; head is the
// conversation's last number then.
func readFrames(ctx context.Context, db *store.Lease, conversation string, after uint64) (frames [][]byte, head uint64, err error) {
	var p page
	err = db.View(ctx, func(tx *store.Tx) (err error) {
		p, err = readPage(tx, conversation, after, tailEvents)
		return err
	})
	if damage := (*store.Unreadable)(nil); errors.As(err, &damage) && len(p.events) > 0 {
		err = nil // what is whole goes out first; the next read begins at the damage
	}
	if err != nil {
		return nil, 0, err
	}
	frames = make([][]byte, len(p.events))
	for i, e := range p.events {
		frames[i] = frame(p.first+uint64(i), e)
	}
	return frames, p.head, nil
}

// frame is an event on the wire (HTML standard, server-sent events; contracts
// 2.6). It has no event name, so that kinds a reader does not know reach it
// like the others. JSON as encoding/json writes it has no line break that the standard knows,
// and OneLine takes out those that other readers know.
func frame(seq uint64, event []byte) []byte {
	b := make([]byte, 0, len(event)+40)
	b = append(b, "id: "...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, "\ndata: "...)
	b = append(b, hux.OneLine(event)...)
	return append(b, "\n\n"...)
}
