package proxy

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sony/gobreaker/v2"
)

// metrics counts requests. Labels are few and fixed but for the name of the
// slot: never a path, never a tenant.
type metrics struct {
	requests [kinds][6]prometheus.Counter // by the first digit of the status; 0: aborted
	proxy    *Proxy

	inFlight, streams, breaker *prometheus.Desc
}

func newMetrics(p *Proxy, registry prometheus.Registerer) (*metrics, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hux_proxy_requests_total", Help: "Requests for the web UI by kind of rule and class of status.",
	}, []string{"kind", "class"})
	m := &metrics{
		proxy:    p,
		inFlight: prometheus.NewDesc("hux_proxy_in_flight", "Requests under way at a slot.", []string{"slot"}, nil),
		streams:  prometheus.NewDesc("hux_proxy_streams", "Open event streams of a slot.", []string{"slot"}, nil),
		breaker:  prometheus.NewDesc("hux_proxy_breaker_state", "Breaker of a slot: 0 closed, 1 half open, 2 open.", []string{"slot"}, nil),
	}
	for k, name := range kindNames {
		for class := range m.requests[k] {
			label := "aborted"
			if class > 0 {
				label = strconv.Itoa(class) + "xx"
			}
			m.requests[k][class] = requests.WithLabelValues(name, label)
		}
	}
	if registry == nil {
		return m, nil
	}
	if err := registry.Register(requests); err != nil {
		return nil, err
	}
	return m, registry.Register(m)
}

// count counts an exchange that is over.
func (m *metrics) count(x *exchange) {
	k := kindNone
	switch {
	case x.instead != nil:
		k = kindInstead
	case x.rule != nil:
		k = x.rule.kind
	}
	m.requests[k][min(x.status/100, 5)].Inc()
}

// Describe is part of prometheus.Collector.
func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- m.inFlight
	ch <- m.streams
	ch <- m.breaker
}

// Collect is part of prometheus.Collector. Tenants that had a slot one after
// the other count as one.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	type sums struct{ inFlight, streams, breaker float64 }
	bySlot := make(map[string]sums)
	s := &m.proxy.slots
	s.mu.RLock()
	for key, slot := range s.known {
		n := bySlot[key.name]
		n.inFlight += float64(slot.inFlight.Load())
		n.streams += float64(slot.streams.Load())
		switch slot.breaker.State() {
		case gobreaker.StateHalfOpen:
			n.breaker = max(n.breaker, 1)
		case gobreaker.StateOpen:
			n.breaker = 2
		}
		bySlot[key.name] = n
	}
	s.mu.RUnlock()
	for name, n := range bySlot {
		ch <- prometheus.MustNewConstMetric(m.inFlight, prometheus.GaugeValue, n.inFlight, name)
		ch <- prometheus.MustNewConstMetric(m.streams, prometheus.GaugeValue, n.streams, name)
		ch <- prometheus.MustNewConstMetric(m.breaker, prometheus.GaugeValue, n.breaker, name)
	}
}
