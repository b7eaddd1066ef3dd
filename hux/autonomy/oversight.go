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

// Heard says when an agent last used each of its ways to reach hux, to the
// minute.
type Heard struct {
	Hook    *hux.Time `json:"hook,omitempty"`    // hux hook asked whether a call may run
	Events  *hux.Time `json:"events,omitempty"`  // hux hook event reported that a call had ended
	Webhook *hux.Time `json:"webhook,omitempty"` // Hermes reported a call
}

// heardEvery is how often Heard is written at most.
const heardEvery = time.Minute

// Oversight is what an operator and a tenant's members have to know about calls
// that ran without being asked about.
type Oversight struct {
	Bypasses     int       `json:"bypasses"`      // alarms so far
	Recent       []Bypass  `json:"recent"`        // the latest alarms, the newest first
	UnaskedSince *hux.Time `json:"unasked_since"` // since when pages report calls and no hook asks; nil if that is not so
}

const maxRecent = 20

// noteHeard notes that an agent was heard now; way picks the member of Heard.
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

// hookAsks notes that an agent's hook has asked, so it is at work.
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

// hooksAsked reports whether an agent's hook has ever asked, and whether it has
// within hookedFor. For the agent "" that is any hook of the tenant.
func (s *Service) hooksAsked(tx store.Reader, agent hux.Agent) (ever, lately bool, err error) {
	heard, err := agentsHeard.List(tx, string(agent))
	for _, h := range heard {
		ever = ever || h.Value.Hook != nil
		lately = lately || h.Value.Hook != nil && time.Since(h.Value.Hook.Time) < hookedFor
	}
	return ever, lately, err
}

// noteUnasked notes that a call was reported while no hook asks.
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

// changeOversight calls change with the tenant's oversight. If change returns
// true it saves the oversight and tells s.Alarmed of it and of the alarms.
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

// ReadOversight reads a tenant's oversight.
func ReadOversight(ctx context.Context, db *store.Lease) (o Oversight, err error) {
	err = db.View(ctx, func(tx *store.Tx) (err error) {
		o, err = readOversight(tx)
		return err
	})
	return o, err
}

// ReadHeard reads when each agent of a tenant was last heard.
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
