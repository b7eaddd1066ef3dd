// Package standin is the demo's stand-in for the WebUI of a slot, with a scripted
// agent that answers in it. It is a server of its own, and the router can't tell
// it from the WebUI. Nothing here is for production: everything lives in memory.
package standin

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"sync"
	"time"

	"bstein.dev/hux/hux/client"
	"bstein.dev/hux/router/demo/bounded"
)

// What one stand-in remembers at most; the oldest goes first.
const (
	maxConversations = 200
	maxMessages      = 200
	maxMessageSize   = 16 << 10
	maxRuns          = 64
	maxVisitors      = 1000
)

// maxUpload is the largest body that the stand-in reads, as the real WebUI's
// default.
const maxUpload = 20 << 20

// Options is what a WebUI is made of.
type Options struct {
	Header string // names who asks; "" for X-Hux-User. It is believed from any peer
	Title  string // of the slot, shown on the page; "" for none

	// Router is asked before the agent uses a tool and told what it does, with
	// the agent's credential; nil for neither.
	Router *client.Client

	// Wait passes the time between two steps of the agent's script; nil for a
	// timer. Tests give one that returns at once or when they say so. It must
	// return ctx.Err() once ctx ends.
	Wait      func(ctx context.Context, d time.Duration) error
	Heartbeat time.Duration // between comments on a silent stream; 0 for 5 seconds
}

// WebUI stands in for the Hermes WebUI of one slot: a chat page of our own
// with the same landmarks, routes, cookie, CSRF token, service worker and
// event streams, and a scripted agent that answers. Everyone whom the router
// lets in shares its conversations, which live in memory.
type WebUI struct {
	options Options
	key     []byte // signs cookies and CSRF tokens
	routes  map[string]http.HandlerFunc
	ctx     context.Context // ends with Close
	close   context.CancelFunc
	running sync.WaitGroup

	mu            sync.Mutex
	visitors      *bounded.Map[string] // cookie id → identity
	conversations *bounded.Map[*conversation]
	runs          *bounded.Map[*run]
	changes       changes
}

// New makes a stand-in. Close ends the turns that its agent is at.
func New(o Options) *WebUI {
	if o.Header == "" {
		o.Header = "X-Hux-User"
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	if o.Heartbeat == 0 {
		o.Heartbeat = 5 * time.Second
	}
	u := &WebUI{
		options:       o,
		key:           make([]byte, 32),
		visitors:      bounded.New[string](maxVisitors),
		conversations: bounded.New[*conversation](maxConversations),
		runs:          bounded.New[*run](maxRuns),
		changes:       changes{wake: make(chan struct{})},
	}
	_, _ = rand.Read(u.key) // never fails
	u.ctx, u.close = context.WithCancel(context.Background())
	u.routes = u.table()
	return u
}

// Close ends every turn and stream and waits for the turns. Close the server
// first: no turn may start any more.
func (u *WebUI) Close() {
	u.close()
	u.running.Wait()
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// table is every route but those found by their beginning (see handler).
func (u *WebUI) table() map[string]http.HandlerFunc {
	routes := map[string]http.HandlerFunc{
		"GET /":                             u.serveShell,
		"GET /index.html":                   u.serveShell,
		"GET /login":                        u.serveLogin,
		"GET /sw.js":                        u.serveWorker,
		"GET /manifest.json":                u.serveManifest,
		"GET /manifest.webmanifest":         u.serveManifest,
		"GET /session/manifest.json":        u.serveManifest,
		"GET /session/manifest.webmanifest": u.serveManifest,
		"GET /favicon.ico":                  u.serveIcon,
		"GET /health":                       u.serveHealth,
		"GET /api/auth/status":              u.serveAuthStatus,

		"GET /api/sessions":           u.serveSessions,
		"GET /api/session":            u.serveSession,
		"GET /api/session/status":     u.serveSessionStatus,
		"POST /api/session/new":       u.serveNew,
		"POST /api/session/rename":    u.serveRename,
		"POST /api/session/delete":    u.serveDelete,
		"POST /api/session/draft":     u.serveDraft,
		"POST /api/upload":            u.serveUpload,
		"POST /api/chat/start":        u.serveStart,
		"GET /api/chat/cancel":        u.serveCancel,
		"GET /api/chat/stream":        u.serveStream,
		"GET /api/chat/stream/status": u.serveStreamStatus,
		"GET /api/session/stream":     u.serveSessionStream,
		"GET /api/sessions/events":    u.serveSessionsEvents,
		"GET /api/approval/pending":   u.servePending,
		"POST /api/approval/respond":  u.serveRespond,
	}
	for route, body := range fixedAnswers {
		routes[route] = func(w http.ResponseWriter, r *http.Request) { u.json(w, r, http.StatusOK, body) }
	}
	for _, route := range adminRoutes {
		routes[route] = func(w http.ResponseWriter, r *http.Request) {
			u.json(w, r, http.StatusOK, map[string]any{"ok": true, "reached": route})
		}
	}
	return routes
}

// fixedAnswers are what the page asks for at its start and for which the
// stand-in has one thing to say.
var fixedAnswers = map[string]map[string]any{
	"GET /api/settings":              {"theme": "system", "skin": "default", "font_size": "default", "language": "en", "version": Version, "auth_enabled": true},
	"GET /api/transcribe/capability": {"available": false},
	"GET /api/dashboard/config":      {"enabled": false},
	"GET /api/dashboard/status":      {"enabled": false, "running": false},
	"GET /api/profiles":              {"profiles": []any{map[string]any{"name": "default", "is_default": true}}, "active": "default"},
	"GET /api/profile/active":        {"name": "default", "is_default": true},
	"GET /api/reasoning":             {"effort": "medium", "display": true},
	"GET /api/workspaces":            {"workspaces": []any{}, "last": ""},
	"GET /api/onboarding/status":     {"completed": true},
	"GET /api/projects":              {"projects": []any{}},
	"GET /api/models":                {"default_model": "scripted", "groups": []any{map[string]any{"provider": "Demo", "models": []any{map[string]any{"id": "scripted", "label": "Scripted agent"}}}}},
	"GET /api/list":                  {"entries": []any{}},
	"GET /api/git-info":              {"git": nil},
	"GET /api/session/yolo":          {"yolo_enabled": false},
	"GET /api/clarify/pending":       {"pending": nil, "pending_count": 0},
	"GET /api/commands":              {"commands": []any{}},
	"POST /api/client-events/log":    {"ok": true},
	"POST /api/csp-report":           {"ok": true},
}

// adminRoutes are what a router keeps from ordinary people. They do nothing
// here but answer, so that a deny can be told from a route that is missing.
var adminRoutes = []string{
	"POST /api/settings", "POST /api/profile/switch", "POST /api/profile/create", "POST /api/default-model",
	"POST /api/terminal/start", "POST /api/terminal/input", "POST /api/terminal/close",
	"POST /api/shutdown", "POST /api/admin/reload", "POST /api/health/restart", "POST /api/gateway/restart",
	"GET /api/updates/check", "POST /api/updates/check", "POST /api/updates/apply",
	"GET /api/extensions/status", "POST /api/extensions/install", "GET /api/plugins",
	"GET /api/mcp/servers", "GET /api/crons", "POST /api/crons/create", "POST /api/commands/exec",
	"GET /api/providers", "POST /api/providers", "GET /api/logs", "GET /api/media", "GET /api/system/health",
	"POST /api/session/yolo", "POST /api/workspaces/add", "GET /api/approval/inject_test",
}

// WebUIVersion is the stand-in's, as its service worker tells it.
func WebUIVersion() string { return bundle() }

// ServeHTTP answers for the stand-in.
func (u *WebUI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	handle := u.handler(r)
	r, ok := u.admit(w, r)
	if !ok {
		return
	}
	if handle == nil {
		u.fail(w, r, http.StatusNotFound, "not found")
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxUpload)
	handle(w, r)
}

// handler finds what answers a request, by its exact path or its beginning.
func (u *WebUI) handler(r *http.Request) http.HandlerFunc {
	method := r.Method
	if method == http.MethodHead && !strings.HasPrefix(r.URL.Path, "/api/") {
		method = http.MethodGet
	}
	if h := u.routes[method+" "+r.URL.Path]; h != nil {
		return h
	}
	if method != http.MethodGet {
		return nil
	}
	for _, prefix := range []string{"/static/", "/session/static/"} {
		if name, ok := strings.CutPrefix(r.URL.Path, prefix); ok {
			return func(w http.ResponseWriter, r *http.Request) { u.serveStatic(w, r, name) }
		}
	}
	if strings.HasPrefix(r.URL.Path, "/session/") {
		return u.serveShell
	}
	return nil
}

// newID makes a random id of n hexadecimal digits.
func newID(n int) string {
	b := make([]byte, n/2)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
