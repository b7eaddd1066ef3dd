package identity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

const (
	providerTimeout = 5 * time.Second  // of one request to the provider
	providerBody    = 1 << 20          // bytes of one answer of it
	keyInterval     = 3 * time.Second  // between two fetches of its keys
	retryLongest    = 10 * time.Second // between two looks for it
	probeTimeout    = 2 * time.Second  // for it to answer before somebody is sent there
	probeInterval   = 5 * time.Second  // that an answer counts for
)

// Why a token was not taken. The two are never mixed up: what is unavailable
// may be tried again, what is refused may not.
var (
	errUnavailable = errors.New("the sign-in provider cannot be reached")
	errRefused     = errors.New("the token is refused")
)

// provider is the OpenID provider as seen from here.
type provider struct {
	o       Options
	client  *http.Client
	patient *http.Client // without a limit of its own on time
	keys    *http.Client
	current atomic.Pointer[endpoints] // nil until discovery has succeeded
	look    atomic.Pointer[look]      // the one under way, else the last; the first is to come

	probes   singleflight.Group        // one look for it at a time, shared by all who wait
	answered atomic.Pointer[time.Time] // when it was last seen to answer
}

// look is one look for the provider. Its channel is closed when it is over.
type look struct{ over chan struct{} }

// endpoints is what discovery found, with a verifier for each kind of token.
// All share one set of keys, and so one limit on fetching them.
type endpoints struct {
	*oidc.Provider
	oauth        oauth2.Config
	idTokens     *oidc.IDTokenVerifier // and logout tokens: for us, from this issuer
	accessTokens *oidc.IDTokenVerifier // got from the provider itself: any audience
	bearerTokens *oidc.IDTokenVerifier // sent by a client: for the configured audience
	keysURL      string
	endSession   string // "" where the provider has none
	sendsIss     bool   // its answers name it (RFC 9207)
}

func newProvider(o Options, m *metrics) (*provider, error) {
	issuer, err := url.Parse(o.Issuer)
	if err != nil || issuer.Host == "" || (issuer.Scheme != "http" && issuer.Scheme != "https") {
		return nil, errors.New("the issuer must be an http or https URL")
	}
	direct := hux.NewTransport()
	if o.ProxyURL != nil {
		direct.Proxy = http.ProxyURL(o.ProxyURL)
	}
	var t http.RoundTripper = witness{direct}
	if o.InternalURL != "" {
		internal, err := url.Parse(o.InternalURL)
		if err != nil || internal.Host == "" || (internal.Scheme != "http" && internal.Scheme != "https") {
			return nil, errors.New("the issuer's internal URL must be an http or https URL")
		}
		t = detour{t, issuer, internal}
	}
	t = bounded{t}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	p := &provider{
		o:       o,
		client:  &http.Client{Transport: t, Timeout: providerTimeout, CheckRedirect: stay},
		patient: &http.Client{Transport: t, CheckRedirect: stay},
		keys: &http.Client{
			Transport: keyFetches{t, rate.NewLimiter(rate.Every(keyInterval), 1), m},
			Timeout:   keyInterval + providerTimeout, CheckRedirect: stay,
		},
	}
	p.look.Store(&look{make(chan struct{})})
	return p, nil
}

// patiently is ctx for a request whose answer is waited for until ctx ends.
func (p *provider) patiently(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, p.patient)
}

// discover looks for the provider until it is found or ctx ends.
func (p *provider) discover(ctx context.Context, log *slog.Logger) {
	for wait := 250 * time.Millisecond; p.current.Load() == nil; wait = min(2*wait, retryLongest) {
		found, err := p.find(ctx)
		if err == nil {
			p.current.Store(found)
		}
		close(p.look.Load().over)
		if err == nil {
			log.LogAttrs(ctx, slog.LevelInfo, "sign-in provider found", slog.String("issuer", p.o.Issuer))
			return
		}
		if ctx.Err() != nil {
			return
		}
		log.LogAttrs(ctx, slog.LevelWarn, "sign-in provider not found", slog.String("issuer", p.o.Issuer), slog.Any("cause", err))
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait/2 + rand.N(wait/2)): // jitter, for many routers and one provider
		}
		p.look.Store(&look{make(chan struct{})})
	}
}

// CheckProvider looks for the provider and its keys once, and says what is
// wrong and where. Of o it needs the URLs alone.
func CheckProvider(ctx context.Context, o Options) error {
	p, err := newProvider(o, nil)
	if err != nil {
		return err
	}
	e, err := p.find(ctx)
	if err != nil {
		return err
	}
	return p.checkKeys(ctx, e.keysURL)
}

func (p *provider) checkKeys(ctx context.Context, keysURL string) error {
	var a asked
	req, err := http.NewRequestWithContext(a.by(ctx), http.MethodGet, keysURL, nil)
	if err != nil {
		return errors.New("its discovery document has a jwks_uri that is no URL")
	}
	res, err := p.client.Do(req)
	if err != nil {
		return a.failed("its keys", err)
	}
	defer func() { _ = res.Body.Close() }()
	var keys struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if res.StatusCode != http.StatusOK || json.NewDecoder(res.Body).Decode(&keys) != nil || len(keys.Keys) == 0 {
		return a.failed("its keys", nil)
	}
	return nil
}

// asked is the request that was sent last, to say where something failed.
type asked struct {
	url    string
	status int // of the answer; 0 for none
}

type askedKey struct{}

// by is a context for requests that a is to be told of.
func (a *asked) by(ctx context.Context) context.Context { return context.WithValue(ctx, askedKey{}, a) }

// failed says that what was asked for is not there, and nothing of what the
// answer held instead.
func (a *asked) failed(what string, err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		return fmt.Errorf("%s can't be had: %s: %w", what, a.url, failed.Err)
	}
	return fmt.Errorf("%s can't be had: %s answers with status %d", what, a.url, a.status)
}

// witness tells the asked of a request's context where the request really goes.
type witness struct{ next http.RoundTripper }

func (w witness) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := w.next.RoundTrip(r)
	if a, ok := r.Context().Value(askedKey{}).(*asked); ok {
		a.url = r.URL.Redacted()
		if err == nil {
			a.status = resp.StatusCode
		}
	}
	return resp, err
}

// find reads the discovery document.
func (p *provider) find(ctx context.Context) (*endpoints, error) {
	var a asked
	found, err := oidc.NewProvider(oidc.ClientContext(a.by(ctx), p.client), p.o.Issuer)
	if err != nil {
		var mismatch *oidc.IssuerMismatchError
		if errors.As(err, &mismatch) {
			return nil, fmt.Errorf("at %s it calls itself %q, which must be the configured issuer to the letter", a.url, mismatch.Discovered)
		}
		return nil, a.failed("its discovery document", err)
	}
	var more struct {
		JWKS       string   `json:"jwks_uri"`
		EndSession string   `json:"end_session_endpoint"`
		SendsIss   bool     `json:"authorization_response_iss_parameter_supported"`
		Auth       []string `json:"token_endpoint_auth_methods_supported"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, fmt.Errorf("its discovery document at %s is malformed", a.url)
	}
	e := &endpoints{Provider: found, keysURL: more.JWKS, endSession: more.EndSession, sendsIss: more.SendsIss}
	endpoint := found.Endpoint()
	if endpoint.AuthURL == "" || endpoint.TokenURL == "" || more.JWKS == "" {
		return nil, fmt.Errorf("its discovery document at %s lacks an endpoint", a.url)
	}
	endpoint.AuthStyle = oauth2.AuthStyleInHeader // the default of OpenID Connect; guessing would send a refused code twice
	if p.o.ClientSecret == "" || (len(more.Auth) > 0 && !slices.Contains(more.Auth, "client_secret_basic")) {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	e.oauth = oauth2.Config{
		ClientID: p.o.ClientID, ClientSecret: p.o.ClientSecret, Endpoint: endpoint, Scopes: p.o.Scopes,
		RedirectURL: p.o.consoleOrigin() + "/hux/auth/callback",
	}
	keys := keySet{oidc.NewRemoteKeySet(oidc.ClientContext(ctx, p.keys), more.JWKS)}
	verifier := func(audience string) *oidc.IDTokenVerifier {
		return oidc.NewVerifier(p.o.Issuer, keys, &oidc.Config{
			ClientID: audience, SkipClientIDCheck: audience == "", SupportedSigningAlgs: p.o.Algorithms,
			Now: func() time.Time { return p.o.Now().Add(-p.o.ClockSkew) },
		})
	}
	e.idTokens, e.accessTokens, e.bearerTokens = verifier(p.o.ClientID), verifier(""), verifier(p.o.Audience)
	return e, nil
}

func (o *Options) consoleOrigin() string {
	if o.ConsoleURL != nil {
		return api.Origin(o.ConsoleURL)
	}
	return api.Origin(o.PublicURL)
}

// answers reports whether the provider is there now, so that nobody is sent to
// a page that does not load. An answer counts for a few seconds.
func (p *provider) answers(ctx context.Context) error {
	if at := p.answered.Load(); at != nil && p.o.Now().Before(at.Add(probeInterval)) {
		return nil
	}
	probed := p.probes.DoChan("", func() (any, error) { return nil, p.probe(context.WithoutCancel(ctx)) })
	select {
	case <-ctx.Done():
		return signInUnavailable(errUnavailable)
	case result := <-probed:
		return result.Err
	}
}

func (p *provider) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(p.o.Issuer, "/")+"/.well-known/openid-configuration", nil)
	if err != nil {
		return err
	}
	res, err := p.client.Do(req)
	if err != nil {
		return signInUnavailable(errUnavailable)
	}
	_ = res.Body.Close()
	if res.StatusCode >= http.StatusInternalServerError {
		return signInUnavailable(errUnavailable)
	}
	now := p.o.Now()
	p.answered.Store(&now)
	return nil
}

// ready is what discovery found, or a sign_in_unavailable error. While the
// provider is looked for it waits for what that finds, for a bounded time.
func (p *provider) ready(ctx context.Context) (*endpoints, error) {
	if e := p.current.Load(); e != nil {
		return e, nil
	}
	ctx, cancel := context.WithTimeout(ctx, providerTimeout)
	defer cancel()
	select {
	case <-p.look.Load().over:
	case <-ctx.Done():
	}
	if e := p.current.Load(); e != nil {
		return e, nil
	}
	return nil, signInUnavailable(errUnavailable)
}

func signInUnavailable(cause error) *hux.Error {
	return hux.Errorf(hux.SignInUnavailable, "The sign-in provider does not answer as it should. Try again in a few seconds.").
		Because(cause).After(5 * time.Second)
}

// detour sends what is meant for the issuer's origin to where the issuer is
// reached from inside, and leaves the Host header as it was: the provider
// answers as for the public name, so that every issuer check stays strict. An
// internal URL with a path stands for the whole issuer URL, one without for
// its origin.
type detour struct {
	next             http.RoundTripper
	public, internal *url.URL
}

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != d.public.Scheme || !strings.EqualFold(r.URL.Host, d.public.Host) {
		return d.next.RoundTrip(r)
	}
	inside := r.Clone(r.Context())
	if inside.Host == "" {
		inside.Host = r.URL.Host
	}
	inside.URL.Scheme, inside.URL.Host = d.internal.Scheme, d.internal.Host
	if base := strings.TrimSuffix(d.internal.Path, "/"); base != "" {
		inside.URL.Path = base + strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(d.public.Path, "/"))
		inside.URL.RawPath = ""
	}
	return d.next.RoundTrip(inside)
}

// bounded cuts every answer at providerBody bytes.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, providerBody), resp.Body}
	return resp, nil
}

// keyFetches holds fetches of keys to one in keyInterval. It waits rather than
// refuses, so that the first token under a new key is good within its own
// request; go-oidc lets all others wait for the same fetch.
type keyFetches struct {
	next    http.RoundTripper
	limit   *rate.Limiter
	metrics *metrics
}

func (k keyFetches) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := k.limit.Wait(r.Context()); err != nil {
		return nil, errors.Join(errUnavailable, err)
	}
	resp, err := k.next.RoundTrip(r)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = errors.Join(fmt.Errorf("keys: status %d", resp.StatusCode), resp.Body.Close())
	}
	if err != nil {
		k.metrics.keyFetches.WithLabelValues("failed").Inc()
		return nil, errors.Join(errUnavailable, err)
	}
	k.metrics.keyFetches.WithLabelValues("ok").Inc()
	return resp, nil
}

// keySet notes when keys were not to be had: go-oidc's verifier turns every
// failure into text.
type keySet struct{ remote oidc.KeySet }

type keysMissing struct{}

func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, jwt)
	if missing, ok := ctx.Value(keysMissing{}).(*bool); ok && err != nil {
		*missing = errors.Is(err, errUnavailable) || ctx.Err() != nil
	}
	return payload, err
}

// checked runs a verification and says why it failed: errUnavailable or
// errRefused.
func checked[T any](ctx context.Context, verify func(context.Context, string) (T, error), raw string) (T, error) {
	var missing bool
	token, err := verify(context.WithValue(ctx, keysMissing{}, &missing), raw)
	switch {
	case err == nil:
		return token, nil
	case missing:
		return token, errUnavailable
	default:
		return token, fmt.Errorf("%w: %w", errRefused, err)
	}
}
