// Package tenant says where a user's requests go: which slot, and so which
// tenant, is theirs. Assignments are durable and are undone by an operator
// alone.
package tenant

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// SlotConfig is one upstream WebUI as it is configured. One with members is
// theirs; one without is in the pool.
type SlotConfig struct {
	ID      string
	URL     *url.URL
	Members []hux.User
}

// Options is what New needs.
type Options struct {
	DB          *store.DB
	Slots       []SlotConfig
	HealthPath  string        // path that answers 200 while a WebUI is up
	HealthEvery time.Duration // between two checks of one slot
	Registry    prometheus.Registerer
}

// Tenant is a tenant of this router with its slot. Only this package can make
// one, so whoever holds it went through the assignment.
type Tenant struct {
	id   hux.Tenant
	slot *slot

	membership context.Context // ends when the user is a member no more
	end        context.CancelFunc
}

// Membership ends when the user that the tenant was looked up for is its member
// no more (for an agent: one of its members), so that what they have open ends.
func (t *Tenant) Membership() context.Context { return t.membership }

// ID is the tenant's id.
func (t *Tenant) ID() hux.Tenant { return t.id }

// Slot is the id of the tenant's slot.
func (t *Tenant) Slot() string { return t.slot.ID }

// Upstream is the origin of the tenant's WebUI; nil where the slot is no
// longer configured.
func (t *Tenant) Upstream() *url.URL { return t.slot.URL }

// State is what the last health check of the slot said.
func (t *Tenant) State() State { return t.slot.health.state() }

// slot is a configured slot, or one that is assigned but configured no more
// (then without a URL).
type slot struct {
	SlotConfig
	health health
}

// Service keeps the assignment of users to slots.
type Service struct {
	db       *store.DB
	options  Options
	slots    []*slot // in the order of the configuration
	client   *http.Client
	claims   *prometheus.CounterVec
	warnings []string

	mu      sync.RWMutex
	rows    map[string]row // by slot id; what the database has
	members map[hux.User]*Tenant
}

// New loads the assignments and gives the configured members their slots.
func New(o Options) (*Service, error) {
	s := &Service{
		db:      o.DB,
		options: o,
		client:  healthClient(),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "hux_slot_claims_total", Help: "First visits that asked the pool for a slot, by outcome.",
		}, []string{"outcome"}),
		rows:    map[string]row{},
		members: map[hux.User]*Tenant{},
	}
	for _, c := range o.Slots {
		s.slots = append(s.slots, &slot{SlotConfig: c, health: health{wake: make(chan struct{}, 1)}})
	}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("read the slots' assignment: %w", err)
	}
	if err := s.seat(); err != nil {
		return nil, fmt.Errorf("give configured members their slots: %w", err)
	}
	if o.Registry != nil {
		o.Registry.MustRegister(s.claims, slotCollector{s})
	}
	for _, w := range s.warnings {
		slog.Warn(w)
	}
	return s, nil
}

// Warnings says where the configuration and the durable assignment disagree.
func (s *Service) Warnings() []string { return s.warnings }

// Lookup gives the user's tenant, or nil where they have none.
func (s *Service) Lookup(u hux.User) *Tenant {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.members[u]
}

// ByID gives the tenant of that id, or nil.
func (s *Service) ByID(id hux.Tenant) *Tenant {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.rows {
		if r.Tenant == id && len(r.Members) > 0 {
			return s.members[r.Members[0]]
		}
	}
	return nil
}

// SoleMember is the one member of a tenant, or "" where there are several.
func (s *Service) SoleMember(t *Tenant) hux.User {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if members := s.rows[t.Slot()].Members; len(members) == 1 {
		return members[0]
	}
	return ""
}

// Claim gives the user's tenant, and claims a free slot of the pool for them
// if they have none, durably. That is for a person's visit alone: whatever else
// asks gets what Require says.
func (s *Service) Claim(ctx context.Context, u hux.User) (*Tenant, error) {
	if t := s.Lookup(u); t != nil {
		return configured(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.members[u]; t != nil {
		return configured(t)
	}
	free := s.freeLocked()
	if free == nil {
		return nil, s.noneFree(u)
	}
	r := row{Tenant: newTenant(), Members: []hux.User{u}, Since: time.Now().UTC()}
	if err := s.writeLocked(ctx, free.ID, r); err != nil {
		return nil, err
	}
	s.claims.WithLabelValues("claimed").Inc()
	slog.InfoContext(ctx, "slot claimed", "slot", free.ID, "tenant", r.Tenant, "user", u)
	return s.members[u], nil
}

// Require gives the user's tenant and claims none. Without one it is a no_slot
// error that tells the user what to do, such as to visit the chat at that URL.
func (s *Service) Require(u hux.User, chat string) (*Tenant, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.members[u]; t != nil {
		return configured(t)
	}
	if s.freeLocked() == nil {
		return nil, s.noneFree(u)
	}
	e := hux.Errorf(hux.NoSlot, "You have no chat yet. Open %s in a browser and sign in; that gives you one.", chat)
	e.Members = map[string]any{"user": u}
	return nil, e
}

// noneFree turns a user away, with their id for the operator.
func (s *Service) noneFree(u hux.User) *hux.Error {
	detail := "Every chat slot is taken. Your operator can add one, or give you one by your user id."
	if !slices.ContainsFunc(s.slots, inPool) {
		detail = "No chat is assigned to you. Your operator can assign one to your user id."
	}
	s.claims.WithLabelValues("refused").Inc()
	e := hux.Errorf(hux.NoSlot, "%s", detail).After(time.Minute)
	e.Members = map[string]any{"user": u}
	return e
}

// HasFree reports whether the pool has a slot for the next claim.
func (s *Service) HasFree() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.freeLocked() != nil
}

func configured(t *Tenant) (*Tenant, error) {
	if t.Upstream() == nil {
		return nil, hux.Errorf(hux.NoSlot, "Your chat slot, %s, is not part of the configuration at the moment. Your operator can put it back.", t.Slot()).After(time.Minute)
	}
	return t, nil
}

// freeLocked is the slot that the next claim gets: the first of the pool that
// nobody has, one that is not known to be down before one that is.
func (s *Service) freeLocked() *slot {
	var down *slot
	for _, c := range s.slots {
		if _, taken := s.rows[c.ID]; taken || !inPool(c) {
			continue
		}
		if c.health.state() != Down {
			return c
		}
		if down == nil {
			down = c
		}
	}
	return down
}

func inPool(c *slot) bool { return len(c.Members) == 0 }

func (s *Service) slotLocked(id string) *slot {
	for _, c := range s.slots {
		if c.ID == id {
			return c
		}
	}
	return &slot{SlotConfig: SlotConfig{ID: id}}
}

// seat gives configured members their slots. A member who has another slot,
// or whose slot is another's, stays as they are, with a warning: a slot
// changes hands by an operator's command, not by a restart.
func (s *Service) seat() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.slots {
		r, taken := s.rows[c.ID]
		if taken && r.Freed {
			if len(c.Members) > 0 {
				s.warnings = append(s.warnings, fmt.Sprintf("slot %s was freed and its WebUI not yet reported as wiped; its members get it after: hux slots free %s --wiped", c.ID, c.ID))
			}
			continue
		}
		if taken && len(c.Members) > 0 && !slices.ContainsFunc(r.Members, func(u hux.User) bool { return slices.Contains(c.Members, u) }) {
			s.warnings = append(s.warnings, fmt.Sprintf("slot %s is configured for members of its own but another has it; free it first: hux slots free %s", c.ID, c.ID))
			continue
		}
		members := slices.Clone(r.Members)
		for _, u := range c.Members {
			switch other := s.members[u]; {
			case other == nil:
				members = append(members, u)
			case other.Slot() != c.ID:
				s.warnings = append(s.warnings, fmt.Sprintf("%s is configured for slot %s but has slot %s; free that first: hux slots free %s", u, c.ID, other.Slot(), other.Slot()))
			}
		}
		if len(members) == len(r.Members) {
			continue
		}
		if !taken {
			r = row{Tenant: newTenant(), Since: time.Now().UTC()}
		}
		r.Members = members
		if err := s.writeLocked(context.Background(), c.ID, r); err != nil {
			return err
		}
	}
	configuredIDs := map[string]bool{}
	for _, c := range s.slots {
		configuredIDs[c.ID] = true
	}
	for _, id := range slices.Sorted(maps.Keys(s.rows)) {
		if !configuredIDs[id] && !s.rows[id].Freed {
			s.warnings = append(s.warnings, fmt.Sprintf("slot %s is assigned but not configured: its members are turned away", id))
		}
	}
	return nil
}

func newTenant() hux.Tenant {
	id := uuid.Must(uuid.NewV7())
	return hux.Tenant(fmt.Sprintf("ten_%x", id[:]))
}
