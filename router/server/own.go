package server

import (
	"net/http"
	"slices"
	"time"

	"github.com/gorilla/mux"

	"bstein.dev/hux/bridge"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/tenant"
)

// me answers who sends the request, and where their chat is.
func (s *Server) me(w http.ResponseWriter, r *http.Request, id *identity.Identity) error {
	type slotView struct {
		ID    hux.Tenant   `json:"id"`
		Slot  string       `json:"slot"`
		State tenant.State `json:"state"`
	}
	type sessionView struct {
		SignedInAt time.Time `json:"signed_in_at"`
		ExpiresAt  time.Time `json:"expires_at"`
	}
	view := struct {
		User       hux.User      `json:"user"`
		Name       string        `json:"name"`
		Roles      []string      `json:"roles"`
		Actor      hux.Actor     `json:"actor"`
		Site       identity.Site `json:"site"`
		Tenant     *slotView     `json:"tenant"`
		SlotFree   bool          `json:"slot_free"` // without a tenant: a visit to the chat claims a slot of the pool
		Session    *sessionView  `json:"session"`
		ChatURL    string        `json:"chat_url"`
		ConsoleURL string        `json:"console_url"`
		Version    string        `json:"version"`

		Alarms       []autonomy.Bypass `json:"alarms"`        // of their own conversations, the latest first
		UnaskedSince *hux.Time         `json:"unasked_since"` // their agent runs tools since then and no hook asks; null where all is well
	}{
		User: id.User, Name: id.Name, Roles: append([]string{}, id.Roles...), Actor: id.Actor,
		Site: s.siteOf(r), ChatURL: api.Origin(s.config.PublicURL), ConsoleURL: api.Origin(s.console()), Version: s.version, Alarms: []autonomy.Bypass{},
	}
	if t := s.tenantOf(id); t != nil {
		view.Tenant = &slotView{ID: t.ID(), Slot: t.Slot(), State: t.State()}
		view.Alarms, view.UnaskedSince = s.oversight.alarms(t.ID(), id.User), s.oversight.of(t.ID()).UnaskedSince
	} else if id.Actor.Kind == hux.KindHuman {
		view.SlotFree = s.tenants.HasFree()
	}
	if id.Method == identity.Session {
		view.Session = &sessionView{SignedInAt: id.SignedInAt.UTC(), ExpiresAt: id.ExpiresAt.UTC()}
	}
	return api.JSON(w, http.StatusOK, view)
}

// tenantOf is the tenant of whoever id is, or nil; it claims nothing.
func (s *Server) tenantOf(id *identity.Identity) *tenant.Tenant {
	if id.Actor.Kind == hux.KindAgent {
		return s.tenants.ByID(id.Tenant)
	}
	return s.tenants.Lookup(id.User)
}

// endSessions signs the user out everywhere, here included.
func (s *Server) endSessions(w http.ResponseWriter, r *http.Request, id *identity.Identity) error {
	if err := s.identity.EndAll(r.Context(), id.User); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// feature is something that a flag switches on.
type feature struct {
	Name        string `json:"name"` // of the flag
	Description string `json:"description"`
}

// status is what an operator looks at first when something is off.
func (s *Server) status(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
	slots := s.tenants.List()
	alarms, err := s.alarmTexts(r.Context())
	if err != nil {
		return err
	}
	free, total := 0, 0
	for _, st := range slots {
		if st.Pool {
			total++
			if st.Assignment == tenant.Free {
				free++
			}
		}
	}
	return api.JSON(w, http.StatusOK, map[string]any{
		"version":  s.version,
		"build":    s.build,
		"slots":    slots,
		"pool":     map[string]int{"free": free, "total": total},
		"features": s.features,
		"findings": s.selfCheck.list(),
		"warnings": append([]string{}, slices.Concat(alarms, s.storeWarnings(slots), s.warnings, s.tenants.Warnings())...),
		"provider": map[string]bool{"ready": s.identity.Ready()},
	})
}

// storeWarnings says what is wrong with the databases of the slots' tenants.
func (s *Server) storeWarnings(slots []tenant.SlotStatus) (texts []string) {
	alarms := s.stores.Alarms()
	for _, st := range slots {
		if alarm, ok := alarms[st.Tenant]; ok {
			texts = append(texts, "slot "+st.ID+": its database "+alarm+"; the log names the file")
		}
	}
	return texts
}

func (s *Server) page(name bridge.Page) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
		s.pages.Write(w, r, http.StatusOK, name, bridge.Facts{})
		return nil
	}
}

// contractPage shows the contract, at the overview unless the path says where.
func (s *Server) contractPage(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
	at := mux.Vars(r)["at"]
	if at == "" {
		at = "overview"
	}
	page := s.contract.Page(at, r.URL.Query().Get("q"))
	if page == nil {
		return nothing()
	}
	s.pages.Write(w, r, http.StatusOK, bridge.Contract, bridge.Facts{Contract: page})
	return nil
}

// clearPage is the page that identity asks for to clear the chat host.
func (s *Server) clearPage(w http.ResponseWriter, r *http.Request, c identity.Clearing) {
	s.pages.Write(w, r, http.StatusOK, bridge.Clear, bridge.Facts{
		Ending: c.Ending, Ticket: c.Ticket, Onward: c.Onward, Otherwise: c.Otherwise,
	})
}

// signedOutPage is the last page of a sign-out; identity says in the query
// what could not be done.
func (s *Server) signedOutPage(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
	var facts bridge.Facts
	switch q := r.URL.Query(); {
	case q.Get("chat") == "unknown":
		facts.Unsure = true
	case q.Get("chat") == "kept":
		facts.Detail = "Your sessions are over. What the chat keeps in this browser could not be cleared; it goes when somebody else signs in here, or when you clear the site's data."
	case q.Get("provider") == "unreachable":
		facts.Detail = "Your session here is over. The sign-in provider could not be reached, so you may still be signed in there."
	}
	s.pages.Write(w, r, http.StatusOK, bridge.SignedOut, facts)
	return nil
}
