package provider_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bstein.dev/hux/router/demo/provider"
)

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
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.ErrorCode != code {
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
	if err := p.AddPerson(provider.Person{Name: "bob"}); err != nil {
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

	again, err := provider.New(provider.Options{Issuer: "http://other.test"})
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
