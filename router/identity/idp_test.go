package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	clientID     = "hux"
	clientSecret = "a secret of the tests"
)

// idp is a small OpenID provider on a real socket. Whoever comes to its
// authorization endpoint is signed in as subject.
type idp struct {
	*httptest.Server
	now    func() time.Time
	issuer string

	mu         sync.Mutex
	key        *ecdsa.PrivateKey
	kid        string
	subject    string
	roles      []string
	lifetime   time.Duration // of access tokens
	down       bool          // every endpoint answers 503
	keysDown   bool
	refuse     string         // the token endpoint's next answers: an OAuth error code
	idClaims   map[string]any // over the ID token's own; nil removes one
	atClaims   map[string]any // over the access token's own
	opaque     bool           // access tokens are no JWTs, roles in the userinfo
	noIss      bool
	codes      map[string]url.Values // code → the authorization request
	refresh    map[string]string     // refresh token → subject
	newest     string                // refresh token
	keyFetches int
	redeemed   int           // requests for tokens
	hold       chan struct{} // while it is open, the token endpoint's answers are made and not sent
	holdFind   chan struct{} // while it is open, its discovery document is not sent
	hosts      []string
}

func newIDP(t testing.TB, now func() time.Time) *idp {
	t.Helper()
	p := &idp{now: now, subject: "s-alice", lifetime: 5 * time.Minute, codes: map[string]url.Values{}, refresh: map[string]string{}}
	p.rotate(t)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		p.writeJSON(w, 200, map[string]any{
			"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": p.issuer + "/token",
			"userinfo_endpoint": p.issuer + "/userinfo", "jwks_uri": p.issuer + "/keys", "end_session_endpoint": p.issuer + "/logout",
			"authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("GET /keys", p.serveKeys)
	mux.HandleFunc("GET /authorize", p.serveAuthorize)
	mux.HandleFunc("POST /token", p.serveToken)
	mux.HandleFunc("GET /userinfo", func(w http.ResponseWriter, _ *http.Request) {
		p.writeJSON(w, 200, map[string]any{"sub": p.subject, "realm_access": map[string]any{"roles": p.roles}})
	})
	mux.HandleFunc("GET /logout", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("post_logout_redirect_uri"), http.StatusFound)
	})
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.hosts = append(p.hosts, r.Host)
		answer := httptest.NewRecorder()
		if p.down {
			http.Error(answer, "down", http.StatusServiceUnavailable)
		} else {
			mux.ServeHTTP(answer, r)
		}
		hold := map[string]chan struct{}{"/token": p.hold, "/.well-known/openid-configuration": p.holdFind}[r.URL.Path]
		p.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = answer.Body.WriteTo(w)
	}))
	t.Cleanup(p.Close)
	p.issuer = p.URL
	return p
}

// redemptions counts the requests for tokens.
func (p *idp) redemptions() int { p.mu.Lock(); defer p.mu.Unlock(); return p.redeemed }

// fetches counts the requests for keys.
func (p *idp) fetches() int { p.mu.Lock(); defer p.mu.Unlock(); return p.keyFetches }

// set changes the provider's behaviour.
func (p *idp) set(change func(*idp)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(p)
}

func (p *idp) rotate(t testing.TB) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.kid = key, rand.Text()
}

func (p *idp) writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func (p *idp) serveKeys(w http.ResponseWriter, _ *http.Request) {
	p.keyFetches++
	if p.keysDown {
		http.Error(w, "down", http.StatusServiceUnavailable)
		return
	}
	p.writeJSON(w, 200, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{
		{Key: p.key.Public(), KeyID: p.kid, Algorithm: "ES256", Use: "sig"},
	}})
}

func (p *idp) serveAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != clientID || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	p.codes[code] = q
	back := url.Values{"code": {code}, "state": {q.Get("state")}}
	if !p.noIss {
		back.Set("iss", p.issuer)
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

func (p *idp) serveToken(w http.ResponseWriter, r *http.Request) {
	p.redeemed++
	refuse := func(code string) { p.writeJSON(w, 400, map[string]string{"error": code}) }
	if user, pass, ok := r.BasicAuth(); !ok || user != clientID || pass != url.QueryEscape(clientSecret) {
		p.writeJSON(w, 401, map[string]string{"error": "invalid_client"})
		return
	}
	if p.refuse != "" {
		refuse(p.refuse)
		return
	}
	subject, nonce := "", ""
	switch r.FormValue("grant_type") {
	case "authorization_code":
		q, ok := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") {
			refuse("invalid_grant")
			return
		}
		subject, nonce = p.subject, q.Get("nonce")
	case "refresh_token":
		var ok bool
		if subject, ok = p.refresh[r.FormValue("refresh_token")]; !ok {
			refuse("invalid_grant")
			return
		}
		delete(p.refresh, r.FormValue("refresh_token"))
	}
	access := p.signLocked(nil, p.access(subject))
	if p.opaque {
		access = rand.Text()
	}
	sum := sha256.Sum256([]byte(access))
	id := p.claims(subject, map[string]any{
		"aud": clientID, "typ": "ID", "sid": "sid-" + subject, "auth_time": p.now().Unix(), "name": "Alice Example",
		"at_hash": base64.RawURLEncoding.EncodeToString(sum[:16]),
	})
	if nonce != "" {
		id["nonce"] = nonce
	}
	overlay(id, p.idClaims)
	refresh := rand.Text()
	p.refresh[refresh], p.newest = subject, refresh
	p.writeJSON(w, 200, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": int(p.lifetime.Seconds()),
		"refresh_token": refresh, "id_token": p.signLocked(nil, id),
	})
}

func (p *idp) claims(subject string, more map[string]any) map[string]any {
	c := map[string]any{"iss": p.issuer, "sub": subject, "iat": p.now().Unix(), "exp": p.now().Add(p.lifetime).Unix(), "azp": clientID}
	maps.Copy(c, more)
	return c
}

func (p *idp) access(subject string) map[string]any {
	c := p.claims(subject, map[string]any{
		"aud": []string{clientID, "account"}, "typ": "Bearer", "realm_access": map[string]any{"roles": append([]string{"offline_access"}, p.roles...)},
	})
	overlay(c, p.atClaims)
	return c
}

// overlay puts more over c; a nil value removes the claim.
func overlay(c, more map[string]any) {
	for k, v := range more {
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
}

// token is an access token of subject with changed claims and header members.
func (p *idp) token(header, claims map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.access(p.subject)
	overlay(c, claims)
	return p.signLocked(header, c)
}

// logoutToken is a back-channel logout token with changed claims.
func (p *idp) logoutToken(header, claims map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := map[string]any{
		"iss": p.issuer, "aud": clientID, "iat": p.now().Unix(), "exp": p.now().Add(2 * time.Minute).Unix(), "jti": rand.Text(),
		"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}},
	}
	overlay(c, claims)
	return p.signLocked(header, c)
}

func (p *idp) signLocked(header, claims map[string]any) string {
	return sign(jose.ES256, jose.JSONWebKey{Key: p.key, KeyID: p.kid}, header, claims)
}

func sign(alg jose.SignatureAlgorithm, key any, header, claims map[string]any) string {
	opts := &jose.SignerOptions{}
	for k, v := range header {
		opts.WithHeader(jose.HeaderKey(k), v)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, opts)
	if err != nil {
		panic(err)
	}
	payload, _ := json.Marshal(claims)
	signed, err := signer.Sign(payload)
	if err != nil {
		panic(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		panic(err)
	}
	return compact
}

// unsigned is a token of alg none.
func unsigned(claims map[string]any) string {
	payload, _ := json.Marshal(claims)
	return strings.Join([]string{
		base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)), base64.RawURLEncoding.EncodeToString(payload), "",
	}, ".")
}
