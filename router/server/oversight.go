package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/router/tenant"
)

// oversight holds what the tenants' agents did without asking, for the status
// page, the metrics and the people whom it concerns. It is a copy of what the
// tenants' databases keep.
type oversight struct {
	bypassed *prometheus.CounterVec

	mu sync.Mutex
	by map[hux.Tenant]autonomy.Oversight
}

// alarmFor is how long an alarm is shown.
const alarmFor = 7 * 24 * time.Hour

// makeOversight makes the oversight and registers its metrics.
func (s *Server) makeOversight() {
	o := &s.oversight
	o.by = map[hux.Tenant]autonomy.Oversight{}
	o.bypassed = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "hux", Name: "policy_bypassed_total",
		Help: "Runs in which a tool ran that nothing had allowed, by who told: agent or page.",
	}, []string{"by"})
	for _, by := range []string{"agent", "page"} {
		o.bypassed.WithLabelValues(by)
	}
	s.registry.MustRegister(o.bypassed, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "hux", Name: "slots_unasked", Help: "Slots whose agent runs tools while no hook asks.",
	}, func() float64 {
		n := 0
		for _, st := range s.tenants.List() {
			if o.of(st.Tenant).UnaskedSince != nil {
				n++
			}
		}
		return float64(n)
	}))
}

// loadOversight reads the tenants' oversight from their databases.
func (s *Server) loadOversight(ctx context.Context) {
	o := &s.oversight
	tenants, err := s.stores.Tenants()
	if err != nil {
		slog.Warn("looking for tenants' alarms", "cause", err)
	}
	for _, t := range tenants {
		before, err := autonomy.ReadOversight(ctx, s.stores.Lease(t))
		if err != nil {
			if ctx.Err() == nil {
				slog.Warn("reading a tenant's alarms", "tenant", t, "cause", err)
			}
			continue
		}
		o.mu.Lock()
		if _, newer := o.by[t]; !newer {
			o.by[t] = before
		}
		o.mu.Unlock()
	}
}

// alarmed takes over a tenant's oversight that has changed, and counts and logs
// its new alarms.
func (o *oversight) alarmed(t hux.Tenant, now autonomy.Oversight, alarms []autonomy.Bypass) {
	for _, b := range alarms {
		by := "page"
		if b.ByAgent {
			by = "agent"
		}
		o.bypassed.WithLabelValues(by).Inc()
		slog.Warn("a tool ran that nothing had allowed", "tenant", t, "conversation", b.ConversationID, "by", by, "stopped", b.Stopped)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.by[t] = now
}

func (o *oversight) of(t hux.Tenant) autonomy.Oversight {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.by[t]
}

// alarms are the alarms that a person is shown.
func (o *oversight) alarms(t hux.Tenant, owner hux.User) []autonomy.Bypass {
	shown := []autonomy.Bypass{}
	for _, b := range o.of(t).Recent {
		if b.Owner == owner && time.Since(b.At.Time) < alarmFor {
			shown = append(shown, b)
		}
	}
	return shown
}

// alarmTexts say on the status page what an operator has to do something about.
func (s *Server) alarmTexts(ctx context.Context) (texts []string, err error) {
	for _, st := range s.tenants.List() {
		if st.Assignment != tenant.Assigned {
			continue
		}
		o := s.oversight.of(st.Tenant)
		if len(o.Recent) > 0 && time.Since(o.Recent[0].At.Time) < alarmFor {
			texts = append(texts, fmt.Sprintf("slot %s: a tool ran that nothing had allowed, on %s the last time, in %d runs so far: the agent's hook was killed or is not at work; run hux agents check where the agent runs",
				st.ID, minute(o.Recent[0].At.Time), o.Bypasses))
		}
		if o.UnaskedSince == nil {
			continue
		}
		agents, err := s.agentNames(ctx, st.Tenant)
		if err != nil {
			return nil, err
		}
		texts = append(texts, fmt.Sprintf("slot %s: tools run since %s and no hook asks: %s; run hux agents check where the agent runs", st.ID, minute(o.UnaskedSince.Time), agents))
	}
	return texts, nil
}

func minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }

// agentNames says which agents of a tenant should ask, or that there is none.
func (s *Server) agentNames(ctx context.Context, t hux.Tenant) (string, error) {
	agents, err := s.identity.ListAgents(ctx, t)
	if err != nil {
		return "", err
	}
	var names []string
	for _, a := range agents {
		if !a.Revoked {
			names = append(names, fmt.Sprintf("agent %s (%s)", a.Name, a.ID))
		}
	}
	if len(names) == 0 {
		return "it has no agent, make one with hux agents create", nil
	}
	return "the hook of " + strings.Join(names, ", ") + " is not at work", nil
}
