package identity

import (
	"errors"
	"net/http"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

type route struct {
	method string
	handle api.Handler
}

// Handler answers the paths under /hux/auth/ of a site, and GET /login and
// /session/login, where the WebUI sends a browser that is signed out.
func (s *Service) Handler(site Site) http.Handler {
	routes := map[string]route{"/hux/auth/backchannel": {http.MethodPost, s.backchannel}}
	begin := s.start
	switch s.site(site) {
	case Chat:
		routes[acceptPath] = route{http.MethodGet, s.accept}
		routes["/hux/auth/failed"] = route{http.MethodGet, s.failed}
		routes["/hux/auth/clear"] = route{http.MethodPost, s.clearChat}
	case Console:
		begin = s.signIn
		routes["/hux/auth/sign-in"] = route{http.MethodGet, s.signIn}
		routes["/hux/auth/callback"] = route{http.MethodGet, s.callback}
		routes["/hux/auth/sign-out"] = route{http.MethodPost, s.signOut}
	case API:
		begin = nil
	}
	if begin != nil {
		for _, path := range []string{"/hux/auth/start", "/login", "/session/login"} {
			routes[path] = route{http.MethodGet, begin}
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer") // a URL here may hold a code
		// A page of the chat that opened a window on one of these keeps no
		// handle on it, and cannot watch where it is sent.
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Content-Security-Policy", "frame-ancestors 'none'")
		h.Set("X-Frame-Options", "DENY")
		if err := serve(routes, w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

func serve(routes map[string]route, w http.ResponseWriter, r *http.Request) error {
	found, ok := routes[r.URL.Path]
	switch {
	case !ok:
		return hux.Errorf(hux.NotFound, "There is nothing here.")
	case r.Method != found.method && (r.Method != http.MethodHead || found.method != http.MethodGet):
		w.Header().Set("Allow", found.method)
		return hux.Errorf(hux.MethodNotAllowed, "Use %s here.", found.method)
	case found.method == http.MethodGet && !inWindow(r):
		return hux.Errorf(hux.PolicyDenied, "Signing in is done in a window of its own, neither in a frame nor by a script.")
	}
	return found.handle(w, r)
}

// inWindow reports whether a person goes where r leads, as the browser says it
// (Fetch Metadata): a frame, or a script that fetches, would sign in behind the
// person's back. A browser that does not say is held by frame-ancestors and by
// SameSite; a program says nothing either.
func inWindow(r *http.Request) bool {
	if Ahead(r) {
		return false
	}
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "", "document":
		return true
	case "empty": // the WebUI's service worker, which fetches a page on the browser's behalf
		mode := r.Header.Get("Sec-Fetch-Mode")
		return mode == "navigate" || mode == "same-origin"
	}
	return false
}

// Ahead reports whether a browser sends r before the person goes there, if they
// ever do: to have the answer at hand, or the page ready. The first name is the
// standard's (Fetch), the others those of browsers before it.
func Ahead(r *http.Request) bool {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} {
		for _, purpose := range r.Header[name] {
			purpose = strings.ToLower(purpose)
			if strings.Contains(purpose, "prefetch") || strings.Contains(purpose, "prerender") || strings.Contains(purpose, "preview") {
				return true
			}
		}
	}
	return false
}

// backTo is why a sign-in failed that was to lead to page, a URL.
type backTo struct {
	error
	page string
}

func (e backTo) Unwrap() error { return e.error }

// fail hands an error to Options.Fail with where to begin again.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	again := api.Origin(s.o.PublicURL) + "/"
	var back backTo
	if errors.As(err, &back) {
		again = back.page
	}
	s.o.Fail(w, r, err, again)
}
