package demo_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bstein.dev/hux/router/demo"
)

// party is a provider on a real socket and a client of it, with a browser.
type party struct {
	*demo.Provider
	t       *testing.T
	issuer  string
	browser *http.Client
	oidc    *oidc.Provider
	config  oauth2.Config

	mu     sync.Mutex
	clock  time.Time
	logout []string // logout tokens received
}

const callback = "http://console.test/callback"

func (p *party) now() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock
}

func (p *party) pass(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clock = p.clock.Add(d)
}

func (p *party) logoutTokens() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.logout...)
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}

func newParty(t *testing.T) *party {
	t.Helper()
	p := &party{t: t, clock: time.Now()}
	backchannel := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.logout = append(p.logout, r.PostFormValue("logout_token"))
	}))
	var handler http.Handler
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	p.issuer = base + "/realms/demo"
	provider, err := demo.NewProvider(demo.ProviderOptions{
		Issuer: p.issuer,
		Now:    p.now,
		Clients: []demo.Client{
			{
				ID: "hux", Secret: "a secret+with%signs", RedirectURIs: []string{callback},
				PostLogoutURIs: []string{"http://console.test/signed-out?x=1"}, BackchannelURI: backchannel,
				Audience: []string{"hux", "hux-api"},
			},
			{ID: "public", RedirectURIs: []string{callback}, RolesInUserinfo: true},
			{ID: "worker", Secret: "w", Service: "worker"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	handler = provider
	p.Provider = provider
	jar, _ := cookiejar.New(nil)
	p.browser = &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	p.oidc, err = oidc.NewProvider(t.Context(), p.issuer)
	if err != nil {
		t.Fatal(err)
	}
	p.config = oauth2.Config{
		ClientID: "hux", ClientSecret: "a secret+with%signs", Endpoint: p.oidc.Endpoint(),
		RedirectURL: callback, Scopes: []string{"openid", "profile"},
	}
	return p
}

// location is where the browser is sent by the answer to a request.
func (p *party) location(method, target string, form url.Values) (int, url.Values) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, target, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := p.browser.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	to, err := res.Location()
	if err != nil {
		return res.StatusCode, nil
	}
	return res.StatusCode, to.Query()
}

// signIn goes through the page and gives the tokens.
func (p *party) signIn(user string) *oauth2.Token {
	p.t.Helper()
	verifier := oauth2.GenerateVerifier()
	target := p.config.AuthCodeURL("st", oidc.Nonce("no"), oauth2.S256ChallengeOption(verifier))
	_, q := p.location(http.MethodPost, target, url.Values{"username": {user}, "password": {user}})
	if q.Get("code") == "" || q.Get("state") != "st" || q.Get("iss") != p.issuer {
		p.t.Fatalf("sign-in of %s came back with %v", user, q)
	}
	token, err := p.config.Exchange(p.t.Context(), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		p.t.Fatal(err)
	}
	return token
}

func (p *party) refresh(token *oauth2.Token) (*oauth2.Token, error) {
	return p.config.TokenSource(p.t.Context(), &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
}

type claims struct {
	Subject  string   `json:"sub"`
	Type     string   `json:"typ"`
	Party    string   `json:"azp"`
	Audience []string `json:"aud"`
	Session  string   `json:"sid"`
	Name     string   `json:"preferred_username"`
	AuthTime int64    `json:"auth_time"`
	Realm    *struct {
		Roles []string `json:"roles"`
	} `json:"realm_access"`
}

func (p *party) accessClaims(token string) claims {
	p.t.Helper()
	verified, err := p.oidc.Verifier(&oidc.Config{SkipClientIDCheck: true, Now: p.now}).Verify(p.t.Context(), token)
	if err != nil {
		p.t.Fatal(err)
	}
	var c claims
	if err := verified.Claims(&c); err != nil {
		p.t.Fatal(err)
	}
	return c
}

func TestCodeFlow(t *testing.T) {
	p := newParty(t)
	token := p.signIn("olga")
	id, err := p.oidc.Verifier(&oidc.Config{ClientID: "hux", Now: p.now}).Verify(t.Context(), token.Extra("id_token").(string))
	if err != nil {
		t.Fatal(err)
	}
	if id.Nonce != "no" || id.Subject != p.Subject("olga") {
		t.Errorf("the ID token has nonce %q and subject %q", id.Nonce, id.Subject)
	}
	if err := id.VerifyAccessToken(token.AccessToken); err != nil {
		t.Errorf("at_hash: %v", err)
	}
	access := p.accessClaims(token.AccessToken)
	if access.Type != "Bearer" || access.Party != "hux" || strings.Join(access.Audience, " ") != "hux hux-api" ||
		access.Name != "olga" || access.Session == "" || access.AuthTime == 0 || access.Realm.Roles[0] != "hux-operator" {
		t.Errorf("the access token has %+v", access)
	}
	info, err := p.oidc.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
	if err != nil || info.Subject != access.Subject {
		t.Errorf("userinfo: %v, %v", info, err)
	}

	t.Run("single sign-on", func(t *testing.T) {
		target := p.config.AuthCodeURL("again", oauth2.S256ChallengeOption(oauth2.GenerateVerifier()))
		if status, q := p.location(http.MethodGet, target, nil); status != http.StatusSeeOther || q.Get("code") == "" {
			t.Errorf("a second sign-in was answered %d, %v", status, q)
		}
		if status, _ := p.location(http.MethodGet, target+"&prompt=login", nil); status != http.StatusOK {
			t.Errorf("prompt=login was answered %d", status)
		}
		p.pass(time.Minute)
		if status, _ := p.location(http.MethodGet, target+"&max_age=30", nil); status != http.StatusOK {
			t.Errorf("max_age was answered %d", status)
		}
	})
}

func TestAuthorizeRefuses(t *testing.T) {
	p := newParty(t)
	challenge := oauth2.S256ChallengeFromVerifier(oauth2.GenerateVerifier())
	good := url.Values{"client_id": {"hux"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid"},
		"state": {"s"}, "code_challenge": {challenge}, "code_challenge_method": {"S256"}}
	for name, c := range map[string]struct {
		change url.Values
		error  string // "" for a page instead of a redirect
	}{
		"no PKCE":           {url.Values{"code_challenge": nil, "code_challenge_method": nil}, "invalid_request"},
		"plain PKCE":        {url.Values{"code_challenge_method": {"plain"}}, "invalid_request"},
		"no method":         {url.Values{"code_challenge_method": nil}, "invalid_request"},
		"short challenge":   {url.Values{"code_challenge": {"short"}}, "invalid_request"},
		"implicit":          {url.Values{"response_type": {"id_token token"}}, "unsupported_response_type"},
		"no openid":         {url.Values{"scope": {"profile"}}, "invalid_scope"},
		"silent":            {url.Values{"prompt": {"none"}}, "login_required"},
		"request object":    {url.Values{"request": {"e30.e30."}}, "request_not_supported"},
		"unknown client":    {url.Values{"client_id": {"x"}}, ""},
		"foreign redirect":  {url.Values{"redirect_uri": {callback + "/x"}}, ""},
		"twice a parameter": {url.Values{"state": {"a", "b"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := url.Values{}
			for k, v := range good {
				q[k] = v
			}
			for k, v := range c.change {
				q[k] = v
			}
			status, got := p.location(http.MethodGet, p.issuer+"/authorize?"+q.Encode(), nil)
			if c.error == "" {
				if status != http.StatusBadRequest {
					t.Errorf("answered %d, want a page with 400", status)
				}
			} else if got.Get("error") != c.error || got.Get("state") != "s" || got.Get("iss") != p.issuer || got.Has("code") {
				t.Errorf("answered %d, %v, want the error %s", status, got, c.error)
			}
		})
	}
	target := p.issuer + "/authorize?" + good.Encode()
	if status, _ := p.location(http.MethodPost, target, url.Values{"username": {"alice"}, "password": {"bob"}}); status != http.StatusUnauthorized {
		t.Errorf("a wrong password was answered %d", status)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader("username=alice&password=alice"))
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Sec-Fetch-Site", "cross-site")
	res, err := p.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("another site's form was answered %d", res.StatusCode)
	}
}

func TestCodeOnce(t *testing.T) {
	p := newParty(t)
	verifier := oauth2.GenerateVerifier()
	code := func() string {
		_, q := p.location(http.MethodPost, p.config.AuthCodeURL("", oauth2.S256ChallengeOption(verifier)),
			url.Values{"username": {"alice"}, "password": {"alice"}})
		return q.Get("code")
	}
	refused := func(t *testing.T, code string, options ...oauth2.AuthCodeOption) {
		t.Helper()
		_, err := p.config.Exchange(t.Context(), code, options...)
		wantOAuthError(t, err, "invalid_grant")
	}
	t.Run("replay withdraws the tokens", func(t *testing.T) {
		c := code()
		token, err := p.config.Exchange(t.Context(), c, oauth2.VerifierOption(verifier))
		if err != nil {
			t.Fatal(err)
		}
		refused(t, c, oauth2.VerifierOption(verifier))
		_, err = p.refresh(token)
		wantOAuthError(t, err, "invalid_grant")
	})
	t.Run("no verifier", func(t *testing.T) { refused(t, code()) })
	t.Run("wrong verifier", func(t *testing.T) { refused(t, code(), oauth2.VerifierOption(oauth2.GenerateVerifier())) })
	t.Run("expired", func(t *testing.T) {
		c := code()
		p.pass(2 * time.Minute)
		refused(t, c, oauth2.VerifierOption(verifier))
	})
}

func wantOAuthError(t *testing.T, err error, code string) {
	t.Helper()
	refused, ok := err.(*oauth2.RetrieveError)
	if !ok || refused.ErrorCode != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

func TestRefresh(t *testing.T) {
	p := newParty(t)
	first := p.signIn("alice")
	if err := p.SetRoles("alice", "hux-operator"); err != nil {
		t.Fatal(err)
	}
	second, err := p.refresh(first)
	if err != nil {
		t.Fatal(err)
	}
	if second.RefreshToken == first.RefreshToken {
		t.Error("the refresh token did not change")
	}
	if got := p.accessClaims(second.AccessToken); len(got.Realm.Roles) != 1 || got.Session != p.accessClaims(first.AccessToken).Session {
		t.Errorf("after the refresh: %+v", got)
	}
	_, err = p.refresh(first)
	wantOAuthError(t, err, "invalid_grant")
	_, err = p.refresh(second)
	wantOAuthError(t, err, "invalid_grant") // the family went with it

	third := p.signIn("bob")
	old := p.Subject("bob")
	if err := p.RemovePerson("bob"); err != nil {
		t.Fatal(err)
	}
	_, err = p.refresh(third)
	wantOAuthError(t, err, "invalid_grant")
	if err := p.AddPerson(demo.Person{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	if p.Subject("bob") == old {
		t.Error("a person who came back has the old subject")
	}
}

func TestTokenEndpoint(t *testing.T) {
	p := newParty(t)
	for name, c := range map[string]struct {
		form, user, password string
		status               int
		error                string
	}{
		"service":          {"grant_type=client_credentials", "worker", "w", 200, ""},
		"service by post":  {"grant_type=client_credentials&client_id=worker&client_secret=w", "", "", 200, ""},
		"no service":       {"grant_type=client_credentials", "hux", "a+secret%2Bwith%25signs", 400, "unauthorized_client"},
		"wrong secret":     {"grant_type=client_credentials", "worker", "x", 401, "invalid_client"},
		"no client":        {"grant_type=client_credentials", "", "", 401, "invalid_client"},
		"both ways":        {"grant_type=client_credentials&client_secret=w", "worker", "w", 400, "invalid_request"},
		"password grant":   {"grant_type=password&username=alice&password=alice", "worker", "w", 400, "unsupported_grant_type"},
		"twice":            {"grant_type=a&grant_type=b", "worker", "w", 400, "invalid_request"},
		"unknown code":     {"grant_type=authorization_code&code=x", "worker", "w", 400, "invalid_grant"},
		"unknown refresh":  {"grant_type=refresh_token&refresh_token=x.y", "worker", "w", 400, "invalid_grant"},
		"public by secret": {"grant_type=refresh_token&client_id=public&client_secret=x", "", "", 401, "invalid_client"},
	} {
		t.Run(name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, p.issuer+"/token", strings.NewReader(c.form))
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			if c.user != "" {
				req.SetBasicAuth(c.user, c.password)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			var got struct {
				Error  string `json:"error"`
				Access string `json:"access_token"`
			}
			if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != c.status || got.Error != c.error || (got.Access == "") != (c.error != "") {
				t.Errorf("answered %d %q", res.StatusCode, got.Error)
			}
			if res.Header.Get("Cache-Control") != "no-store" {
				t.Error("the answer may be cached")
			}
			if c.error == "" {
				if got := p.accessClaims(got.Access); got.Party != "worker" || got.Name != "worker" || got.Realm.Roles[0] != "hux-worker" {
					t.Errorf("the token has %+v", got)
				}
			}
		})
	}
}

func TestEndSession(t *testing.T) {
	p := newParty(t)
	end := p.issuer + "/end-session?"
	after := "http://console.test/signed-out?x=1"

	token := p.signIn("alice")
	hint := token.Extra("id_token").(string)
	sid := p.accessClaims(token.AccessToken).Session
	status, q := p.location(http.MethodGet, end+url.Values{"id_token_hint": {hint}, "post_logout_redirect_uri": {after}, "state": {"z"}}.Encode(), nil)
	if status != http.StatusSeeOther || q.Get("state") != "z" || q.Get("x") != "1" {
		t.Errorf("sign-out with a hint was answered %d, %v", status, q)
	}
	if len(p.Sessions("alice")) != 0 {
		t.Error("the session is still there")
	}
	_, err := p.refresh(token)
	wantOAuthError(t, err, "invalid_grant")
	tokens := p.logoutTokens()
	if len(tokens) != 1 {
		t.Fatalf("%d logout tokens were sent, want 1", len(tokens))
	}
	logout, err := p.oidc.Verifier(&oidc.Config{ClientID: "hux", Now: p.now}).VerifyLogout(t.Context(), tokens[0])
	if err != nil {
		t.Fatal(err)
	}
	if logout.SessionID != sid || logout.Subject != p.Subject("alice") {
		t.Errorf("the logout token names %q of %q", logout.SessionID, logout.Subject)
	}

	token = p.signIn("alice")
	if status, _ := p.location(http.MethodGet, end, nil); status != http.StatusOK || len(p.Sessions("alice")) != 1 {
		t.Errorf("sign-out without a hint was answered %d without asking", status)
	}
	if status, _ := p.location(http.MethodGet, end+"confirm=yes", nil); status != http.StatusOK || len(p.Sessions("alice")) != 1 {
		t.Error("a GET counts as the answer to the question")
	}
	foreign := url.Values{"post_logout_redirect_uri": {"http://evil.test/"}, "client_id": {"hux"}}
	if status, q := p.location(http.MethodPost, end+foreign.Encode(), url.Values{"confirm": {"yes"}}); status != http.StatusOK || q != nil || len(p.Sessions("alice")) != 0 {
		t.Errorf("after the question: %d, %v", status, q)
	}
	if status, _ := p.location(http.MethodGet, end+"id_token_hint="+token.AccessToken, nil); status != http.StatusBadRequest {
		t.Errorf("an access token as the hint was answered %d", status)
	}

	p.signIn("bob")
	if err := p.EndSessions(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	if n := len(p.logoutTokens()); n != 3 {
		t.Errorf("%d logout tokens, want 3", n)
	}
}

func TestKeysAndForgeries(t *testing.T) {
	p := newParty(t)
	fetches := p.KeyFetches()
	token, err := p.Token("alice")
	if err != nil {
		t.Fatal(err)
	}
	p.accessClaims(token)
	if err := p.RotateKey(); err != nil {
		t.Fatal(err)
	}
	p.accessClaims(token) // the old key is still published
	if token, err = p.Token("alice"); err != nil {
		t.Fatal(err)
	}
	p.accessClaims(token)
	if p.KeyFetches() == fetches {
		t.Error("key fetches are not counted")
	}
	payload, err := p.Claims("alice")
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []map[string]any{{"alg": "none"}, {"alg": "HS256"}, {"kid": "nobody's"}} {
		forged, err := p.Sign(header, payload)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.oidc.Verifier(&oidc.Config{SkipClientIDCheck: true}).Verify(context.Background(), forged); err == nil {
			t.Errorf("a token with the header %v passes", header)
		}
	}
	p.SetDown(true)
	res, err := http.Get(p.issuer + "/.well-known/openid-configuration")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("down, it answers %d", res.StatusCode)
	}
	p.SetDown(false)

	again, err := demo.NewProvider(demo.ProviderOptions{Issuer: "http://other.test"})
	if err != nil {
		t.Fatal(err)
	}
	if again.Subject("alice") != p.Subject("alice") || again.Subject("alice") == again.Subject("bob") {
		t.Error("subjects are not stable")
	}
}

func TestRolesInUserinfo(t *testing.T) {
	p := newParty(t)
	p.config.ClientID, p.config.ClientSecret = "public", ""
	token := p.signIn("olga")
	if c := p.accessClaims(token.AccessToken); c.Realm != nil {
		t.Error("the access token has roles")
	}
	info, err := p.oidc.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
	if err != nil {
		t.Fatal(err)
	}
	var c claims
	if err := info.Claims(&c); err != nil || c.Realm == nil || c.Realm.Roles[0] != "hux-operator" {
		t.Errorf("userinfo has %+v, %v", c, err)
	}
}

func TestSignInPage(t *testing.T) {
	p := newParty(t)
	res, err := p.browser.Get(p.config.AuthCodeURL("", oauth2.S256ChallengeOption(oauth2.GenerateVerifier())))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`data-person="alice"`, `data-person="worker"`, "operator", "demo's own OpenID provider"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if res.Header.Get("X-Frame-Options") != "DENY" || !strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Error("the page may be framed")
	}
}
