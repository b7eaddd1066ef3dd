package server

import (
	"context"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/tenant"
)

// cardRoutes puts the cards' lines of /hux/v1 into the map of URLs.
func (s *Server) cardRoutes(site identity.Site) []route {
	var routes []route
	for _, rt := range s.cards {
		r := route{rt.Method, "/hux/v1" + rt.Path, signedIn, s.card(site, rt)}
		if rt.Raw {
			r.access = uploading
		}
		if rt.Signed {
			r.access, r.handler = public, s.signed(rt, r.handler)
		}
		routes = append(routes, r)
	}
	return routes
}

// card makes a card's route a handler of ours: its flag, who may call it, and
// the call's tenant.
func (s *Server) card(site identity.Site, rt api.Route) handler {
	return func(w http.ResponseWriter, r *http.Request, id *identity.Identity) error {
		return api.Gate(s.flags, s.served, rt, func(w http.ResponseWriter, r *http.Request) error {
			call, err := s.call(r, id, !rt.Anyone)
			if err != nil {
				return err
			}
			operator := rt.Operator && id.Actor.Kind == hux.KindHuman
			if rt.Kinds != nil && !slices.Contains(rt.Kinds, id.Actor.Kind) && !(operator && id.Has(identity.RoleOperator)) {
				switch {
				case operator:
					return hux.Errorf(hux.OperatorRequired, "This needs the role %s at the sign-in provider.", identity.RoleOperator)
				case slices.Contains(rt.Kinds, hux.KindHuman):
					return hux.Errorf(hux.HumanRequired, "Only a person may do this.")
				}
				return hux.Errorf(hux.AgentRequired, "Only a program with its own credential may do this.")
			}
			if (rt.HumanOnly() || operator) && id.Method == identity.Session && site != identity.Console { // not for scripts of the WebUI's page
				return s.consoleRequired()
			}
			for name, value := range mux.Vars(r) {
				r.SetPathValue(name, value)
			}
			if rt.Answer == api.Stream || rt.Waits { // all else ends by itself, and may at shutdown too
				ctx, end := s.lifetime(r.Context())
				defer end()
				r = r.WithContext(ctx)
			}
			return rt.Serve(s.door, w, r, call)
		})(w, r)
	}
}

// lifetime ends with the request's context or with the router, and its cause
// says to an open stream which of the two it was.
func (s *Server) lifetime(ctx context.Context) (context.Context, func()) {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stopA := context.AfterFunc(ctx, func() { cancel(event.ErrExpired) })
	stopB := context.AfterFunc(s.closing, func() { cancel(event.ErrShutdown) })
	return own, func() { stopA(); stopB(); cancel(nil) }
}

// surfaces are those that each kind of actor may say it is on; the first is
// where it is when it says nothing (contracts 2.1).
var surfaces = map[hux.Kind][]hux.Surface{
	hux.KindHuman:  {hux.SurfaceChat},
	hux.KindWorker: {hux.SurfaceWorker},
	hux.KindAgent:  {hux.SurfaceChat, hux.SurfaceWorker, hux.SurfaceTelegram, hux.SurfaceVoice},
}

// call says who asks and, where it matters, of which tenant.
func (s *Server) call(r *http.Request, id *identity.Identity, ofTenant bool) (*api.Call, error) {
	allowed := surfaces[id.Actor.Kind]
	c := &api.Call{Actor: id.Actor, User: id.User, Surface: allowed[0], Build: s.build, SignedInAt: id.AuthTime}
	if ofTenant {
		t, err := s.tenantFor(id)
		if err != nil {
			return nil, err
		}
		c.DB = s.stores.Lease(t.ID())
		if id.Actor.Kind == hux.KindAgent {
			c.User = s.tenants.SoleMember(t)
		}
	}
	if said := r.Header["Hux-Surface"]; len(said) > 0 {
		if c.Surface = hux.Surface(said[0]); len(said) > 1 || !slices.Contains(allowed, c.Surface) {
			return nil, hux.Errorf(hux.SurfaceForbidden, "This credential does not act on that surface.")
		}
	}
	for name, field := range map[string]**string{"Hux-Session": &c.Session, "Hux-Run": &c.Run} {
		said := r.Header[name]
		if len(said) == 0 {
			continue
		}
		if len(said) > 1 || !hux.ValidForeignID(said[0]) {
			return nil, hux.Errorf(hux.BadIdentity, "%s must be one id of letters, digits and . _ : -", name)
		}
		if masked, _ := redact.MaskText(said[0]); masked != said[0] {
			return nil, hux.Errorf(hux.BadIdentity, "%s looks like a secret; send the id alone.", name)
		}
		*field = &said[0]
	}
	return c, nil
}

// tenantFor is whose records the caller works on. A call claims no slot, as a
// visit of the chat does: it may be a page's or a program's own doing.
func (s *Server) tenantFor(id *identity.Identity) (*tenant.Tenant, error) {
	switch id.Actor.Kind {
	case hux.KindHuman:
		return s.tenants.Require(id.User, s.chatURL())
	case hux.KindAgent:
		if t := s.tenants.ByID(id.Tenant); t != nil {
			return t, nil
		}
	}
	return nil, hux.Errorf(hux.NotFound, "There is nothing here.")
}
