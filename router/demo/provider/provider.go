// Package provider is the demo's sign-in provider: a small OpenID provider with a
// few people, for the demo and for tests. Nothing here is for production: the
// passwords are shown on the page, and everything lives in memory.
package provider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/demo/bounded"
)

// How much the provider remembers at once; the oldest goes first.
const (
	maxSessions = 1000
	maxCodes    = 1000
	maxGrants   = 2000
)

const (
	codeLifetime    = time.Minute    // RFC 6749 section 4.1.2 allows ten
	sessionLifetime = 10 * time.Hour // a sign-in at the provider itself
	grantLifetime   = 8 * time.Hour  // a refresh token that nobody uses
)

// Client is an application that people sign in to, or a service.
type Client struct {
	ID     string
	Secret string // "" for a public client

	RedirectURIs   []string // compared exactly
	PostLogoutURIs []string // compared exactly
	BackchannelURI string   // where logout tokens go; "" for none

	Audience        []string // aud of its access tokens; nil for its own ID
	Service         string   // the person that client_credentials acts as; "" refuses the grant
	RolesInUserinfo bool     // roles are in userinfo alone, not in access tokens
}

// Options is what a Provider is made of.
type Options struct {
	Issuer  string   // the URL that browsers and clients know it by, without a final slash
	People  []Person // nil for DefaultPeople
	Clients []Client
	// TokenClient is the client whose tokens Token makes; "" for the first.
	TokenClient string

	AccessLifetime time.Duration    // of access and ID tokens; 0 for 5 minutes
	Now            func() time.Time // nil for time.Now
	HTTP           *http.Client     // sends logout tokens; nil for one with a short time limit
}

// Provider is an OpenID provider in one process, for the demo and for tests.
// It speaks the authorization code flow with PKCE (S256 is required), refresh
// tokens with rotation, client credentials, RP-initiated and back-channel
// logout. Its access tokens have the shape of Keycloak's.
type Provider struct {
	issuer         string
	secure         bool
	path           string // of the issuer, "" at the root
	tokenClient    string
	accessLifetime time.Duration
	now            func() time.Time
	http           *http.Client
	mux            http.Handler

	down       atomic.Bool
	keyFetches atomic.Int64

	clients map[string]Client // by ID; never written after NewProvider

	mu       sync.Mutex
	people   []*Person
	removed  map[string]bool   // names that had a subject once
	keys     []jose.JSONWebKey // the current one first
	sessions *bounded.Map[*session]
	codes    *bounded.Map[*code]
	grants   *bounded.Map[*grant]
}

// New makes a provider. It serves the paths below its issuer's path,
// whatever the request's Host, so that clients may reach it by another name.
func New(o Options) (*Provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.Fragment != "" || strings.HasSuffix(o.Issuer, "/") {
		return nil, fmt.Errorf("demo: the issuer must be a URL with a host and without query, fragment or final slash")
	}
	if o.People == nil {
		o.People = DefaultPeople()
	}
	if o.AccessLifetime == 0 {
		o.AccessLifetime = 5 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{Timeout: 5 * time.Second, Transport: hux.NewTransport()}
	}
	if o.TokenClient == "" && len(o.Clients) > 0 {
		o.TokenClient = o.Clients[0].ID
	}
	p := &Provider{
		issuer:         o.Issuer,
		secure:         issuer.Scheme == "https",
		path:           issuer.Path,
		tokenClient:    o.TokenClient,
		accessLifetime: o.AccessLifetime,
		now:            o.Now,
		http:           o.HTTP,
		removed:        map[string]bool{},
		clients:        map[string]Client{},
		sessions:       bounded.New[*session](maxSessions),
		codes:          bounded.New[*code](maxCodes),
		grants:         bounded.New[*grant](maxGrants),
	}
	if err := p.RotateKey(); err != nil {
		return nil, err
	}
	for _, who := range o.People {
		if err := p.AddPerson(who); err != nil {
			return nil, err
		}
	}
	for _, c := range o.Clients {
		if c.Audience == nil {
			c.Audience = []string{c.ID}
		}
		p.clients[c.ID] = c
	}
	p.mux = p.routes()
	return p, nil
}

func (p *Provider) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+p.path+"/.well-known/openid-configuration", p.serveDiscovery)
	mux.HandleFunc("GET "+p.path+"/keys", p.serveKeys)
	mux.HandleFunc("GET "+p.path+"/authorize", p.serveAuthorize)
	mux.HandleFunc("POST "+p.path+"/authorize", p.serveAuthorize)
	mux.HandleFunc("POST "+p.path+"/token", p.serveToken)
	mux.HandleFunc("GET "+p.path+"/userinfo", p.serveUserinfo)
	mux.HandleFunc("POST "+p.path+"/userinfo", p.serveUserinfo)
	mux.HandleFunc("GET "+p.path+"/end-session", p.serveEndSession)
	mux.HandleFunc("POST "+p.path+"/end-session", p.serveEndSession)
	return mux
}

// ServeHTTP answers for the provider.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == p.path+"/keys" {
		p.keyFetches.Add(1)
	}
	if p.down.Load() {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "The provider is down.", http.StatusServiceUnavailable)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	p.mux.ServeHTTP(w, r)
}

// SetDown makes the provider answer 503 to everything, or no longer.
func (p *Provider) SetDown(down bool) { p.down.Store(down) }

// serveDiscovery answers as OpenID Connect Discovery 1.0 section 4 says.
func (p *Provider) serveDiscovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer":                                         p.issuer,
		"authorization_endpoint":                         p.issuer + "/authorize",
		"token_endpoint":                                 p.issuer + "/token",
		"userinfo_endpoint":                              p.issuer + "/userinfo",
		"jwks_uri":                                       p.issuer + "/keys",
		"end_session_endpoint":                           p.issuer + "/end-session",
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token", "client_credentials"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{"RS256"},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post", "none"},
		"scopes_supported":                               []string{"openid", "profile", "email", "offline_access"},
		"claims_supported":                               []string{"sub", "sid", "auth_time", "name", "preferred_username", "email", "realm_access"},
		"prompt_values_supported":                        []string{"none", "login"},
		"request_parameter_supported":                    false,
		"request_uri_parameter_supported":                false,
		"authorization_response_iss_parameter_supported": true,
		"backchannel_logout_supported":                   true,
		"backchannel_logout_session_supported":           true,
	})
}

// answer sends v as JSON that nobody keeps.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		slog.Error("demo: an answer does not encode", "cause", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left is no error of ours
}

// same compares two secrets in a time that says nothing about them.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
