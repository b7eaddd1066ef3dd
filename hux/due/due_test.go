package due_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/store"
)

// rig is a router's database with tenants', and what happened in them.
type rig struct {
	dir    string
	db     *store.DB
	stores *store.Pool
	index  *due.Index
	stop   func()

	mu       sync.Mutex
	happened map[string]time.Time
	refuse   int // so many times
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{dir: t.TempDir(), happened: map[string]time.Time{}}
	r.start(t)
	t.Cleanup(func() { r.close(t) })
	return r
}

func (r *rig) start(t *testing.T) {
	t.Helper()
	var err error
	if r.db, err = store.Open(filepath.Join(r.dir, "router.db"), 0); err != nil {
		t.Fatal(err)
	}
	r.stores = store.NewPool(store.PoolOptions{Dir: r.dir})
	if r.index, err = due.NewIndex(r.db, r.stores); err != nil {
		t.Fatal(err)
	}
	r.index.Handle("bell", func(ctx context.Context, db *store.Lease, i due.Item) error {
		r.mu.Lock()
		refuse := r.refuse > 0
		r.refuse--
		r.mu.Unlock()
		if refuse || strings.HasPrefix(i.ID, "never") {
			return errors.New("not now")
		}
		if err := db.Update(ctx, func(tx *store.Tx) error { return tx.Delete(i.Row()) }); err != nil {
			return err
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if _, twice := r.happened[i.ID]; twice {
			t.Errorf("%s happens twice", i.ID)
		}
		r.happened[i.ID] = time.Now()
		return nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { r.index.Run(ctx); close(ended) }()
	r.stop = func() { cancel(); <-ended }
}

func (r *rig) close(t *testing.T) {
	t.Helper()
	r.stop()
	if err := errors.Join(r.stores.Close(), r.db.Close()); err != nil {
		t.Error(err)
	}
}

func tenantOf(n int) hux.Tenant { return hux.Tenant(fmt.Sprintf("ten_%032x", n)) }

func (r *rig) put(t *testing.T, tenant hux.Tenant, id string, at time.Time) {
	t.Helper()
	r.putKind(t, tenant, "bell", id, at)
}

func (r *rig) putKind(t *testing.T, tenant hux.Tenant, kind, id string, at time.Time) {
	t.Helper()
	release, err := r.index.Hold(context.Background(), tenant, at)
	if err != nil {
		t.Error(err)
		return
	}
	defer release()
	if err := r.stores.Lease(tenant).Update(context.Background(), func(tx *store.Tx) error {
		bucket, key := due.Item{At: at, Kind: kind, ID: id}.Row()
		return tx.Put(bucket, key, []byte{})
	}); err != nil {
		t.Error(err)
	}
}

func (r *rig) when(id string) (time.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, ok := r.happened[id]
	return at, ok
}

// Each item happens once, at its time, whatever the order in which they were
// put and however many are put at once.
func TestItemsHappenAtTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		begin := time.Now()
		random := rand.New(rand.NewPCG(1, 2))
		want := map[string]time.Duration{}
		var wg sync.WaitGroup
		for n := range 60 {
			id, after := fmt.Sprint(n), time.Duration(random.IntN(40_000))*time.Millisecond
			want[id] = after
			wg.Go(func() { r.put(t, tenantOf(n%5), id, begin.Add(after)) })
		}
		wg.Wait()
		time.Sleep(50 * time.Second)
		synctest.Wait()
		for id, after := range want {
			at, ok := r.when(id)
			if late := at.Sub(begin.Add(after)); !ok || late < 0 || late > 2*time.Second {
				t.Errorf("%s is due after %v; happened: %v, %v late", id, after, ok, late)
			}
		}
	})
}

// What fell due while the router was down happens when it is up again, and what
// is still to come keeps its time.
func TestItemsOutliveARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		begin := time.Now()
		r.put(t, tenantOf(1), "missed", begin.Add(time.Minute))
		r.put(t, tenantOf(1), "later", begin.Add(time.Hour))
		r.put(t, tenantOf(2), "much later", begin.Add(48*time.Hour))
		r.close(t)
		time.Sleep(10 * time.Minute)
		if _, ok := r.when("missed"); ok {
			t.Fatal("it happened while nobody was there")
		}
		r.start(t)
		synctest.Wait()
		if _, ok := r.when("missed"); !ok {
			t.Error("what was missed does not happen after the restart")
		}
		time.Sleep(49 * time.Hour)
		synctest.Wait()
		for id, after := range map[string]time.Duration{"later": time.Hour, "much later": 48 * time.Hour} {
			if at, ok := r.when(id); !ok || at.Before(begin.Add(after)) || at.After(begin.Add(after+2*time.Second)) {
				t.Errorf("%s: %v at %v", id, ok, at.Sub(begin))
			}
		}
	})
}

// An item that could not happen is tried again.
func TestARefusedItemIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.refuse = 2
		r.put(t, tenantOf(1), "hard", time.Now().Add(time.Second))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if _, ok := r.when("hard"); !ok {
			t.Error("it was given up")
		}
	})
}

// What can't happen, because nobody handles its kind or it is refused each time,
// keeps nothing of its tenant from happening at its time, and stays.
func TestWhatCannotHappenIsNotInTheWay(t *testing.T) {
	for _, stuck := range []struct {
		kind, id string
		items    int
	}{{"whistle", "x", 1200}, {"bell", "never", 10}} { // of the former more than are looked at in one go
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			begin := time.Now()
			for n := range stuck.items {
				r.putKind(t, tenantOf(1), stuck.kind, fmt.Sprint(stuck.id, n), begin.Add(time.Second))
			}
			want := map[string]time.Duration{"same": time.Second, "soon": 5 * time.Second, "later": 10 * time.Minute, "last": 3 * time.Hour}
			for id, after := range want {
				r.put(t, tenantOf(1), id, begin.Add(after))
			}
			time.Sleep(4 * time.Hour)
			synctest.Wait()
			for id, after := range want {
				at, ok := r.when(id)
				if late := at.Sub(begin.Add(after)); !ok || late < 0 || late > 2*time.Second {
					t.Errorf("%s %s: %s is due after %v; happened: %v, %v late", stuck.kind, stuck.id, id, after, ok, late)
				}
			}
			left := 0
			if err := r.stores.Lease(tenantOf(1)).View(context.Background(), func(tx *store.Tx) error {
				left = len(tx.List("due", ""))
				return nil
			}); err != nil || left != stuck.items {
				t.Errorf("%s %s: %d are left, want %d; %v", stuck.kind, stuck.id, left, stuck.items, err)
			}
		})
	}
}
