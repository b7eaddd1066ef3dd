package storetest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bstein.dev/hux/hux/store"
)

// sharedCommits: writers that fail, before or after writing, and writers that
// panic share commits with good ones. Each of the good ones is there once, none
// of the others is.
func sharedCommits(t *testing.T, open Open) {
	db := start(t, open, 0)
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
			err := db.Update(context.Background(), func(tx *store.Tx) error {
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
	view(t, db, func(tx *store.Tx) {
		all := tx.List("b", "")
		if len(all) != int(good.Load()) || len(all) != 280 {
			t.Errorf("%d rows, %d good writers, want 280", len(all), good.Load())
		}
		if n := string(tx.Get("n", "n")); n != "280" {
			t.Errorf("the counter is %s", n)
		}
		for _, e := range all {
			if string(e.Value) != "good" {
				t.Errorf("%s is %s", e.Key, e.Value)
			}
		}
	})
}

func writerPanics(t *testing.T, open Open) {
	db := start(t, open, 0)
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "boom") || !strings.Contains(p, "storetest/writers.go") {
			t.Errorf("panic %q", p)
		}
		update(t, db, func(tx *store.Tx) error { return tx.Put("b", "k", nil) })
	}()
	_ = db.Update(context.Background(), func(*store.Tx) error { panic("boom") })
}

const (
	quotaBytes = 4 << 20
	rowBytes   = 64 << 10
)

// fill writes rows until the quota refuses one.
func fill(t *testing.T, db *store.DB) (rows int) {
	t.Helper()
	for rows < 2*quotaBytes/rowBytes {
		switch err := db.Update(context.Background(), func(tx *store.Tx) error {
			return tx.Put("b", strconv.Itoa(rows), make([]byte, rowBytes))
		}); {
		case errors.Is(err, store.ErrQuota):
			return rows
		case err != nil:
			t.Fatal(err)
		}
		rows++
	}
	t.Fatalf("%d rows, and the quota refused none", rows)
	return 0
}

func quota(t *testing.T, open Open) {
	db := start(t, open, quotaBytes)
	written := fill(t, db)
	view(t, db, func(tx *store.Tx) {
		if n := len(tx.List("b", "")); n != written || n == 0 {
			t.Errorf("%d rows of %d", n, written)
		}
	})
	for i := range written {
		if err := db.Update(context.Background(), func(tx *store.Tx) error { return tx.Delete("b", strconv.Itoa(i)) }); err != nil {
			t.Fatalf("delete %d of %d at the quota: %v", i, written, err)
		}
	}
	update(t, db, func(tx *store.Tx) error { return tx.Put("b", "again", make([]byte, rowBytes)) })
}

func quotaOfOne(t *testing.T, open Open) {
	db := start(t, open, quotaBytes)
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			size, large := 100, i%8 == 0
			if large {
				size = quotaBytes
			}
			err := db.Update(context.Background(), func(tx *store.Tx) error { return tx.Put("b", strconv.Itoa(i), make([]byte, size)) })
			if large != errors.Is(err, store.ErrQuota) || !large && err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
		})
	}
	wg.Wait()
	view(t, db, func(tx *store.Tx) {
		if n := len(tx.List("b", "")); n != 56 {
			t.Errorf("%d rows, want 56", n)
		}
	})
}
