package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// exchange is one request and its answer.
type exchange struct {
	proxy  *Proxy
	w      http.ResponseWriter
	in     *http.Request
	target Target
	ctx    context.Context // ends with the client or its session

	url       *url.URL // what is sent
	instead   *Instead // what is said in the upstream's place; else nil
	rule      *Allow
	pattern   string
	slot      *slot
	stream    bool
	websocket bool
	socket    *socket
	upload    upload
	foreign   []string // names of other tenants' cookies in the request
	status    int      // of the answer; 0 until there is one

	reverse httputil.ReverseProxy
	values  struct{ addr, user, cookies [1]string } // of headers, kept here to save an allocation each
}

// admit lets the request pass, or says why not.
func (x *exchange) admit() error {
	if err := x.decide(); err != nil || x.instead != nil {
		return err
	}
	if x.rule.WebSocket && upgrades(x.in) {
		return x.openSocket()
	}
	x.stream = x.rule.Stream || strings.Contains(x.in.Header.Get("Accept"), "text/event-stream")
	return nil
}

// decide finds the rule by which the request may pass.
func (x *exchange) decide() error {
	r := x.in
	if r.Method == http.MethodConnect || r.Method == http.MethodTrace {
		x.w.Header().Set("Connection", "close")
		return x.wrongMethod([]string{http.MethodGet, http.MethodHead, http.MethodPost})
	}
	if bodiless(r.Method) && r.ContentLength != 0 {
		x.w.Header().Set("Connection", "close")
		return hux.Errorf(hux.BadRequest, "A %s request has no body.", r.Method)
	}
	var err error
	if x.url, err = CheckTarget(r.RequestURI); err != nil {
		return err
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	d := x.proxy.rules.decide(r.Method, path)
	switch {
	case d.instead != nil:
		x.pattern, x.instead = d.pattern, d.instead
		if x.crossOrigin() {
			return errCrossOrigin
		}
		return nil
	case d.deny != nil:
		x.pattern = d.pattern
		x.logDenied("denied: " + d.deny.Reason)
		return errPathDenied
	case d.allow == nil && len(d.methods) > 0:
		return x.wrongMethod(d.methods)
	case d.allow == nil:
		x.pattern = loggable(path)
		x.logDenied("unknown path")
		return errPathDenied
	}
	x.rule, x.pattern = d.allow, d.pattern
	if x.url.RawQuery != "" && x.proxy.rules.deniesQuery(x.url.RawQuery) {
		x.logDenied("query")
		return errPathDenied
	}
	if x.crossOrigin() {
		return errCrossOrigin
	}
	return nil
}

var errPathDenied = hux.Errorf(hux.PathDenied, "This part of the web UI is not available here.")

func (x *exchange) wrongMethod(allowed []string) error {
	slices.Sort(allowed)
	x.w.Header().Set("Allow", strings.Join(slices.Compact(allowed), ", "))
	return hux.Errorf(hux.MethodNotAllowed, "This method is not available here.")
}

func (x *exchange) logDenied(why string) {
	slog.LogAttrs(x.ctx, slog.LevelInfo, "request refused by the rules", slog.String("request_id", api.RequestID(x.ctx)),
		slog.String("slot", x.target.Slot), slog.String("method", x.in.Method), slog.String("path", x.pattern), slog.String("why", why))
}

// loggable is a path that no rule knows, if nothing in it can be a secret or
// a name: short, plain, no long segment.
func loggable(path string) string {
	if len(path) > 100 || strings.ContainsFunc(path[1:], func(c rune) bool { return c != '/' && !literal(c) }) {
		return "-"
	}
	for s := range strings.SplitSeq(path, "/") {
		if len(s) > 20 {
			return "-"
		}
	}
	return path
}

// send passes the request to the upstream and its answer back.
func (x *exchange) send() {
	x.reverse = httputil.ReverseProxy{
		Rewrite:        x.rewrite,
		Transport:      x,
		ModifyResponse: x.answer,
		ErrorHandler:   x.failed,
		BufferPool:     x,
		ErrorLog:       x.proxy.errorLog,
		FlushInterval:  flushAfter,
	}
	if x.stream {
		x.reverse.FlushInterval = -1
	}
	x.reverse.ServeHTTP(x.w, x.in)
}

// rewrite makes the outgoing request.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.URL = x.url
	out.URL.Scheme, out.URL.Host = x.slot.upstream.Scheme, x.slot.upstream.Host
	out.Host = x.proxy.host
	out.Trailer, out.TransferEncoding = nil, nil
	x.setHeaders(pr.In.Header, out.Header)
	switch {
	case x.websocket:
		out.Header["Connection"] = []string{"Upgrade"}
		out.Header["Upgrade"] = []string{"websocket"}
	case x.alone():
		out.Close = true
	}
	if x.rule.Inject {
		askWhole(out.Header)
	} else if x.stream {
		out.Header["Accept-Encoding"] = identityOnly
	}
	switch {
	case x.upload.length > 0:
		if x.upload.reader == nil {
			x.upload.reader = out.Body
		}
		out.Body, out.ContentLength = &x.upload, x.upload.length
	case out.Body != nil:
		out.Body, out.ContentLength = http.NoBody, 0
	}
}

// answer makes an upstream's answer fit for the browser.
func (x *exchange) answer(resp *http.Response) error {
	if resp.StatusCode == http.StatusUnauthorized || x.toLogin(resp) {
		return hux.Errorf(hux.SlotRefused, "Your workspace does not accept who you are; its operator has to look at it.").After(30 * time.Second)
	}
	if resp.StatusCode < http.StatusOK && !(x.websocket && resp.StatusCode == http.StatusSwitchingProtocols) || resp.StatusCode > 599 {
		return fmt.Errorf("the upstream answered with status %d, which nobody asked for", resp.StatusCode)
	}
	h := resp.Header
	frame(resp)
	x.proxy.cleanAnswer(h)
	x.slot.cookies.answer(h)
	if x.rule.Inject {
		if err := x.inject(resp); err != nil {
			return err
		}
		if len(x.foreign) > 0 {
			expire(h, x.foreign)
		}
	} else if eventStreamType(h.Get("Content-Type")) {
		x.passStream(resp)
	}
	if len(h["Content-Type"]) == 0 {
		x.w.Header()["Content-Type"] = nil // net/http would make one up
	}
	x.status = resp.StatusCode
	return nil
}

// toLogin reports whether an answer leads to the upstream's own sign-in page,
// where nobody who is signed in here has any business.
func (x *exchange) toLogin(resp *http.Response) bool {
	login := x.proxy.rules.Upstream.Login
	if resp.StatusCode/100 != 3 || login == "" {
		return false
	}
	to, err := x.url.Parse(resp.Header.Get("Location"))
	return err == nil && strings.HasSuffix(to.Path, login)
}

// health answers for the upstream, whose own answer tells more than it should.
func (x *exchange) health() {
	status, word := http.StatusOK, "ok"
	if x.proxy.health != nil && !x.proxy.health(x.target) {
		status, word = http.StatusServiceUnavailable, "down"
	}
	x.status = status
	_ = api.JSON(x.w, status, map[string]string{"status": word})
}

// refuse answers with err.
func (x *exchange) refuse(err error) {
	x.status = http.StatusInternalServerError
	var e *hux.Error
	if errors.As(err, &e) {
		x.status = e.Code.Status()
	}
	x.proxy.refuse(x.w, x.in, err)
}
