package server

import (
	"context"
	"net/http"
	"net/url"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/mirror"
	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/tenant"
)

// webUIs are the slots that the mirror watches.
func (s *Server) webUIs() (slots []mirror.Slot) {
	for _, st := range s.tenants.List() {
		if st.State == tenant.Down || st.Assignment != tenant.Assigned || len(st.Members) == 0 {
			continue
		}
		if slot := s.slotOf(st.Tenant); slot.Upstream != nil {
			slot.Members = st.Members
			slots = append(slots, slot)
		}
	}
	return slots
}

func (s *Server) slotOf(id hux.Tenant) mirror.Slot {
	t := s.tenants.ByID(id)
	if t == nil {
		return mirror.Slot{Tenant: id}
	}
	return mirror.Slot{Name: t.Slot(), Tenant: id, Upstream: t.Upstream()}
}

// wayTo is how the mirror reaches a slot's WebUI.
func (s *Server) wayTo(slot mirror.Slot, as hux.User) http.RoundTripper {
	return s.proxy.Own(proxy.Target{Tenant: slot.Tenant, Slot: slot.Name, Upstream: slot.Upstream, User: as})
}

// stopRun stops a run at the WebUI of its tenant.
func (s *Server) stopRun(ctx context.Context, t hux.Tenant, owner hux.User, runID, sessionID string) error {
	return s.mirror.Stop(ctx, s.slotOf(t), owner, runID, sessionID)
}

// asksInstead is told of what the rules answer in the WebUI's place. A page
// that asks whether there is something to decide has a person before it, and
// names a session that may wait.
func (s *Server) asksInstead(t proxy.Target, u *url.URL) {
	if u.Path == mirror.PendingPath {
		s.log.Looked(string(t.User))
		s.mirror.Look(t.Tenant, u.Query().Get("session_id"))
	}
}
