package proxy_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/router/proxy"
)

func TestCookiesStayApart(t *testing.T) {
	up := newRecorder(t, false)
	to := mustURL(up.URL())
	r := newRouter(t, up.URL(), nil, func(r *http.Request) proxy.Target {
		target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: to, User: alice}
		if r.Header.Get("X-Test") == "b" {
			target.Tenant, target.Slot, target.User = tenantB, "b", bob
		}
		return target
	})
	up.reply = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n" +
		"Set-Cookie: hermes_session=one; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000; Domain=.example.org\r\n" +
		"Set-Cookie: __Host-hux_chat=evil; Secure; Path=/; DOMAIN=example.org\r\n" +
		"Set-Cookie: __Secure-x=2; Secure\r\n" +
		"Set-Cookie: hux_console=evil\r\n" +
		"Set-Cookie: =hux_chat=evil\r\nSet-Cookie: nameless\r\nSet-Cookie: a b=c\r\nSet-Cookie: __Host-=x\r\n\r\nok"
	c := r.client(false)
	jar := map[string]map[string]string{}
	for _, who := range []string{"a", "b"} {
		resp, _ := do(t, c, "GET", r.URL+"/p", nil, "X-Test: "+who)
		up.taken()
		jar[who] = map[string]string{}
		lines := resp.Header["Set-Cookie"]
		if len(lines) != 4 {
			t.Errorf("%s: %q", who, lines)
		}
		for _, line := range lines {
			if strings.Contains(strings.ToLower(line), "domain") {
				t.Errorf("%q keeps its Domain", line)
			}
			pair, _, _ := strings.Cut(line, ";")
			name, value, _ := strings.Cut(pair, "=")
			if !regexp.MustCompile(`^(__Host-|__Secure-)?hxt[0-9a-f]{8}_`).MatchString(name) {
				t.Errorf("an upstream sets %q", name)
			}
			jar[who][name] = value
		}
		if !strings.HasSuffix(lines[0], "_hermes_session=one; HttpOnly; SameSite=Lax; Path=/; Max-Age=2592000") {
			t.Errorf("%q", lines[0])
		}
	}
	var all []string
	for _, cookies := range jar {
		for name, value := range cookies {
			all = append(all, name+"="+value)
		}
	}
	all = append(all, "__Host-hux_chat=secret", "hux_console=secret", "hermes_session=stale", "hxt_x=1", "hxt0123_x=1", "bare", "=x")
	slices.Sort(all)
	header := "Cookie: " + strings.Join(all, "; ")
	for _, who := range []string{"a", "b"} {
		for _, headers := range [][]string{{header}, {header, "Connection: Cookie"}} {
			do(t, c, "GET", r.URL+"/p", nil, append(headers, "X-Test: "+who)...)
			got := up.taken()[0]
			cookies := strings.Split(got.headers.Get("Cookie"), "; ")
			slices.Sort(cookies)
			want := []string{"__Host-hux_chat=evil", "__Secure-x=2", "hermes_session=one", "hux_console=evil"}
			if !slices.Equal(cookies, want) || strings.Contains(got.head, "secret") {
				t.Errorf("%s: the upstream gets %q", who, cookies)
			}
		}
	}
	// A page makes the browser forget what the other tenant left.
	up.reply = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok"
	resp, _ := do(t, c, "GET", r.URL+"/", nil, header, "X-Test: b")
	var expired []string
	for _, line := range resp.Header["Set-Cookie"] {
		name, rest, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(rest, "; Path=/; Max-Age=0") || strings.HasPrefix(name, "__") != strings.Contains(rest, "Secure") {
			t.Errorf("%q", line)
		}
		expired = append(expired, name)
	}
	if len(expired) != 4 {
		t.Errorf("expired: %q", expired)
	}
	for _, name := range expired {
		if _, ok := jar["a"][name]; !ok {
			t.Errorf("%q is expired and is not tenant A's", name)
		}
	}
}
