package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/hux/store/storetest"
)

var ctx = context.Background()

func open(t *testing.T, path string) *store.DB {
	t.Helper()
	db, err := store.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Open {
		path := filepath.Join(t.TempDir(), "db")
		return func(quota int64) (*store.DB, error) { return store.Open(path, quota) }
	})
}

func TestFilesAreTheOwnersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "router.db")
	db := open(t, path)
	defer func() { _ = db.Close() }()
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v", filepath.Base(path), info.Mode(), err)
		}
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path)
	defer func() { _ = db.Close() }()
	if _, err := store.Open(path, 0); !errors.Is(err, store.ErrLocked) {
		t.Errorf("a second open: %v", err)
	}
}

func TestADamagedFileIsAnErrorNotACrash(t *testing.T) {
	dir := t.TempDir()
	for name, damage := range map[string]func(path string) error{
		"garbage": func(p string) error {
			return os.WriteFile(p, []byte("this is no database, and long enough to look"), 0o600)
		},
		"cut short": func(p string) error {
			db, err := store.Open(p, 0)
			if err != nil {
				return err
			}
			return errors.Join(db.Close(), os.Truncate(p, 5000))
		},
	} {
		path := filepath.Join(dir, name)
		if err := damage(path); err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(path, 0)
		if err != nil {
			continue
		}
		err = db.Update(ctx, func(tx *store.Tx) error { return tx.Put("b", "k", []byte("v")) })
		if err == nil {
			t.Errorf("%s: nothing was noticed", name)
		}
		_ = db.Close()
	}
}

// A file that is cut while it is mapped must not take the process down.
func TestAFileCutWhileOpenIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "db")
	db := open(t, path)
	err := db.Update(ctx, func(tx *store.Tx) error { return tx.Put("b", "k", make([]byte, 1<<16)) })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := db.View(ctx, func(tx *store.Tx) error { tx.Get("b", "k"); return nil }); err == nil {
		t.Error("reading a file that is gone gave no error")
	}
}

// What a reader sees is on disk: a commit whose page is written and not yet
// synced is waited for, and readers never wait for one another or for ever.
func TestReadersSeeWhatIsOnDisk(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	const writes = 300
	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range writes {
			err := db.Update(ctx, func(tx *store.Tx) error { // every third is undone, and its number comes again
				if err := tx.Put("b", "n", []byte(strconv.Itoa(n+1))); err != nil || n%3 == 2 {
					return errors.Join(err, errors.New("no"))
				}
				return nil
			})
			if (err != nil) != (n%3 == 2) {
				t.Errorf("write %d: %v", n, err)
			}
			if err == nil {
				acknowledged.Store(int64(n + 1))
			}
		}
	})
	for range 4 {
		wg.Go(func() {
			for acknowledged.Load() < writes-1 {
				before := acknowledged.Load()
				if err := db.View(ctx, func(tx *store.Tx) error {
					n, _ := strconv.ParseInt(string(tx.Get("b", "n")), 10, 64)
					if n < before {
						t.Errorf("%d was acknowledged and a reader sees %d", before, n)
					}
					return nil
				}); err != nil {
					t.Errorf("a reader: %v", err)
				}
			}
		})
	}
	wg.Wait()
}

// A log's file is less than twice its values: a page is left nearly full as
// new keys come after it.
func TestALogTakesLittleMoreThanItsValues(t *testing.T) {
	const entries, value = 3000, 700 // about an event's bytes
	path := filepath.Join(t.TempDir(), "log.db")
	db, err := store.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < entries; n += 3 {
		err := db.Update(t.Context(), func(tx *store.Tx) error {
			for i := range 3 { // of three conversations, in turn
				key := binary.BigEndian.AppendUint64(fmt.Appendf(nil, "cnv_%032d", i), uint64(n)) //nolint:gosec // small
				if err := tx.Put("events", string(key), make([]byte, value)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	const spare = 1 << 20 // what the file grows by at a time
	if most := int64(entries*value*8/5 + spare); info.Size() > most {
		t.Errorf("%d values of %d bytes take %d bytes, not %d", entries, value, info.Size(), most)
	}
}
