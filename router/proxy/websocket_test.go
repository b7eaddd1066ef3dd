package proxy_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"bstein.dev/hux/router/proxy"
)

func TestWebSocket(t *testing.T) {
	var touched atomic.Int64
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		touched.Add(1)
		if r.Header.Get("X-Hux-User") != string(alice) || r.Host != "chat.example.org" {
			t.Errorf("%v", r.Header)
		}
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, b, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, b) != nil {
				return
			}
		}
	})
	r := newRouter(t, up, nil, nil)
	c := r.client(false)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	dial := func(path, origin string) (*websocket.Conn, *http.Response, error) {
		h := http.Header{}
		if origin != "" {
			h.Set("Origin", origin)
		}
		return websocket.Dial(ctx, r.URL+path, &websocket.DialOptions{HTTPClient: c, HTTPHeader: h})
	}
	for _, foreign := range []string{"", "null", "https://evil.example", "https://chat.example.org.evil.example", "http://chat.example.org",
		"https://chat.example.org:8443", "https://hux.example.org", "https://chat.example.org/"} {
		if _, resp, err := dial("/ws", foreign); err == nil || resp.StatusCode != http.StatusForbidden {
			t.Errorf("Origin %q: %v", foreign, err)
		}
	}
	if n := touched.Load(); n > 0 {
		t.Errorf("the upstream was touched %d times", n)
	}
	if _, _, err := dial("/p", origin); err == nil {
		t.Error("a handshake where no rule has it")
	}
	conn, _, err := dial("/ws", origin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	for range 3 {
		if err := conn.Write(ctx, websocket.MessageText, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		if _, b, err := conn.Read(ctx); err != nil || string(b) != "hello" {
			t.Fatalf("%q, %v", b, err)
		}
	}
	r.proxy.Drain()
	if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("an open one after Drain: %v", err)
	}
}

func TestWebSocketEndsWithItsSession(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		_, _, _ = c.Read(r.Context())
	})
	p, err := proxy.New(proxy.Options{Rules: rules(t, testRules), PublicURL: mustURL(origin)})
	if err != nil {
		t.Fatal(err)
	}
	session, end := context.WithCancel(context.Background())
	defer end()
	s := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(session, cancel)()
		p.Serve(w, r.WithContext(ctx), proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(up), User: alice})
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	conn, _, err := websocket.Dial(ctx, s.URL+"/ws", &websocket.DialOptions{HTTPClient: s.client(false), HTTPHeader: http.Header{"Origin": {origin}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	end()
	if _, _, err := conn.Read(ctx); err == nil || ctx.Err() != nil {
		t.Errorf("open after its session: %v", err)
	}
}

func TestCrossOrigin(t *testing.T) {
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), nil, nil)
	c := r.client(false)
	link := []string{"Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	for _, test := range []struct {
		method, path string
		headers      []string
		ok           bool
	}{
		{"GET", "/p", nil, true},
		{"GET", "/p", []string{"Sec-Fetch-Site: same-origin"}, true},
		{"GET", "/p", []string{"Sec-Fetch-Site: none"}, true},
		{"POST", "/p", []string{"Sec-Fetch-Site: same-origin", "Origin: " + origin}, true},
		{"GET", "/", append(link, "Sec-Fetch-Site: cross-site"), true},
		{"GET", "/session/x", append(link, "Sec-Fetch-Site: same-site"), true},
		{"GET", "/p", append(link, "Sec-Fetch-Site: cross-site"), false},
		{"HEAD", "/", append(link, "Sec-Fetch-Site: cross-site"), false},
		{"POST", "/p", append(link, "Sec-Fetch-Site: cross-site"), false},
		{"GET", "/", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, false},
		{"GET", "/", []string{"Sec-Fetch-Site: cross-site"}, false},
		{"GET", "/p", []string{"Sec-Fetch-Site: same-site"}, false},
		{"GET", "/p", []string{"Sec-Fetch-Site: mystery"}, false},
		{"GET", "/p", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"}, false},
		{"POST", "/p", []string{"Origin: " + console}, false},
		{"POST", "/p", []string{"Origin: null"}, false},
		{"POST", "/p", []string{"Origin: " + origin + ".evil.example"}, false},
		{"DELETE", "/p", []string{"Origin: " + origin, "Origin: https://evil.example"}, false},
		{"GET", "/p", []string{"Origin: https://evil.example"}, false},
	} {
		resp, body := do(t, c, test.method, r.URL+test.path, nil, test.headers...)
		got := up.taken()
		if test.ok && (resp.StatusCode != 200 || len(got) != 1) {
			t.Errorf("%v: %s", test, resp.Status)
		}
		if !test.ok && (resp.StatusCode != 403 || len(got) != 0 || test.method != "HEAD" && code(t, body) != "cross_origin") {
			t.Errorf("%v: %s %s", test, resp.Status, body)
		}
	}
}
