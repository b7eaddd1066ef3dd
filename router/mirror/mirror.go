// Package mirror makes hux the one place where a WebUI's approvals are decided:
// what a WebUI waits for is asked here, and the WebUI is told what was decided.
// It also stops a WebUI's runs.
//
// It looks at what each WebUI waits for rather than at what passes through the
// proxy, so that nobody's page has to be open, and it keeps nothing itself: the
// card remembers, under the WebUI's own names, what was asked. After a restart
// it finds the same again.
package mirror

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
	Members  []hux.User // at least one; the first is whom the router is to the WebUI
}

// Options is what New needs.
type Options struct {
	Autonomy *autonomy.Service
	Lease    func(hux.Tenant) *store.Lease
	Slots    func() []Slot                               // those that somebody has and whose WebUI is not known to be down
	Way      func(s Slot, as hux.User) http.RoundTripper // to a slot's WebUI, with an identity
}

// Mirror watches the WebUIs.
type Mirror struct {
	o Options

	mu       sync.Mutex
	watchers map[hux.Tenant]*watcher
}

// New makes a Mirror, which watches once Run is called.
func New(o Options) *Mirror { return &Mirror{o: o, watchers: map[hux.Tenant]*watcher{}} }

// slotsEvery is how often it is looked which slots there are.
const slotsEvery = time.Second

// Run watches every slot's WebUI until ctx ends.
func (m *Mirror) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	tick := time.NewTicker(slotsEvery)
	defer tick.Stop()
	for {
		m.assign(ctx, &running)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// assign begins to watch slots that are new or have changed, and ends the watch
// of those that are gone.
func (m *Mirror) assign(ctx context.Context, running *sync.WaitGroup) {
	now := map[hux.Tenant]Slot{}
	for _, s := range m.o.Slots() {
		now[s.Tenant] = s
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for t, w := range m.watchers {
		if s, there := now[t]; !there || !w.serves(s) {
			w.stop()
			delete(m.watchers, t)
		}
	}
	for t, s := range now {
		if m.watchers[t] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		w := &watcher{
			slot: s, webUI: newWebUI(m.o.Way(s, s.Members[0])), autonomy: m.o.Autonomy, db: m.o.Lease(t),
			ctx: own, stop: stop, changed: make(chan struct{}, 1), fresh: rate.NewLimiter(freshRate, freshBurst), sessions: map[string]bool{},
		}
		m.watchers[t] = w
		running.Go(w.run)
	}
}

// Look says that a session of a tenant's WebUI may wait for something, as its
// page does when it asks.
func (m *Mirror) Look(t hux.Tenant, session string) {
	m.mu.Lock()
	w := m.watchers[t]
	m.mu.Unlock()
	if w != nil && hux.ValidForeignID(session) {
		w.look(session)
	}
}

// backoff is the time between attempts that fail.
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

func failed(ctx context.Context, what string, s Slot, err error) {
	if err != nil && ctx.Err() == nil {
		slog.Info(what, "slot", s.Name, "cause", err)
	}
}
