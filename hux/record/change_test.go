package record_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// A change that fails after it has written costs nobody else a second run, and
// leaves nothing.
func TestARefusalRerunsNobody(t *testing.T) {
	r := newRig(t)
	refused := errors.New("refused")
	var runs sync.Map
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			n := 0
			err := r.change(func(ch *record.Change) error {
				n++
				if _, err := r.create(ch); err != nil {
					return err
				}
				if err := ch.Tell(event.Event{ConversationID: conversation, Kind: "mode.changed"}); err != nil {
					return err
				}
				if i%2 == 1 {
					return refused
				}
				return nil
			})
			if (i%2 == 1) != errors.Is(err, refused) {
				t.Errorf("change %d: %v", i, err)
			}
			runs.Store(i, n)
		})
	}
	all.Wait()
	runs.Range(func(i, n any) bool {
		if n != 1 {
			t.Errorf("change %v ran %v times", i, n)
		}
		return true
	})
	if head := r.head(t); head != 100 {
		t.Errorf("%d events, want 100", head)
	}
}

// A change reads what it has written, numbers its events one after the other,
// and what it wakes is woken when all of it is durable.
func TestAChangeReadsItself(t *testing.T) {
	r := newRig(t)
	woken := false
	err := r.change(func(ch *record.Change) error {
		l, err := r.create(ch)
		if err != nil {
			return err
		}
		for want := range uint64(3) {
			if err := ch.Tell(event.Event{ConversationID: conversation, Kind: "mode.changed"}); err != nil {
				return err
			}
			if head, err := event.Head(ch, conversation); err != nil || head != want+1 {
				t.Errorf("the head is %d: %v", head, err)
			}
		}
		if again, err := r.lamps.Update(ch, l.ID, func(l *lamp) error { l.State = "on"; return nil }); err != nil || again.Revision != 2 {
			t.Errorf("%+v: %v", again, err)
		}
		if ch.Provenance().Time != ch.At || l.CreatedAt != ch.At {
			t.Error("a change has several times")
		}
		ch.After(func() {
			woken = r.head(t) == 3
		})
		return nil
	})
	if err != nil || !woken {
		t.Errorf("%v, woken with all of it there: %t", err, woken)
	}
}

// What a change lets fall due is in the router's index before, and never earlier
// than its plan says.
func TestFallingDueIsPlanned(t *testing.T) {
	dir := t.TempDir()
	r := rigIn(t, dir)
	db, err := store.Open(filepath.Join(dir, "router.db"), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if r.frame.Due, err = due.NewIndex(db, r.pool); err != nil {
		t.Fatal(err)
	}
	in := func(d time.Duration) due.Item { return due.Item{At: time.Now().Add(d), Kind: "lamp", ID: "x"} }
	for _, c := range []struct {
		planned, item time.Duration
		taken         bool
	}{{0, time.Hour, false}, {time.Hour, time.Minute, false}, {time.Minute, time.Hour, true}} {
		plan := record.Plan{}
		if c.planned > 0 {
			plan.Due = time.Now().Add(c.planned)
		}
		err := r.frame.Change(context.Background(), r.call, plan, func(ch *record.Change) error { return ch.LetFallDue(in(c.item)) })
		if c.taken != (err == nil) {
			t.Errorf("planned for %v, due in %v: %v", c.planned, c.item, err)
		}
	}
}

// byState finds lamps by their state.
func byState(generation int) record.Index[lamp] {
	return record.Index[lamp]{Name: "state", Generation: generation, Values: func(l *lamp) []string { return []string{l.State} }}
}

// A list by a filter reads what it gives, of the caller's and of the tenant's,
// newest first; a record moves in its indexes with its members.
func TestAListWalksItsIndex(t *testing.T) {
	r := rigIn(t, t.TempDir(), byState(1))
	var want []string
	if err := r.change(func(ch *record.Change) error {
		want = nil
		for i := range 2000 {
			owner, state := r.call.User, "off"
			switch i % 500 {
			case 1:
				state = "on"
			case 2:
				owner, state = "", "on" // the tenant's
			case 3:
				owner, state = "usr_b", "on"
			}
			l, err := r.lamps.Create(ch, owner, func(m hux.Meta) *lamp { return &lamp{Meta: m, State: state} })
			if err != nil {
				return err
			}
			if state == "on" && owner != "usr_b" {
				want = append([]string{l.ID}, want...)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		for _, limit := range []string{"1", "3", "200"} {
			got, read := r.list(t, limit, "on")
			if !slices.Equal(got, want) {
				t.Errorf("limit %s: %v, want %v", limit, got, want)
			}
			if read > 2*len(want) {
				t.Errorf("limit %s: %d records are read for %d", limit, read, len(want))
			}
		}
	}
	check()
	if _, _, err := r.write(t, "", "", r.move(want[0], "off")); err != nil {
		t.Fatal(err)
	}
	want = want[1:]
	check()
}

// list gives the ids of the caller's lamps in a state, page by page, and how many
// records were read for them.
func (r *rig) list(t *testing.T, limit, state string) (ids []string, read int) {
	t.Helper()
	cursors := api.NewCursors([]byte(strings.Repeat("k", 32)))
	for cursor := ""; ; {
		q := url.Values{"limit": {limit}, "state": {state}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		l, err := cursors.List(httptest.NewRequest("GET", "/lamps?"+q.Encode(), nil), r.call.Tenant(), "state")
		if err != nil {
			t.Fatal(err)
		}
		var page record.Page[*lamp]
		if err := r.call.DB.View(context.Background(), func(tx *store.Tx) (err error) {
			page, err = r.lamps.List(tx, r.call, l, func(l *lamp) bool {
				read++
				return record.Passes(l.filters(), "state", state)
			})
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Items {
			ids = append(ids, l.ID)
		}
		if page.Next == nil {
			return ids, read
		}
		cursor = *page.Next
	}
}

func (l *lamp) filters() map[string]string { return map[string]string{"state": l.State} }

// A file that lacks an index, or has an older one, gets it before anybody uses
// it, also where that was cut off; one that a newer hux has written is refused.
func TestIndexesAreBuilt(t *testing.T) {
	dir := t.TempDir()
	count := func(r *rig, state string) int {
		t.Helper()
		found := 0
		if err := r.call.DB.View(context.Background(), func(tx *store.Tx) error {
			lamps, err := r.lamps.Find(tx, r.call.User, "state", state)
			found = len(lamps)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return found
	}
	first := rigIn(t, dir)
	if err := first.change(func(ch *record.Change) error {
		for range 2500 {
			if _, err := first.create(ch); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_ = first.pool.Close()
	second := rigIn(t, dir, byState(1))
	if n := count(second, "off"); n != 2500 {
		t.Errorf("%d lamps are found, want 2500", n)
	}
	_ = second.pool.Close()
	renamed := byState(2)
	renamed.Values = func(l *lamp) []string { return []string{"is " + l.State} }
	third := rigIn(t, dir, renamed)
	if was, is := count(third, "off"), count(third, "is off"); was != 0 || is != 2500 {
		t.Errorf("%d and %d lamps are found, want 0 and 2500", was, is)
	}
	_ = third.pool.Close()
	older := rigIn(t, dir, byState(1))
	err := older.call.DB.View(context.Background(), func(*store.Tx) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "newer hux") {
		t.Errorf("a file of a newer hux: %v", err)
	}
}

// A record that can't be read keeps no file from getting its indexes.
func TestIndexesAreBuiltBesideDamage(t *testing.T) {
	dir := t.TempDir()
	first := rigIn(t, dir)
	var damaged string
	if err := first.change(func(ch *record.Change) error {
		for range 3 {
			l, err := first.create(ch)
			if err != nil {
				return err
			}
			damaged = l.ID
		}
		ch.Put("hux.lamp.v1", damaged, []byte(`{"id":`))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	_ = first.pool.Close()
	second := rigIn(t, dir, byState(1))
	if ids, _ := second.list(t, "200", "off"); len(ids) != 2 || slices.Contains(ids, damaged) {
		t.Errorf("the list has %v", ids)
	}
}

// Of ids and outcomes of several there are as many in a replay, in their order.
func TestSeveralOutcomes(t *testing.T) {
	r := newRig(t)
	req := httptest.NewRequest("POST", "/lamps", nil)
	r.call.Key = "k"
	key := r.frame.Keys.Of(req, r.call)
	var made, again []string
	for _, ids := range []*[]string{&made, &again} {
		if err := r.frame.Change(context.Background(), r.call, record.Plan{Key: key}, func(ch *record.Change) error {
			if before := ch.Replayed(); before != nil {
				*ids = before.IDs
				return nil
			}
			*ids = nil
			for range 200 {
				l, err := r.create(ch)
				if err != nil {
					return err
				}
				*ids = append(*ids, l.ID)
			}
			ch.Outcome(201, *ids...)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if len(made) != 200 || fmt.Sprint(made) != fmt.Sprint(again) {
		t.Errorf("%d ids, and %d in the replay", len(made), len(again))
	}
}
