package proxy

import (
	"context"
	"net/http"
	"strings"

	"bstein.dev/hux/hux"
)

// upgrades reports whether a request asks for the WebSocket protocol. Every
// other Upgrade is dropped on the way up.
func upgrades(r *http.Request) bool {
	if len(r.Header["Upgrade"]) != 1 || !strings.EqualFold(r.Header["Upgrade"][0], "websocket") {
		return false
	}
	for _, line := range r.Header["Connection"] {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}

// openSocket lets a handshake pass from pages of our own chat origin alone:
// a browser sends cookies with a handshake from anywhere and reads nothing
// into its answer's headers.
func (x *exchange) openSocket() error {
	if origin := x.in.Header["Origin"]; len(origin) != 1 || origin[0] != x.proxy.origin {
		return errCrossOrigin
	}
	x.websocket = true
	var cancel context.CancelFunc
	x.ctx, cancel = context.WithCancel(x.ctx)
	x.in = x.in.WithContext(x.ctx)
	x.socket = &socket{cancel}
	x.proxy.streams.add(x.socket)
	return nil
}

// socket is an open WebSocket, ended by its context.
type socket struct{ cancel context.CancelFunc }

func (s *socket) end() { s.cancel() }

var errCrossOrigin = hux.Errorf(hux.CrossOrigin, "This is answered to pages of its own origin only.")

// crossOrigin reports whether a request comes from a page of another origin.
// A link from elsewhere may lead to a page of the app, and nothing more.
func (x *exchange) crossOrigin() bool {
	h := x.in.Header
	if origin := h["Origin"]; len(origin) > 1 || len(origin) == 1 && origin[0] != x.proxy.origin {
		return true
	}
	site := h["Sec-Fetch-Site"]
	if len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || site[0] == "none") {
		return false
	}
	dest := h.Get("Sec-Fetch-Dest") // empty where the WebUI's service worker passes the navigation on
	link := x.in.Method == http.MethodGet && x.rule != nil && x.rule.Inject &&
		h.Get("Sec-Fetch-Mode") == "navigate" && (dest == "document" || dest == "empty")
	return len(site) > 1 || !link
}
