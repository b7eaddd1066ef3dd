package server

import (
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"bstein.dev/hux/bridge"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/proxy"
)

// serve is the way of every request: id, log, recovery, then to its front.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	id := requestID(r)
	r = r.WithContext(api.WithRequestID(r.Context(), id))
	w.Header().Set("HUX-Request-Id", id)
	if ofContract(r.URL.Path) && s.flags.Enabled("hux.foundation") {
		w.Header().Set("HUX-Contract", hux.ContractVersion) // on refusals too (contracts 2.1)
	}
	rec := &recorder{ResponseWriter: w}
	defer func() {
		p := recover()
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			s.logAccess(r, rec, started, "aborted")
			panic(p) // net/http cuts the transfer, which is the point
		}
		if p != nil {
			slog.Error("panic", "request_id", id, "panic", p, "stack", string(debug.Stack()))
			if rec.status != 0 {
				panic(http.ErrAbortHandler)
			}
			api.WriteError(rec, r, hux.Errorf(hux.InternalError, "Something went wrong on our side; the request id names it in the log."))
		}
		s.logAccess(r, rec, started, "")
	}()
	if err := s.front(rec, r); err != nil {
		s.fail(rec, r, err)
	}
}

// front sends a request to whoever answers it. What is ambiguous goes
// nowhere: the path that is decided on is the very string that is sent on.
func (s *Server) front(w http.ResponseWriter, r *http.Request) error {
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		w.Header().Set("Connection", "close")
		return hux.Errorf(hux.MethodNotAllowed, "This method is not served.")
	}
	if _, err := proxy.CheckTarget(r.RequestURI); err != nil {
		return err
	}
	path := r.URL.EscapedPath()
	switch path { // for probes, which call by address
	case "/hux/healthz":
		return s.probe(w, true)
	case "/hux/readyz":
		return s.probe(w, !s.draining.Load())
	}
	site := s.siteOf(r)
	if site == "" {
		return hux.Errorf(hux.Misdirected, "No site of this router has this host name.")
	}
	if own := s.own[site]; strings.HasPrefix(path, "/hux/") || path == "/hux" || s.ownPaths[site][path] ||
		(site == identity.API && strings.HasPrefix(path, "/demo/")) || (site == identity.Console && s.config.ConsoleURL != nil) {
		own.ServeHTTP(w, r)
		return nil
	}
	if err := s.webUI(w, r, site); err != nil {
		s.failWebUI(w, r, err)
	}
	return nil
}

// webUI sends a request on to the WebUI of whoever sends it.
func (s *Server) webUI(w http.ResponseWriter, r *http.Request, site identity.Site) error {
	id, ctx, err := s.identity.Authenticate(r, site)
	if err != nil {
		return err
	}
	if id == nil {
		return s.signedOut(w, r, site)
	}
	if id.Actor.Kind != hux.KindHuman {
		return hux.Errorf(hux.HumanRequired, "The WebUI is for people; this credential may use /hux/v1.")
	}
	t, err := s.tenants.Claim(ctx, id.User)
	if err != nil {
		return err
	}
	s.proxy.Serve(w, r.WithContext(ctx), proxy.Target{
		Tenant: t.ID(), Slot: t.Slot(), Upstream: t.Upstream(), User: id.User, ClientAddr: s.clientAddr(r),
	})
	return nil
}

func (s *Server) probe(w http.ResponseWriter, ok bool) error {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("shutting down\n"))
		return nil
	}
	_, _ = w.Write([]byte("ok\n"))
	return nil
}

// signedOut answers whoever is not signed in: a person who goes to a page is
// sent to sign in, a program is told.
func (s *Server) signedOut(w http.ResponseWriter, r *http.Request, site identity.Site) error {
	if navigates(r) {
		to := s.identity.StartURL(r.URL.RequestURI())
		if site == identity.API {
			to = api.Origin(s.config.PublicURL) + "/"
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, to, http.StatusFound)
		return nil
	}
	return hux.Errorf(hux.Unauthenticated, "Sign in first: open %s in a browser, or send a bearer token.", api.Origin(s.config.PublicURL))
}

// navigates reports whether a person goes to a page, as opposed to a script,
// a service worker or a program that fetches something.
func navigates(r *http.Request) bool {
	if r.Method != http.MethodGet {
		return false
	}
	mode, dest := r.Header.Get("Sec-Fetch-Mode"), r.Header.Get("Sec-Fetch-Dest")
	html := strings.HasPrefix(r.Header.Get("Accept"), "text/html")
	switch {
	case mode == "navigate" && dest == "document":
		return true
	case mode == "navigate" && dest == "empty", mode == "same-origin" && dest == "empty":
		return html // the WebUI's service worker, which fetches a page on its behalf
	default:
		return mode == "" && html // a browser that does not say
	}
}

// handle runs a handler of ours and sends its error where all errors go.
func (s *Server) handle(h api.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers with an error: a page for a person who goes to one, and a
// problem document for everything else.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	var e *hux.Error
	if !errors.As(err, &e) || !navigates(r) {
		if challenge := identity.Challenge(err); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		api.WriteError(w, r, err)
		return
	}
	page := bridge.Failure
	switch e.Code {
	case hux.NoSlot:
		page = bridge.NoSlot
	case hux.SlotDown, hux.SlotTimeout:
		page = bridge.SlotDown
	}
	api.LogError(r, e)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", api.RetryAfter(e.RetryAfter))
	}
	s.pages.Write(w, r, e.Code.Status(), page, bridge.Facts{Detail: e.Detail, RequestID: api.RequestID(r.Context())})
}

// failWebUI answers instead of the WebUI, whose page looks for what to tell its
// user in the member "error".
func (s *Server) failWebUI(w http.ResponseWriter, r *http.Request, err error) {
	var e *hux.Error
	if errors.As(err, &e) && e.Members["error"] == nil {
		told := *e
		told.Members = map[string]any{"error": e.Detail}
		maps.Copy(told.Members, e.Members)
		err = &told
	}
	s.fail(w, r, err)
}

func (s *Server) logAccess(r *http.Request, rec *recorder, started time.Time, note string) {
	if !s.config.AccessLog {
		return
	}
	// The path alone: a query may hold what a person typed, or a code.
	slog.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", api.RequestID(r.Context())),
		slog.String("method", r.Method), slog.String("host", r.Host), slog.String("path", r.URL.Path),
		slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
		slog.Duration("took", time.Since(started)), slog.String("client", s.clientAddr(r).String()), slog.String("note", note))
}

// recorder notes what was answered. It unwraps, so that flushing, deadlines
// and upgrades reach the connection.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 || rec.status < 200 {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(p)
	rec.bytes += int64(n)
	return n, err
}

// requestID takes a client's id where it is short and printable, so that a
// request can be followed through several logs, else makes one.
func requestID(r *http.Request) string {
	id := r.Header.Get("HUX-Request-Id")
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(c rune) bool { return c < '!' || c > '~' }) {
		return newRequestID()
	}
	return id
}
