package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"bstein.dev/hux/router/proxy"
)

// fold is how a CGI-like reader takes a header's name.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		case 'a' <= r && r <= 'z' || '0' <= r && r <= '9':
			return r
		}
		return -1
	}, name)
}

// identities are the values of all headers that fold to the identity header.
func identities(h http.Header) (values []string) {
	for name, v := range h {
		if fold(name) == "xhuxuser" {
			values = append(values, v...)
		}
	}
	return values
}

func TestIdentityHeaderIsOurs(t *testing.T) {
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), nil, nil)
	var spoofs []string
	for _, c := range "!#$%&'*+.^`|~_-" {
		spoofs = append(spoofs, "X"+string(c)+"Hux"+string(c)+"User: evil", "x-hux"+string(c)+"user: evil", string(c)+"X-Hux-User: evil")
	}
	spoofs = append(spoofs,
		"X-Hux-User: evil\r\nX-Hux-User: evil2", "XHUXUSER: evil", "x-hux-user: evil", "X-Hux-Roles: evil", "Hux-User: evil",
		"Connection: close, X-Hux-User, X-Forwarded-For, Cookie", "Connection: x-hux-user\r\nX-Hux-User: evil",
		"X-Forwarded-Uri: evil", "X-Forwarded-Host: evil", "X-Forwarded-Proto: evil", "X-Forwarded-Prefix: evil", "X-Forwarded-For: evil",
		"X_Forwarded_For: evil", "X-Original-Url: evil", "X-Rewrite-Url: evil", "X-Real-Ip: evil", "X-Real-Host: evil", "Forwarded: for=evil",
		"X-Http-Method-Override: evil", "X-Method-Override: evil", "X-Auth-Request-User: evil", "Remote-User: evil", "X-Remote-User: evil",
		"X-Script-Name: evil", "Proxy-Authorization: evil", "Authorization: Bearer evil", "X-Client-Ip: evil", "Te: trailers, evil",
		"Keep-Alive: evil", "Proxy-Connection: evil", "Expect: 100-continue", "Upgrade: evil\r\nConnection: Upgrade")
	for _, s := range spoofs {
		resp, _ := r.raw(t, "GET /p HTTP/1.1\r\nHost: chat.example.org\r\nAccept-Language: en\r\nOrigin: "+origin+"\r\n"+s+"\r\n\r\n")
		got := up.taken()
		if resp.StatusCode == http.StatusBadRequest && len(got) == 0 {
			continue
		}
		if len(got) != 1 {
			t.Fatalf("%q: %d requests", s, len(got))
		}
		if ids := identities(got[0].headers); len(ids) != 1 || ids[0] != string(alice) {
			t.Errorf("%q: identities %q", s, ids)
		}
		if strings.Contains(got[0].head, "evil") {
			t.Errorf("%q reached the upstream:\n%s", s, got[0].head)
		}
		for name, want := range map[string]string{"Host": "chat.example.org", "X-Forwarded-For": "192.0.2.7", "X-Real-Ip": "192.0.2.7",
			"X-Forwarded-Proto": "https", "X-Forwarded-Host": "chat.example.org", "Accept-Language": "en", "Origin": origin} {
			if v := got[0].headers[name]; len(v) != 1 || v[0] != want {
				t.Errorf("%q: %s is %q", s, name, v)
			}
		}
	}
}

func TestTrailersAreDropped(t *testing.T) {
	up := newRecorder(t, true)
	r := newRouter(t, up.URL(), nil, nil)
	r.raw(t, "POST /p HTTP/1.1\r\nHost: x\r\nTrailer: X-Hux-User\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-Hux-User: evil\r\n\r\n")
	got := up.taken()
	if len(got) != 1 || got[0].body != "hi" || strings.Contains(got[0].head, "evil") || strings.Contains(got[0].head, "Trailer") {
		t.Errorf("%+v", got)
	}
}

func TestHeadersThatStay(t *testing.T) {
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), nil, nil)
	want := []string{"Referer: " + origin + "/session/x", "Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Last-Event-Id: a:7",
		"Range: bytes=0-1", "If-None-Match: W/\"1\"", "X-Hermes-Csrf-Token: t", "X-Csrf-Token: u", "X-Requested-With: x", "Accept-Encoding: gzip"}
	both(t, r, func(t *testing.T, c *http.Client) {
		do(t, c, "GET", r.URL+"/p", nil, want...)
		got := up.taken()[0]
		for _, h := range want {
			if !strings.Contains(got.head, "\r\n"+h+"\r\n") {
				t.Errorf("%q is missing:\n%s", h, got.head)
			}
		}
	})
}

func TestAnswersAreCleaned(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Link", "</x>; rel=preload")
		w.WriteHeader(http.StatusEarlyHints)
		h := w.Header()
		for _, name := range []string{"Alt-Svc", "Clear-Site-Data", "Server", "Strict-Transport-Security", "X-Hux-User", "Hux-Whatever",
			"Access-Control-Allow-Origin", "NEL", "Report-To", "Reporting-Endpoints", "Service-Worker-Allowed", "X-Accel-Redirect", "Keep-Alive", "Proxy-Authenticate", "Trailer"} {
			h.Set(name, "evil")
		}
		h.Set("X-Kept", "yes")
		h.Set("Trailer", "X-Late")
		_, _ = w.Write([]byte("x"))
		h.Set("X-Late", "evil")
	})
	r := newRouter(t, up, nil, nil)
	both(t, r, func(t *testing.T, c *http.Client) {
		resp, _ := do(t, c, "GET", r.URL+"/p", nil)
		for name, v := range resp.Header {
			if strings.Contains(strings.Join(v, ""), "evil") {
				t.Errorf("%s: %s", name, v)
			}
		}
		if len(resp.Trailer) > 0 || resp.Header.Get("X-Kept") != "yes" {
			t.Errorf("%v, trailer %v", resp.Header, resp.Trailer)
		}
	})
}

func TestIdentityHeaderName(t *testing.T) {
	for _, name := range []string{"X User", "X_User", "---", strings.Repeat("x", 60), "X\nY"} {
		if _, err := proxy.New(proxy.Options{PublicURL: mustURL(origin), IdentityHeader: name}); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), func(o *proxy.Options) { o.IdentityHeader = "remote-user" }, nil)
	do(t, r.client(false), "GET", r.URL+"/p", nil, "Remote-User: evil", "X-Hux-User: evil")
	if got := up.taken()[0]; got.headers.Get("Remote-User") != string(alice) || strings.Contains(got.head, "evil") {
		t.Error(got.head)
	}
}

func FuzzHeaders(f *testing.F) {
	for _, s := range []string{"X-Hux-User", "x_hux_user", "X-Forwarded-For", "Connection", "Forwarded", "Te", "~X.Hux.User~"} {
		f.Add(s, "evil")
	}
	up := newRecorder(f, false)
	p, err := proxy.New(proxy.Options{Rules: rules(f, testRules), PublicURL: mustURL(origin)})
	if err != nil {
		f.Fatal(err)
	}
	target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(up.URL()), User: alice}
	f.Fuzz(func(t *testing.T, name, value string) {
		r := newRequest("GET", "/p")
		r.Header[name] = []string{value}
		w := newDiscard()
		serveSafely(p, w, r, target)
		for _, got := range up.taken() {
			if ids := identities(got.headers); len(ids) != 1 || ids[0] != string(alice) || strings.HasPrefix(got.line, "unfinished") {
				t.Fatalf("%q: %q arrives as\n%s", name, value, got.head)
			}
		}
	})
}
