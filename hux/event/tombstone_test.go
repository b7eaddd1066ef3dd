package event_test

import (
	"context"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

// Forgotten content in the middle of a log does not end its replay, and
// a reader may begin at it.
func TestTombstonesAreReplayed(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		e := event.Event{ConversationID: conv, Kind: "tool.started", Summary: "x"}
		if i == 2 {
			e.Summary, e.Tombstone = "", &event.Tombstone{At: hux.Now(), Reason: "forgotten"}
		}
		if err := r.db.Update(context.Background(), func(tx *store.Tx) error { return event.Append(tx, &e) }); err != nil {
			t.Fatal(err)
		}
	}
	for after := range uint64(5) {
		rd := r.follow(after)
		for want := after + 1; want <= 5; want++ {
			if seq, summary := rd.next(); seq != want || (summary == "") != (want == 3) {
				t.Errorf("after %d: got %d %q, want %d", after, seq, summary, want)
			}
		}
		rd.stop()
	}
}
