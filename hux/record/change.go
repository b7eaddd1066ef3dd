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

// Frame is what all changes have in common.
type Frame struct {
	Log  *event.Log // where they tell
	Keys *Keys      // by which requests are known again
	Due  *due.Index // where they say what falls due

	collections []collection
}

// Plan is what must be known of a change before its transaction begins.
type Plan struct {
	Key Key       // of the request that it answers; the zero Key where there is none
	Due time.Time // the earliest time at which it may let something fall due; zero for nothing
}

// Change is one transaction on the records of a tenant, whoever brings it about:
// a request, something that falls due, a webhook, a sweep. It is a store.Reader
// in which Get sees what the change has written, and the scans do not.
//
// Nothing is written before the function that it runs in has returned nil, so a
// refusal costs nobody else anything. The function may run twice: what the
// change itself was told in a run that does not count is forgotten, ids and the
// time are the same in each, and everything else it must set anew.
type Change struct {
	*work
	Call *api.Call // in whose name
}

// work is what a change has in mind. Changes of one transaction share it.
type work struct {
	At hux.Time // of all that it does

	plan Plan
	ids  []string // made so far without their prefixes, in the order in which each run asks for them

	// Anew in each run:
	tx      *store.Tx
	used    int // of ids
	writes  []write
	written map[place]int   // index in writes
	told    map[string]bool // conversations
	before  *Outcome
	outcome *Outcome
	after   []func()
}

type place struct{ bucket, key string }

// write is a put, or a delete where value is nil.
type write struct {
	place
	value []byte
}

// Change runs fn as one change of the caller's tenant. When it returns nil all
// is durable, and those who follow or wait have been woken.
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
		*ch.work = work{At: ch.At, plan: plan, ids: ch.ids, tx: tx, written: map[place]int{}, told: map[string]bool{}}
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

// commit puts all that the change has in mind into its transaction.
func (ch *Change) commit() error {
	if ch.before == nil && ch.outcome != nil && ch.plan.Key.hash != "" {
		ch.Put(ch.plan.Key.row(*ch.outcome))
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

// By is the change in another's name.
func (ch *Change) By(call *api.Call) *Change { return &Change{ch.work, call} }

// NewID makes an id that is the same in each run.
func (ch *Change) NewID(prefix string) string {
	if ch.used == len(ch.ids) {
		ch.ids = append(ch.ids, strings.TrimPrefix(hux.NewID(""), "_"))
	}
	ch.used++
	return prefix + "_" + ch.ids[ch.used-1]
}

// Provenance is what a record made by the change says of where it comes from.
func (ch *Change) Provenance() hux.Provenance {
	p := ch.Call.Provenance()
	p.Time = ch.At
	return p
}

// Replayed is what came of the request that the change answers when it came
// before, or nil. Such a change only reads.
func (ch *Change) Replayed() *Outcome { return ch.before }

// Outcome says what comes of the request that the change answers: it is kept
// under the request's key, and is the whole answer when the request comes again.
func (ch *Change) Outcome(status int, ids ...string) { ch.outcome = &Outcome{status, ids} }

// Get is store.Reader's, and sees what the change has written.
func (ch *Change) Get(bucket, key string) []byte {
	if i, ok := ch.written[place{bucket, key}]; ok {
		return slices.Clone(ch.writes[i].value)
	}
	return ch.tx.Get(bucket, key)
}

// Scan is store.Reader's, without what the change has written.
func (ch *Change) Scan(bucket, prefix, from string, fn func(key string, value []byte) bool) error {
	return ch.tx.Scan(bucket, prefix, from, fn)
}

// ScanBack is store.Reader's, without what the change has written.
func (ch *Change) ScanBack(bucket, prefix, before string, fn func(key string, value []byte) bool) error {
	return ch.tx.ScanBack(bucket, prefix, before, fn)
}

// List is store.Reader's, without what the change has written.
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

// Tell puts an event into the log of its conversation. Its number, time,
// provenance and sensitivity are the change's to give.
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

// Append puts an event that was written down before into the log of its
// conversation, and gives its number and the event as JSON.
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
	return seq, value, nil
}

// LetFallDue notes what is to happen at a time, none before the plan's.
func (ch *Change) LetFallDue(i due.Item) error {
	if ch.plan.Due.IsZero() || i.At.UnixMilli() < ch.plan.Due.UnixMilli() {
		return errors.New("a change lets something fall due earlier than its plan says")
	}
	bucket, row := i.Row()
	ch.Put(bucket, row, []byte{})
	return nil
}

// NoLongerDue takes away what was to happen.
func (ch *Change) NoLongerDue(i due.Item) { ch.Delete(i.Row()) }

// After has something done once the change is durable, before it is answered.
// What must not be lost hangs on the log instead.
func (ch *Change) After(do func()) { ch.after = append(ch.after, do) }
