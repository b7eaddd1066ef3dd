package blackbox_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// Whatever a client sends under a name that a careless reader could
// take for the identity header, the upstream reads one, and it is ours.
func TestIdentityHeaderHasNoAlias(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	const forged = "forged-identity"
	cases := map[string]raw{
		"exact":                  {header: []string{"X-Hux-User: " + forged}},
		"lower case":             {header: []string{"x-hux-user: " + forged}},
		"upper case":             {header: []string{"X-HUX-USER: " + forged}},
		"twice":                  {header: []string{"X-Hux-User: " + forged, "X-Hux-User: other-" + forged}},
		"without hyphens":        {header: []string{"XHuxUser: " + forged}},
		"more hyphens":           {header: []string{"X--Hux--User: " + forged}},
		"trailer":                {method: "POST", target: "/api/session/new", body: "{}", header: []string{"Content-Type: application/json"}, trailer: []string{"X-Hux-User: " + forged}},
		"announced trailer":      {method: "POST", target: "/api/session/new", body: "{}", header: []string{"Content-Type: application/json", "Trailer: X-Hux-User"}, trailer: []string{"X-Hux-User: " + forged}},
		"space before the colon": {header: []string{"X-Hux-User : " + forged}},
		"folded line":            {header: []string{"X-Other: a\r\n X-Hux-User: " + forged}},
		"bare line feed":         {header: []string{"X-Other: a\nX-Hux-User: " + forged}},
		"bare carriage return":   {header: []string{"X-Other: a\rX-Hux-User: " + forged}},
		"NUL in the name":        {header: []string{"X-Hux\x00User: " + forged}},
		"HUX-User":               {header: []string{"HUX-User: " + forged, "HUX-Actor: " + forged}},
		"X-Forwarded-User":       {header: []string{"X-Forwarded-User: " + forged, "X-Forwarded-User: " + forged, "X-Auth-Request-User: " + forged, "Remote-User: " + forged}},
	}
	for _, c := range "!#$%&'*+.^`|~_" {
		alias := strings.ReplaceAll("X-Hux-User", "-", string(c))
		cases["for -: "+string(c)] = raw{header: []string{alias + ": " + forged}}
		cases["for the last -: "+string(c)] = raw{header: []string{"X-Hux" + string(c) + "User: " + forged}}
	}
	protocols(t, func(t *testing.T, proto string) {
		for name, q := range cases {
			t.Run(name, func(t *testing.T) {
				up.forget()
				if q.target == "" {
					q.target = "/api/sessions"
				}
				q.header = append([]string{cookie}, q.header...)
				a := h.send(t, proto, q)
				seen := up.requests()
				switch {
				case a.status == http.StatusOK && len(seen) == 1:
				case len(seen) == 0 && (a.status == http.StatusBadRequest || a.status == 0):
					return
				default:
					t.Fatalf("status %d, and the upstream saw %v", a.status, seen)
				}
				if got := seen[0].values("X-Hux-User"); !slices.Equal(got, []string{h.user("alice")}) {
					t.Errorf("the upstream reads the identities %q", got)
				}
				for _, line := range seen[0].header { // a folded line is part of X-Other's value to every reader
					if strings.Contains(line[1], forged) && line[0] != "X-Other" {
						t.Errorf("what was forged reached the upstream in %s", line[0])
					}
				}
			})
		}
	})
}

// What a client names in Connection takes nothing of ours away.
func TestConnectionStripsNothingOfOurs(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	up.handle(func(x *exchange) {
		x.answer(http.StatusOK, "{}", "Set-Cookie: hermes_session=theirs; Path=/; HttpOnly")
	})
	alice.fetch(t, "GET", chatURL+"/api/sessions", "")
	protocols(t, func(t *testing.T, proto string) {
		for _, connection := range []string{
			"close, X-Hux-User, X-Forwarded-For, Cookie", "X-Hux-User", "keep-alive, x-hux-user, cookie, x-forwarded-for, x-forwarded-host, content-length, host",
		} {
			up.forget()
			a := h.send(t, proto, raw{target: "/api/sessions", header: []string{"Cookie: " + alice.cookieHeader(t, chatURL), "Connection: " + connection}})
			if proto == "h2" && (a.status == http.StatusBadRequest || a.status == 0) {
				up.untouched(t) // RFC 9113, 8.2.2: the header is malformed there
				continue
			}
			if a.status != http.StatusOK {
				t.Fatalf("Connection: %s: status %d", connection, a.status)
			}
			s := up.last(t)
			if got := s.values("X-Hux-User"); !slices.Equal(got, []string{h.user("alice")}) {
				t.Errorf("Connection: %s: identities %q", connection, got)
			}
			if got := s.get("Cookie"); got != "hermes_session=theirs" {
				t.Errorf("Connection: %s: cookies %q", connection, got)
			}
			if got := s.get("X-Forwarded-For"); got != "127.0.0.1" {
				t.Errorf("Connection: %s: X-Forwarded-For %q", connection, got)
			}
		}
	})
}

// spoof is what a client may claim about itself, with a value to look for.
func spoof(value string) []string {
	return []string{
		"X-Forwarded-Uri: /" + value, "X-Forwarded-Host: " + value + ".evil.test", "X-Forwarded-Proto: http", "X-Forwarded-Prefix: /" + value,
		"X-Forwarded-For: 203.0.113.77", "X-Forwarded-Port: 8" + "1", "X-Forwarded-Server: " + value, "X-Original-Url: /" + value,
		"X-Rewrite-Url: /" + value, "X-Real-Ip: 203.0.113.77", "Forwarded: for=203.0.113.77;host=" + value + ".evil.test;proto=http",
		"X-Http-Method-Override: DELETE", "X-Method-Override: DELETE", "X-Client-Ip: 203.0.113.77", "True-Client-Ip: 203.0.113.77",
		"CF-Connecting-IP: 203.0.113.77", "X-Forwarded_For: 203.0.113.77", "X_Forwarded_Host: " + value,
	}
}

// Nothing that an untrusted peer says about the way of its request
// reaches the upstream or changes anything here.
func TestForwardedHeadersOfStrangersAreNothing(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	protocols(t, func(t *testing.T, proto string) {
		const value = "spoofed-value"
		up.forget()
		a := h.send(t, proto, raw{target: "/api/sessions", header: append(spoof(value), cookie)})
		if a.status != http.StatusOK {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
		s := up.last(t)
		for _, bad := range []string{value, "203.0.113.77", "DELETE"} {
			if strings.Contains(s.raw, bad) {
				t.Errorf("%s reached the upstream:\n%s", bad, s.raw)
			}
		}
		if s.method != "GET" || s.target != "/api/sessions" || s.get("Host") != "chat.hux.test" ||
			s.get("X-Forwarded-For") != "127.0.0.1" || s.get("X-Forwarded-Host") != "chat.hux.test" || s.get("X-Forwarded-Proto") != "https" {
			t.Errorf("the upstream reads:\n%s", s.raw)
		}

		redirect := h.send(t, proto, raw{target: "/session/x", header: append(spoof(value), "Accept: text/html")})
		if redirect.status != http.StatusFound || !strings.HasPrefix(redirect.header.Get("Location"), "/hux/auth/start?") {
			t.Errorf("signed out: %d to %q", redirect.status, redirect.header.Get("Location"))
		}
		begun := h.send(t, proto, raw{target: "/hux/auth/start?next=/", header: spoof(value)})
		if !strings.HasPrefix(begun.header.Get("Location"), consoleURL+"/hux/auth/sign-in?") {
			t.Errorf("sign-in begins at %q", begun.header.Get("Location"))
		}
		if set := begun.header.Get("Set-Cookie"); !strings.Contains(set, "Secure") || !strings.HasPrefix(set, "__Host-") {
			t.Errorf("the cookie is %q", set)
		}
		denied := h.send(t, proto, raw{target: "/api/terminal/start", method: "POST", body: "{}", header: []string{cookie, "X-Original-Url: /api/sessions", "X-Rewrite-Url: /api/sessions", "Content-Type: application/json"}})
		if denied.status != http.StatusForbidden {
			t.Errorf("a denied path: status %d", denied.status)
		}
	})
	if log := h.log.String(); strings.Contains(log, "203.0.113.77") || strings.Contains(log, "spoofed-value") || !strings.Contains(log, `"client":"127.0.0.1"`) {
		t.Errorf("the log:\n%s", log)
	}
}

// A proxy that is listed is believed, as far as the
// first address that is not.
func TestTrustedProxiesAreBelieved(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{plain: true, slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"trusted_proxies": "127.0.0.0/8,10.0.0.0/8"}})
	alice := h.signIn(t, "plain", "alice")
	for _, c := range []struct{ forwarded, want string }{
		{"", "127.0.0.1"},
		{"198.51.100.7", "198.51.100.7"},
		{"192.0.2.66, 198.51.100.7", "198.51.100.7"}, // the client wrote the first
		{"192.0.2.66, 198.51.100.7, 10.1.2.3", "198.51.100.7"},
		{"2001:db8::7", "2001:db8::7"},
		{"198.51.100.7, nonsense", "127.0.0.1"},
	} {
		up.forget()
		header := []string{"X-Forwarded-Host: evil.test", "X-Forwarded-Proto: http"}
		if c.forwarded != "" {
			header = append(header, "X-Forwarded-For: "+c.forwarded)
		}
		alice.fetch(t, "GET", chatURL+"/api/sessions", "", header...).want(t, 200, "")
		s := up.last(t)
		if got := s.get("X-Forwarded-For"); got != c.want {
			t.Errorf("X-Forwarded-For %q: the upstream reads %q, want %q", c.forwarded, got, c.want)
		}
		if s.get("X-Forwarded-Host") != "chat.hux.test" || s.get("X-Forwarded-Proto") != "https" || s.get("Host") != "chat.hux.test" {
			t.Errorf("the upstream reads:\n%s", s.raw)
		}
		if netip.MustParseAddr(c.want).IsValid() {
			h.log.wait(t, `"client":"`+c.want+`"`)
		}
	}
}

// A target that can be read as a denied path goes nowhere.
func TestAmbiguousTargetsGoNowhere(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	const p = "api/terminal/output" // denied; GET
	ambiguous := []string{
		"//" + p, "///" + p, "/./" + p, "/x/../" + p, "/static/../" + p, "/%2e/" + p, "/x/%2e%2e/" + p, "/x/.%2e/" + p, "/%2E%2E/" + p,
		"/api%2fterminal/output", "/api%2Fterminal%2Foutput", "/%2f" + p, "/api%5cterminal/output", `/api\terminal\output`, `/\` + p, "/%5c" + p,
		"/x/%252e%252e/" + p, "/api%252fterminal%252foutput", "/api%25252fterminal/output", "/api%255cterminal/output",
		"/" + p + ";x", "/api;x/terminal/output", "/api/sessions;/../terminal/output", "/" + p + "%3bx", "/" + p + ".", "/" + p + "..", "/" + p + "/.", "/" + p + "/..",
		"/" + p + "%20", "/" + p + "%00", "/%00" + p, "/" + p + "%09", "/" + p + "%0a", "/api/%0d%0aterminal/output", "/" + p + "%23", "/" + p + "#x", "/#/../" + p, "/" + p + "%3f",
		"/static/x#/../" + p, "/static//" + p, "/static/" + "%2e%2e/" + p, "/static/%c0%ae%c0%ae/" + p, "/static/%e0%80%af" + p, "/static/%", "/static/%zz", "/static/%2",
		"/static/a?q=%", "/static/a?q=a#b", "http://chat.hux.test/" + p, "http://chat.hux.test/api/sessions", "https://chat.hux.test/api/sessions", "http:http://x/" + p, "http:/" + p, "http:" + p,
		"*", "chat.hux.test:443", p, "?x", "static/x",
	}
	onlyH1 := []string{"/" + p + " x", "/\x00" + p, "/" + p + "\x7f", "/\xc3\xa9/../" + p, "/" + p + "\t"}
	denied := []string{"/" + p, "/" + p + "?x=1", "/API/terminal/output", "/Api/Terminal/Output", "/api/terminal/output/", "/api/terminal", "/%61pi/terminal/output", "/api/%74erminal/output", "/api/new-route-of-next-week", "/api/list?all_profiles=1"}
	protocols(t, func(t *testing.T, proto string) {
		up.forget()
		targets := ambiguous
		if proto == "h1" {
			targets = append(slices.Clone(ambiguous), onlyH1...)
		}
		for _, target := range targets {
			a := h.send(t, proto, raw{target: target, header: []string{cookie}})
			if a.status != http.StatusBadRequest && (proto != "h2" || a.status != 0) {
				t.Errorf("%q: status %d, want 400", target, a.status)
			}
		}
		for _, target := range denied {
			a := h.send(t, proto, raw{target: target, header: []string{cookie}})
			if a.status != http.StatusForbidden || !strings.Contains(a.body, `"path_denied"`) {
				t.Errorf("%q: status %d %s, want 403 path_denied", target, a.status, a.body)
			}
		}
		up.untouched(t)
		for _, target := range []string{"/static/a%20b?q=a%2Fb", "/static/a+b,c=d!$&'()*@:~-._", "/static/%C3%A9?x=/../y&z=//", "/static/x?"} {
			up.forget()
			if a := h.send(t, proto, raw{target: target, header: []string{cookie}}); a.status != http.StatusOK {
				t.Errorf("%q: status %d", target, a.status)
			} else if got := up.last(t).target; got != target {
				t.Errorf("%q reaches the upstream as %q", target, got)
			}
		}
	})
	if !strings.Contains(h.log.String(), "/api/new-route-of-next-week") {
		t.Error("a denied path is not in the log")
	}
}

// No protocol but those that are configured, and no method that turns
// the router into something else.
func TestUpgradesAndMethods(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	protocols(t, func(t *testing.T, proto string) {
		for _, upgrade := range []string{"h2c", "foo/1", "websocket", "TLS/1.0", "h2c, websocket"} {
			up.forget()
			a := h.send(t, proto, raw{target: "/api/sessions", header: []string{
				cookie, "Connection: Upgrade, HTTP2-Settings", "Upgrade: " + upgrade, "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA",
				"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"}})
			if a.status == http.StatusSwitchingProtocols {
				t.Errorf("Upgrade: %s was followed", upgrade)
			}
			for _, s := range up.requests() {
				if len(s.values("Upgrade")) > 0 || hasToken(s.values("Connection"), "upgrade") || len(s.values("HTTP2-Settings")) > 0 {
					t.Errorf("Upgrade: %s reached the upstream:\n%s", upgrade, s.raw)
				}
			}
		}
		up.forget()
		for _, method := range []string{"CONNECT", "TRACE"} {
			for _, target := range []string{"/api/sessions", "chat.hux.test:443"} {
				a := h.send(t, proto, raw{method: method, target: target, header: []string{cookie}})
				ok := a.status == http.StatusMethodNotAllowed && (proto == "h2" || a.closed)
				if method == "TRACE" && target != "/api/sessions" {
					ok = ok || a.status == http.StatusBadRequest // no reader takes it
				}
				if !ok && (proto != "h2" || a.status != 0) {
					t.Errorf("%s %s: status %d, closed %v", method, target, a.status, a.closed)
				}
				if a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
					t.Errorf("%s %s: no Allow", method, target)
				}
			}
		}
		for _, method := range []string{"PROPFIND", "GETX", "get", "PATCH"} {
			if a := h.send(t, proto, raw{method: method, target: "/api/sessions", header: []string{cookie}}); a.status != http.StatusForbidden && a.status != http.StatusMethodNotAllowed && a.status != http.StatusBadRequest {
				t.Errorf("%s: status %d", method, a.status)
			}
		}
		up.untouched(t)
	})
}

func TestUnknownHostsAreMisdirected(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"api_hosts": "api.hux.test"}})
	alice := h.signIn(t, "h1", "alice")
	cookie := "Cookie: " + alice.cookieHeader(t, chatURL)
	protocols(t, func(t *testing.T, proto string) {
		up.forget()
		for _, host := range []string{"evil.test", "chat.hux.test.evil.test", "chat.hux.test:444", "chat.hux.test.", "hux.test", "127.0.0.1", "localhost", "[::1]"} {
			if a := h.send(t, proto, raw{host: host, target: "/api/sessions", header: []string{cookie}}); a.status != http.StatusMisdirectedRequest && a.status != http.StatusBadRequest {
				t.Errorf("host %q: status %d", host, a.status)
			}
		}
		up.untouched(t)
		for _, host := range []string{"CHAT.hux.test", "chat.hux.test"} {
			if a := h.send(t, proto, raw{host: host, target: "/api/sessions", header: []string{cookie}}); a.status != http.StatusOK {
				t.Errorf("host %q: status %d", host, a.status)
			}
		}
		for _, path := range []string{"/hux/healthz", "/hux/readyz"} { // for probes, by address
			if a := h.send(t, proto, raw{host: "10.0.0.1", target: path}); a.status != http.StatusOK {
				t.Errorf("%s: status %d", path, a.status)
			}
		}
	})
	if proto := h.send(t, "h1", raw{host: "api.hux.test", target: "/hux/api/me", header: []string{bearer(h.token(t, "alice"))}}); proto.status != http.StatusOK {
		t.Errorf("a configured API host: status %d", proto.status)
	}
}
