package blackbox_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// What is no access token of this issuer, for us, from a client that
// may send them, is refused.
func TestTokensThatAreNotForUs(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	signed := func(t *testing.T, header map[string]any, change func(map[string]any)) string {
		t.Helper()
		claims, err := h.provider.Claims("alice")
		if err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(claims)
		}
		token, err := h.provider.Sign(header, claims)
		if err != nil {
			t.Fatal(err)
		}
		h.secrets.add("bearer token", token)
		return token
	}
	protocols(t, func(t *testing.T, proto string) {
		b := h.browser(t, proto)
		good := signed(t, nil, nil)
		parts := strings.Split(good, ".")
		other := strings.Split(h.token(t, "bob"), ".")
		set := func(name string, value any) func(map[string]any) {
			return func(c map[string]any) { c[name] = value }
		}
		bad := map[string]string{
			"aud of another client":               signed(t, nil, set("aud", "other")),
			"no aud":                              signed(t, nil, func(c map[string]any) { delete(c, "aud") }),
			"several audiences and a foreign azp": signed(t, nil, func(c map[string]any) { c["aud"], c["azp"] = []string{"hux", "other"}, "other" }),
			"a foreign azp":                       signed(t, nil, set("azp", "other")),
			"no azp":                              signed(t, nil, func(c map[string]any) { delete(c, "azp") }),
			"our own client's azp":                signed(t, nil, set("azp", "hux")), // it is no bearer client
			"refresh token":                       signed(t, nil, set("typ", "Refresh")),
			"offline token":                       signed(t, nil, set("typ", "Offline")),
			"ID token":                            signed(t, nil, set("typ", "ID")),
			"ID token without typ":                signed(t, nil, func(c map[string]any) { delete(c, "typ"); c["nonce"] = "n" }),
			"ID token by at+jwt":                  signed(t, map[string]any{"typ": "at+jwt"}, set("typ", "ID")),
			"logout token":                        signed(t, map[string]any{"typ": "logout+jwt"}, func(c map[string]any) { c["typ"] = "Logout"; c["events"] = map[string]any{"x": 1} }),
			"events":                              signed(t, nil, set("events", map[string]any{})),
			"another realm's issuer":              signed(t, nil, set("iss", "http://sso.hux.test/realms/other")),
			"issuer with a slash":                 signed(t, nil, set("iss", issuer+"/")),
			"internal issuer":                     signed(t, nil, set("iss", h.sso.URL)),
			"no issuer":                           signed(t, nil, func(c map[string]any) { delete(c, "iss") }),
			"alg none":                            signed(t, map[string]any{"alg": "none"}, nil),
			"HS256 with the public key":           signed(t, map[string]any{"alg": "HS256"}, nil),
			"expired":                             signed(t, nil, set("exp", time.Now().Add(-2*time.Minute).Unix())),
			"no exp":                              signed(t, nil, func(c map[string]any) { delete(c, "exp") }),
			"not yet":                             signed(t, nil, set("nbf", time.Now().Add(10*time.Minute).Unix())),
			"of tomorrow":                         signed(t, nil, set("iat", time.Now().Add(24*time.Hour).Unix())),
			"bound to a key":                      signed(t, nil, set("cnf", map[string]any{"jkt": "x"})),
			"another's payload":                   parts[0] + "." + other[1] + "." + parts[2],
			"no signature":                        parts[0] + "." + parts[1] + ".",
			"two parts":                           parts[0] + "." + parts[1],
			"JSON serialization":                  `{"payload":"` + parts[1] + `"}`,
			"nothing":                             "",
			"an agent that is none":               "hux_agt_00000000000000000000000000000000_AAAAAAAAAAAAAAAAAAAAAAAAAA",
			"long":                                strings.Repeat("a", 20<<10),
		}
		up.forget()
		var wg sync.WaitGroup // a bad signature may wait for a fetch of the keys
		for name, token := range bad {
			for _, target := range []string{apiURL + "/hux/api/me", apiURL + "/api/sessions", chatURL + "/api/sessions"} {
				wg.Go(func() {
					a := b.do(t, "GET", target, nil, bearer(token))
					if a.StatusCode != http.StatusUnauthorized {
						t.Errorf("%s at %s: status %d: %s", name, target, a.StatusCode, a.body)
					} else if strings.Contains(a.body, "oidc") || strings.Contains(a.body, "expected") {
						t.Errorf("%s: the body tells of the parser: %s", name, a.body)
					}
				})
			}
		}
		wg.Wait()
		for _, header := range []string{"Authorization: Basic YWxpY2U6YWxpY2U=", "Authorization: Bearer", "Authorization: " + good, "Authorization: Bearer " + good + ", Bearer " + good} {
			if a := b.do(t, "GET", apiURL+"/hux/api/me", nil, header); a.StatusCode != http.StatusUnauthorized {
				t.Errorf("%.30s: status %d", header, a.StatusCode)
			}
		}
		b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(good), bearer(good)).want(t, 400, "bad_identity")
		up.untouched(t)

		// A bad token is not made good by a cookie.
		alice := h.signIn(t, proto, "alice")
		alice.do(t, "GET", chatURL+"/hux/api/me", nil, bearer(bad["expired"])).want(t, 401, "unauthenticated")

		for name, token := range map[string]string{
			"payload typ":       good,
			"at+jwt":            signed(t, map[string]any{"typ": "at+jwt"}, func(c map[string]any) { delete(c, "typ") }),
			"several audiences": signed(t, nil, set("aud", []string{"account", "hux"})),
			"skew":              signed(t, nil, set("exp", time.Now().Add(-10*time.Second).Unix())),
		} {
			m := b.me(t, apiURL, bearer(token))
			if m == nil || m.User != h.user("alice") || m.Actor.Kind != "human" || m.Site != "api" {
				t.Errorf("%s: %+v", name, m)
			}
		}
		up.forget()
		b.do(t, "GET", apiURL+"/api/sessions", nil, bearer(good)).want(t, 200, "")
		s := up.last(t)
		if s.get("X-Hux-User") != h.user("alice") || len(s.values("Authorization")) > 0 {
			t.Errorf("the upstream reads:\n%s", s.raw)
		}
		if m := b.me(t, apiURL, bearer(h.token(t, "worker"))); m.Actor.Kind != "worker" {
			t.Errorf("the worker is a %s", m.Actor.Kind)
		}
	})
}

// Fetching keys is bounded whatever anybody sends.
func TestKeyFetches(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}})
	protocols(t, func(t *testing.T, proto string) {
		b := h.browser(t, proto)
		b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(h.token(t, "alice"))).want(t, 200, "")
		alice := h.signIn(t, proto, "alice")

		parts := strings.Split(h.token(t, "alice"), ".")
		before, begun := h.provider.KeyFetches(), time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
		defer cancel()
		var wg sync.WaitGroup
		limit := make(chan struct{}, 200)
		for i := range 1000 {
			limit <- struct{}{}
			wg.Go(func() {
				defer func() { <-limit }()
				header := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"alg":"RS256","typ":"JWT","kid":"unknown-%d"}`, i))
				res, err := b.try(t, ctx, "GET", apiURL+"/hux/api/me", nil, bearer(header+"."+parts[1]+"."+parts[2]))
				if err != nil {
					return // those that would wait for longer; what counts is the provider's count
				}
				_ = res.Body.Close()
				if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("an unknown key id: status %d", res.StatusCode)
				}
			})
		}
		wg.Wait()
		fetches := h.provider.KeyFetches() - before
		if bound := 2 + int(time.Since(begun)/(2*time.Second)); fetches > bound {
			t.Errorf("1,000 unknown key ids made %d fetches in %v", fetches, time.Since(begun))
		}

		if err := h.provider.RotateKey(); err != nil {
			t.Fatal(err)
		}
		for range 20 { // under load, each within its one request
			token := h.token(t, "alice")
			wg.Go(func() {
				if a := b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(token)); a.StatusCode != http.StatusOK {
					t.Errorf("a token under the new key: status %d", a.StatusCode)
				}
			})
		}
		wg.Wait()

		// With the keys out of reach sessions and known keys go on.
		h.provider.SetDown(true)
		b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(h.token(t, "bob"))).want(t, 200, "")
		if alice.me(t, chatURL) == nil {
			t.Error("a session ends because the keys are out of reach")
		}
		claims, err := h.provider.Claims("alice")
		if err != nil {
			t.Fatal(err)
		}
		token, err := h.provider.Sign(map[string]any{"kid": "unknown"}, claims)
		if err != nil {
			t.Fatal(err)
		}
		if a := b.do(t, "GET", apiURL+"/hux/api/me", nil, bearer(token)); a.StatusCode != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" {
			t.Errorf("a new key while the keys are out of reach: status %d", a.StatusCode)
		}
		h.provider.SetDown(false)
	})
}
