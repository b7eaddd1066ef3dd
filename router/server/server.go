// Package server is the front door itself: it joins identity, tenants, the
// proxy and our own pages into one map of URLs, and runs the listeners.
package server

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	contract "bstein.dev/hux"
	"bstein.dev/hux/bridge"
	"bstein.dev/hux/bridge/reference"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/modes"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/tenant"
	"bstein.dev/hux/router/webui"
)

// Options is what New needs besides the configuration.
type Options struct {
	Version  string
	Warnings []string // of the configuration, for the status page
	// Rules stand in for those that the configuration names.
	Rules *proxy.Rules
	// Local answers under /demo/ on the API site. Only the demo has it.
	Local http.Handler
}

// Server is one running router.
type Server struct {
	config   *config.Config
	version  string
	warnings []string
	build    hux.Build
	flags    hux.Flags
	features []feature // what is switched on and served

	db        *store.DB
	stores    *store.Pool
	door      *api.Door
	due       *due.Index
	log       *event.Log
	cards     []api.Route
	served    map[string]bool // the flags that the cards serve
	webui     *webui.Service
	contract  *reference.Contract
	identity  *identity.Service
	tenants   *tenant.Service
	proxy     *proxy.Proxy
	rules     *proxy.Rules
	pages     *bridge.Pages
	registry  *prometheus.Registry
	selfCheck findings
	oversight oversight

	sites    map[string]identity.Site // by Host, as browsers write it
	own      map[identity.Site]http.Handler
	draining atomic.Bool
	patience patience
	// unreadHop warns once of a proxy that gives no address; see limitAddr.
	unreadHop sync.Once
	webhooks  chan struct{}   // holds one for each webhook whose body is being read
	closing   context.Context // ends when the router shuts down
	shut      context.CancelFunc
}

// New opens the state under config.Data and builds every part. It starts
// nothing; Run does. Close gives the state back.
func New(c *config.Config, o Options) (*Server, error) {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		return nil, fmt.Errorf("flags.json: %w", err)
	}
	s := &Server{
		config: c, version: o.Version, warnings: o.Warnings,
		build: api.ThisBuild(c.ImageDigest), flags: hux.ResolveFlags(registry, c.Flags),
		registry: prometheus.NewRegistry(), features: []feature{}, patience: usualPatience, webhooks: make(chan struct{}, maxWebhooks),
	}
	s.closing, s.shut = context.WithCancel(context.Background())
	for _, name := range s.flags.Unknown {
		s.warn(fmt.Sprintf("flag %s is not in the registry and is ignored", name))
	}
	s.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if s.rules = o.Rules; s.rules == nil {
		if s.rules, err = proxy.OpenRules(c.RulesFile); err != nil {
			return nil, fmt.Errorf("rules_file: %w", err)
		}
	}
	if s.db, err = store.Open(filepath.Join(c.Data, "router.db"), 0); err != nil {
		return nil, err
	}
	if err := s.join(registry); err != nil {
		return nil, errors.Join(err, s.db.Close())
	}
	s.mapSites(o.Local)
	return s, nil
}

// join builds the parts from the configuration. Each gets only the settings that
// it needs.
func (s *Server) join(registry []hux.Flag) (err error) {
	c := s.config
	s.identity, err = identity.New(identity.Options{
		DB: s.db, Key: c.Key,
		PublicURL: c.PublicURL, ConsoleURL: c.ConsoleURL,
		Issuer: c.OIDCIssuer, InternalURL: c.OIDCInternalURL, ProxyURL: c.OIDCProxy, Namespace: c.OIDCNamespace,
		ClientID: c.OIDCClientID, ClientSecret: c.OIDCClientSecret, Scopes: c.OIDCScopes,
		Audience: c.OIDCAudience, BearerClients: c.OIDCBearerClients, Algorithms: c.OIDCAlgorithms, RolesClaim: c.OIDCRolesClaim,
		IdleLifetime: c.SessionIdle, AbsoluteLifetime: c.SessionAbsolute, ClockSkew: c.ClockSkew,
		Fail: s.failSignIn, Clear: s.clearPage, ClientAddr: s.limitAddr, Registry: s.registry,
	})
	if err != nil {
		return fmt.Errorf("identity: %w", err)
	}
	slots := make([]tenant.SlotConfig, 0, len(c.Slots))
	for _, slot := range c.Slots {
		slots = append(slots, tenant.SlotConfig(slot))
	}
	s.tenants, err = tenant.New(tenant.Options{
		DB: s.db, Slots: slots, HealthPath: c.SlotHealthPath, HealthEvery: c.SlotHealthEvery, Registry: s.registry,
	})
	if err != nil {
		return err
	}
	s.proxy, err = proxy.New(proxy.Options{
		Rules: s.rules, IdentityHeader: c.IdentityHeader, PublicURL: c.PublicURL, ConsoleURL: c.ConsoleURL,
		Head:        markNonces(bridge.Head(s.console())),
		UploadLimit: c.UploadLimit, TempDir: c.TempDir, HeaderTimeout: c.UpstreamTimeout, MaxInFlight: c.SlotConnections,
		Registry: s.registry, OnDown: s.tenants.Suspect, Refuse: s.failWebUI,
		Health:    func(t proxy.Target) bool { return s.tenants.State(t.Slot) != tenant.Down },
		OnInstead: s.answeredInstead,
	})
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	pages := bridge.PagesOptions{ChatURL: c.PublicURL, ConsoleURL: c.ConsoleURL}
	if issuer, err := url.Parse(c.OIDCIssuer); err == nil {
		pages.SignOut = []*url.URL{issuer}
	}
	if s.pages, err = bridge.NewPages(pages); err != nil {
		return fmt.Errorf("pages: %w", err)
	}
	return s.makeCards(registry)
}

// makeCards makes the cards and what they stand on, and gathers their routes, the
// features that are on and the contract.
func (s *Server) makeCards(registry []hux.Flag) error {
	c := s.config
	schemas, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		return err
	}
	switchyard, err := modes.ReadSwitchyard(contract.Switchyard)
	if err != nil {
		return err
	}
	s.log = event.NewLog(c.StreamsPerUser)
	frame := &record.Frame{Log: s.log, Keys: record.NewKeys(derive(c.Key, "idempotency"))}
	damages := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "hux_store_damages_total", Help: "Damages of tenants' databases that were found, each once.",
	}, []string{"kind"})
	for _, kind := range []string{"database", "record", "lost", "older"} {
		damages.WithLabelValues(kind)
	}
	s.registry.MustRegister(damages)
	s.stores = store.NewPool(store.PoolOptions{
		Dir: filepath.Join(c.Data, "tenants"), Quota: c.TenantQuota, Prepare: frame.Prepare, Marks: s.db,
		Damaged: func(kind string) { damages.WithLabelValues(kind).Inc() },
	})
	if s.due, err = due.NewIndex(s.db, s.stores); err != nil {
		return err
	}
	frame.FallDue(s.due)
	s.door = api.NewDoor(schemas)
	foundation := api.Foundation{
		Schemas: schemas, Flags: s.flags, Build: s.build, StreamsPerUser: c.StreamsPerUser, VectorsSHA256: contract.VectorsSHA256(), Modes: switchyard.Manifest(),
	}
	s.makeOversight()
	made := cards.New(cards.Options{
		Frame: frame, Schemas: schemas, Cursors: api.NewCursors(derive(c.Key, "cursors")),
		Flags: s.flags, Closing: s.closing, Build: s.build, Stop: s.stopRun,
		StopBypassed: c.StopBypassed, Alarmed: s.oversight.alarmed,
	})
	if s.cards, err = foundation.Routes(made.Routes); err != nil {
		return err
	}
	s.webui = webui.New(webui.Options{Autonomy: made.Autonomy, Lease: s.stores.Lease, Slots: s.watchedSlots, Dial: s.dialWebUI})
	s.served = api.Served(s.cards)
	for _, f := range registry {
		if s.flags.Enabled(f.Name) && s.served[f.Name] {
			s.features = append(s.features, feature{f.Name, f.Description})
		}
	}
	if err := SwitchRules(s.rules, s.flags, s.served); err != nil {
		return err
	}
	s.contract, err = reference.New(reference.Sources{
		Schemas: schemas, Examples: contract.Examples, Registry: registry, Flags: s.flags, Machines: cards.Machines(), Routes: s.cards,
	})
	return err
}

// SwitchRules puts the rules for the WebUI into effect that go with the flags
// that are on and served. Rules that would leave a way round hux.autonomy are
// refused.
func SwitchRules(rules *proxy.Rules, flags hux.Flags, served map[string]bool) error {
	on := func(flag string) bool { return flags.Enabled(flag) && served[flag] }
	if err := rules.Switch(on); err != nil {
		return fmt.Errorf("rules_file: %w", err)
	}
	if on(autonomy.Flag) && !rules.Switched(autonomy.Flag) {
		return errors.New("rules_file: it leaves the WebUI's own approvals open, a way round hux.autonomy: take over the entries under instead from the built-in rules, or switch hux.autonomy off")
	}
	return nil
}

// warn tells the log and the status page.
func (s *Server) warn(warning string) {
	slog.Warn(warning)
	s.warnings = append(s.warnings, warning)
}

// derive makes a key for one purpose out of the router key, so that what is
// made for one purpose is worth nothing for another.
func derive(key []byte, purpose string) []byte {
	derived, err := hkdf.Key(sha256.New, key, nil, "hux "+purpose, 32)
	if err != nil {
		panic(err) // 32 bytes are never too many
	}
	return derived
}

// markNonces shows the proxy where a page's nonces go into the tags of head.
func markNonces(head string) string {
	return strings.NewReplacer(`.css">`, `.css"`+proxy.StyleNonce+`>`, `"></script>`, `"`+proxy.ScriptNonce+`></script>`).Replace(head)
}

// mapSites decides which hosts there are and what each has of its own.
func (s *Server) mapSites(local http.Handler) {
	c := s.config
	s.sites = map[string]identity.Site{}
	serve := func(u *url.URL, site identity.Site) {
		s.sites[u.Host] = site
		if u.Port() == "" { // a client may write the scheme's own port
			s.sites[u.Host+map[string]string{"http": ":80", "https": ":443"}[u.Scheme]] = site
		}
	}
	for _, h := range c.APIHosts {
		s.sites[hostOnly(strings.ToLower(h))] = identity.API
	}
	onAPI := s.everywhere(identity.API)
	if local != nil {
		onAPI = append(onAPI, route{"GET", "/demo/{rest:.*}", public, plain(local)}, route{"POST", "/demo/{rest:.*}", public, plain(local)})
	}
	onConsole := append(s.everywhere(identity.Console), s.pagesMap()...)
	s.own = map[identity.Site]http.Handler{identity.API: s.newMux(identity.API, onAPI)}
	if c.ConsoleURL == nil { // one origin: all of it is Console, which also has the WebUI
		serve(c.PublicURL, identity.Console)
		s.own[identity.Console] = s.newMux(identity.Console, append(onConsole, s.signInRoutes(identity.Console)...))
		return
	}
	serve(c.PublicURL, identity.Chat)
	serve(c.ConsoleURL, identity.Console)
	s.own[identity.Chat] = s.newMux(identity.Chat, append(s.everywhere(identity.Chat), s.signInRoutes(identity.Chat)...))
	s.own[identity.Console] = s.newMux(identity.Console, append(onConsole,
		route{"GET", "/", public, func(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
			http.Redirect(w, r, "/hux/api/ui/", http.StatusFound)
			return nil
		}}))
}

// Close gives the state back after Run.
func (s *Server) Close() error { return errors.Join(s.stores.Close(), s.db.Close()) }

// console is where our own pages are: with one origin, beside the WebUI.
func (s *Server) console() *url.URL {
	if s.config.ConsoleURL == nil {
		return s.config.PublicURL
	}
	return s.config.ConsoleURL
}
