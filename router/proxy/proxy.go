package proxy

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/net/http/httpguts"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Target is where a request goes and for whom.
type Target struct {
	Tenant     hux.Tenant
	Slot       string     // the slot's name, as in the configuration and the metrics
	Upstream   *url.URL   // scheme and host of the slot's web UI
	User       hux.User   // what the identity header says
	ClientAddr netip.Addr // the client as the router knows it; the zero Addr says nothing
}

// Options are what a Proxy is made from. Only PublicURL is required.
type Options struct {
	Rules          *Rules        // default: DefaultRules
	IdentityHeader string        // default: X-Hux-User
	PublicURL      *url.URL      // where browsers see the web UI
	ConsoleURL     *url.URL      // our pages, to be framed by the web UI; nil on one origin
	Head           string        // HTML for the head of pages, ASCII, with ScriptNonce and StyleNonce in its tags
	UploadLimit    int64         // bytes of a request's body; default 64 MiB
	HeaderTimeout  time.Duration // until an answer's headers; default 60 s. Slow rules have 15 minutes
	TempDir        string        // for long bodies of unknown length; default os.TempDir. Not where anything must last
	MaxInFlight    int           // requests and streams under way per slot; default 120

	Registry  prometheus.Registerer                           // may be nil
	OnDown    func(slot string)                               // told when a slot cannot be reached; must not block
	Health    func(Target) bool                               // answers health rules; default: always well
	OnInstead func(Target, *url.URL)                          // told of each request that an instead rule answers; may be nil
	Refuse    func(http.ResponseWriter, *http.Request, error) // answers where the upstream does not; default api.WriteError
}

// Proxy passes requests to the web UIs of tenants. It is safe for concurrent
// use.
type Proxy struct {
	rules          *Rules
	identityHeader string // canonical
	identityFold   string
	origin, host   string // of public_url
	consoleOrigin  string // "" on one origin
	forwardedProto []string
	forwardedHost  []string
	head           string
	plainHead      string // without nonces
	uploadLimit    int64
	tempDir        string
	headerTimeout  time.Duration
	maxInFlight    int64
	onDown         func(string)
	health         func(Target) bool
	onInstead      func(Target, *url.URL)
	refuse         func(http.ResponseWriter, *http.Request, error)
	errorLog       *log.Logger

	policies policyMemo
	decoders decoders
	slots    slots
	streams  streams
	metrics  *metrics
}

// New makes a Proxy.
func New(o Options) (*Proxy, error) {
	if o.PublicURL == nil || o.PublicURL.Host == "" {
		return nil, errors.New("a public URL is required")
	}
	if o.IdentityHeader == "" {
		o.IdentityHeader = "X-Hux-User"
	}
	var buf [maxFold]byte
	fold, plain := foldName(&buf, o.IdentityHeader)
	if !httpguts.ValidHeaderFieldName(o.IdentityHeader) || !plain || len(fold) == 0 || len(fold) == maxFold {
		return nil, fmt.Errorf("%q is no name for the identity header", o.IdentityHeader)
	}
	if !ascii(o.Head) {
		return nil, errors.New("the snippet for pages must be ASCII")
	}
	p := &Proxy{
		rules:          o.Rules,
		identityHeader: http.CanonicalHeaderKey(o.IdentityHeader),
		identityFold:   string(fold),
		origin:         api.Origin(o.PublicURL),
		host:           strings.ToLower(o.PublicURL.Host),
		forwardedProto: []string{strings.ToLower(o.PublicURL.Scheme)},
		forwardedHost:  []string{strings.ToLower(o.PublicURL.Host)},
		head:           o.Head,
		plainHead:      withNonces(o.Head, nonces{}),
		uploadLimit:    o.UploadLimit,
		tempDir:        o.TempDir,
		headerTimeout:  o.HeaderTimeout,
		maxInFlight:    int64(o.MaxInFlight),
		onDown:         o.OnDown,
		health:         o.Health,
		onInstead:      o.OnInstead,
		refuse:         o.Refuse,
		decoders:       make(decoders, maxDecoders),
		errorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	if p.rules == nil {
		p.rules = DefaultRules()
	}
	if o.ConsoleURL != nil {
		if c := api.Origin(o.ConsoleURL); c != p.origin {
			p.consoleOrigin = c
		}
	}
	if p.uploadLimit <= 0 {
		p.uploadLimit = 64 << 20
	}
	if p.headerTimeout <= 0 {
		p.headerTimeout = time.Minute
	}
	if p.maxInFlight <= 0 {
		p.maxInFlight = 120
	}
	if p.refuse == nil {
		p.refuse = api.WriteError
	}
	var err error
	p.metrics, err = newMetrics(p, o.Registry)
	return p, err
}

// Serve answers a request of a signed-in user for the web UI. The request is
// as the server read it: nothing may have been taken from its target or its
// headers. Its context ends when the session ends; open streams end with it.
// A transfer that breaks panics with http.ErrAbortHandler, which has to reach
// net/http.
func (p *Proxy) Serve(w http.ResponseWriter, r *http.Request, t Target) {
	x := &exchange{proxy: p, w: w, in: r, target: t, ctx: r.Context()}
	defer p.metrics.count(x)
	err := x.admit()
	if x.socket != nil {
		defer p.streams.remove(x.socket)
		defer x.socket.cancel()
	}
	if err != nil {
		x.refuse(err)
		return
	}
	if x.instead != nil {
		x.answerInstead()
		return
	}
	if x.rule.Health {
		x.health()
		return
	}
	x.slot = p.slots.get(t, p.headerTimeout)
	defer x.slot.inFlight.Add(-1)
	if x.slot.inFlight.Add(1) > p.maxInFlight {
		x.refuse(hux.Errorf(hux.SlotBusy, "Too many requests to your workspace are under way.").After(2 * time.Second))
		return
	}
	defer x.upload.free()
	if err := x.takeBody(); err != nil {
		x.refuse(err)
		return
	}
	x.send()
}

// Page reports whether r leads to a page of the web UI, for a sender who has no
// tenant yet. The error says that r may not pass at all.
func (p *Proxy) Page(w http.ResponseWriter, r *http.Request) (bool, error) {
	x := &exchange{proxy: p, w: w, in: r, ctx: r.Context()}
	if err := x.decide(); err != nil {
		return false, err
	}
	return x.rule != nil && x.rule.Inject, nil
}

// snippet is what goes into the head of a page.
func (p *Proxy) snippet(needed nonces) string {
	if needed == (nonces{}) {
		return p.plainHead
	}
	return withNonces(p.head, needed)
}

func withNonces(head string, needed nonces) string {
	attribute := func(nonce string) string {
		if nonce == "" {
			return ""
		}
		return ` nonce="` + nonce + `"`
	}
	return strings.NewReplacer(ScriptNonce, attribute(needed.script), StyleNonce, attribute(needed.style)).Replace(head)
}
