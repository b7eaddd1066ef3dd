package server

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"bstein.dev/hux/bridge"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/identity"
)

// access says who may use a route.
type access int

const (
	public    access = iota // anybody
	signedIn                // whoever is authenticated
	uploading               // likewise, and the body is bytes of any media type
	operator                // who holds the role hux-operator
	human                   // a person; from a browser on the console origin only
)

// route is one line of the map of our own URLs.
type route struct {
	method  string
	path    string
	access  access
	handler handler
}

// handler answers a request whose sender is known; id is nil on public routes.
type handler func(w http.ResponseWriter, r *http.Request, id *identity.Identity) error

// everywhere are the routes that all three sites have. A path that isOwn says
// is ours and that is not in the map of its site is 404.
func (s *Server) everywhere(site identity.Site) []route {
	auth := plain(s.identity.Handler(site))
	return append(s.cardRoutes(site), []route{
		{"GET", "/hux/bridge/{file:.*}", public, plain(bridge.Handler())},
		{"GET", "/hux/auth/{step:.*}", public, auth},
		{"POST", "/hux/auth/{step:.*}", public, auth},
		{"GET", "/hux/api/me", signedIn, s.me},
		{"POST", "/hux/api/sessions/end", human, s.endSessions},
		{"GET", "/hux/api/status", operator, s.status},
	}...)
}

// pagesMap are our pages, on the console site.
func (s *Server) pagesMap() []route {
	return []route{
		{"GET", "/hux/api/ui/", signedIn, s.page(bridge.Home)},
		{"GET", "/hux/api/ui/panel", public, s.page(bridge.Panel)},
		{"GET", "/hux/api/ui/activity", signedIn, s.page(bridge.Activity)},
		{"GET", "/hux/api/ui/decisions", public, s.page(bridge.Decisions)},
		{"GET", "/hux/api/ui/autonomy", signedIn, s.page(bridge.Autonomy)},
		{"GET", "/hux/api/ui/signed-in-again", signedIn, s.page(bridge.Again)},
		{"GET", "/hux/api/ui/sign-out", public, s.page(bridge.SignOut)},
		{"GET", "/hux/api/ui/signed-out", public, s.signedOutPage},
		{"GET", "/hux/api/ui/status", operator, s.page(bridge.Status)},
		{"GET", "/hux/api/ui/contract", signedIn, s.contractPage},
		{"GET", "/hux/api/ui/contract/{at}", signedIn, s.contractPage},
	}
}

// signInPaths are the WebUI's own: it goes there on a 401.
var signInPaths = []string{"/login", "/session/login"}

func (s *Server) signInRoutes(site identity.Site) []route {
	var routes []route
	for _, p := range signInPaths {
		routes = append(routes, route{"GET", p, public, plain(s.identity.Handler(site))})
	}
	return routes
}

func plain(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
		h.ServeHTTP(w, r)
		return nil
	}
}

// newMux turns a map into a router. All methods of a path hang on one route,
// so that another method is a 405 that says which there are; HEAD goes with
// GET. Of two paths that fit, such as /releases/stream and /releases/{id}, the
// one that says more counts, wherever it stands in the map.
func (s *Server) newMux(site identity.Site, routes []route) *mux.Router {
	router := mux.NewRouter().UseEncodedPath().SkipClean(true)
	byPath := map[string]map[string]route{}
	var order []string
	for _, rt := range routes {
		if byPath[rt.path] == nil {
			byPath[rt.path] = map[string]route{}
			order = append(order, rt.path)
		}
		byPath[rt.path][rt.method] = rt
	}
	slices.SortStableFunc(order, literalFirst)
	for _, p := range order {
		methods := byPath[p]
		var allow []string
		for m := range methods {
			allow = append(allow, m)
			if m == http.MethodGet {
				allow = append(allow, http.MethodHead)
			}
		}
		slices.Sort(allow)
		err := router.Handle(p, s.handle(func(w http.ResponseWriter, r *http.Request) error {
			if ofContract(p) && !s.flags.Enabled("hux.foundation") {
				return nothing() // whoever asks, and however: it is as if it were not built
			}
			m := r.Method
			if m == http.MethodHead {
				m = http.MethodGet
			}
			rt, ok := methods[m]
			if !ok {
				w.Header().Set("Allow", strings.Join(allow, ", "))
				return hux.Errorf(hux.MethodNotAllowed, "This path has %s.", strings.Join(allow, ", "))
			}
			return s.admit(site, rt, w, r)
		})).GetError()
		if err != nil {
			panic(err) // a path in the map is malformed; New runs this in every test
		}
	}
	router.NotFoundHandler = s.handle(func(http.ResponseWriter, *http.Request) error { return nothing() })
	return router
}

// literalFirst orders paths so that a segment comes before a variable in its
// place.
func literalFirst(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "/"), strings.Split(b, "/"), func(a, b string) int {
		variable := func(segment string) int {
			if strings.HasPrefix(segment, "{") {
				return 1
			}
			return 0
		}
		return variable(a) - variable(b)
	})
}

func nothing() error { return hux.Errorf(hux.NotFound, "There is nothing here.") }

// ofContract reports whether a path is one of the HUX contract's.
func ofContract(path string) bool { return strings.HasPrefix(path, "/hux/v1/") }

// admit lets a request through to its route's handler, or says why not.
func (s *Server) admit(site identity.Site, rt route, w http.ResponseWriter, r *http.Request) error {
	if rt.access == public {
		return rt.handler(w, r, nil)
	}
	id, ctx, err := s.identity.Authenticate(r, site)
	if err != nil {
		return err
	}
	if id == nil {
		return s.signedOut(w, r, site)
	}
	if err := s.fence(r, site, id, rt.access == uploading); err != nil {
		return err
	}
	switch rt.access {
	case operator:
		if !id.Has(identity.RoleOperator) {
			return hux.Errorf(hux.OperatorRequired, "This needs the role %s at the sign-in provider.", identity.RoleOperator)
		}
		if id.Method == identity.Session && site != identity.Console { // not for scripts of an operator's WebUI
			return s.consoleRequired()
		}
	case human:
		if id.Actor.Kind != hux.KindHuman {
			return hux.Errorf(hux.HumanRequired, "Only a person may do this.")
		}
		if id.Method == identity.Session && site != identity.Console {
			return s.consoleRequired()
		}
	}
	return rt.handler(w, r.WithContext(ctx), id)
}

func (s *Server) consoleRequired() error {
	return hux.Errorf(hux.ConsoleRequired, "From a browser this is done on the console, %s.", api.Origin(s.console()))
}

// formTypes are the media types that a form of any page can send (HTML standard,
// 4.10.21.8).
var formTypes = []string{"application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}

// fence keeps other origins from acting with a browser's cookie (contracts
// 2.1): an unsafe method needs our own exact origin and a body that no form of
// another page can send, JSON unless the route takes raw bytes.
func (s *Server) fence(r *http.Request, site identity.Site, id *identity.Identity, raw bool) error {
	if id.Method != identity.Session || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	own := api.Origin(s.console())
	if site == identity.Chat {
		own = api.Origin(s.config.PublicURL)
	}
	if o := r.Header["Origin"]; len(o) != 1 || o[0] != own || r.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return hux.Errorf(hux.CrossOrigin, "This is refused from another origin.")
	}
	switch media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); {
	case raw && (err != nil || slices.Contains(formTypes, media)):
		return hux.Errorf(hux.UnsupportedMediaType, "Send the bytes with the Content-Type that they have.")
	case !raw && media != "application/json":
		return hux.Errorf(hux.UnsupportedMediaType, "Send a JSON body with Content-Type: application/json.")
	}
	return nil
}
