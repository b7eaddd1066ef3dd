package provider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// grant is what a person gave a client: the state behind its refresh token,
// which reads "<grant id>.<secret>". Each use changes the secret.
type grant struct {
	id      string
	secret  string
	client  string
	scope   string
	nonce   string
	sid     string
	subject string
	since   time.Time // auth_time
	expires time.Time
}

// oauthError is an error answer of RFC 6749 section 5.2.
type oauthError struct {
	status int
	Code   string `json:"error"`
	Detail string `json:"error_description,omitempty"`
}

func (e *oauthError) Error() string { return e.Code + ": " + e.Detail }

func invalidGrant(detail string) error {
	return &oauthError{http.StatusBadRequest, "invalid_grant", detail}
}

func invalidRequest(detail string) error {
	return &oauthError{http.StatusBadRequest, "invalid_request", detail}
}

// serveToken is the token endpoint (RFC 6749 section 3.2).
func (p *Provider) serveToken(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Pragma", "no-cache")
	tokens, err := p.grantTokens(r)
	var refused *oauthError
	switch {
	case err == nil:
		answer(w, http.StatusOK, tokens)
	case errors.As(err, &refused):
		if refused.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="hux demo"`)
		}
		answer(w, refused.status, refused)
	default:
		answer(w, http.StatusInternalServerError, &oauthError{Code: "server_error"})
	}
}

func (p *Provider) grantTokens(r *http.Request) (map[string]any, error) {
	if err := r.ParseForm(); err != nil {
		return nil, invalidRequest("The body is not a form.")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return nil, invalidRequest("The parameter " + name + " came twice.")
		}
	}
	client, err := p.authenticate(r)
	if err != nil {
		return nil, err
	}
	switch form := r.PostForm; form.Get("grant_type") {
	case "authorization_code":
		return p.redeemCode(client, form)
	case "refresh_token":
		return p.refresh(client, form)
	case "client_credentials":
		return p.serviceToken(client, form)
	default:
		return nil, &oauthError{http.StatusBadRequest, "unsupported_grant_type", "Use authorization_code, refresh_token or client_credentials."}
	}
}

// authenticate finds the client by its secret, in the header or in the body
// (RFC 6749 section 2.3.1), never in both.
func (p *Provider) authenticate(r *http.Request) (Client, error) {
	wrong := &oauthError{http.StatusUnauthorized, "invalid_client", "No client has this id and secret."}
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if user, password, ok := r.BasicAuth(); ok {
		if secret != "" {
			return Client{}, invalidRequest("Send the client's secret once.")
		}
		var err1, err2 error
		basicID := ""
		basicID, err1 = url.QueryUnescape(user)
		secret, err2 = url.QueryUnescape(password)
		if err1 != nil || err2 != nil || id != "" && id != basicID {
			return Client{}, wrong
		}
		id = basicID
	}
	client, ok := p.clients[id]
	if !ok || !same(client.Secret, secret) {
		return Client{}, wrong
	}
	return client, nil
}

func (p *Provider) redeemCode(client Client, form url.Values) (map[string]any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.codes.Get(form.Get("code"))
	if !ok || c.client != client.ID || p.now().After(c.expires) {
		return nil, invalidGrant("The code is unknown or expired.")
	}
	if c.grant != "" {
		p.grants.Remove(c.grant) // stolen or repeated: RFC 6749 section 4.1.2
		return nil, invalidGrant("The code was used before; its tokens are withdrawn.")
	}
	verifier := form.Get("code_verifier")
	sum := sha256.Sum256([]byte(verifier))
	if form.Get("redirect_uri") != c.redirect {
		p.codes.Remove(form.Get("code"))
		return nil, invalidGrant("The redirect_uri is not the one the code was made for.")
	}
	if !isVerifier(verifier) || !same(base64.RawURLEncoding.EncodeToString(sum[:]), c.challenge) {
		p.codes.Remove(form.Get("code"))
		return nil, invalidGrant("The code_verifier does not match the challenge.")
	}
	g := &grant{
		id: rand.Text(), client: client.ID, scope: c.scope, nonce: c.nonce,
		sid: c.session.sid, subject: c.session.subject, since: c.session.since,
	}
	c.grant = g.id
	p.grants.Put(g.id, g)
	return p.tokensFor(client, g)
}

func (p *Provider) refresh(client Client, form url.Values) (map[string]any, error) {
	id, secret, _ := strings.Cut(form.Get("refresh_token"), ".")
	p.mu.Lock()
	defer p.mu.Unlock()
	g, ok := p.grants.Get(id)
	if !ok || g.client != client.ID {
		return nil, invalidGrant("The refresh token is unknown.")
	}
	if !same(g.secret, secret) || p.now().After(g.expires) {
		p.grants.Remove(id) // an old one came back: somebody has a copy (RFC 9700 section 4.14)
		return nil, invalidGrant("The refresh token was used before or is expired.")
	}
	return p.tokensFor(client, g)
}

// tokensFor makes the tokens of a grant and changes its refresh token; the
// caller holds mu, which is let go while signing.
func (p *Provider) tokensFor(client Client, g *grant) (map[string]any, error) {
	who := p.bySubject(g.subject)
	if who == nil {
		p.grants.Remove(g.id)
		return nil, invalidGrant("The person is gone.")
	}
	now := p.now()
	g.secret, g.expires = rand.Text(), now.Add(grantLifetime)
	refresh := g.id + "." + g.secret
	accessClaims := p.accessClaims(client, who, now)
	accessClaims["sid"], accessClaims["auth_time"], accessClaims["scope"] = g.sid, g.since.Unix(), g.scope
	idClaims := p.profile(who)
	maps.Copy(idClaims, map[string]any{
		"iss": p.issuer, "aud": client.ID, "azp": client.ID, "typ": "ID", "jti": uuid.NewString(),
		"iat": now.Unix(), "exp": now.Add(p.accessLifetime).Unix(), "auth_time": g.since.Unix(), "sid": g.sid,
	})
	if g.nonce != "" {
		idClaims["nonce"] = g.nonce
	}
	scope := g.scope

	p.mu.Unlock()
	defer p.mu.Lock()
	access, err := p.Sign(nil, accessClaims)
	if err != nil {
		return nil, err
	}
	half := sha256.Sum256([]byte(access))
	idClaims["at_hash"] = base64.RawURLEncoding.EncodeToString(half[:16])
	id, err := p.Sign(nil, idClaims)
	if err != nil {
		return nil, err
	}
	return map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": int(p.accessLifetime.Seconds()),
		"refresh_token": refresh, "refresh_expires_in": int(grantLifetime.Seconds()),
		"id_token": id, "scope": scope,
	}, nil
}

func (p *Provider) serviceToken(client Client, form url.Values) (map[string]any, error) {
	if client.Secret == "" || client.Service == "" {
		return nil, &oauthError{http.StatusBadRequest, "unauthorized_client", "The client is no service."}
	}
	token, err := p.tokenOf(client, client.Service)
	if err != nil {
		return nil, invalidGrant("The service's person is gone.")
	}
	return map[string]any{
		"access_token": token, "token_type": "Bearer",
		"expires_in": int(p.accessLifetime.Seconds()), "scope": form.Get("scope"),
	}, nil
}

// Token makes an access token of a person for the TokenClient, as a command
// line tool would get it.
func (p *Provider) Token(user string) (string, error) {
	client, ok := p.clients[p.tokenClient]
	if !ok {
		return "", fmt.Errorf("demo: the provider has no client %q to make tokens for", p.tokenClient)
	}
	return p.tokenOf(client, user)
}

// Claims are what Token would sign, for a test to change and Sign.
func (p *Provider) Claims(user string) (map[string]any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.person(user)
	if who == nil {
		return nil, unknownPerson(user)
	}
	return p.accessClaims(p.clients[p.tokenClient], who, p.now()), nil
}

func (p *Provider) tokenOf(client Client, user string) (string, error) {
	p.mu.Lock()
	who := p.person(user)
	if who == nil {
		p.mu.Unlock()
		return "", unknownPerson(user)
	}
	claims := p.accessClaims(client, who, p.now())
	claims["auth_time"] = p.now().Unix() // as if they had just signed in
	p.mu.Unlock()
	return p.Sign(nil, claims)
}

// accessClaims are an access token's claims in Keycloak's shape.
func (p *Provider) accessClaims(client Client, who *Person, now time.Time) map[string]any {
	claims := p.profile(who)
	maps.Copy(claims, map[string]any{
		"iss": p.issuer, "aud": client.Audience, "azp": client.ID, "typ": "Bearer", "jti": uuid.NewString(),
		"iat": now.Unix(), "exp": now.Add(p.accessLifetime).Unix(), "acr": "1", "scope": "openid profile email",
	})
	if !client.RolesInUserinfo {
		claims["realm_access"] = realmAccess(who)
	}
	return claims
}

func (p *Provider) profile(who *Person) map[string]any {
	return map[string]any{
		"sub": who.Subject, "preferred_username": who.Name, "name": who.FullName,
		"email": who.Name + "@people.example", "email_verified": true,
	}
}

func realmAccess(who *Person) map[string]any {
	roles := slices.Clone(who.Roles)
	if roles == nil {
		roles = []string{}
	}
	return map[string]any{"roles": roles}
}

// serveUserinfo answers for the person of an access token of ours (OpenID
// Connect Core section 5.3).
func (p *Provider) serveUserinfo(w http.ResponseWriter, r *http.Request) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	claims, err := p.verify(token)
	if !ok || err != nil || claims["typ"] != "Bearer" || !p.unexpired(claims) {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		answer(w, http.StatusUnauthorized, &oauthError{Code: "invalid_token"})
		return
	}
	subject, _ := claims["sub"].(string)
	p.mu.Lock()
	who := p.bySubject(subject)
	var info map[string]any
	if who != nil {
		info = p.profile(who)
		info["realm_access"] = realmAccess(who)
	}
	p.mu.Unlock()
	if info == nil {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		answer(w, http.StatusUnauthorized, &oauthError{Code: "invalid_token", Detail: "The person is gone."})
		return
	}
	answer(w, http.StatusOK, info)
}

func (p *Provider) unexpired(claims map[string]any) bool {
	exp, ok := claims["exp"].(float64)
	return ok && p.now().Unix() < int64(exp)
}
