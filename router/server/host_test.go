package server

import (
	"net/http/httptest"
	"net/netip"
	"testing"

	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/identity"
)

func TestClientAddrBelievesTrustedProxiesOnly(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for name, c := range map[string]struct {
		trusted   []netip.Prefix
		peer      string
		forwarded []string
		want      string
	}{
		"nobody is trusted":        {nil, "10.0.0.1:1", []string{"192.0.2.1"}, "10.0.0.1"},
		"a stranger forwards":      {trusted, "198.51.100.1:1", []string{"192.0.2.1"}, "198.51.100.1"},
		"a proxy forwards":         {trusted, "10.0.0.1:1", []string{"192.0.2.1"}, "192.0.2.1"},
		"what a client forged":     {trusted, "10.0.0.1:1", []string{"203.0.113.9, 192.0.2.1"}, "192.0.2.1"},
		"two proxies":              {trusted, "10.0.0.1:1", []string{"203.0.113.9, 192.0.2.1, 10.0.0.2"}, "192.0.2.1"},
		"two headers":              {trusted, "10.0.0.1:1", []string{"203.0.113.9", "192.0.2.1"}, "192.0.2.1"},
		"no address":               {trusted, "10.0.0.1:1", []string{"192.0.2.1, unknown"}, "10.0.0.1"},
		"empty":                    {trusted, "10.0.0.1:1", nil, "10.0.0.1"},
		"only proxies":             {trusted, "10.0.0.1:1", []string{"10.0.0.3"}, "10.0.0.3"},
		"IPv6":                     {trusted, "[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv4 written as IPv6":     {trusted, "[::ffff:10.0.0.1]:1", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		"address with a port":      {trusted, "10.0.0.1:1", []string{"192.0.2.1:80"}, "10.0.0.1"},
		"peer that has no address": {trusted, "@", []string{"192.0.2.1"}, "invalid IP"},
	} {
		s := &Server{config: &config.Config{TrustedProxies: c.trusted}}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := s.clientAddr(r).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestSiteOfIsExact(t *testing.T) {
	s := &Server{sites: map[string]identity.Site{
		"chat.example.org": identity.Chat, "hux.example.org:8443": identity.Console, "127.0.0.1": identity.API, "::1": identity.API,
	}}
	for host, want := range map[string]identity.Site{
		"chat.example.org":      identity.Chat,
		"CHAT.example.org":      identity.Chat,
		"chat.example.org:8080": "",
		"chat.example.org.":     "",
		"hux.example.org:8443":  identity.Console,
		"hux.example.org":       "",
		"127.0.0.1:9999":        identity.API,
		"[::1]:80":              identity.API,
		"evil.example.org":      "",
		"":                      "",
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = host
		if got := s.siteOf(r); got != want {
			t.Errorf("%q is %q, want %q", host, got, want)
		}
	}
}

func TestNavigationIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		header map[string]string
		want   bool
	}{
		"a page":           {"GET", map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		"an old browser":   {"GET", map[string]string{"Accept": "text/html,*/*"}, true},
		"a frame":          {"GET", map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe", "Accept": "text/html"}, false},
		"a service worker": {"GET", map[string]string{"Sec-Fetch-Mode": "same-origin", "Sec-Fetch-Dest": "serviceworker", "Accept": "text/html"}, false},
		"a worker's page":  {"GET", map[string]string{"Sec-Fetch-Mode": "same-origin", "Sec-Fetch-Dest": "empty", "Accept": "text/html,*/*"}, true},
		"a worker's fetch": {"GET", map[string]string{"Sec-Fetch-Mode": "same-origin", "Sec-Fetch-Dest": "empty", "Accept": "*/*"}, false},
		"fetch":            {"GET", map[string]string{"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, false},
		"an event stream":  {"GET", map[string]string{"Accept": "text/event-stream"}, false},
		"curl":             {"GET", map[string]string{"Accept": "*/*"}, false},
		"a form":           {"POST", map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, false},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		if got := navigates(r); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
