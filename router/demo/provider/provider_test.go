package provider_test

import (
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bstein.dev/hux/router/demo/provider"
)

// party is a provider on a real socket and a client of it, with a browser.
type party struct {
	*provider.Provider
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
	backchannel := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.logout = append(p.logout, r.PostFormValue("logout_token"))
	}))
	var handler http.Handler
	base := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	p.issuer = base + "/realms/demo"
	provider, err := provider.New(provider.Options{
		Issuer: p.issuer,
		Now:    p.now,
		Clients: []provider.Client{
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
	for _, want := range []string{`data-person="alice"`, "operator", "demo's own OpenID provider"} {
		if !strings.Contains(string(body), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(body), "worker") {
		t.Error("a program is among the people to choose from")
	}
	if res.Header.Get("X-Frame-Options") != "DENY" || !strings.Contains(res.Header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
		t.Error("the page may be framed")
	}
}

// FuzzAuthorize holds that nothing sends a browser to an address that is not
// registered.
func FuzzAuthorize(f *testing.F) {
	provider, err := provider.New(provider.Options{
		Issuer: "http://id.test", Clients: []provider.Client{{ID: "hux", RedirectURIs: []string{callback}}},
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, q := range []string{
		"", "client_id=hux", "client_id=hux&redirect_uri=//evil.test", "client_id=hux&redirect_uri=" + callback,
		"client_id=hux&redirect_uri=" + callback + "&redirect_uri=x", "client_id=hux&redirect_uri=" + callback + "%0d%0ax:y",
		"client_id=hux&redirect_uri=" + callback + "&state=%0d%0a&prompt=none&response_type=code&max_age=-1;x",
	} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		r := httptest.NewRequest(http.MethodGet, "/authorize", nil)
		r.URL.RawQuery = query
		w := httptest.NewRecorder()
		provider.ServeHTTP(w, r)
		if to := w.Header().Get("Location"); to != "" && !strings.HasPrefix(to, callback+"?") {
			t.Errorf("sent to %q", to)
		}
	})
}
