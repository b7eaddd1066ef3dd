package record_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// lamp is a record of these tests.
type lamp struct {
	hux.Meta
	State string `json:"state"`
	Lit   int    `json:"lit"` // moves without a revision
}

const conversation = "cnv_0123456789abcdef0123456789abcdef"

type rig struct {
	frame *record.Frame
	lamps *record.Collection[lamp]
	pool  *store.Pool
	call  *api.Call
}

func newRig(t *testing.T) *rig { return rigIn(t, t.TempDir()) }

func rigIn(t *testing.T, dir string, indexes ...record.Index[lamp]) *rig {
	t.Helper()
	r := &rig{frame: &record.Frame{Log: event.NewLog(10), Keys: record.NewKeys([]byte(strings.Repeat("k", 32)))}}
	r.pool = store.NewPool(store.PoolOptions{Dir: dir, Prepare: r.frame.Prepare})
	t.Cleanup(func() { _ = r.pool.Close() })
	r.lamps = record.In(r.frame, record.Spec[lamp]{
		Name: "hux.lamp.v1", Prefix: "prj", Meta: func(l *lamp) *hux.Meta { return &l.Meta },
		State: func(l *lamp) *string { return &l.State }, States: hux.Machine{Moves: map[string][]string{"off": {"on", "broken"}, "on": {"off"}}},
		Fill: func(tx store.Reader, l *lamp) error {
			head, err := event.Head(tx, conversation)
			l.Lit = int(head)
			return err
		},
		Indexes: indexes,
	})
	r.call = &api.Call{Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_a"}, User: "usr_a", DB: r.pool.Lease("ten_0123456789abcdef0123456789abcdef")}
	return r
}

// change is a change of alice's that is planned for nothing.
func (r *rig) change(fn func(*record.Change) error) error {
	return r.frame.Change(context.Background(), r.call, record.Plan{}, fn)
}

func (r *rig) create(ch *record.Change) (*lamp, error) {
	return r.lamps.Create(ch, r.call.User, func(m hux.Meta) *lamp { return &lamp{Meta: m, State: "off"} })
}

// write sends a request under a key; fn as Collection.Write has it.
func (r *rig) write(t *testing.T, key, text string, fn func(*record.Change) (*lamp, int, error)) (*httptest.ResponseRecorder, *lamp, error) {
	t.Helper()
	req := httptest.NewRequest("POST", "/lamps", nil)
	call := *r.call
	call.Key, call.Body = key, &schema.Request{Text: []byte(text)}
	w := httptest.NewRecorder()
	if err := r.lamps.Write(w, req, &call, time.Time{}, fn); err != nil {
		return w, nil, err
	}
	var l lamp
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	return w, &l, nil
}

func (r *rig) move(id, to string) func(*record.Change) (*lamp, int, error) {
	return func(ch *record.Change) (*lamp, int, error) {
		l, err := r.lamps.Update(ch, id, func(l *lamp) error { l.State = to; return nil })
		if err == nil {
			err = ch.Tell(event.Event{ConversationID: conversation, Kind: "mode.changed"})
		}
		return l, http.StatusOK, err
	}
}

func (r *rig) head(t *testing.T) (head uint64) {
	t.Helper()
	if err := r.call.DB.View(context.Background(), func(tx *store.Tx) (err error) { head, err = event.Head(tx, conversation); return err }); err != nil {
		t.Fatal(err)
	}
	return head
}

func made(r *rig) func(*record.Change) (*lamp, int, error) {
	return func(ch *record.Change) (*lamp, int, error) {
		l, err := r.create(ch)
		return l, http.StatusCreated, err
	}
}

// Only the legal moves are made, and each writes its event or nothing. What
// changes nothing makes no revision.
func TestMoves(t *testing.T) {
	r := newRig(t)
	_, l, err := r.write(t, "", "", made(r))
	if err != nil {
		t.Fatal(err)
	}
	revision, told, state := 1, uint64(0), l.State
	for _, step := range []struct {
		to    string
		legal bool
	}{{"on", true}, {"broken", false}, {"on", true}, {"off", true}, {"nonsense", false}, {"broken", true}, {"off", false}, {"broken", true}} {
		w, now, err := r.write(t, "", "", r.move(l.ID, step.to))
		var e *hux.Error
		switch {
		case step.legal && err == nil:
			if step.to != state {
				revision++
			}
			state = step.to
			told++
			if now.Revision != revision || now.State != step.to || now.Lit != int(told) || w.Header().Get("ETag") != api.ETag(l.ID, revision) {
				t.Errorf("to %s: %+v %v", step.to, now, w.Header())
			}
		case !step.legal && errors.As(err, &e) && e.Code == hux.InvalidTransition && e.Members["to"] == step.to && e.Members["allowed"] != nil:
		default:
			t.Errorf("to %s: %v", step.to, err)
		}
		if head := r.head(t); head != told {
			t.Errorf("to %s: %d events, want %d", step.to, head, told)
		}
	}
}

// A replay tells of the record as it is now, with what moves besides.
func TestReplayReadsAgain(t *testing.T) {
	r := newRig(t)
	_, l, err := r.write(t, "k", "{}", made(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{"on", "off"} {
		if _, _, err := r.write(t, "", "", r.move(l.ID, to)); err != nil {
			t.Fatal(err)
		}
	}
	w, again, err := r.write(t, "k", "{}", func(*record.Change) (*lamp, int, error) {
		t.Error("a replay runs")
		return nil, 0, nil
	})
	if err != nil || w.Code != http.StatusCreated || again.ID != l.ID || again.Revision != 3 || again.Lit != 2 || w.Header().Get("Idempotency-Replayed") != "true" {
		t.Errorf("%v %d %+v", err, w.Code, again)
	}
	var e *hux.Error
	if _, _, err := r.write(t, "k", `{"other":1}`, made(r)); !errors.As(err, &e) || e.Code != hux.IdempotencyKeyReused {
		t.Errorf("another body: %v", err)
	}
	failed := errors.New("it failed")
	if _, _, err := r.write(t, "f", "{}", func(ch *record.Change) (*lamp, int, error) {
		if _, err := r.create(ch); err != nil {
			t.Error(err)
		}
		return nil, 0, failed
	}); !errors.Is(err, failed) {
		t.Error(err)
	}
	if w, _, err := r.write(t, "f", "{}", made(r)); err != nil || w.Header().Get("Idempotency-Replayed") != "" {
		t.Errorf("a failure is kept under its key: %v %v", err, w.Header())
	}
}

// A key lives for a day after its request, and is then swept away.
func TestKeysLiveForADay(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := rigIn(t, dir)
		defer r.pool.Close()
		count := func() (n int) {
			if err := r.call.DB.View(context.Background(), func(tx *store.Tx) error { n = len(tx.List("idempotency", "")); return nil }); err != nil {
				t.Fatal(err)
			}
			return n
		}
		sweep := func() {
			if err := record.Sweep(context.Background(), r.call.DB); err != nil {
				t.Fatal(err)
			}
		}
		_, first, err := r.write(t, "k", "{}", made(r))
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(23 * time.Hour)
		sweep()
		if _, l, err := r.write(t, "k", "{}", made(r)); err != nil || l.ID != first.ID || count() != 1 {
			t.Errorf("after 23 hours: %v, %d keys", err, count())
		}
		<-time.After(2 * time.Hour)
		if _, l, err := r.write(t, "k", `{"another":1}`, made(r)); err != nil || l.ID == first.ID {
			t.Errorf("after 25 hours: %v", err)
		}
		for range 1200 {
			if _, _, err := r.write(t, hux.NewID("key"), "{}", made(r)); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(25 * time.Hour)
		if _, _, err := r.write(t, "new", "{}", made(r)); err != nil {
			t.Fatal(err)
		}
		if sweep(); count() != 1 {
			t.Errorf("%d keys after sweeping", count())
		}
	})
}

// Records that are not the caller's are records that do not exist.
func TestOwners(t *testing.T) {
	r := newRig(t)
	_, l, err := r.write(t, "", "", made(r))
	if err != nil {
		t.Fatal(err)
	}
	for who, sees := range map[hux.Actor]bool{{Kind: hux.KindHuman, ID: "usr_a"}: true, {Kind: hux.KindHuman, ID: "usr_b"}: false, {Kind: hux.KindAgent, ID: "agt_x"}: true} {
		call := *r.call
		call.Actor, call.User = who, ""
		if who.Kind == hux.KindHuman {
			call.User = hux.User(who.ID)
		}
		err := call.DB.View(context.Background(), func(tx *store.Tx) error {
			for _, id := range []string{"prj_ffffffffffffffffffffffffffffffff", "prj_x", "", "cnv" + l.ID[3:]} {
				var e *hux.Error
				if _, err := r.lamps.Load(tx, &call, id); !errors.As(err, &e) || e.Code != hux.NotFound {
					t.Errorf("%q: %v", id, err)
				}
			}
			_, err := r.lamps.Load(tx, &call, l.ID)
			return err
		})
		var e *hux.Error
		if sees != (err == nil) || err != nil && (!errors.As(err, &e) || e.Code != hux.NotFound) {
			t.Errorf("%v: %v", who, err)
		}
	}
}
