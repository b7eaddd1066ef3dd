// Package due brings about what has to happen at a time: an approval expires, a
// receipt is overdue. A tenant's own database says what and when; an index of
// the router says which tenant comes next, so that a closed database is opened
// in time, also after a restart.
package due

import (
	"context"
	"encoding/binary"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

const (
	itemsBucket = "due"       // of a tenant: time, kind and id → nothing
	nextBucket  = "due"       // of the router: tenant → time of the next
	perRound    = 1000        // items of one tenant before it is another's turn
	afterRefuse = time.Minute // a tenant with an item that could not happen is looked at again
	afterHold   = time.Second // and one for whom an item is being put meanwhile

	afterUnknown = time.Hour // and one with an item of a kind that this build does not know
)

// Item is one thing that falls due.
type Item struct {
	At   time.Time // to the millisecond
	Kind string    // which Handler
	ID   string
}

func (i Item) key() string { return stamp(i.At) + i.Kind + " " + i.ID }

func stamp(t time.Time) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(max(t.UnixMilli(), 0)))) //nolint:gosec // never negative
}

func timeOf(b []byte) time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(b))) //nolint:gosec // what stamp wrote
}

// Row is where an item is kept. Who puts something there holds the index
// before (Index.Hold).
func (i Item) Row() (bucket, key string) { return itemsBucket, i.key() }

// Handler makes an item of its kind happen, in a transaction of its own that
// takes the item away. It may be called again for the same item.
type Handler func(ctx context.Context, db *store.Lease, i Item) error

// Index is which tenant comes next.
type Index struct {
	db       *store.DB
	stores   *store.Pool
	handlers map[string]Handler

	mu    sync.Mutex
	next  map[hux.Tenant]time.Time
	holds map[hux.Tenant]*holds
	poke  chan struct{}
}

// holds counts who is about to put an item into a tenant's database.
type holds struct {
	open  int
	count uint64 // of all since the start
}

// NewIndex reads the index of the router's database.
func NewIndex(db *store.DB, stores *store.Pool) (*Index, error) {
	x := &Index{
		db: db, stores: stores, handlers: map[string]Handler{},
		next: map[hux.Tenant]time.Time{}, holds: map[hux.Tenant]*holds{}, poke: make(chan struct{}, 1),
	}
	err := db.View(context.Background(), func(tx *store.Tx) error {
		for _, e := range tx.List(nextBucket, "") {
			at := time.Time{} // of a value that can't be read: look now
			if len(e.Value) == 8 {
				at = timeOf(e.Value)
			}
			x.next[hux.Tenant(e.Key)] = at
		}
		return nil
	})
	return x, err
}

// Handle says who makes items of a kind happen. It is called before Run.
func (x *Index) Handle(kind string, h Handler) { x.handlers[kind] = h }

// Hold makes sure that a tenant is looked at when at has come, whatever happens
// to the process. It comes before the transaction that puts the item; release
// comes after it.
func (x *Index) Hold(ctx context.Context, t hux.Tenant, at time.Time) (release func(), err error) {
	x.mu.Lock()
	h := x.holds[t]
	if h == nil {
		h = &holds{}
		x.holds[t] = h
	}
	h.open++
	h.count++
	noted, known := x.next[t]
	x.mu.Unlock()
	release = func() {
		x.mu.Lock()
		h.open--
		x.mu.Unlock()
	}
	if known && !noted.After(at) {
		return release, nil
	}
	err = x.db.Update(ctx, func(tx *store.Tx) error {
		if b := tx.Get(nextBucket, string(t)); b != nil && !timeOf(b).After(at) {
			return nil
		}
		return tx.Put(nextBucket, string(t), []byte(stamp(at)))
	})
	if err != nil {
		release()
		return nil, err
	}
	x.mu.Lock()
	if noted, known := x.next[t]; !known || noted.After(at) {
		x.next[t] = at
	}
	x.mu.Unlock()
	select {
	case x.poke <- struct{}{}:
	default:
	}
	return release, nil
}

// Run makes things happen at their time until ctx ends.
func (x *Index) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-x.poke:
		}
		wait := time.Hour
		for t, at := range x.snapshot() {
			if d := time.Until(at); d > 0 {
				wait = min(wait, d)
				continue
			}
			x.round(ctx, t)
			wait = 0 // what comes next is known now
		}
		timer.Reset(wait)
	}
}

func (x *Index) snapshot() map[hux.Tenant]time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.next)
}

// round makes happen what is due in one tenant's database, and notes when it
// is to be looked at again. What can't happen keeps nothing else from happening.
func (x *Index) round(ctx context.Context, t hux.Tenant) {
	db, now := x.stores.Lease(t), time.Now()
	items, unknown, err := x.read(ctx, db, now)
	var again time.Time // for what could not happen; zero where all did
	switch {
	case err != nil:
		again = now.Add(afterRefuse)
	case unknown != "":
		slog.Warn("what falls due is of a kind that nobody handles", "tenant", t, "kind", unknown)
		again = now.Add(afterUnknown)
	}
	for _, i := range items {
		if refused := x.handlers[i.Kind](ctx, db, i); refused != nil {
			err, again = refused, now.Add(afterRefuse)
		}
		if ctx.Err() != nil {
			return
		}
	}
	if err != nil {
		slog.Warn("what falls due in a tenant's database", "tenant", t, "cause", err)
	}
	if err := x.settle(ctx, t, db, now, again); err != nil && ctx.Err() == nil {
		slog.Warn("what falls due next in a tenant's database", "tenant", t, "cause", err)
		x.again(t, time.Now().Add(afterRefuse))
	}
}

// again looks at a tenant later; after a restart it is looked at once more.
func (x *Index) again(t hux.Tenant, at time.Time) {
	x.mu.Lock()
	x.next[t] = at
	x.mu.Unlock()
}

// settle notes a tenant's next item. Where what was due at now could not all
// happen it is the first that was not due, or again. While somebody is about to
// put another one, which the database does not show yet, it is looked at again
// soon.
func (x *Index) settle(ctx context.Context, t hux.Tenant, db *store.Lease, now, again time.Time) error {
	x.mu.Lock()
	var before uint64
	if h := x.holds[t]; h != nil {
		before = h.count
	}
	x.mu.Unlock()
	from := ""
	if !again.IsZero() {
		from = after(now)
	}
	next := again // zero where there is none
	err := db.View(ctx, func(tx *store.Tx) error {
		scan(tx, from, func(_ string, i Item) bool {
			if next.IsZero() || i.At.Before(next) {
				next = i.At
			}
			return false
		})
		return nil
	})
	if err != nil {
		return err
	}
	x.mu.Lock()
	h := x.holds[t]
	busy := h != nil && (h.open > 0 || h.count != before)
	switch {
	case busy:
		x.next[t] = time.Now().Add(afterHold)
	case !next.IsZero():
		x.next[t] = next
	default:
		delete(x.next, t)
		delete(x.holds, t)
	}
	x.mu.Unlock()
	if busy {
		return nil
	}
	return x.db.Update(ctx, func(tx *store.Tx) error {
		x.mu.Lock() // the latest word, also where a Hold came between
		at, known := x.next[t]
		h := x.holds[t]
		held := h != nil && h.open > 0
		x.mu.Unlock()
		switch {
		case held: // it may have noted an earlier time than is known here yet; to come too soon does no harm
			return nil
		case !known:
			return tx.Delete(nextBucket, string(t))
		default:
			return tx.Put(nextBucket, string(t), []byte(stamp(at)))
		}
	})
}

// read gives the first items that are due, and a kind among those due that
// nobody handles, "" where there is none.
func (x *Index) read(ctx context.Context, db *store.Lease, now time.Time) (items []Item, unknown string, err error) {
	end := after(now)
	err = db.View(ctx, func(tx *store.Tx) error {
		scan(tx, "", func(key string, i Item) bool {
			switch {
			case key >= end:
				return false
			case x.handlers[i.Kind] == nil:
				unknown = i.Kind
			default:
				items = append(items, i)
			}
			return len(items) < perRound
		})
		return nil
	})
	return items, unknown, err
}

// after is where the keys begin that are not due at now.
func after(now time.Time) string { return stamp(now.Add(time.Millisecond)) }

// scan calls fn for a tenant's items from a key on, in order, until it answers
// false.
func scan(tx *store.Tx, from string, fn func(key string, i Item) bool) {
	_ = tx.Scan(itemsBucket, "", from, func(key string, _ []byte) bool { // reading a mapped file gives no error
		if len(key) < 8 {
			return false
		}
		kind, id, _ := strings.Cut(key[8:], " ")
		return fn(key, Item{timeOf([]byte(key[:8])), kind, id})
	})
}
