// Package webui decides the approvals of the tenants' WebUIs in hux: it asks a
// person here about what a WebUI waits for, and gives the WebUI the answer. It
// also stops a WebUI's runs.
//
// It reads from each WebUI what that waits for, and not from what passes through
// the proxy, so no page has to be open. It keeps nothing itself: the autonomy
// card stores what was asked, under the WebUI's own names, and after a restart
// the same is found again.
package webui

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/store"
)

// Slot is a tenant's WebUI.
type Slot struct {
	Name     string
	Tenant   hux.Tenant
	Upstream *url.URL
	Members  []hux.User // at least one; requests that watch the WebUI are sent as the first
}

// Options is what New needs.
type Options struct {
	Autonomy *autonomy.Service
	Lease    func(hux.Tenant) *store.Lease
	Slots    func() []Slot                                  // those to watch: with a member, and a WebUI not known to be down
	Dial     func(slot Slot, as hux.User) http.RoundTripper // sends requests to a slot's WebUI as that user
}

// Service watches the WebUIs and stops their runs.
type Service struct {
	o Options

	mu       sync.Mutex
	watchers map[hux.Tenant]*watcher
}

// New makes a Service. It watches nothing until Run is called.
func New(o Options) *Service { return &Service{o: o, watchers: map[hux.Tenant]*watcher{}} }

// slotsEvery is how often Run asks which slots there are.
const slotsEvery = time.Second

// Run watches every slot's WebUI until ctx ends.
func (s *Service) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tick := time.NewTicker(slotsEvery)
	defer tick.Stop()
	for {
		s.assign(ctx, &running)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// assign starts a watcher for each slot that is new or has changed, and stops
// the watchers of slots that are gone.
func (s *Service) assign(ctx context.Context, running *sync.WaitGroup) {
	now := map[hux.Tenant]Slot{}
	for _, slot := range s.o.Slots() {
		now[slot.Tenant] = slot
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, w := range s.watchers {
		if slot, there := now[t]; !there || !w.serves(slot) {
			w.stop()
			delete(s.watchers, t)
		}
	}
	for t, slot := range now {
		if s.watchers[t] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		w := &watcher{
			slot: slot, webUI: newClient(s.o.Dial(slot, slot.Members[0])), autonomy: s.o.Autonomy, db: s.o.Lease(t),
			ctx: own, stop: stop, changed: make(chan struct{}, 1), fresh: rate.NewLimiter(freshRate, freshBurst), sessions: map[string]bool{},
		}
		s.watchers[t] = w
		running.Go(w.run)
	}
}

// Look has a session of a tenant's WebUI looked at, since it may wait for an
// approval. The router calls it when the session's page asks for one.
func (s *Service) Look(t hux.Tenant, session string) {
	s.mu.Lock()
	w := s.watchers[t]
	s.mu.Unlock()
	if w != nil && hux.ValidForeignID(session) {
		w.look(session)
	}
}

// backoff is the growing time between attempts that fail.
type backoff struct{ next, least, most time.Duration }

// wait waits before the next attempt; false once ctx has ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = min(max(b.next, b.least), b.most)
	d := b.next
	b.next *= 2
	return pause(ctx, d, nil)
}

func (b *backoff) reset() { b.next = 0 }

// pause waits for a while, or until woken is closed; false once ctx has ended.
func pause(ctx context.Context, d time.Duration, woken <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-woken:
	}
	return true
}

// failed logs what could not be done for a slot, unless ctx has ended.
func failed(ctx context.Context, what string, slot Slot, err error) {
	if err != nil && ctx.Err() == nil {
		slog.Info(what, "slot", slot.Name, "cause", err)
	}
}
