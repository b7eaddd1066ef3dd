package tenant_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/router/tenant"
)

func user(n int) hux.User { return hux.User(fmt.Sprintf("usr_%040d", n)) }

func pool(n int) []tenant.SlotConfig {
	var slots []tenant.SlotConfig
	for i := range n {
		slots = append(slots, tenant.SlotConfig{ID: fmt.Sprintf("pool-%d", i), URL: &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", 9000+i)}})
	}
	return slots
}

// router is one start of the service on a data directory that outlives it.
func router(t *testing.T, path string, slots []tenant.SlotConfig) (*tenant.Service, func()) {
	t.Helper()
	db, err := store.Open(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	s, err := tenant.New(tenant.Options{DB: db, Slots: slots, HealthPath: "/health", HealthEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return s, stop
}

func code(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Fifty first sign-ins at once on ten slots, with a restart between.
func TestSlotsAreNeverClaimedTwice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "router.db")
	s, stop := router(t, path, pool(10))
	if !s.HasFree() {
		t.Error("a pool that nobody claimed of is full")
	}
	got := claimAll(s, 50)
	if len(got) != 10 {
		t.Fatalf("%d users have a slot, want ten", len(got))
	}
	owners := map[string]hux.User{}
	for u, slot := range got {
		if other, ok := owners[slot]; ok {
			t.Errorf("slot %s is %s's and %s's", slot, u, other)
		}
		owners[slot] = u
	}
	stop()
	s, _ = router(t, path, pool(10))
	for u, slot := range claimAll(s, 50) {
		if got[u] != slot {
			t.Errorf("after a restart %s has %s, had %q", u, slot, got[u])
		}
	}
	_, err := s.Claim(context.Background(), user(77))
	var full *hux.Error
	if !errors.As(err, &full) || full.Code != hux.NoSlot || full.Members["user"] != user(77) || !strings.Contains(full.Detail, "taken") {
		t.Errorf("a full pool says %v, want no_slot that names the user's own id", err)
	}
}

func claimAll(s *tenant.Service, n int) map[hux.User]string {
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[hux.User]string{}
	for i := range n {
		for range 2 { // two tabs each
			wg.Go(func() {
				if tn, err := s.Claim(context.Background(), user(i)); err == nil {
					mu.Lock()
					got[user(i)] = tn.Slot()
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	return got
}

func TestFreedSlotGivesNothingBack(t *testing.T) {
	ctx := context.Background()
	s, _ := router(t, filepath.Join(t.TempDir(), "router.db"), pool(1))
	first, err := s.Claim(ctx, user(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Free(ctx, "pool-0", false); err != nil {
		t.Fatal(err)
	}
	if s.Lookup(user(1)) != nil || s.ByID(first.ID()) != nil {
		t.Error("a freed slot is still somebody's")
	}
	if _, err := s.Claim(ctx, user(2)); code(err) != hux.NoSlot {
		t.Errorf("a slot whose WebUI was not wiped was claimed: %v", err)
	}
	if err := s.Assign(ctx, "pool-0", user(2), true); code(err) != hux.InvalidTransition {
		t.Errorf("a slot whose WebUI was not wiped was assigned: %v", err)
	}
	if err := s.Free(ctx, "pool-0", true); err != nil {
		t.Fatal(err)
	}
	again, err := s.Claim(ctx, user(1))
	if err != nil {
		t.Fatal(err)
	}
	if again.ID() == first.ID() {
		t.Error("the same user got the old tenant back")
	}
}

func TestSharedSlotIsJoinedOnPurposeOnly(t *testing.T) {
	ctx := context.Background()
	s, _ := router(t, filepath.Join(t.TempDir(), "router.db"), pool(2))
	if err := s.Assign(ctx, "pool-1", user(1), false); err != nil {
		t.Fatal(err)
	}
	if err := s.Assign(ctx, "pool-1", user(2), false); code(err) != hux.InvalidTransition {
		t.Errorf("a taken slot was given away: %v", err)
	}
	if err := s.Assign(ctx, "pool-1", user(2), true); err != nil {
		t.Fatal(err)
	}
	if s.Lookup(user(1)).ID() != s.Lookup(user(2)).ID() {
		t.Error("members of one slot have two tenants")
	}
	if err := s.Assign(ctx, "pool-0", user(2), false); code(err) != hux.InvalidTransition {
		t.Errorf("a user got a second slot: %v", err)
	}
	if err := s.Remove(ctx, "pool-1", user(2)); err != nil || s.Lookup(user(2)) != nil || s.Lookup(user(1)) == nil {
		t.Errorf("removing one member: %v", err)
	}
	if err := s.Remove(ctx, "pool-1", user(1)); code(err) != hux.InvalidTransition {
		t.Errorf("the last member was removed without freeing the slot: %v", err)
	}
}

func TestConfiguredMembersGetTheirSlotAndNobodyElseDoes(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "router.db")
	slots := pool(1)
	s, stop := router(t, path, slots)
	if _, err := s.Claim(ctx, user(1)); err != nil {
		t.Fatal(err)
	}
	stop()
	fixed := tenant.SlotConfig{ID: "fixed", URL: &url.URL{Scheme: "http", Host: "127.0.0.1:9500"}, Members: []hux.User{user(1), user(2)}}
	s, stop = router(t, path, append(slots, fixed))
	if s.Lookup(user(1)).Slot() != "pool-0" || s.Lookup(user(2)).Slot() != "fixed" {
		t.Error("a restart moved a user to another slot, or left a member without")
	}
	if len(s.Warnings()) != 1 {
		t.Errorf("warnings %v, want one about the first user", s.Warnings())
	}
	if _, err := s.Claim(ctx, user(3)); code(err) != hux.NoSlot {
		t.Errorf("a slot of fixed members was claimed: %v", err)
	}
	if s.HasFree() {
		t.Error("a slot of fixed members is offered")
	}
	before := s.Lookup(user(2)).ID()
	stop()
	s, _ = router(t, path, nil)
	if _, err := s.Claim(ctx, user(2)); code(err) != hux.NoSlot {
		t.Errorf("a slot that is not configured: %v", err)
	}
	if _, err := s.Claim(ctx, user(4)); code(err) != hux.NoSlot || !strings.Contains(err.Error(), "No chat is assigned") {
		t.Errorf("without a pool: %v", err)
	}
	if s.Lookup(user(2)).ID() != before {
		t.Error("the assignment did not outlive the configuration")
	}
}

func TestHealthFollowsTheUpstreamAndNoRedirect(t *testing.T) {
	var status atomic.Int32
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", other.URL)
		w.WriteHeader(int(status.Load()))
	}))
	defer up.Close()
	status.Store(200)
	base, _ := url.Parse(up.URL)
	s, _ := router(t, filepath.Join(t.TempDir(), "router.db"), []tenant.SlotConfig{{ID: "a", URL: base}})
	ctx, stop := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() { s.Run(ctx) })
	defer done.Wait()
	defer stop()
	await := func(want tenant.State) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for s.List()[0].State != want {
			s.Suspect("a")
			select {
			case <-deadline:
				t.Fatalf("state %s, want %s", s.List()[0].State, want)
			case <-tick.C:
			}
		}
	}
	await(tenant.Up)
	status.Store(302)
	await(tenant.Down)
	if elsewhere.Load() != 0 {
		t.Error("a health check followed a redirect")
	}
	status.Store(200)
	await(tenant.Up)
}
