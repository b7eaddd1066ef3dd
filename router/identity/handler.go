package identity

import (
	"bytes"
	"errors"
	"html/template"
	"log/slog"
	"net/http"
	"strconv"
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
		routes["/hux/auth/accept"] = route{http.MethodGet, s.accept}
		routes["/hux/auth/failed"] = route{http.MethodGet, s.failed}
		routes["/hux/auth/end"] = route{http.MethodGet, s.end}
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
	case found.method == http.MethodGet && framed(r):
		return hux.Errorf(hux.PolicyDenied, "Signing in is not done in a frame. Open it in a window of its own.")
	}
	return found.handle(w, r)
}

// framed reports whether the browser loads r into a frame or the like (Fetch
// Metadata). One that does not say is held by frame-ancestors.
func framed(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Dest") {
	case "iframe", "frame", "fencedframe", "embed", "object":
		return true
	}
	return false
}

// fail answers a person with a page and everybody else with a problem
// document.
func (s *Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	var e *hux.Error
	if !strings.Contains(r.Header.Get("Accept"), "text/html") || !errors.As(err, &e) {
		api.WriteError(w, r, err)
		return
	}
	status := e.Code.Status()
	if e.Cause != nil {
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "sign-in failed", slog.String("code", string(e.Code)),
			slog.String("request_id", api.RequestID(r.Context())), slog.Any("cause", e.Cause))
	}
	h := w.Header()
	if e.RetryAfter > 0 {
		h.Set("Retry-After", api.RetryAfter(e.RetryAfter))
	}
	var page bytes.Buffer
	if err := failurePage.Execute(&page, map[string]any{
		"Title": http.StatusText(status), "Detail": e.Detail, "Code": e.Code, "Request": api.RequestID(r.Context()),
	}); err != nil {
		api.WriteError(w, r, err)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	h.Set("Content-Length", strconv.Itoa(page.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(page.Bytes()) // a client that left is no error of ours
}

// failurePage stands by itself: when it is shown, little else may work.
var failurePage = template.Must(template.New("failure").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
</head>
<body>
<main>
<h1>{{.Title}}</h1>
<p>{{.Detail}}</p>
<p><a href="/">Begin again</a></p>
<p><small>{{.Code}}{{with .Request}} · request {{.}}{{end}}</small></p>
</main>
</body>
</html>
`))
