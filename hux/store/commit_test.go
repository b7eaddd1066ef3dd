package store_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bstein.dev/hux/hux/store"
)

func count(tx *store.Tx) int { return len(tx.List("b", "")) }

// Writers that fail, before or after writing, and writers that panic share
// commits with good ones: each of the good ones is there once, none of the
// others is.
func TestSharedCommitsKeepWritersApart(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	var wg sync.WaitGroup
	var good atomic.Int32
	for i := range 400 {
		wg.Go(func() {
			key := fmt.Sprintf("%04d", i)
			no := errors.New("no")
			defer func() {
				if p := recover(); (p != nil) != (i%10 == 7) {
					t.Errorf("writer %d: panic %v", i, p)
				}
			}()
			err := db.Update(ctx, func(tx *store.Tx) error {
				switch i % 10 {
				case 3:
					return no
				case 5:
					return errors.Join(tx.Put("b", key, []byte("bad")), no)
				case 7:
					_ = tx.Put("b", key, []byte("bad"))
					panic("writer " + key)
				}
				n, _ := strconv.Atoi(string(tx.Get("n", "n")))
				return errors.Join(tx.Put("n", "n", []byte(strconv.Itoa(n+1))), tx.Put("b", key, []byte("good")))
			})
			if fails := i%10 == 3 || i%10 == 5; fails != (err != nil) || fails && !errors.Is(err, no) {
				t.Errorf("writer %d: %v", i, err)
			}
			if err == nil {
				good.Add(1)
			}
		})
	}
	wg.Wait()
	if err := db.View(ctx, func(tx *store.Tx) error {
		if n := count(tx); n != int(good.Load()) || n != 280 {
			t.Errorf("%d rows, %d good writers, want 280", n, good.Load())
		}
		if n := string(tx.Get("n", "n")); n != "280" {
			t.Errorf("the counter is %s", n)
		}
		for _, e := range tx.List("b", "") {
			if string(e.Value) != "good" {
				t.Errorf("%s is %s", e.Key, e.Value)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func TestPanicOfAWriterNamesItsPlace(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "boom") || !strings.Contains(p, "commit_test.go") {
			t.Errorf("panic %q", p)
		}
	}()
	_ = db.Update(ctx, func(*store.Tx) error { panic("boom") })
}

func TestQuotaRefusesAndKeeps(t *testing.T) {
	db, err := store.Open(filepath.Join(t.TempDir(), "db"), 4<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	written := 0
	for range 200 {
		err = db.Update(ctx, func(tx *store.Tx) error { return tx.Put("b", strconv.Itoa(written), make([]byte, 64<<10)) })
		if err != nil {
			break
		}
		written++
	}
	if !errors.Is(err, store.ErrQuota) || written == 0 {
		t.Fatalf("after %d writes: %v", written, err)
	}
	if err := db.View(ctx, func(tx *store.Tx) error {
		if n := count(tx); n != written {
			t.Errorf("%d rows of %d", n, written)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for i := range written {
		if err := db.Update(ctx, func(tx *store.Tx) error { return tx.Delete("b", strconv.Itoa(i)) }); err != nil {
			t.Fatalf("delete %d of %d at the quota: %v", i, written, err)
		}
	}
	if err := db.Update(ctx, func(tx *store.Tx) error { return tx.Put("b", "again", make([]byte, 64<<10)) }); err != nil {
		t.Errorf("after making room: %v", err)
	}
}

func TestScansGoBothWays(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	keys := []string{"a1", "a2", "b1", "b2", "b3", "b\xff", "c1"}
	if err := db.Update(ctx, func(tx *store.Tx) (err error) {
		for _, k := range keys {
			err = errors.Join(err, tx.Put("b", k, []byte(k)))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		back         bool
		prefix, from string
		want         string
	}{
		{false, "b", "", "b1 b2 b3 b\xff"}, {false, "b", "b2", "b2 b3 b\xff"}, {false, "", "", strings.Join(keys, " ")}, {false, "x", "", ""},
		{true, "b", "", "b\xff b3 b2 b1"}, {true, "b", "b3", "b2 b1"}, {true, "b", "b1", ""}, {true, "", "", "c1 b\xff b3 b2 b1 a2 a1"},
		{true, "c", "", "c1"}, {true, "a", "zz", ""}, {true, "", "b1", "a2 a1"},
	} {
		var got []string
		_ = db.View(ctx, func(tx *store.Tx) error {
			collect := func(k string, _ []byte) bool { got = append(got, k); return true }
			if c.back {
				return tx.ScanBack("b", c.prefix, c.from, collect)
			}
			return tx.Scan("b", c.prefix, c.from, collect)
		})
		if strings.Join(got, " ") != c.want {
			t.Errorf("%+v gave %q", c, got)
		}
	}
}

func TestAWriterWhoseContextEndedWritesNothing(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.Update(ended, func(*store.Tx) error { t.Error("it ran"); return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
