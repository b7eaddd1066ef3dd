package identity

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are counted by what happened, never by whom it happened to.
type metrics struct {
	signIns    *prometheus.CounterVec // outcome: ok, handed_over, begun_anew, denied, refused, limited, unavailable
	refreshes  *prometheus.CounterVec // outcome: ok, refused, unavailable
	ended      *prometheus.CounterVec // reason: sign_out, cleared, backchannel, replaced, refresh_refused, expired, ended
	keyFetches *prometheus.CounterVec // outcome: ok, failed
	webhooks   *prometheus.CounterVec // outcome: ok, refused, limited
}

func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	counter := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "hux", Name: name, Help: help}, []string{label})
	}
	m := &metrics{
		signIns:    counter("sign_ins_total", "Sign-ins by outcome.", "outcome"),
		refreshes:  counter("session_refreshes_total", "Renewals of access tokens by outcome.", "outcome"),
		ended:      counter("sessions_ended_total", "Sessions ended by reason.", "reason"),
		keyFetches: counter("key_fetches_total", "Fetches of the provider's signing keys by outcome.", "outcome"),
		webhooks:   counter("webhooks_total", "Signed webhooks by outcome.", "outcome"),
	}
	if registry == nil {
		return m, nil
	}
	return m, errors.Join(registry.Register(m.signIns), registry.Register(m.refreshes),
		registry.Register(m.ended), registry.Register(m.keyFetches), registry.Register(m.webhooks))
}
