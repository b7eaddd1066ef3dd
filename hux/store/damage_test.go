package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bstein.dev/hux/hux/store"
)

// Whatever part of a file is missing or is not what it should be: that is an
// error, and never a panic or a fault.
func TestDamageIsAnError(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "good.db")
	db, err := store.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := db.Update(ctx, func(tx *store.Tx) error {
			for n := range 100 {
				if err := tx.Put(fmt.Sprint("bucket ", n%3), fmt.Sprint(i, ".", n), []byte(strings.Repeat("v", 200))); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 8 << 10
	use := func(content []byte) error {
		path := filepath.Join(t.TempDir(), "damaged.db")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		db, err := store.Open(path, 0)
		if err != nil {
			return err
		}
		return errors.Join(
			db.View(ctx, func(tx *store.Tx) error {
				for n := range 3 {
					if err := tx.Scan(fmt.Sprint("bucket ", n), "", "", func(string, []byte) bool { return true }); err != nil {
						return err
					}
				}
				return nil
			}),
			db.Update(ctx, func(tx *store.Tx) error { return tx.Put("bucket 1", "new", make([]byte, 5000)) }),
			db.Close())
	}
	if err := use(good); err != nil {
		t.Fatal(err)
	}
	found := 0
	for at := 0; at < len(good) && at < 400*page; at += page {
		cut := good[:at+page/2]
		blank := append([]byte{}, good...)
		clear(blank[at : at+page])
		swapped := append([]byte{}, good...)
		other := (at/page*7 + 3) % (len(good) / page) * page
		copy(swapped[at:at+page], good[other:other+page])
		for what, content := range map[string][]byte{"cut": cut, "blank": blank, "swapped": swapped} {
			err := use(content)
			if err != nil && !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%s at %d: %v", what, at, err)
			}
			if err != nil {
				found++
			}
		}
	}
	if found == 0 {
		t.Error("no damage was found")
	}
	t.Logf("%d damages found", found)
}
