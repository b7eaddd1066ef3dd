package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bstein.dev/hux/hux/store"
)

// marked is a pool that notes how far its databases have come.
type marked struct {
	dir     string
	marks   *store.DB
	damages []string
}

func newMarked(t *testing.T) *marked {
	t.Helper()
	m := &marked{dir: t.TempDir()}
	var err error
	if m.marks, err = store.Open(filepath.Join(t.TempDir(), "router.db"), 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.marks.Close() })
	return m
}

// used is one life of the pool.
func (m *marked) used(t *testing.T, use func(p *store.Pool, l *store.Lease)) {
	t.Helper()
	p := store.NewPool(store.PoolOptions{Dir: m.dir, Marks: m.marks, Damaged: func(what string) { m.damages = append(m.damages, what) }})
	use(p, p.Lease(tenantID(1)))
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
}

func (m *marked) file() string { return filepath.Join(m.dir, string(tenantID(1)), "tenant.db") }

func TestMarks(t *testing.T) {
	var old []byte
	for name, test := range map[string]struct {
		change func(m *marked) error
		want   []string
	}{
		"untouched": {func(*marked) error { return nil }, nil},
		"emptied":   {func(m *marked) error { return os.WriteFile(m.file(), nil, 0o600) }, []string{"lost"}},
		"removed":   {func(m *marked) error { return os.Remove(m.file()) }, []string{"lost"}},
		"older":     {func(m *marked) error { return os.WriteFile(m.file(), old, 0o600) }, []string{"older"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMarked(t)
			m.used(t, func(_ *store.Pool, l *store.Lease) { put(t, l, "first") })
			var err error
			if old, err = os.ReadFile(m.file()); err != nil {
				t.Fatal(err)
			}
			m.used(t, func(p *store.Pool, l *store.Lease) {
				put(t, l, "second")
				put(t, l, "third")
				if len(p.Alarms()) > 0 || len(m.damages) > 0 {
					t.Errorf("what is as it was: %v, %v", p.Alarms(), m.damages)
				}
			})
			if err := test.change(m); err != nil {
				t.Fatal(err)
			}
			for range 2 { // it serves, and is told of in each life until somebody trusts it
				m.damages = nil
				m.used(t, func(p *store.Pool, l *store.Lease) {
					put(t, l, "more")
					if !has(t, l, "more") || !slices.Equal(m.damages, test.want) || len(p.Alarms()) != len(test.want) {
						t.Errorf("%v, %v", m.damages, p.Alarms())
					}
				})
			}
			m.used(t, func(p *store.Pool, _ *store.Lease) {
				if err := p.Trust(tenantID(1)); err != nil || len(p.Alarms()) > 0 {
					t.Errorf("%v, %v", err, p.Alarms())
				}
			})
			m.damages = nil
			m.used(t, func(p *store.Pool, l *store.Lease) {
				if has(t, l, "none") || len(m.damages) > 0 || len(p.Alarms()) > 0 {
					t.Errorf("once trusted: %v, %v", m.damages, p.Alarms())
				}
			})
		})
	}
}

// A value that can't be read is told of once, and the database goes on.
func TestUnreadableIsToldOnce(t *testing.T) {
	m := newMarked(t)
	m.used(t, func(p *store.Pool, l *store.Lease) {
		put(t, l, "broken")
		for range 3 {
			err := l.View(ctx, func(tx *store.Tx) error {
				var into struct{}
				return store.Decode("b", "broken", tx.Get("b", "broken"), &into)
			})
			if !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("%v", err)
			}
		}
		put(t, l, "more")
		if !slices.Equal(m.damages, []string{"record"}) || len(p.Alarms()) != 1 {
			t.Errorf("%v, %v", m.damages, p.Alarms())
		}
	})
}
