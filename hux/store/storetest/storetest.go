// Package storetest is what every engine of hux/store has to do, as one suite.
package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux/store"
)

// Open opens the database of one place, and again after it was closed. quota
// is in bytes, 0 for none.
type Open func(quota int64) (*store.DB, error)

// Run runs the suite. Each test asks place for a new one, in which no database
// is yet.
func Run(t *testing.T, place func(t *testing.T) Open) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open Open)
	}{
		{"what Update wrote is there, and after reopening", durable},
		{"a failed Update leaves nothing", failedUpdate},
		{"a transaction sees its own writes", ownWrites},
		{"a read transaction sees one moment", oneMoment},
		{"sequences count on", sequences},
		{"scans go both ways", scans},
		{"a list may be deleted while it is walked", listAndDelete},
		{"nothing runs once the context ended", contextEnded},
		{"nothing runs once it is closed", closed},
		{"shared commits keep writers apart", sharedCommits},
		{"the panic of a writer names its place", writerPanics},
		{"the quota refuses and keeps", quota},
		{"at the quota a large writer has no neighbour refused", quotaOfOne},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, place(t)) })
	}
}

func start(t *testing.T, open Open, quota int64) *store.DB {
	t.Helper()
	db, err := open(quota)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func update(t *testing.T, db *store.DB, fn func(tx *store.Tx) error) {
	t.Helper()
	if err := db.Update(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

func view(t *testing.T, db *store.DB, fn func(tx *store.Tx)) {
	t.Helper()
	if err := db.View(context.Background(), func(tx *store.Tx) error { fn(tx); return nil }); err != nil {
		t.Fatal(err)
	}
}

// list is the entries of a bucket as key=value.
func list(tx *store.Tx, bucket, prefix string) []string {
	var all []string
	for _, e := range tx.List(bucket, prefix) {
		all = append(all, e.Key+"="+string(e.Value))
	}
	return all
}

func durable(t *testing.T, open Open) {
	db := start(t, open, 0)
	update(t, db, func(tx *store.Tx) error {
		return errors.Join(tx.Put("b", "k2", []byte("v2")), tx.Put("b", "k1", []byte("v0")), tx.Put("b", "k1", []byte("v1")),
			tx.Put("b", "x", []byte{}), tx.Put("b", "gone", []byte("v")), tx.Put("other", "k1", []byte("o")))
	})
	update(t, db, func(tx *store.Tx) error {
		return errors.Join(tx.Delete("b", "gone"), tx.Delete("b", "never"), tx.Delete("none", "k"))
	})
	look := func(db *store.DB) {
		t.Helper()
		view(t, db, func(tx *store.Tx) {
			if v := tx.Get("b", "k1"); string(v) != "v1" {
				t.Errorf("k1 is %q", v)
			}
			if v := tx.Get("b", "x"); v == nil || len(v) > 0 {
				t.Errorf("the empty value is %#v", v)
			}
			if tx.Get("b", "gone") != nil || tx.Get("b", "never") != nil || tx.Get("none", "k") != nil || tx.List("none", "") != nil {
				t.Error("something is there that was deleted or never put")
			}
			for prefix, want := range map[string][]string{"k": {"k1=v1", "k2=v2"}, "": {"k1=v1", "k2=v2", "x="}} {
				if got := list(tx, "b", prefix); !slices.Equal(got, want) {
					t.Errorf("list of %q: %q", prefix, got)
				}
			}
		})
	}
	look(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	look(start(t, open, 0))
}

func failedUpdate(t *testing.T, open Open) {
	db := start(t, open, 0)
	update(t, db, func(tx *store.Tx) error { return tx.Put("b", "k", []byte("old")) })
	no := errors.New("no")
	err := db.Update(context.Background(), func(tx *store.Tx) error {
		_, err := tx.Next("b")
		return errors.Join(err, tx.Put("b", "k", []byte("new")), tx.Put("c", "k", []byte("new")), tx.Delete("b", "k"), no)
	})
	if !errors.Is(err, no) {
		t.Fatal(err)
	}
	if err := db.View(context.Background(), func(*store.Tx) error { return no }); !errors.Is(err, no) {
		t.Errorf("the error of a read: %v", err)
	}
	update(t, db, func(tx *store.Tx) error {
		if got := list(tx, "b", ""); !slices.Equal(got, []string{"k=old"}) || tx.List("c", "") != nil {
			t.Errorf("it left %q, %q", got, list(tx, "c", ""))
		}
		if n, err := tx.Next("b"); n != 1 || err != nil {
			t.Errorf("the next number is %d, %v", n, err)
		}
		return nil
	})
}

func ownWrites(t *testing.T, open Open) {
	db := start(t, open, 0)
	update(t, db, func(tx *store.Tx) error {
		value := []byte("v1")
		err := errors.Join(tx.Put("b", "k1", value), tx.Put("b", "k2", []byte("v2")), tx.Put("b", "empty", []byte{}), tx.Delete("b", "k2"))
		if got := list(tx, "b", "k"); !slices.Equal(got, []string{"k1=v1"}) || tx.Get("b", "k2") != nil || tx.Get("b", "empty") == nil {
			t.Errorf("it sees %q", got)
		}
		copied := tx.Get("b", "k1")
		copied[0] = 'x'
		if v := tx.Get("b", "k1"); string(v) != "v1" {
			t.Errorf("a change of what Get gave changed the value: %q", v)
		}
		return err
	})
}

func oneMoment(t *testing.T, open Open) {
	db := start(t, open, 0)
	put := func(v string) {
		update(t, db, func(tx *store.Tx) error { return errors.Join(tx.Put("b", "k", []byte(v)), tx.Put("c", "k", []byte(v))) })
	}
	put("old")
	var kept []byte
	view(t, db, func(tx *store.Tx) {
		first := tx.Get("b", "k")
		written := make(chan struct{})
		go func() { // not in this goroutine: a transaction begins no other
			defer close(written)
			put("new")
		}()
		<-written
		if kept = tx.Get("c", "k"); string(first) != "old" || string(kept) != "old" {
			t.Errorf("it saw %s, then %s", first, kept)
		}
	})
	put("newer")
	if string(kept) != "old" {
		t.Errorf("a value that was kept became %q", kept)
	}
}

func sequences(t *testing.T, open Open) {
	db := start(t, open, 0)
	next := func(bucket string, want uint64) {
		t.Helper()
		update(t, db, func(tx *store.Tx) error {
			n, err := tx.Next(bucket)
			if n != want {
				t.Errorf("%s gave %d, want %d", bucket, n, want)
			}
			return err
		})
	}
	next("a", 1)
	next("a", 2)
	next("b", 1)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = start(t, open, 0)
	next("a", 3)
	next("b", 2)
}

func scans(t *testing.T, open Open) {
	db := start(t, open, 0)
	keys := []string{"a1", "a2", "b1", "b2", "b3", "b\xff", "c1"}
	update(t, db, func(tx *store.Tx) (err error) {
		for _, k := range keys {
			err = errors.Join(err, tx.Put("b", k, []byte(k)))
		}
		return err
	})
	for _, c := range []struct {
		back         bool
		prefix, from string
		want         string
	}{
		{false, "b", "", "b1 b2 b3 b\xff"}, {false, "b", "b2", "b2 b3 b\xff"}, {false, "", "", strings.Join(keys, " ")}, {false, "x", "", ""},
		{true, "b", "", "b\xff b3 b2 b1"}, {true, "b", "b3", "b2 b1"}, {true, "b", "b1", ""}, {true, "", "", "c1 b\xff b3 b2 b1 a2 a1"},
		{true, "c", "", "c1"}, {true, "a", "zz", ""}, {true, "", "b1", "a2 a1"},
	} {
		for _, limit := range []int{len(keys), 1} {
			var got []string
			collect := func(k string, v []byte) bool {
				if string(v) != k {
					t.Errorf("%+v: the value of %s is %s", c, k, v)
				}
				got = append(got, k)
				return len(got) < limit
			}
			view(t, db, func(tx *store.Tx) {
				scan := tx.Scan
				if c.back {
					scan = tx.ScanBack
				}
				if err := scan("b", c.prefix, c.from, collect); err != nil {
					t.Error(err)
				}
			})
			want := strings.Fields(c.want)
			if want = want[:min(limit, len(want))]; !slices.Equal(got, want) {
				t.Errorf("%+v, at most %d, gave %q", c, limit, got)
			}
		}
	}
}

func listAndDelete(t *testing.T, open Open) {
	db := start(t, open, 0)
	update(t, db, func(tx *store.Tx) error {
		for i := range 101 {
			if err := tx.Put("b", string(rune('a'+i)), []byte("v")); err != nil {
				return err
			}
		}
		for _, e := range tx.List("b", "") {
			if err := tx.Delete("b", e.Key); err != nil {
				return err
			}
		}
		if left := tx.List("b", ""); len(left) != 0 {
			t.Errorf("%d of 101 survive", len(left))
		}
		return nil
	})
}

func contextEnded(t *testing.T, open Open) {
	db := start(t, open, 0)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	ran := func(*store.Tx) error { t.Error("it ran"); return nil }
	if err := db.Update(ended, ran); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := db.View(ended, ran); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func closed(t *testing.T, open Open) {
	db := start(t, open, 0)
	if err := errors.Join(db.Close(), db.Close()); err != nil {
		t.Error(err)
	}
	ran := func(*store.Tx) error { t.Error("it ran"); return nil }
	if err := db.Update(context.Background(), ran); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if err := db.View(context.Background(), ran); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}
