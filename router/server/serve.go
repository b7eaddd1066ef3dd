package server

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/bridge"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/tenant"
)

// serve is the way of every request: id, log, recovery, then to its front.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	started := time.Now()
	id := requestID(r)
	r = r.WithContext(api.WithRequestID(r.Context(), id))
	w.Header().Set("HUX-Request-Id", id)
	if !r.ProtoAtLeast(1, 1) {
		// It may have had a Transfer-Encoding, which net/http then neither heeds
		// nor shows: what follows may be its body (RFC 9112, 6.1).
		w.Header().Set("Connection", "close")
	}
	if ofContract(r.URL.Path) && s.flags.Enabled("hux.foundation") {
		w.Header().Set("HUX-Contract", hux.ContractVersion) // on refusals too (contracts 2.1)
	}
	rec := &recorder{ResponseWriter: w}
	rec.hold(r, s.patience)
	defer rec.release() // after the answer, a panic's too
	defer func() {
		p := recover()
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			s.logAccess(r, rec, started, true)
			panic(p) // net/http cuts the transfer, which is the point
		}
		if p != nil {
			slog.Error("panic", "request_id", id, "panic", p, "stack", string(debug.Stack()))
			if rec.status != 0 {
				panic(http.ErrAbortHandler)
			}
			api.WriteError(rec, r, hux.Errorf(hux.InternalError, "Something went wrong on our side; the request id names it in the log."))
		}
		s.logAccess(r, rec, started, false)
	}()
	if err := s.front(rec, r); err != nil {
		s.fail(rec, r, err)
	}
}

// front sends a request to whoever answers it. What is ambiguous goes
// nowhere: the path that is decided on is the very string that is sent on.
func (s *Server) front(w *recorder, r *http.Request) error {
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		w.Header().Set("Connection", "close")
		w.Header().Set("Allow", "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT") // what some path takes (RFC 9110, 15.5.6)
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
	if crowded(r) && site != identity.API {
		return uncrowd(w)
	}
	if s.isOwn(site, path) {
		w.within(s.patience.own)
		s.own[site].ServeHTTP(w, r)
		return nil
	}
	if err := s.webUI(w, r, site); err != nil {
		s.failWebUI(w, r, err)
	}
	return nil
}

// isOwn reports whether a path of site is answered here; all others are the
// WebUI's.
func (s *Server) isOwn(site identity.Site, path string) bool {
	switch {
	case path == "/hux", strings.HasPrefix(path, "/hux/"):
		return true
	case site == identity.API:
		return strings.HasPrefix(path, "/demo/")
	case site == identity.Console && s.config.ConsoleURL != nil:
		return true // no WebUI is there
	default:
		return slices.Contains(signInPaths, path)
	}
}

// webUI sends a request on to the WebUI of whoever sends it.
func (s *Server) webUI(w http.ResponseWriter, r *http.Request, site identity.Site) error {
	id, ctx, err := s.identity.Authenticate(r, site)
	if err != nil {
		return err
	}
	if id == nil {
		if _, err := s.proxy.Page(w, r); err != nil && navigates(r) {
			return err // signing in would not help
		}
		return s.signedOut(w, r, site)
	}
	if id.Actor.Kind != hux.KindHuman {
		return hux.Errorf(hux.HumanRequired, "The chat is for people. The token of this account is for the API.")
	}
	t, err := s.tenantOfVisit(w, r, id)
	if err != nil {
		return err
	}
	if id.Method != identity.Session { // a session ends with the membership anyhow
		var end func()
		ctx, end = until(ctx, t.Membership())
		defer end()
	}
	s.proxy.Serve(w, r.WithContext(ctx), proxy.Target{
		Tenant: t.ID(), Slot: t.Slot(), Upstream: t.Upstream(), User: id.User, ClientAddr: s.clientAddr(r),
	})
	return nil
}

// tenantOfVisit is the tenant of whoever sends r to the WebUI. A person without
// one who goes to a page of it claims a slot: neither a script or a program of
// theirs does, nor what the rules refuse.
func (s *Server) tenantOfVisit(w http.ResponseWriter, r *http.Request, id *identity.Identity) (*tenant.Tenant, error) {
	if s.tenants.Lookup(id.User) == nil {
		page, err := s.proxy.Page(w, r)
		if err != nil {
			return nil, err
		}
		if page && id.Method == identity.Session && navigates(r) {
			return s.tenants.Claim(r.Context(), id.User)
		}
	}
	return s.tenants.Require(id.User, s.chatURL())
}

// chatURL is where people open the chat.
func (s *Server) chatURL() string { return api.Origin(s.config.PublicURL) + "/" }

// until is ctx, ended besides when other ends. Call the function when done.
func until(ctx, other context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(other, cancel)
	return ctx, func() { stop(); cancel() }
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
			to = s.chatURL()
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, to, http.StatusFound)
		return nil
	}
	return hux.Errorf(hux.Unauthenticated, "Sign in first: open %s in a browser, or send a bearer token.", api.Origin(s.config.PublicURL))
}

// navigates reports whether a person goes to a page, as opposed to a script,
// a service worker or a program that fetches something, and to a browser that
// loads what the person may go to next. Over plain HTTP browsers send no Fetch
// Metadata, and old ones never do.
func navigates(r *http.Request) bool {
	if r.Method != http.MethodGet || identity.Ahead(r) {
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
	s.answerError(w, r, err, navigates(r), "")
}

// failSignIn is fail for a sign-in, which begins again at the URL again, or a
// sign-out, which is a form.
func (s *Server) failSignIn(w http.ResponseWriter, r *http.Request, err error, again string) {
	form := r.Method == http.MethodPost && r.Header.Get("Sec-Fetch-Mode") == "navigate"
	s.answerError(w, r, err, navigates(r) || form, again)
}

func (s *Server) answerError(w http.ResponseWriter, r *http.Request, err error, asPage bool, again string) {
	var e *hux.Error
	if !errors.As(err, &e) || !asPage {
		if challenge := identity.Challenge(err); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		api.WriteError(w, r, err)
		return
	}
	page := bridge.Failure
	switch e.Code {
	case hux.NoSlot:
		if e.RetryAfter > 0 { // else it is no use to look again
			page = bridge.NoSlot
		}
	case hux.SlotDown, hux.SlotTimeout:
		page = bridge.SlotDown
	}
	api.LogError(r, e)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", api.RetryAfter(e.RetryAfter))
	}
	s.pages.Write(w, r, e.Code.Status(), page, bridge.Facts{
		Code: e.Code, Detail: e.Detail, RequestID: api.RequestID(r.Context()), Again: again, Retry: e.RetryAfter > 0 && r.Method == http.MethodGet,
	})
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

func (s *Server) logAccess(r *http.Request, rec *recorder, started time.Time, aborted bool) {
	if !s.config.AccessLog {
		return
	}
	// The path alone: a query may hold what a person typed, or a code.
	slog.LogAttrs(r.Context(), slog.LevelInfo, "request",
		slog.String("request_id", api.RequestID(r.Context())),
		slog.String("method", r.Method), slog.String("host", r.Host), slog.String("path", r.URL.EscapedPath()),
		slog.Int("status", rec.status), slog.Int64("bytes", rec.bytes),
		slog.Float64("took_ms", float64(time.Since(started).Microseconds())/1000), slog.String("client", s.clientAddr(r).String()), slog.Bool("aborted", aborted))
}

// recorder notes what was answered. It unwraps, so that flushing, deadlines
// and upgrades reach the connection.
type recorder struct {
	http.ResponseWriter
	body   *clientBody // of the request; nil without
	status int
	bytes  int64
}

func (rec *recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }

func (rec *recorder) WriteHeader(status int) {
	if rec.status == 0 || rec.status < 200 {
		rec.status = status
	}
	if rec.body != nil && status >= http.StatusOK {
		rec.body.answer(rec.Header(), status)
	}
	rec.ResponseWriter.WriteHeader(status)
}

func (rec *recorder) Write(p []byte) (int, error) {
	if rec.status == 0 {
		rec.WriteHeader(http.StatusOK)
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
		return rand.Text()[:20]
	}
	return id
}
