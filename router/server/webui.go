package server

import (
	"context"
	"net/http"
	"net/url"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/tenant"
	"bstein.dev/hux/router/webui"
)

// watchedSlots are the slots whose WebUIs are watched for approvals.
func (s *Server) watchedSlots() (slots []webui.Slot) {
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

func (s *Server) slotOf(id hux.Tenant) webui.Slot {
	t := s.tenants.ByID(id)
	if t == nil {
		return webui.Slot{Tenant: id}
	}
	return webui.Slot{Name: t.Slot(), Tenant: id, Upstream: t.Upstream()}
}

// dialWebUI sends the router's own requests to a slot's WebUI, as a user.
func (s *Server) dialWebUI(slot webui.Slot, as hux.User) http.RoundTripper {
	return s.proxy.Own(proxy.Target{Tenant: slot.Tenant, Slot: slot.Name, Upstream: slot.Upstream, User: as})
}

// stopRun stops a run at the WebUI of its tenant.
func (s *Server) stopRun(ctx context.Context, t hux.Tenant, owner hux.User, runID, sessionID string) error {
	return s.webui.Stop(ctx, s.slotOf(t), owner, runID, sessionID)
}

// answeredInstead is told of each request that the rules answer in the WebUI's
// place. One that asks for a session's pending approval says that a person looks
// at the page, and that the session may wait.
func (s *Server) answeredInstead(t proxy.Target, u *url.URL) {
	if u.Path == webui.PendingPath {
		s.log.Looked(string(t.User))
		s.webui.Look(t.Tenant, u.Query().Get("session_id"))
	}
}
