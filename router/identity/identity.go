// Package identity says who sends a request: it signs people in with an
// OpenID provider, keeps their sessions, and checks bearer tokens and agents'
// credentials.
//
// A session lives on the server. A browser holds one handle of it for each
// site, a random id in a cookie of that host, and a handle is good on its own
// site only. The only redirect_uri is on the console host; the chat host gets
// its handle by a one-time code in a cookie that both hosts see and no script,
// which is good with the chat host's own cookie from before alone.
package identity

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Site is the host a request came to, by what it is for.
type Site string

// The three sites. With one origin for everything, all of it is Console.
const (
	Chat    Site = "chat"    // where the WebUI is proxied
	Console Site = "console" // where our own pages are, and sign-in runs
	API     Site = "api"     // bearer tokens only
)

// Method is what a request was authenticated by.
type Method string

// The three methods.
const (
	Session Method = "session" // a browser's cookie
	Bearer  Method = "bearer"  // an access token of the OpenID provider
	Agent   Method = "agent"   // a tenant's agent credential
)

// The roles that mean something here; all others of a token are dropped.
const (
	RoleOperator = "hux-operator"
	RoleWorker   = "hux-worker"
)

// Identity is who sends a request. It is shared by the requests of a session:
// read it, never write to it.
type Identity struct {
	User       hux.User   // "" for an agent
	Name       string     // what the provider calls the person; for their own pages only, never logged
	Roles      []string   // of RoleOperator and RoleWorker
	Actor      hux.Actor  // a human or worker with the user's id, or an agent with its own
	Tenant     hux.Tenant // agents only: the one tenant the credential is for
	Method     Method
	SignedInAt time.Time // when the session began; zero for bearer tokens and agents
	AuthTime   time.Time // when the person last proved who they are at the provider; zero if it does not say
	ExpiresAt  time.Time // the latest end of the session or token; zero for agents
}

// Has reports whether id holds role. Nobody (nil) holds none.
func (id *Identity) Has(role string) bool {
	return id != nil && slices.Contains(id.Roles, role)
}

// Options is what a Service needs. Fields without a default are required.
type Options struct {
	DB  *store.DB
	Key []byte // at least 32 random bytes that are not in the data directory

	PublicURL  *url.URL // the chat origin
	ConsoleURL *url.URL // the console origin; nil for one origin, which is PublicURL then

	Issuer       string   // exactly as the provider writes it in its tokens
	ProxyURL     *url.URL // the HTTP proxy on the way to the issuer; nil for none
	InternalURL  string   // where the issuer is reached from here, if not at its own URL; see provider.go
	ClientID     string
	ClientSecret string   // "" for a public client
	Namespace    string   // what user ids are derived in; default Issuer
	Scopes       []string // besides openid; default profile

	Audience      string   // that a bearer token must be for; default ClientID
	BearerClients []string // the clients whose tokens are accepted; none: no bearer tokens
	Algorithms    []string // of token signatures, asymmetric ones; default RS256, PS256, ES256, EdDSA
	RolesClaim    string   // a path in an access token or the userinfo; default realm_access.roles

	IdleLifetime     time.Duration // from one request to the next; an open stream is none. Default 12 h
	AbsoluteLifetime time.Duration // from signing in; default 7 days
	ClockSkew        time.Duration // tolerated between us and the provider; default 30 s, at most 5 min

	// Fail answers a request under /hux/auth/ that failed. A person begins again
	// at the URL again, a page that leads to signing in. Default api.WriteError.
	Fail func(w http.ResponseWriter, r *http.Request, err error, again string)

	// Clear answers a request under /hux/auth/ with a page of the console that
	// carries a Clearing out. Needed with two origins.
	Clear func(w http.ResponseWriter, r *http.Request, c Clearing)

	ClientAddr func(*http.Request) netip.Addr // default the peer's address
	Registry   prometheus.Registerer          // nil: metrics are kept and not shown
	Now        func() time.Time               // default time.Now
	Log        *slog.Logger                   // default slog.Default()
}

// Authenticate says who sends r to site.
//
// Nobody is (nil, ctx, nil). An Authorization header decides alone: it is
// never ignored in favour of a cookie, and one that fails is an
// unauthenticated error; see Challenge. Two of them are bad_identity. A cookie
// counts on its own site, never on API, and a session cookie that comes twice
// is none, since one of the two was not set by us.
//
// The context is the request's, and ends besides when the session, the token
// or the credential does, so that a stream cannot outlive what opened it.
//
// A session whose access token is due is renewed first, which may take up to
// five seconds; with the provider out of reach it goes on as it is.
func (s *Service) Authenticate(r *http.Request, site Site) (*Identity, context.Context, error) {
	switch headers := r.Header["Authorization"]; len(headers) {
	case 0:
	case 1:
		return s.authorize(r, headers[0])
	default:
		return nil, r.Context(), hux.Errorf(hux.BadIdentity, "Send one Authorization header.")
	}
	if site == API {
		return nil, r.Context(), nil
	}
	return s.bySession(r, s.site(site))
}

// StartURL is where to send a browser that has to sign in, on either host, to
// come back to next: a path with query on the same host. A next that is not
// such is replaced by "/".
func (s *Service) StartURL(next string) string {
	return "/hux/auth/start?next=" + url.QueryEscape(CheckNext(next))
}
