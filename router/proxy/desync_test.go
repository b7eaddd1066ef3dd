package proxy_test

import (
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"bstein.dev/hux/router/proxy"
)

const smuggled = "GET /api/settings HTTP/1.1\r\nHost: chat.example.org\r\nX-Hux-User: usr_victim\r\n\r\n"

func TestNoBodyBecomesARequest(t *testing.T) {
	up := newRecorder(t, false) // leaves bodies unread and goes on
	r := newRouter(t, up.URL(), nil, nil)
	length := fmt.Sprintf("Content-Length: %d\r\n", len(smuggled))
	chunked := fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(smuggled), smuggled)
	for _, upgrade := range []string{"", "Connection: Upgrade\r\nUpgrade: x\r\n", "Connection: Upgrade\r\nUpgrade: websocket\r\n", "Connection: keep-alive\r\n"} {
		for _, method := range []string{"GET", "HEAD", "OPTIONS"} {
			for name, rest := range map[string]string{"length": length + "\r\n" + smuggled, "chunked": chunked} {
				resp, _ := r.raw(t, method+" /p HTTP/1.1\r\nHost: x\r\n"+upgrade+rest)
				if resp.StatusCode != http.StatusBadRequest || !resp.Close {
					t.Errorf("%s with a body by %s: %s, close %v", method, name, resp.Status, resp.Close)
				}
				if got := up.taken(); len(got) > 0 {
					t.Errorf("%s with a body by %s reached the upstream: %+v", method, name, got)
				}
			}
		}
		for _, method := range []string{"POST", "PUT", "DELETE"} {
			for name, rest := range map[string]string{"length": length + "\r\n" + smuggled, "chunked": chunked} {
				r.raw(t, method+" /p HTTP/1.1\r\nHost: x\r\n"+upgrade+rest)
				do(t, r.client(false), "GET", r.URL+"/p/after", nil)
				for _, got := range up.taken() {
					if strings.Contains(got.line, "settings") && !strings.HasPrefix(got.line, "unfinished") || strings.Contains(got.head, "victim") {
						t.Errorf("%s by %s: the upstream read %q", method, name, got.line)
					}
					if got.line == method+" /p HTTP/1.1" && (got.headers.Get("Connection") != "close" || got.headers.Get("Upgrade") != "") {
						t.Errorf("%s by %s: %s", method, name, got.head)
					}
				}
			}
		}
	}
}

func TestConnectionsAreSharedByGetsOfOneTenant(t *testing.T) {
	up := newRecorder(t, false)
	to := mustURL(up.URL())
	r := newRouter(t, up.URL(), nil, func(r *http.Request) proxy.Target {
		target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: to, User: alice}
		if r.Header.Get("X-Test") == "b" {
			target.Tenant, target.User = tenantB, bob
		}
		return target
	})
	c := r.client(false)
	conns := map[string]map[int]bool{"a": {}, "b": {}}
	for range 3 {
		for _, who := range []string{"a", "b"} {
			do(t, c, "GET", r.URL+"/p", nil, "X-Test: "+who)
			conns[who][up.taken()[0].conn] = true
		}
	}
	if len(conns["a"]) != 1 || len(conns["b"]) != 1 {
		t.Errorf("connections are not used again: %v", conns)
	}
	for n := range conns["a"] {
		if conns["b"][n] {
			t.Error("two tenants share a connection")
		}
	}
	do(t, c, "POST", r.URL+"/p", strings.NewReader("x"), "X-Test: a")
	if got := up.taken()[0]; conns["a"][got.conn] || got.headers.Get("Connection") != "close" {
		t.Error("a POST shares a connection")
	}
}

func TestBodiesHaveALength(t *testing.T) {
	up := newRecorder(t, true)
	r := newRouter(t, up.URL(), func(o *proxy.Options) { o.UploadLimit = 3 << 20 }, nil)
	both(t, r, func(t *testing.T, c *http.Client) {
		for _, size := range []int{0, 1, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20} {
			want := strings.Repeat("x", size)
			// Without a length: the client cannot know what a pipe holds.
			resp, body := do(t, c, "POST", r.URL+"/p", struct{ io.Reader }{strings.NewReader(want)})
			got := up.taken()
			if resp.StatusCode != http.StatusOK || len(got) != 1 || got[0].body != want ||
				got[0].headers.Get("Content-Length") != fmt.Sprint(size) || got[0].headers.Get("Transfer-Encoding") != "" {
				t.Fatalf("%d bytes: %s %s, %d requests", size, resp.Status, body, len(got))
			}
		}
		for _, body := range []io.Reader{struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 3<<20+1))}, strings.NewReader(strings.Repeat("x", 3<<20+1))} {
			resp, _ := do(t, c, "POST", r.URL+"/p", body)
			if got := up.taken(); resp.StatusCode != http.StatusRequestEntityTooLarge || len(got) != 0 {
				t.Errorf("over the limit: %s, %d requests", resp.Status, len(got))
			}
		}
	})
	resp, _ := r.raw(t, "POST /p HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 99999999\r\n\r\n")
	if resp.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("an announced length: %s", resp.Status)
	}
}

func TestMethods(t *testing.T) {
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), nil, nil)
	for _, request := range []string{"TRACE /p", "CONNECT x:80", "CONNECT /p"} {
		resp, _ := r.raw(t, request+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if resp.StatusCode != http.StatusMethodNotAllowed || !resp.Close || resp.Header.Get("Allow") == "" {
			t.Errorf("%s: %s, close %v", request, resp.Status, resp.Close)
		}
	}
	resp, _ := r.raw(t, "PATCH /p HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != "DELETE, GET, HEAD, OPTIONS, POST, PUT" {
		t.Errorf("PATCH: %s, %s", resp.Status, resp.Header.Get("Allow"))
	}
	for _, upgrade := range []string{"h2c", "foo/1", "websocket"} {
		resp, _ := r.raw(t, "GET /p HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\nUpgrade: "+upgrade+"\r\n\r\n")
		got := up.taken()
		if resp.StatusCode != http.StatusOK || len(got) != 1 || got[0].headers.Get("Upgrade") != "" || strings.Contains(got[0].head, "ettings") {
			t.Errorf("%s: %s, %+v", upgrade, resp.Status, got)
		}
	}
	up.reply = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
	if resp, _ := r.raw(t, "GET /p HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"); resp.StatusCode != http.StatusBadGateway {
		t.Errorf("an unasked 101: %s", resp.Status)
	}
	up.reply = "HTTP/1.1 101 Switching Protocols\r\n\r\n"
	if resp, _ := r.raw(t, "GET /p HTTP/1.1\r\nHost: x\r\n\r\n"); resp.StatusCode != http.StatusBadGateway {
		t.Errorf("an unasked 101 to nothing: %s", resp.Status)
	}
}

func TestPaths(t *testing.T) {
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), nil, nil)
	for target, want := range map[string]int{
		"/files/a%20b?q=a%2Fb": 200, "/p?": 200, "/p/%C3%A9": 200,
		"/api/settings": 403, "/API/settings": 403, "/api/%73ettings": 403, "/api/terminal/x": 403, "/unknown": 403, "/p?all_profiles=1": 403,
		"/p?x&ALL%5Fprofiles": 403, "//api/settings": 400, "/./api/settings": 400, "/x/../api/settings": 400, "/api/settings;x": 400,
		"/api/settings.": 400, "/api/settings%20": 400, "/api/settings%00": 400, "/api%2fsettings": 400, "/api%5csettings": 400,
		"/api/%252e%252e/x": 400, "/api/settings#x": 400, "http://x/api/settings": 400, "http:http://x/api/settings": 400, `/api\settings`: 400,
	} {
		resp, body := r.raw(t, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n")
		got := up.taken()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", target, resp.Status, want)
		}
		if want != 200 && (len(got) > 0 || !strings.HasPrefix(body, "{")) && resp.StatusCode != 400 {
			t.Errorf("%s: %q, %d requests", target, body, len(got))
		}
		if want == 200 && (len(got) != 1 || got[0].line != "GET "+target+" HTTP/1.1") {
			t.Errorf("%s is sent as %+v", target, got)
		}
	}
}

func TestClientAddrIsOptional(t *testing.T) {
	up := newRecorder(t, false)
	to := mustURL(up.URL())
	r := newRouter(t, up.URL(), nil, func(*http.Request) proxy.Target {
		return proxy.Target{Tenant: tenantA, Slot: "a", Upstream: to, User: alice, ClientAddr: netip.Addr{}}
	})
	do(t, r.client(false), "GET", r.URL+"/p", nil)
	if got := up.taken()[0]; strings.Contains(got.head, "X-Forwarded-For") || strings.Contains(got.head, "X-Real-Ip") {
		t.Error(got.head)
	}
}

func TestRefusedUpload(t *testing.T) { // the answer arrives although the body was not read
	up := newRecorder(t, false)
	up.reply = "HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
	r := newRouter(t, up.URL(), nil, nil)
	both(t, r, func(t *testing.T, c *http.Client) {
		for range 10 {
			resp, body := do(t, c, "POST", r.URL+"/p", strings.NewReader(strings.Repeat("x", 8<<20)))
			if resp.StatusCode != http.StatusForbidden || body != "{}" {
				t.Errorf("%s %s", resp.Status, body)
			}
			up.taken()
		}
	})
}
