package proxy

import (
	"net/url"
	"testing"
	"time"
)

func TestIdleSlotsAreForgotten(t *testing.T) {
	up := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	var s slots
	idle := s.get(Target{Tenant: "ten_1", Slot: "a", Upstream: up}, time.Minute)
	busy := s.get(Target{Tenant: "ten_2", Slot: "b", Upstream: up}, time.Minute)
	busy.inFlight.Add(1)
	for _, old := range []*slot{idle, busy} {
		old.used.Store(0)
	}
	s.swept = time.Time{}
	s.get(Target{Tenant: "ten_3", Slot: "c", Upstream: up}, time.Minute)
	if len(s.known) != 2 || s.known[slotKey{"ten_2", "b"}] != busy {
		t.Errorf("%v", s.known)
	}
	if again := s.get(Target{Tenant: "ten_1", Slot: "a", Upstream: up}, time.Minute); again == idle {
		t.Error("a forgotten slot is back")
	}
}
