package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"bstein.dev/hux/hux"
)

// faulty is an engine whose next commits fail as an fsync does: the caller is
// told so, whether the writes reached the disk or not.
type faulty struct {
	engine
	fails   int
	written bool
	err     error
}

func (e *faulty) update(spare bool, fn func(engineTx) error) error {
	if e.fails == 0 {
		return e.engine.update(spare, fn)
	}
	e.fails--
	err := e.engine.update(spare, func(t engineTx) error {
		if err := fn(t); err != nil || e.written {
			return err
		}
		return e.err
	})
	if err == nil {
		err = e.err
	}
	return err
}

var ctx = context.Background()

func putKey(key string) func(*Tx) error {
	return func(tx *Tx) error { return tx.Put("b", key, []byte("v")) }
}

// openFaulty is a database whose first engine is faulty, and a count of how
// often it was opened again.
func openFaulty(t *testing.T, first *faulty) (db *DB, opened *int) {
	t.Helper()
	db, err := Open(filepath.Join(t.TempDir(), "db"), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	opened, open := new(int), db.open
	db.open = func() (engine, error) { *opened++; return open() }
	first.engine = db.engine
	db.engine = first
	return db, opened
}

func TestAFailedCommitTellsAllWhoShareIt(t *testing.T) {
	for _, written := range []bool{true, false} {
		t.Run(fmt.Sprint("written ", written), func(t *testing.T) {
			db, opened := openFaulty(t, &faulty{fails: 1, written: written, err: syscall.EIO})
			var wg sync.WaitGroup
			var told, done atomic.Int32
			for i := range 200 {
				wg.Go(func() {
					err := db.Update(ctx, func(tx *Tx) error {
						n, _ := strconv.Atoi(string(tx.Get("n", "n")))
						return errors.Join(tx.Put("n", "n", []byte(strconv.Itoa(n+1))), tx.Put("b", strconv.Itoa(i), []byte("v")))
					})
					switch {
					case err == nil:
						done.Add(1)
					case errors.Is(err, ErrFailed) && errors.Is(err, syscall.EIO):
						told.Add(1)
					default:
						t.Error(err)
					}
				})
				wg.Go(func() {
					// One that begins just when it is closed to be opened again is told so.
					if err := db.View(ctx, func(tx *Tx) error { tx.Get("n", "n"); return nil }); err != nil && !errors.Is(err, ErrClosed) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			want := int(done.Load())
			if written {
				want += int(told.Load())
			}
			if err := db.View(ctx, func(tx *Tx) error {
				if rows, n := len(tx.List("b", "")), string(tx.Get("n", "n")); rows != want || n != strconv.Itoa(want) {
					t.Errorf("%d rows and a counter of %s, want %d; %d were told of the failure", rows, n, want, told.Load())
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if told.Load() == 0 || *opened != 1 {
				t.Errorf("%d were told, opened again %d times", told.Load(), *opened)
			}
		})
	}
}

func TestNothingIsDoneBeforeItIsOpenAgain(t *testing.T) {
	db, opened := openFaulty(t, &faulty{fails: 1, err: syscall.EIO})
	if err := db.Update(ctx, putKey("old")); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	open := db.open
	db.open = func() (engine, error) { return nil, syscall.EIO }
	ran := func(*Tx) error { t.Error("it ran"); return nil }
	for range 2 {
		if err := errors.Join(db.Update(ctx, ran), db.View(ctx, ran)); !errors.Is(err, syscall.EIO) {
			t.Error(err)
		}
	}
	db.open = open
	if err := db.Update(ctx, putKey("new")); err != nil || *opened != 1 {
		t.Errorf("opened again %d times, %v", *opened, err)
	}
}

func TestWantOfRoomAndRefusalsLeaveItOpen(t *testing.T) {
	for cause, fails := range map[error]int{ErrQuota: 2, ErrFull: 1} { // at the quota it is tried once more, alone
		db, opened := openFaulty(t, &faulty{fails: fails, err: cause})
		if err := db.Update(ctx, putKey("k")); !errors.Is(err, cause) || errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err := db.Update(ctx, func(*Tx) error { return syscall.EIO }); !errors.Is(err, syscall.EIO) || errors.Is(err, ErrFailed) {
			t.Error(err)
		}
		if err := db.Update(ctx, putKey("k")); err != nil || *opened != 0 {
			t.Errorf("opened again %d times, %v", *opened, err)
		}
	}
}

func TestAFailedDatabaseStaysClosed(t *testing.T) {
	db, opened := openFaulty(t, &faulty{fails: 1, err: syscall.EIO})
	if err := db.Update(ctx, putKey("k")); !errors.Is(err, ErrFailed) {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Update(ctx, putKey("k")); !errors.Is(err, ErrClosed) || *opened != 0 {
		t.Errorf("opened again %d times, %v", *opened, err)
	}
}

// What is found when a tenant's database is opened again decides: it goes on,
// or it is damaged and its tenant's misfortune alone.
func TestATenantAfterAFailedCommit(t *testing.T) {
	const bad, other = hux.Tenant("ten_00000000000000000000000000000001"), hux.Tenant("ten_00000000000000000000000000000002")
	for _, damaged := range []bool{false, true} {
		t.Run(fmt.Sprint("damaged ", damaged), func(t *testing.T) {
			p := NewPool(PoolOptions{Dir: t.TempDir()})
			defer func() { _ = p.Close() }()
			lease := p.Lease(bad)
			if err := lease.Update(ctx, putKey("before")); err != nil {
				t.Fatal(err)
			}
			db := p.tenants[bad].db
			db.engine = &faulty{engine: db.engine, fails: 1, err: syscall.EIO}
			if err := lease.Update(ctx, putKey("k")); !errors.Is(err, ErrFailed) {
				t.Fatal(err)
			}
			if damaged {
				path, _ := p.path(bad)
				if err := os.WriteFile(path, make([]byte, 1<<16), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				err := lease.View(ctx, func(tx *Tx) error {
					if tx.Get("b", "before") == nil {
						t.Error("what was there before is gone")
					}
					return nil
				})
				if damaged != errors.Is(err, ErrCorrupt) || !damaged && err != nil {
					t.Error(err)
				}
			}
			if quarantined := p.tenants[bad].corrupt != nil; quarantined != damaged {
				t.Errorf("quarantined: %v", quarantined)
			}
			if err := p.Lease(other).Update(ctx, putKey("k")); err != nil {
				t.Errorf("the other tenant: %v", err)
			}
		})
	}
}
