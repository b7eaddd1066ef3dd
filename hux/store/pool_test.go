package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

func tenantID(n int) hux.Tenant { return hux.Tenant(fmt.Sprintf("ten_%032x", n)) }

func put(t *testing.T, l *store.Lease, key string) {
	t.Helper()
	if err := l.Update(ctx, func(tx *store.Tx) error { return tx.Put("b", key, []byte("v")) }); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, l *store.Lease, key string) bool {
	t.Helper()
	found := false
	if err := l.View(ctx, func(tx *store.Tx) error { found = tx.Get("b", key) != nil; return nil }); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTenantsAreApartAndOpenedAgain(t *testing.T) {
	dir := t.TempDir()
	p := store.NewPool(store.PoolOptions{Dir: dir, MaxOpen: 3})
	for i := range 10 {
		put(t, p.Lease(tenantID(i)), fmt.Sprint(i))
	}
	if p.Open() > 3 {
		t.Errorf("%d are open, at most three may be", p.Open())
	}
	for i := range 10 {
		if l := p.Lease(tenantID(i)); !has(t, l, fmt.Sprint(i)) || has(t, l, fmt.Sprint(i+1)) {
			t.Errorf("tenant %d has lost its own or sees another's", i)
		}
	}
	if all, err := p.Tenants(); err != nil || len(all) != 10 {
		t.Errorf("%d tenants, %v", len(all), err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.Lease(tenantID(1)).View(ctx, func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("after closing: %v", err)
	}
}

// Closing what is idle while others use it: nobody ever meets a closed file.
func TestClosingIdleDisturbsNobody(t *testing.T) {
	p := store.NewPool(store.PoolOptions{Dir: t.TempDir(), MaxOpen: 1, Idle: time.Nanosecond})
	defer func() { _ = p.Close() }()
	var wg sync.WaitGroup
	for i := range 8 {
		l := p.Lease(tenantID(i % 3))
		wg.Go(func() {
			for n := range 30 {
				if err := l.Update(ctx, func(tx *store.Tx) error { return tx.Put("b", fmt.Sprint(i, n), nil) }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestADamagedFileIsItsTenantsAlone(t *testing.T) {
	dir := t.TempDir()
	p := store.NewPool(store.PoolOptions{Dir: dir})
	defer func() { _ = p.Close() }()
	bad := filepath.Join(dir, string(tenantID(1)))
	if err := os.MkdirAll(bad, 0o700); err != nil {
		t.Fatal(err)
	}
	garbage := []byte("this is no database, but somebody's file that must stay as it is")
	if err := os.WriteFile(filepath.Join(bad, "tenant.db"), garbage, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Lease(tenantID(1)).View(ctx, func(*store.Tx) error { return nil }); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("the damaged one: %v", err)
		}
	}
	put(t, p.Lease(tenantID(2)), "k")
	if left, err := os.ReadFile(filepath.Join(bad, "tenant.db")); err != nil || string(left) != string(garbage) {
		t.Error("the damaged file was touched")
	}
}

func TestNoIdNamesAFileElsewhere(t *testing.T) {
	dir := t.TempDir()
	p := store.NewPool(store.PoolOptions{Dir: filepath.Join(dir, "tenants")})
	defer func() { _ = p.Close() }()
	for _, id := range []hux.Tenant{"", "..", "../x", "ten_/../../x", "ten_ABC", "ten_0123456789abcdef0123456789abcdef/.."} {
		if err := p.Lease(id).Update(ctx, func(tx *store.Tx) error { return tx.Put("b", "k", nil) }); err == nil {
			t.Errorf("%q was taken for a tenant", id)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) > 0 {
		t.Errorf("something was made: %v", entries)
	}
}

func TestPrepareRunsBeforeAnybody(t *testing.T) {
	p := store.NewPool(store.PoolOptions{Dir: t.TempDir(), Prepare: func(db *store.DB) error {
		return db.Update(context.Background(), func(tx *store.Tx) error { return tx.Put("b", "prepared", []byte("v")) })
	}})
	defer func() { _ = p.Close() }()
	if !has(t, p.Lease(tenantID(1)), "prepared") {
		t.Error("a new database was used unprepared")
	}
}
