package record

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

// Frame is what all changes share.
type Frame struct {
	Log  *event.Log // tells readers of new events
	Keys *Keys      // recognises requests that come again
	Due  *due.Index // knows when something falls due

	collections    []collection
	ofConversation []string // buckets
}

// Plan is what must be known of a change before its transaction begins.
type Plan struct {
	Key Key       // of the request that the change answers; zero if it answers none or there is no key
	Due time.Time // the earliest time that LetFallDue may be given; zero if it is not called
}

// Change is one transaction on a tenant's records, for a request, for something
// that falls due, for a webhook or for a sweep. It is a store.Reader. Its Get
// sees what the change has put and deleted; its scans do not.
//
// A Change writes nothing before its function has returned nil, so a refusal
// makes no other transaction run again. The function may run twice. Before each
// run the Change forgets what it was told in the run before; NewID and At give
// the same in each run. Variables of its caller the function must set anew
// itself.
type Change struct {
	*work
	Call *api.Call // who makes the change
}

// work is what a Change is to write and to do. The Changes that By makes share
// it.
type work struct {
	At hux.Time // the time of the whole change

	plan Plan
	ids  []string // NewID's, without prefixes; each run asks for them in the same order

	// Empty at the beginning of each run:
	tx      *store.Tx
	used    int // how many of ids this run has asked for
	writes  []write
	written map[place]int   // index in writes
	told    map[string]bool // conversations that have new events
	touched map[string]bool // conversations that it writes something of
	before  *Outcome        // of the same request when it came before
	outcome *Outcome        // of this one
	after   []func()
}

type place struct{ bucket, key string }

// write is a put, or a delete where value is nil.
type write struct {
	place
	value []byte
}

// Change runs fn as one change of the caller's tenant. When it returns nil, all
// is durable, and readers of new events have been woken.
func (f *Frame) Change(ctx context.Context, call *api.Call, plan Plan, fn func(*Change) error) error {
	if !plan.Due.IsZero() {
		release, err := f.Due.Hold(ctx, call.Tenant(), plan.Due)
		if err != nil {
			return err
		}
		defer release()
	}
	ch := &Change{&work{At: hux.Now(), plan: plan}, call}
	err := call.DB.Update(ctx, func(tx *store.Tx) (err error) {
		*ch.work = work{At: ch.At, plan: plan, ids: ch.ids, tx: tx, written: map[place]int{}, told: map[string]bool{}, touched: map[string]bool{}}
		if ch.before, err = plan.Key.replay(tx); err != nil {
			return err
		}
		if err := fn(ch); err != nil {
			return err
		}
		return ch.commit()
	})
	if err != nil {
		return err
	}
	for conversation := range ch.told {
		f.Log.Committed(call.Tenant(), conversation)
	}
	for _, do := range ch.after {
		do()
	}
	return nil
}

// commit writes all that the change has put and deleted into its transaction.
func (ch *Change) commit() error {
	if ch.before == nil && ch.outcome != nil && ch.plan.Key.hash != "" {
		bucket, key, value := ch.plan.Key.row(*ch.outcome)
		ch.Put(bucket, key, value)
		for conversation := range ch.touched {
			if conversation != ch.plan.Key.conversation {
				ch.Belongs(conversation, bucket, key)
			}
		}
	}
	for _, w := range ch.writes {
		var err error
		if w.value == nil {
			err = ch.tx.Delete(w.bucket, w.key)
		} else {
			err = ch.tx.Put(w.bucket, w.key, w.value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// By is the same change, made by another caller.
func (ch *Change) By(call *api.Call) *Change { return &Change{ch.work, call} }

// touches says that the change writes something of a conversation, so that what
// is kept under its request's key is forgotten with it.
func (ch *Change) touches(conversation string) {
	if conversation != "" {
		ch.touched[conversation] = true
	}
}

// NewID makes an id, the same one in each run.
func (ch *Change) NewID(prefix string) string {
	if ch.used == len(ch.ids) {
		ch.ids = append(ch.ids, strings.TrimPrefix(hux.NewID(""), "_"))
	}
	ch.used++
	return prefix + "_" + ch.ids[ch.used-1]
}

// Provenance is the provenance of a record that the change makes.
func (ch *Change) Provenance() hux.Provenance {
	p := ch.Call.Provenance()
	p.Time = ch.At
	return p
}

// Replayed is the outcome of the same request when it came before; nil if it is
// new. A change that has one must only read.
func (ch *Change) Replayed() *Outcome { return ch.before }

// Outcome keeps the outcome of the request under its key, for when the request
// comes again: Replayed gives it then.
func (ch *Change) Outcome(status int, ids ...string) { ch.outcome = &Outcome{status, ids} }

// Get is store.Reader's. It sees what the change has put and deleted.
func (ch *Change) Get(bucket, key string) []byte {
	if i, ok := ch.written[place{bucket, key}]; ok {
		return slices.Clone(ch.writes[i].value)
	}
	return ch.tx.Get(bucket, key)
}

// Scan is store.Reader's. It does not see what the change has put and deleted.
func (ch *Change) Scan(bucket, prefix, from string, fn func(key string, value []byte) bool) error {
	return ch.tx.Scan(bucket, prefix, from, fn)
}

// ScanBack is store.Reader's. It does not see what the change has put and
// deleted.
func (ch *Change) ScanBack(bucket, prefix, before string, fn func(key string, value []byte) bool) error {
	return ch.tx.ScanBack(bucket, prefix, before, fn)
}

// List is store.Reader's. It does not see what the change has put and deleted.
func (ch *Change) List(bucket, prefix string) []store.Entry { return ch.tx.List(bucket, prefix) }

// Put sets the value of key in bucket.
func (ch *Change) Put(bucket, key string, value []byte) { ch.set(write{place{bucket, key}, value}) }

// Delete removes key from bucket.
func (ch *Change) Delete(bucket, key string) { ch.set(write{place{bucket, key}, nil}) }

func (ch *Change) set(w write) {
	if i, ok := ch.written[w.place]; ok {
		ch.writes[i] = w
		return
	}
	ch.written[w.place] = len(ch.writes)
	ch.writes = append(ch.writes, w)
}

// Tell puts an event into the log of its conversation. It sets the event's id,
// number, time, provenance, sensitivity and redaction itself.
func (ch *Change) Tell(e event.Event) error {
	e.CreatedAt, e.Provenance, e.Sensitivity, e.Redaction.Level = ch.At, ch.Provenance(), "normal", "none"
	e.ID = ch.NewID("evt")
	d, err := event.NewDraft(e)
	if err != nil {
		return err
	}
	_, _, err = ch.Append(d)
	return err
}

// Append puts an event that was encoded before into the log of its conversation,
// and gives its number and the event as JSON.
func (ch *Change) Append(d *event.Draft) (seq uint64, value []byte, err error) {
	conversation := d.Event(0).ConversationID
	head, err := event.Head(ch, conversation)
	if err != nil {
		return 0, nil, err
	}
	if seq, value, err = d.Number(head); err != nil {
		return 0, nil, err
	}
	bucket, row := event.Row(conversation, seq)
	ch.Put(bucket, row, value)
	ch.told[conversation] = true
	ch.touches(conversation)
	return seq, value, nil
}

// LetFallDue notes what is to happen at a time. Plan.Due must not be later.
func (ch *Change) LetFallDue(i due.Item) error {
	if ch.plan.Due.IsZero() || i.At.UnixMilli() < ch.plan.Due.UnixMilli() {
		return errors.New("a change lets something fall due earlier than its plan says")
	}
	bucket, row := i.Row()
	ch.Put(bucket, row, []byte{})
	return nil
}

// NoLongerDue takes away what LetFallDue noted.
func (ch *Change) NoLongerDue(i due.Item) { ch.Delete(i.Row()) }

// After calls do once the change is durable, before the request is answered. If
// the process dies in between, do is not called; what must happen in any case
// needs LetFallDue.
func (ch *Change) After(do func()) { ch.after = append(ch.after, do) }
