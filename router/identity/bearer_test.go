package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"bstein.dev/hux/router/identity"
)

const apiURL = "https://api.example.test"

func TestBearerAccepted(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.roles = []string{"hux-worker"} })
	b := rt.browser()
	for name, token := range map[string]string{
		"Keycloak's":     rt.idp.token(nil, nil),
		"typ JWT":        rt.idp.token(map[string]any{"typ": "JWT"}, nil),
		"RFC 9068":       rt.idp.token(map[string]any{"typ": "at+jwt"}, map[string]any{"typ": nil, "azp": nil, "client_id": "cli"}),
		"long media typ": rt.idp.token(map[string]any{"typ": "application/at+JWT"}, map[string]any{"typ": nil}),
		"other client":   rt.idp.token(nil, map[string]any{"azp": "cli"}),
		"clocks differ":  rt.idp.token(nil, map[string]any{"iat": rt.clock.Now().Unix() + 20, "nbf": rt.clock.Now().Unix() + 20}),
		"just over":      rt.idp.token(nil, map[string]any{"exp": rt.clock.Now().Unix() - 5}),
	} {
		for _, u := range []string{apiURL, chatURL, consoleURL} {
			a := b.get(u+"/who", "Authorization", "Bearer "+token)
			if a.StatusCode != 200 || !strings.Contains(a.body, string(rt.user("s-alice"))) || !strings.Contains(a.body, `"kind":"worker"`) {
				t.Errorf("%s at %s: %d %s", name, u, a.StatusCode, a.body)
			}
		}
	}
}

func TestBearerRefused(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	now := rt.clock.Now().Unix()
	base := map[string]any{
		"iss": rt.idp.issuer, "sub": "s-alice", "aud": clientID, "azp": clientID, "typ": "Bearer", "iat": now, "exp": now + 300,
	}
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(rt.idp.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	with := func(claims map[string]any) string { return rt.idp.token(nil, claims) }
	tokens := map[string]string{
		"aud of another":          with(map[string]any{"aud": "another"}),
		"no aud":                  with(map[string]any{"aud": nil}),
		"foreign azp":             with(map[string]any{"azp": "another"}),
		"foreign azp, many auds":  with(map[string]any{"aud": []string{clientID, "another"}, "azp": "another"}),
		"foreign client_id":       with(map[string]any{"client_id": "another"}),
		"no azp":                  with(map[string]any{"azp": nil}),
		"refresh":                 with(map[string]any{"typ": "Refresh"}),
		"ID token":                with(map[string]any{"typ": "ID"}),
		"no typ":                  with(map[string]any{"typ": nil}),
		"logout":                  rt.idp.logoutToken(nil, map[string]any{"sub": "s-alice", "azp": clientID, "typ": "Logout"}),
		"logout as Bearer":        rt.idp.logoutToken(nil, map[string]any{"sub": "s-alice", "azp": clientID, "typ": "Bearer"}),
		"logout header":           rt.idp.token(map[string]any{"typ": "logout+jwt"}, nil),
		"ID token in at+jwt":      rt.idp.token(map[string]any{"typ": "at+jwt"}, map[string]any{"typ": "ID"}),
		"another realm":           with(map[string]any{"iss": rt.idp.issuer + "/realms/other"}),
		"issuer with a slash":     with(map[string]any{"iss": rt.idp.issuer + "/"}),
		"no sub":                  with(map[string]any{"sub": nil}),
		"empty sub":               with(map[string]any{"sub": ""}),
		"expired":                 with(map[string]any{"exp": now - 60}),
		"no exp":                  with(map[string]any{"exp": nil}),
		"not yet":                 with(map[string]any{"nbf": now + 60}),
		"issued later":            with(map[string]any{"iat": now + 60}),
		"bound to a key":          with(map[string]any{"cnf": map[string]any{"jkt": "x"}}),
		"alg none":                unsigned(base),
		"HS256, public key":       sign(jose.HS256, public, map[string]any{"kid": rt.idp.kid}, base),
		"HS256, public key bytes": sign(jose.HS256, der, map[string]any{"kid": rt.idp.kid}, base),
		"too long":                with(map[string]any{"pad": strings.Repeat("x", 9000)}),
		"not a token":             "x",
		"two dots":                "a.b.c",
	}
	b := rt.browser()
	b.signIn() // a good cookie must not help
	for name, token := range tokens {
		a := b.get(chatURL+"/who", "Authorization", "Bearer "+token)
		if a.StatusCode != 401 || !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: %d %q", name, a.StatusCode, a.Header.Get("WWW-Authenticate"))
		}
	}
	for _, header := range []string{"Basic YTpi", "Bearer", "Bearer ", "bearer a b", "DPoP " + with(nil)} {
		if a := b.get(chatURL+"/who", "Authorization", header); a.StatusCode != 401 {
			t.Errorf("%s: %d", header, a.StatusCode)
		}
	}
	good := "Bearer " + with(nil)
	if a := b.get(apiURL+"/who", "Authorization", good, "Authorization", good); a.StatusCode != 400 || !strings.Contains(a.body, "bad_identity") {
		t.Errorf("two headers: %d %s", a.StatusCode, a.body)
	}
	if a := b.get(apiURL+"/who", "Authorization", good); a.StatusCode != 200 {
		t.Errorf("one header: %d", a.StatusCode)
	}
	// Last, since each costs a wait for keys.
	forged := sign(jose.ES256, jose.JSONWebKey{Key: other, KeyID: rt.idp.kid}, nil, base)
	if a := b.get(apiURL+"/who", "Authorization", "Bearer "+forged); a.StatusCode != 401 {
		t.Errorf("another key: %d", a.StatusCode)
	}
}

func TestAlgorithmsAreChosen(t *testing.T) {
	rt := newRouter(t, func(o *identity.Options) { o.Algorithms = []string{"ES256"} })
	o := rt.options
	for _, alg := range []string{"HS256", "none", "", "RS1"} {
		o.Algorithms = []string{alg}
		if _, err := identity.New(o); err == nil {
			t.Errorf("%q may be configured", alg)
		}
	}
}

func TestBearerEndsWithItsToken(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	b := rt.browser()
	token := rt.idp.token(nil, map[string]any{"exp": rt.clock.Now().Unix() + 2})
	ends(t, b.stream(apiURL+"/stream", "Authorization", "Bearer "+token))
	rt.clock.Advance(time.Minute)
	if a := b.get(apiURL+"/who", "Authorization", "Bearer "+token); a.StatusCode != 401 {
		t.Errorf("a remembered token outlives its end: %d", a.StatusCode)
	}
}

func TestKeyFetchesAreFew(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	rt.browser().signIn()
	forger, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := func(token string) bool {
		r := httptest.NewRequest(http.MethodGet, apiURL+"/who", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		id, _, err := rt.Authenticate(r, identity.API)
		return id != nil && err == nil
	}
	claims := map[string]any{
		"iss": rt.idp.issuer, "sub": "s-alice", "aud": clientID, "azp": clientID, "typ": "Bearer", "exp": rt.clock.Now().Unix() + 300,
	}
	before, start := rt.idp.fetches(), time.Now()
	var wg sync.WaitGroup
	for i := range 1000 {
		if i == 500 {
			// A new key, amid all that, is good within its first request.
			rt.idp.rotate(t)
			wg.Go(func() {
				if !good(rt.idp.token(nil, nil)) {
					t.Error("the first token under a new key is refused")
				}
			})
		}
		wg.Go(func() {
			if good(sign(jose.ES256, jose.JSONWebKey{Key: forger, KeyID: fmt.Sprint("unknown-", i)}, nil, claims)) {
				t.Error("a forged token is good")
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	fetched := rt.idp.fetches() - before
	t.Logf("1,000 forged tokens: %d key fetches in %v", fetched, took.Round(time.Millisecond))
	if most := 1 + int(took/(3*time.Second)); fetched > most {
		t.Errorf("%d key fetches in %v, at most %d are due", fetched, took, most)
	}
}

// With the keys out of reach a session goes on, and a token that
// cannot be checked is not called wrong.
func TestKeysDown(t *testing.T) {
	t.Parallel()
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	rt.idp.set(func(p *idp) { p.keysDown = true })
	rt.restart()
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Errorf("a session: %d", got)
	}
	a := b.get(apiURL+"/who", "Authorization", "Bearer "+rt.idp.token(nil, nil))
	if a.StatusCode != 503 || a.Header.Get("Retry-After") == "" {
		t.Errorf("a token: %d", a.StatusCode)
	}
	rt.clock.Advance(5 * time.Minute)
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Errorf("a session that is due: %d", got)
	}
}
