package record

import (
	"context"
	"net/http"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

// forgettings is what is being forgotten, or was, by conversation.
const forgettings = Table[forgetting]("forgettings")

// forgetting is how far a conversation is forgotten.
type forgetting struct {
	At     hux.Time       `json:"at"`
	Events uint64         `json:"events"` // the last event that has become a tombstone
	Gone   map[string]int `json:"gone"`   // rows that were taken away, by bucket
	Done   bool           `json:"done"`
}

const (
	dueForget       = "forget"
	mostForgotten   = 500             // rows of one transaction, so that it holds nobody up
	forgottenStatus = http.StatusGone // of a key whose request made what was forgotten
)

// pointersBucket leads from a conversation to rows that stand elsewhere:
// conversation id, bucket, line feed, key → nothing.
const pointersBucket = "pointers"

func pointer(conversation, bucket, key string) string { return conversation + bucket + "\n" + key }

// Belongs says that a row is a conversation's though its key does not begin with
// the conversation's id, so that it is forgotten with it.
func (ch *Change) Belongs(conversation, bucket, key string) {
	ch.Put(pointersBucket, pointer(conversation, bucket, key), []byte{})
}

// BelongsNoMore takes Belongs back, as where the row is taken away.
func (ch *Change) BelongsNoMore(conversation, bucket, key string) {
	ch.Delete(pointersBucket, pointer(conversation, bucket, key))
}

// Forgotten reports whether a conversation was forgotten: nothing of it is given
// or taken any more.
func Forgotten(tx store.Reader, conversationID string) bool {
	return tx.Get(string(forgettings), conversationID) != nil
}

// Forget begins to forget a conversation in the change that makes its record a
// stub, whose plan lets something fall due at once. From then on nothing of it is
// given; its rows go bit by bit, also after a crash.
func (f *Frame) Forget(ch *Change, conversationID string) error {
	if Forgotten(ch, conversationID) {
		return nil
	}
	if err := forgettings.Put(ch, conversationID, &forgetting{At: ch.At, Gone: map[string]int{}}); err != nil {
		return err
	}
	return ch.LetFallDue(due.Item{At: ch.At.Time, Kind: dueForget, ID: conversationID})
}

// FallDue has an index bring about what the frame lets fall due.
func (f *Frame) FallDue(x *due.Index) {
	f.Due = x
	x.Handle(dueForget, f.forget)
}

// forget is what falls due when a conversation is to be forgotten.
func (f *Frame) forget(ctx context.Context, db *store.Lease, i due.Item) error {
	call := &api.Call{Actor: hux.Actor{Kind: hux.KindSystem, ID: "hux"}, Surface: hux.SurfaceWorker, DB: db}
	for done := false; !done; {
		err := f.Change(ctx, call, Plan{}, func(ch *Change) (err error) {
			done, err = f.forgetMore(ch, i)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetMore takes away some more of a conversation.
func (f *Frame) forgetMore(ch *Change, i due.Item) (done bool, err error) {
	state, err := forgettings.Get(ch, i.ID)
	if err != nil || state == nil || state.Done {
		ch.NoLongerDue(i)
		return true, err
	}
	left := mostForgotten
	for _, step := range f.steps() {
		n, err := step.take(ch, state, i.ID, left)
		if err != nil {
			return false, err
		}
		if n > 0 {
			state.Gone[step.bucket] += n
		}
		if left -= n; left == 0 {
			return false, forgettings.Put(ch, i.ID, state)
		}
	}
	state.Done = true
	ch.NoLongerDue(i)
	return true, forgettings.Put(ch, i.ID, state)
}

// step takes away at most so many rows of a conversation and says how many; fewer
// than that are all that there were.
type step struct {
	bucket string
	take   func(ch *Change, state *forgetting, conversationID string, most int) (int, error)
}

func (f *Frame) steps() (steps []step) {
	for _, c := range f.collections {
		steps = append(steps, step{c.name(), func(ch *Change, _ *forgetting, id string, most int) (int, error) { return c.forget(ch, id, most) }})
	}
	for _, bucket := range append([]string{event.Confirmations}, f.ofConversation...) {
		steps = append(steps, step{bucket, func(ch *Change, _ *forgetting, id string, most int) (int, error) {
			return deletePrefix(ch, bucket, id, most)
		}})
	}
	return append(steps, step{pointersBucket, forgetPointers}, step{keysBucket, forgetKeys}, step{"due", forgetDue}, step{event.Bucket, forgetEvents})
}

// OfConversation says that the keys of buckets begin with a conversation's id, so
// that their rows are forgotten with it.
func (f *Frame) OfConversation(buckets ...string) {
	f.ofConversation = append(f.ofConversation, buckets...)
}

// some are the first keys of a bucket that begin with prefix and are not before
// from.
func some(tx store.Reader, bucket, prefix, from string, most int) (keys []string, err error) {
	err = tx.Scan(bucket, prefix, from, func(key string, _ []byte) bool {
		if len(keys) < most {
			keys = append(keys, key)
		}
		return len(keys) < most
	})
	return keys, err
}

func deletePrefix(ch *Change, bucket, prefix string, most int) (int, error) {
	keys, err := some(ch, bucket, prefix, "", most)
	for _, key := range keys {
		ch.Delete(bucket, key)
	}
	return len(keys), err
}

func (c *Collection[T]) forget(ch *Change, conversationID string, most int) (removed int, err error) {
	if c.spec.Conversation == nil {
		return 0, nil
	}
	place := c.place(Index[T]{Name: ofConversation, Tenant: true}, "", conversationID)
	rows, err := some(ch, c.indexBucket(), place, "", most)
	for _, row := range rows {
		if err != nil {
			break
		}
		var r *T
		if r, err = c.Read(ch, row[len(place):]); err == nil && r != nil {
			err = c.remove(ch, r)
		} else if err == nil {
			ch.Delete(c.indexBucket(), row)
		}
	}
	return len(rows), err
}

// forgetPointers takes away the rows that pointers lead to. Of a request's key
// what it made is taken away alone: a retry is told that it is gone.
func forgetPointers(ch *Change, _ *forgetting, conversationID string, most int) (int, error) {
	pointers, err := some(ch, pointersBucket, conversationID, "", most)
	for _, pointer := range pointers {
		bucket, key, _ := strings.Cut(strings.TrimPrefix(pointer, conversationID), "\n")
		if bucket == keysBucket {
			blank(ch, key)
		} else {
			ch.Delete(bucket, key)
		}
		ch.Delete(pointersBucket, pointer)
	}
	return len(pointers), err
}

// forgetKeys blanks the keys of requests to the conversation's own paths.
func forgetKeys(ch *Change, _ *forgetting, conversationID string, most int) (n int, err error) {
	var keys []string
	err = ch.Scan(keysBucket, conversationID, "", func(key string, value []byte) bool {
		if row, unread := decodeKey(value); unread != nil || row.status != forgottenStatus {
			keys = append(keys, key)
		}
		return len(keys) < most
	})
	for _, key := range keys {
		blank(ch, key)
	}
	return len(keys), err
}

func blank(ch *Change, key string) {
	row, err := decodeKey(ch.Get(keysBucket, key))
	if err != nil {
		ch.Delete(keysBucket, key)
		return
	}
	row.status, row.ids = forgottenStatus, nil
	ch.Put(keysBucket, key, row.encode())
}

// forgetDue takes away what falls due under the conversation's own name. What
// falls due for a record went with it.
func forgetDue(ch *Change, _ *forgetting, conversationID string, most int) (n int, err error) {
	for _, i := range due.Named(ch, conversationID, most) {
		if i.Kind != dueForget {
			ch.NoLongerDue(i)
			n++
		}
	}
	return n, nil
}

// forgetEvents makes tombstones of events.
func forgetEvents(ch *Change, state *forgetting, conversationID string, most int) (int, error) {
	head, err := event.Head(ch, conversationID)
	if err != nil {
		return 0, err
	}
	n := 0
	for ; n < most && state.Events < head; n++ {
		state.Events++
		value, err := event.Buried(ch, conversationID, state.Events, event.Tombstone{At: state.At, Reason: "forgotten"})
		if err != nil {
			return n, err
		}
		bucket, row := event.Row(conversationID, state.Events)
		ch.Put(bucket, row, value)
	}
	return n, nil
}
