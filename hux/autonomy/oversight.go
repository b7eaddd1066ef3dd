package autonomy

import (
	"context"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

const (
	heardBucket     = "heard"     // agent id → Heard
	oversightBucket = "oversight" // "all" → Oversight
	all             = "all"
)

// Heard is when each way by which an agent speaks was used last, to the minute.
type Heard struct {
	Hook    *hux.Time `json:"hook,omitempty"`    // it asked whether a call may run
	Events  *hux.Time `json:"events,omitempty"`  // hux hook event told that one had ended
	Webhook *hux.Time `json:"webhook,omitempty"` // Hermes told of one
}

// heardEvery is how exact Heard is: more often nothing is written.
const heardEvery = time.Minute

// Oversight is what an operator and the members of a tenant have to know of
// what its agents do without asking.
type Oversight struct {
	Bypasses     int       `json:"bypasses"`      // alarms so far
	Recent       []Bypass  `json:"recent"`        // the last of them, the latest first
	UnaskedSince *hux.Time `json:"unasked_since"` // a page tells of calls since then, and no hook asks; nil where none does or one asks
}

const maxRecent = 20

func (s *Service) heard(tx *store.Tx, agent hux.Agent) (h Heard, err error) {
	if value := tx.Get(heardBucket, string(agent)); value != nil {
		err = store.Decode(heardBucket, string(agent), value, &h)
	}
	return h, err
}

// noteHeard notes that an agent was heard by the way that way gives of its Heard.
func (s *Service) noteHeard(tx *store.Tx, agent hux.Agent, way func(*Heard) **hux.Time) error {
	h, err := s.heard(tx, agent)
	if err != nil {
		return err
	}
	if last := way(&h); *last == nil || time.Since((*last).Time).Abs() >= heardEvery {
		now := hux.Now()
		*last = &now
		return putJSON(tx, heardBucket, string(agent), h)
	}
	return nil
}

// hookAsks notes a question: the hook of this agent is at work.
func (s *Service) hookAsks(tx *store.Tx, agent hux.Agent, c *changes) error {
	if err := s.noteHeard(tx, agent, func(h *Heard) **hux.Time { return &h.Hook }); err != nil {
		return err
	}
	return s.changeOversight(tx, c, func(o *Oversight) bool {
		was := o.UnaskedSince != nil
		o.UnaskedSince = nil
		return was
	})
}

// hooksAsked reports whether the hook of an agent has asked ever, and of late;
// of "" it is any hook of the tenant.
func (s *Service) hooksAsked(tx *store.Tx, agent hux.Agent) (ever, lately bool, err error) {
	for _, e := range tx.List(heardBucket, string(agent)) {
		var h Heard
		if err := store.Decode(heardBucket, e.Key, e.Value, &h); err != nil {
			return false, false, err
		}
		ever = ever || h.Hook != nil
		lately = lately || h.Hook != nil && time.Since(h.Hook.Time) < hookedFor
	}
	return ever, lately, nil
}

// noteUnasked notes that a page has told of a call that no hook has asked about.
func (s *Service) noteUnasked(tx *store.Tx, at hux.Time, c *changes) error {
	return s.changeOversight(tx, c, func(o *Oversight) bool {
		if o.UnaskedSince != nil {
			return false
		}
		o.UnaskedSince = &at
		return true
	})
}

func (s *Service) noteBypass(tx *store.Tx, b *Bypass, c *changes) error {
	c.alarms = append(c.alarms, *b)
	return s.changeOversight(tx, c, func(o *Oversight) bool {
		o.Bypasses++
		o.Recent = append([]Bypass{*b}, o.Recent[:min(len(o.Recent), maxRecent-1)]...)
		return true
	})
}

func (s *Service) changeOversight(tx *store.Tx, c *changes, change func(*Oversight) bool) error {
	o, err := readOversight(tx)
	if err != nil || !change(&o) {
		return err
	}
	c.oversight = &o
	return putJSON(tx, oversightBucket, all, o)
}

func readOversight(tx *store.Tx) (o Oversight, err error) {
	if value := tx.Get(oversightBucket, all); value != nil {
		err = store.Decode(oversightBucket, all, value, &o)
	}
	return o, err
}

// ReadOversight reads a tenant's.
func ReadOversight(ctx context.Context, db *store.Lease) (o Oversight, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		o, err = readOversight(tx)
		return err
	})
	return o, err
}

// ReadHeard reads when the agents of a tenant were heard last.
func ReadHeard(ctx context.Context, db *store.Lease) (heard map[hux.Agent]Heard, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		heard = map[hux.Agent]Heard{}
		for _, e := range tx.List(heardBucket, "") {
			var h Heard
			if err := store.Decode(heardBucket, e.Key, e.Value, &h); err != nil {
				return err
			}
			heard[hux.Agent(e.Key)] = h
		}
		return nil
	})
	return heard, err
}
