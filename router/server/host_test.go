package server

import (
	"net/http/httptest"
	"net/netip"
	"strings"
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
		"no address behind two":    {trusted, "10.0.0.1:1", []string{"unknown, 10.0.0.2"}, "10.0.0.2"},
		"nonsense with a port":     {trusted, "10.0.0.1:1", []string{"192.0.2.1:port"}, "10.0.0.1"},
		"half a bracket":           {trusted, "10.0.0.1:1", []string{"[2001:db8::1"}, "10.0.0.1"},
		"empty":                    {trusted, "10.0.0.1:1", nil, "10.0.0.1"},
		"only proxies":             {trusted, "10.0.0.1:1", []string{"10.0.0.3"}, "10.0.0.3"},
		"IPv6":                     {trusted, "[fd00::1]:1", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv4 written as IPv6":     {trusted, "[::ffff:10.0.0.1]:1", []string{"::ffff:192.0.2.1"}, "192.0.2.1"},
		"address with a port":      {trusted, "10.0.0.1:1", []string{"203.0.113.7:5123"}, "203.0.113.7"},
		"a proxy with a port":      {trusted, "10.0.0.1:1", []string{"192.0.2.1, 10.0.0.2:4711"}, "192.0.2.1"},
		"IPv6 with a port":         {trusted, "10.0.0.1:1", []string{"[2001:db8::1]:443"}, "2001:db8::1"},
		"IPv6 in brackets":         {trusted, "10.0.0.1:1", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 with a zone":         {trusted, "10.0.0.1:1", []string{"fe80::1%eth0"}, "fe80::1"},
		"an empty hop":             {trusted, "10.0.0.1:1", []string{"198.51.100.1,"}, "198.51.100.1"},
		"empty hops between":       {trusted, "10.0.0.1:1", []string{"203.0.113.9, 192.0.2.1,, ,10.0.0.2", ""}, "192.0.2.1"},
		"nothing but commas":       {trusted, "10.0.0.1:1", []string{" , "}, "10.0.0.1"},
		"NAT64":                    {trusted, "10.0.0.1:1", []string{"64:ff9b::c000:201"}, "64:ff9b::c000:201"},
		"NAT64 of a proxy":         {trusted, "10.0.0.1:1", []string{"192.0.2.1, 64:ff9b::a00:2"}, "64:ff9b::a00:2"},
		"peer that has no address": {trusted, "@", []string{"192.0.2.1"}, "invalid IP"},
	} {
		s := &Server{config: &config.Config{TrustedProxies: c.trusted}}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.peer
		r.Header["X-Forwarded-For"] = c.forwarded
		if got := s.clientAddr(r).String(); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		unread := strings.Contains(name, "no address") && c.peer != "@" || strings.Contains(name, "nonsense") || name == "half a bracket"
		if got := s.limitAddr(r); got != s.clientAddr(r) != unread {
			t.Errorf("%s: limited as %s", name, got)
		}
	}
}

// Whatever stands in the header, what is read of it is an address and the
// request is answered.
func FuzzForwardedFor(f *testing.F) {
	for _, said := range []string{"203.0.113.7:5123", "[2001:db8::1]:443", "[2001:db8::1]", "198.51.100.1,", "64:ff9b::c000:201", "unknown", "_x, 10.0.0.2", "::ffff:10.0.0.1%1", "[]", ":1", "[::1%]:"} {
		f.Add(said)
	}
	f.Fuzz(func(t *testing.T, said string) {
		s := &Server{config: &config.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"] = []string{said, "192.0.2.1"}
		if got := s.clientAddr(r).String(); got != "192.0.2.1" {
			t.Fatalf("%q in front of what the proxy adds gives %s", said, got)
		}
		r.Header["X-Forwarded-For"] = []string{said}
		if got := s.clientAddr(r); got.Is4In6() || got.Zone() != "" {
			t.Fatalf("%q is read as %s", said, got)
		}
	})
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
