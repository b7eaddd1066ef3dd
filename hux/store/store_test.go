package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bstein.dev/hux/hux/store"
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

func TestWhatUpdateWroteIsThereAfterReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "router.db")
	db := open(t, path)
	err := db.Update(ctx, func(tx *store.Tx) error {
		return errors.Join(tx.Put("b", "k1", []byte("v1")), tx.Put("b", "k2", []byte("v2")), tx.Put("b", "x", []byte("v3")), tx.Delete("none", "k"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = open(t, path)
	defer func() { _ = db.Close() }()
	err = db.View(ctx, func(tx *store.Tx) error {
		if v := tx.Get("b", "k1"); string(v) != "v1" {
			t.Errorf("k1 is %q", v)
		}
		if tx.Get("b", "none") != nil || tx.Get("none", "k") != nil || tx.List("none", "") != nil {
			t.Error("something is there that was never put")
		}
		var keys []string
		for _, e := range tx.List("b", "k") {
			keys = append(keys, e.Key+"="+string(e.Value))
		}
		if !slices.Equal(keys, []string{"k1=v1", "k2=v2"}) {
			t.Errorf("list %v", keys)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFailedUpdateLeavesNothing(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	no := errors.New("no")
	if err := db.Update(ctx, func(tx *store.Tx) error { return errors.Join(tx.Put("b", "k", []byte("v")), no) }); !errors.Is(err, no) {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := db.Update(ended, func(tx *store.Tx) error { return tx.Put("b", "k", []byte("v")) }); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_ = db.View(ctx, func(tx *store.Tx) error {
		if tx.Get("b", "k") != nil {
			t.Error("the write stayed")
		}
		return nil
	})
}

func TestAListMayBeDeletedWhileWalked(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() { _ = db.Close() }()
	err := db.Update(ctx, func(tx *store.Tx) error {
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
	if err != nil {
		t.Fatal(err)
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
