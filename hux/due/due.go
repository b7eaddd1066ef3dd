// Package due makes things happen at their time: an approval expires, a receipt
// is written. Each tenant's database lists what falls due and when. The
// router's database has an index with the next time of each tenant, so that a
// closed database is opened in time, also after a restart.
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
	itemsBucket = "due" // in a tenant's database: time, kind and id → nothing
	nextBucket  = "due" // in the router's database: tenant → time of its next item
	perRound    = 1000  // items of one tenant before it is another tenant's turn

	// When Run looks at a tenant again:
	afterRefuse  = time.Minute // after an item's handler has failed
	afterHold    = time.Second // while somebody holds the index to put an item
	afterUnknown = time.Hour   // after an item of a kind that this build does not know
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

// Row is the row in which an item is kept. Who puts an item there has to hold
// the index first (Index.Hold).
func (i Item) Row() (bucket, key string) { return itemsBucket, i.key() }

// Named are the first items whose ids begin with a prefix, of all that a tenant
// has: at most so many.
func Named(tx store.Reader, prefix string, most int) (items []Item) {
	scan(tx, "", func(_ string, i Item) bool {
		if strings.HasPrefix(i.ID, prefix) {
			items = append(items, i)
		}
		return len(items) < most
	})
	return items
}

// Handler makes an item of its kind happen, in a transaction of its own that
// takes the item away. It may be called again for the same item.
type Handler func(ctx context.Context, db *store.Lease, i Item) error

// Index knows when each tenant's next item falls due.
type Index struct {
	db       *store.DB
	stores   *store.Pool
	handlers map[string]Handler

	mu    sync.Mutex
	next  map[hux.Tenant]time.Time
	holds map[hux.Tenant]*holds
	poke  chan struct{}
}

// holds counts the callers that are about to put an item into a tenant's
// database.
type holds struct {
	open  int    // holds that are not released yet
	count uint64 // holds since the start
}

// NewIndex reads the index of the router's database.
func NewIndex(db *store.DB, stores *store.Pool) (*Index, error) {
	x := &Index{
		db: db, stores: stores, handlers: map[string]Handler{},
		next: map[hux.Tenant]time.Time{}, holds: map[hux.Tenant]*holds{}, poke: make(chan struct{}, 1),
	}
	err := db.View(context.Background(), func(tx *store.Tx) error {
		for _, e := range tx.List(nextBucket, "") {
			at := time.Time{} // if the value can't be read, look now
			if len(e.Value) == 8 {
				at = timeOf(e.Value)
			}
			x.next[hux.Tenant(e.Key)] = at
		}
		return nil
	})
	return x, err
}

// Handle sets the Handler of a kind. It must be called before Run.
func (x *Index) Handle(kind string, h Handler) { x.handlers[kind] = h }

// Hold makes sure that a tenant is looked at when at has come, whatever happens
// to the process. Call it before the transaction that puts the item, and
// release after it.
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
			wait = 0 // the tenant's next time has changed
		}
		timer.Reset(wait)
	}
}

func (x *Index) snapshot() map[hux.Tenant]time.Time {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.next)
}

// round makes the due items of one tenant happen, and notes when to look at the
// tenant again. An item whose handler fails does not keep others from happening.
func (x *Index) round(ctx context.Context, t hux.Tenant) {
	db, now := x.stores.Lease(t), time.Now()
	items, unknown, err := x.read(ctx, db, now)
	var again time.Time // when to try again; zero if every item happened
	switch {
	case err != nil:
		again = now.Add(afterRefuse)
	case unknown != "":
		slog.Warn("an item that falls due is of a kind that this build does not know", "tenant", t, "kind", unknown)
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
		slog.Warn("making happen what falls due for a tenant", "tenant", t, "cause", err)
	}
	if err := x.settle(ctx, t, db, now, again); err != nil && ctx.Err() == nil {
		slog.Warn("noting what falls due next for a tenant", "tenant", t, "cause", err)
		x.again(t, time.Now().Add(afterRefuse))
	}
}

// again has a tenant looked at later. Only memory knows that time; after a
// restart the tenant is looked at at the time that the router's database has.
func (x *Index) again(t hux.Tenant, at time.Time) {
	x.mu.Lock()
	x.next[t] = at
	x.mu.Unlock()
}

// settle notes when to look at a tenant next: at its next item, or earlier at
// again, if that is not zero; then items that were due at now don't count. While
// somebody holds the index to put an item, which the database does not show yet,
// that is soon.
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
	next := again // zero: there is nothing
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
		x.mu.Lock() // a Hold may have changed it since
		at, known := x.next[t]
		h := x.holds[t]
		held := h != nil && h.open > 0
		x.mu.Unlock()
		switch {
		case held: // the holder may have noted an earlier time, which must stay
			return nil
		case !known:
			return tx.Delete(nextBucket, string(t))
		default:
			return tx.Put(nextBucket, string(t), []byte(stamp(at)))
		}
	})
}

// read gives the first items that are due. unknown is a kind among them that
// has no Handler; "" if all have one.
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

// after is where the keys of items begin that are not due at now.
func after(now time.Time) string { return stamp(now.Add(time.Millisecond)) }

// scan calls fn for a tenant's items from a key on, in order, until fn returns
// false.
func scan(tx store.Reader, from string, fn func(key string, i Item) bool) {
	_ = tx.Scan(itemsBucket, "", from, func(key string, _ []byte) bool { // reading a mapped file gives no error
		if len(key) < 8 {
			return false
		}
		kind, id, _ := strings.Cut(key[8:], " ")
		return fn(key, Item{timeOf([]byte(key[:8])), kind, id})
	})
}
