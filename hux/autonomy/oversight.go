package autonomy

import (
	"context"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

const (
	agentsHeard = record.Table[Heard]("heard")         // by agent
	oversights  = record.Table[Oversight]("oversight") // under all
	all         = "all"
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

// noteHeard notes that an agent was heard by the way that way gives of its Heard.
func (s *Service) noteHeard(ch *record.Change, agent hux.Agent, way func(*Heard) **hux.Time) error {
	h, err := agentsHeard.Get(ch, string(agent))
	if err != nil {
		return err
	}
	if h == nil {
		h = &Heard{}
	}
	if last := way(h); *last == nil || time.Since((*last).Time).Abs() >= heardEvery {
		*last = &ch.At
		return agentsHeard.Put(ch, string(agent), h)
	}
	return nil
}

// hookAsks notes a question: the hook of this agent is at work.
func (s *Service) hookAsks(ch *record.Change, agent hux.Agent) error {
	if err := s.noteHeard(ch, agent, func(h *Heard) **hux.Time { return &h.Hook }); err != nil {
		return err
	}
	return s.changeOversight(ch, nil, func(o *Oversight) bool {
		was := o.UnaskedSince != nil
		o.UnaskedSince = nil
		return was
	})
}

// hooksAsked reports whether the hook of an agent has asked ever, and of late;
// of "" it is any hook of the tenant.
func (s *Service) hooksAsked(tx store.Reader, agent hux.Agent) (ever, lately bool, err error) {
	heard, err := agentsHeard.List(tx, string(agent))
	for _, h := range heard {
		ever = ever || h.Value.Hook != nil
		lately = lately || h.Value.Hook != nil && time.Since(h.Value.Hook.Time) < hookedFor
	}
	return ever, lately, err
}

// noteUnasked notes that a page has told of a call that no hook has asked about.
func (s *Service) noteUnasked(ch *record.Change, at hux.Time) error {
	return s.changeOversight(ch, nil, func(o *Oversight) bool {
		if o.UnaskedSince != nil {
			return false
		}
		o.UnaskedSince = &at
		return true
	})
}

func (s *Service) noteBypass(ch *record.Change, b *Bypass) error {
	return s.changeOversight(ch, []Bypass{*b}, func(o *Oversight) bool {
		o.Bypasses++
		o.Recent = append([]Bypass{*b}, o.Recent[:min(len(o.Recent), maxRecent-1)]...)
		return true
	})
}

// changeOversight writes what change makes of the tenant's oversight, if that is
// anything, and tells of it and of the alarms that it is for.
func (s *Service) changeOversight(ch *record.Change, alarms []Bypass, change func(*Oversight) bool) error {
	o, err := readOversight(ch)
	if err != nil || !change(&o) {
		return err
	}
	if s.Alarmed != nil {
		tenant := ch.Call.Tenant()
		ch.After(func() { s.Alarmed(tenant, o, alarms) })
	}
	return oversights.Put(ch, all, &o)
}

func readOversight(tx store.Reader) (Oversight, error) {
	o, err := oversights.Get(tx, all)
	if o == nil {
		o = &Oversight{}
	}
	return *o, err
}

// ReadOversight reads a tenant's.
func ReadOversight(ctx context.Context, db *store.Lease) (o Oversight, err error) {
	err = db.View(ctx, func(tx *store.Tx) (err error) {
		o, err = readOversight(tx)
		return err
	})
	return o, err
}

// ReadHeard reads when the agents of a tenant were heard last.
func ReadHeard(ctx context.Context, db *store.Lease) (heard map[hux.Agent]Heard, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		heard = map[hux.Agent]Heard{}
		rows, err := agentsHeard.List(tx, "")
		for _, row := range rows {
			heard[hux.Agent(row.Key)] = *row.Value
		}
		return err
	})
	return heard, err
}
