package tenant

import (
	"context"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bstein.dev/hux/hux"
)

// State is what is known of a slot's WebUI.
type State string

// A slot is unknown until its first check.
const (
	Unknown State = "unknown"
	Up      State = "up"
	Down    State = "down"
)

type health struct {
	last      atomic.Pointer[State]
	checkedAt atomic.Int64 // Unix milliseconds; 0 before the first check
	wake      chan struct{}
}

func (h *health) state() State {
	if s := h.last.Load(); s != nil {
		return *s
	}
	return Unknown
}

// healthClient follows no redirect: a WebUI that sends its check elsewhere is
// not up, and must not make us call what it names.
func healthClient() *http.Client {
	transport := hux.NewTransport()
	transport.DisableKeepAlives, transport.ResponseHeaderTimeout = true, 3*time.Second
	return &http.Client{
		Timeout:       3 * time.Second,
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Run checks every configured slot until ctx ends.
func (s *Service) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, c := range s.slots {
		wg.Go(func() {
			ticker := time.NewTicker(s.options.HealthEvery)
			defer ticker.Stop()
			for {
				s.check(ctx, c)
				select {
				case <-ctx.Done():
					return
				case <-c.health.wake:
				case <-ticker.C:
				}
			}
		})
	}
	wg.Wait()
}

func (s *Service) check(ctx context.Context, c *slot) {
	state := Down
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL.JoinPath(s.options.HealthPath).String(), nil)
	if err == nil {
		if res, err := s.client.Do(req); err == nil {
			_, _ = io.CopyN(io.Discard, res.Body, 64<<10)
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				state = Up
			}
		}
	}
	if ctx.Err() != nil {
		return
	}
	c.health.last.Store(&state)
	c.health.checkedAt.Store(time.Now().UnixMilli())
}

// State is what the last check of a slot said.
func (s *Service) State(id string) State {
	for _, c := range s.slots {
		if c.ID == id {
			return c.health.state()
		}
	}
	return Unknown
}

// Suspect asks for a check now, because a request to the slot failed.
func (s *Service) Suspect(id string) {
	for _, c := range s.slots {
		if c.ID == id {
			select {
			case c.health.wake <- struct{}{}:
			default: // one is due already
			}
		}
	}
}

// Assignment says whether somebody has a slot.
type Assignment string

// A slot that was freed waits for its WebUI to be wiped.
const (
	Free     Assignment = "free"
	Assigned Assignment = "assigned"
	Freed    Assignment = "freed"
)

// SlotStatus is a slot as an operator sees it.
type SlotStatus struct {
	ID         string     `json:"id"`
	URL        string     `json:"url"` // "" where it is not configured
	State      State      `json:"state"`
	CheckedAt  *time.Time `json:"checked_at"`
	Pool       bool       `json:"pool"` // claimed at a first visit, not for fixed members
	Assignment Assignment `json:"assignment"`
	Tenant     hux.Tenant `json:"tenant,omitempty"`
	Members    []hux.User `json:"members"`
}

// List gives every slot, configured ones in their order.
func (s *Service) List() []SlotStatus {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []SlotStatus
	listed := map[string]bool{}
	add := func(c *slot) {
		st := SlotStatus{ID: c.ID, State: c.health.state(), Pool: inPool(c), Assignment: Free, Members: []hux.User{}}
		if c.URL != nil {
			st.URL = c.URL.String()
		}
		if ms := c.health.checkedAt.Load(); ms > 0 {
			at := time.UnixMilli(ms).UTC()
			st.CheckedAt = &at
		}
		if r, ok := s.rows[c.ID]; ok {
			st.Assignment = Assigned
			if r.Freed {
				st.Assignment = Freed
			}
			st.Tenant, st.Members = r.Tenant, append(st.Members, r.Members...)
		}
		listed[c.ID] = true
		list = append(list, st)
	}
	for _, c := range s.slots {
		add(c)
	}
	for id := range s.rows {
		if !listed[id] {
			add(&slot{SlotConfig: SlotConfig{ID: id}})
		}
	}
	return list
}

// slotCollector counts slots at each scrape.
type slotCollector struct{ s *Service }

var (
	slotsDesc  = prometheus.NewDesc("hux_slots", "Slots by assignment.", []string{"assignment"}, nil)
	slotUpDesc = prometheus.NewDesc("hux_slot_up", "Whether a slot's last health check passed.", []string{"slot"}, nil)
)

func (c slotCollector) Describe(ch chan<- *prometheus.Desc) { ch <- slotsDesc; ch <- slotUpDesc }

func (c slotCollector) Collect(ch chan<- prometheus.Metric) {
	count := map[Assignment]int{Free: 0, Assigned: 0, Freed: 0}
	for _, st := range c.s.List() {
		count[st.Assignment]++
		up := 0.0
		if st.State == Up {
			up = 1
		}
		ch <- prometheus.MustNewConstMetric(slotUpDesc, prometheus.GaugeValue, up, st.ID)
	}
	for assignment, n := range count {
		ch <- prometheus.MustNewConstMetric(slotsDesc, prometheus.GaugeValue, float64(n), string(assignment))
	}
}
