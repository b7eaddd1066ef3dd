package identity

import (
	"context"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDetour(t *testing.T) {
	for _, c := range []struct{ issuer, internal, asked, sent, host string }{
		{"https://id.example/realms/hux", "http://keycloak:8080", "https://id.example/realms/hux/token", "http://keycloak:8080/realms/hux/token", "id.example"},
		{"https://id.example/realms/hux", "http://keycloak:8080/", "https://id.example/realms/hux/a%2Fb?c=d", "http://keycloak:8080/realms/hux/a%2Fb?c=d", "id.example"},
		{"https://id.example/realms/hux", "http://keycloak:8080/realms/hux", "https://id.example/realms/hux/token", "http://keycloak:8080/realms/hux/token", "id.example"},
		{"https://id.example/", "http://keycloak/base", "https://id.example/keys", "http://keycloak/base/keys", "id.example"},
		{"https://id.example", "http://keycloak", "https://other.example/keys", "https://other.example/keys", ""},
		{"https://id.example", "http://keycloak", "http://id.example/keys", "http://id.example/keys", ""},
	} {
		issuer, _ := url.Parse(c.issuer)
		internal, _ := url.Parse(c.internal)
		var sent *http.Request
		d := detour{roundTrip(func(r *http.Request) (*http.Response, error) { sent = r; return nil, nil }), issuer, internal}
		asked, _ := url.Parse(c.asked)
		_, _ = d.RoundTrip((&http.Request{URL: asked, Header: http.Header{}}).WithContext(t.Context()))
		if sent.URL.String() != c.sent || sent.Host != c.host {
			t.Errorf("%s by way of %s went to %s as %q", c.asked, c.internal, sent.URL, sent.Host)
		}
	}
}

// A look is waited for within a bound, and not once it is over.
func TestReadyInBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &provider{}
		waited := func(ctx context.Context) time.Duration {
			start := time.Now()
			if _, err := p.ready(ctx); err == nil {
				t.Error("a provider is there")
			}
			return time.Since(start)
		}
		p.look.Store(&look{make(chan struct{})})
		if d := waited(t.Context()); d != providerTimeout {
			t.Errorf("a request waits for %v", d)
		}
		left, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if d := waited(left); d != time.Second {
			t.Errorf("who leaves after a second waits for %v", d)
		}
		close(p.look.Load().over)
		if d := waited(t.Context()); d != 0 {
			t.Errorf("between two looks a request waits for %v", d)
		}
	})
}

func TestRolesAt(t *testing.T) {
	claims := map[string]any{
		"realm_access":        map[string]any{"roles": []any{"x", "hux-operator", 7}},
		"https://example/a.b": []any{"hux-worker"},
		"scope":               "openid hux-worker",
		"resource_access":     map[string]any{"hux": map[string]any{"roles": []any{}}},
		"odd":                 true,
	}
	for path, want := range map[string]string{
		"realm_access.roles": "hux-operator", "https://example/a.b": "hux-worker", "scope": "hux-worker",
		"resource_access.hux.roles": "", "odd": "", "none": "absent", "realm_access.none": "absent", "scope.deeper": "absent", "": "absent",
	} {
		roles, ok := rolesAt(claims, path)
		got := ""
		for _, r := range roles {
			got += r
		}
		if !ok {
			got = "absent"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
