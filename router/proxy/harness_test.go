package proxy_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/proxy"
)

const (
	tenantA = hux.Tenant("ten_0123456789abcdef0123456789abcdef")
	tenantB = hux.Tenant("ten_fedcba9876543210fedcba9876543210")
	alice   = hux.User("usr_aaaaaaaaaaaaaaaaaaaa")
	bob     = hux.User("usr_bbbbbbbbbbbbbbbbbbbb")
	origin  = "https://chat.example.org"
	console = "https://hux.example.org"
	head    = `<link rel="stylesheet" href="/hux/bridge/v/hux.css"{style-nonce}><script src="/hux/bridge/v/hux.js"{script-nonce} defer></script>`
	plain   = `<link rel="stylesheet" href="/hux/bridge/v/hux.css"><script src="/hux/bridge/v/hux.js" defer></script>`
)

func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	m.Run()
}

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// testRules allows what the tests ask for, and denies a little.
const testRules = `{"format":1,"upstream":{"name":"test","login":"/login"},
 "query_denied":["all_profiles"],
 "deny":[{"paths":["/api/settings","/api/terminal/*"],"reason":"test"}],
 "allow":[
  {"methods":["GET"],"paths":["/","/session/*"],"inject":true},
  {"methods":["GET"],"paths":["/health"],"health":true},
  {"methods":["GET"],"paths":["/ws","/ws/*"],"websocket":true},
  {"methods":["GET"],"paths":["/stream"],"stream":true},
  {"methods":["GET","POST"],"paths":["/slow"],"slow":true},
  {"methods":["GET","POST","PUT","DELETE","OPTIONS"],"paths":["/p","/p/*","/files/*"]},
  {"methods":["POST"],"paths":["/respond"],"body":{"choice":{"required":true,"in":["once","session","deny"]},"yolo":{"in":[false,null]}}}
 ]}`

func rules(t testing.TB, text string) *proxy.Rules {
	t.Helper()
	r, err := proxy.LoadRules(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// router is the proxy behind a real server.
type router struct {
	*httptest.Server
	proxy *proxy.Proxy
}

// newRouter serves tenant A and alice, or as target says.
func newRouter(t testing.TB, upstream string, set func(*proxy.Options), target func(*http.Request) proxy.Target) *router {
	t.Helper()
	o := proxy.Options{Rules: rules(t, testRules), PublicURL: mustURL(origin), ConsoleURL: mustURL(console), Head: head}
	if set != nil {
		set(&o)
	}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	to := mustURL(upstream)
	if target == nil {
		target = func(*http.Request) proxy.Target {
			return proxy.Target{Tenant: tenantA, Slot: "a", Upstream: to, User: alice, ClientAddr: netip.MustParseAddr("192.0.2.7")}
		}
	}
	r := serverOf(t, func(w http.ResponseWriter, r *http.Request) { p.Serve(w, r, target(r)) })
	r.proxy = p
	return r
}

// serverOf serves h over TLS with HTTP/1.1 and HTTP/2.
func serverOf(t testing.TB, h http.HandlerFunc) *router {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return &router{Server: s}
}

// upstream serves an upstream by a handler.
func upstream(t testing.TB, h http.HandlerFunc) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// client speaks HTTP/2 to the router, or HTTP/1.1 alone.
func (r *router) client(http2 bool) *http.Client {
	var protocols http.Protocols
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{Protocols: &protocols, DisableCompression: true, TLSClientConfig: &tls.Config{
		RootCAs: r.Server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, ServerName: "example.com", MinVersion: tls.VersionTLS12}}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// both runs a test over HTTP/1.1 and over HTTP/2.
func both(t *testing.T, r *router, run func(t *testing.T, c *http.Client)) {
	for name, http2 := range map[string]bool{"http1": false, "http2": true} {
		t.Run(name, func(t *testing.T) {
			c := r.client(http2)
			defer c.CloseIdleConnections()
			run(t, c)
		})
	}
}

// do sends a request with headers "Name: value".
func do(t testing.TB, c *http.Client, method, target string, body io.Reader, headers ...string) (*http.Response, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Add(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s %s: body: %v", method, target, err)
	}
	return resp, string(b)
}

// raw writes bytes to the router over TLS and HTTP/1.1 and reads answers.
func (r *router) raw(t testing.TB, request string) (*http.Response, string) {
	t.Helper()
	conn := r.dial(t)
	defer conn.Close()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.80q: %v", request, err)
	}
	body, _ := io.ReadAll(resp.Body)
	return resp, string(body)
}

// received is one request as a recorder understood it.
type received struct {
	conn    int
	head    string
	headers http.Header
	line    string
	body    string
}

// recorder is an upstream on bare TCP that behaves like the real one: it
// answers on the headers alone, leaves bodies unread, and takes whatever
// follows for the next request. readBodies makes it read by Content-Length.
type recorder struct {
	net.Listener
	mu         sync.Mutex
	requests   []received
	conns      int
	readBodies bool
	reply      string
}

func newRecorder(t testing.TB, readBodies bool) *recorder {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Listener: l, readBodies: readBodies, reply: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.conns++
			n := r.conns
			r.mu.Unlock()
			go r.serve(c, n)
		}
	}()
	return r
}

func (r *recorder) URL() string { return "http://" + r.Addr().String() }

func (r *recorder) serve(c net.Conn, n int) {
	defer c.Close()
	br := bufio.NewReader(c)
	for {
		var head bytes.Buffer
		for {
			line, err := br.ReadString('\n')
			head.WriteString(line)
			if err != nil {
				if head.Len() > 0 {
					r.note(received{conn: n, head: head.String(), line: "unfinished: " + head.String()})
				}
				return
			}
			if strings.TrimRight(line, "\r\n") == "" {
				break
			}
		}
		got := received{conn: n, head: head.String(), headers: http.Header{}}
		lines := strings.Split(head.String(), "\r\n")
		got.line = lines[0]
		for _, l := range lines[1:] {
			if name, value, ok := strings.Cut(l, ": "); ok {
				got.headers[name] = append(got.headers[name], value)
			}
		}
		if r.readBodies {
			if length := got.headers.Get("Content-Length"); length != "" {
				n := 0
				for _, d := range length {
					n = n*10 + int(d-'0')
				}
				b := make([]byte, n)
				_, _ = io.ReadFull(br, b)
				got.body = string(b)
			}
		}
		r.note(got)
		if _, err := io.WriteString(c, r.reply); err != nil {
			return
		}
		if strings.EqualFold(got.headers.Get("Connection"), "close") && !r.readBodies {
			return
		}
	}
}

func (r *recorder) note(got received) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, got)
}

// taken gives what was received and forgets it.
func (r *recorder) taken() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.requests
	r.requests = nil
	return got
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 5 s: %s", what)
		}
		<-tick.C
	}
}

// dial opens a bare connection to the router.
func (r *router) dial(t testing.TB) net.Conn {
	t.Helper()
	config := r.Server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.NextProtos = []string{"http/1.1"}
	conn, err := tls.Dial("tcp", r.Listener.Addr().String(), config)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	return conn
}

// newRequest is a request as the server would read it.
func newRequest(method, target string) *http.Request {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "chat.example.org"
	return r
}

func newDiscard() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// serveSafely serves without a server around it, which takes an aborted
// transfer's panic.
func serveSafely(p *proxy.Proxy, w http.ResponseWriter, r *http.Request, t proxy.Target) {
	defer func() {
		if v := recover(); v != nil && v != any(http.ErrAbortHandler) {
			panic(v)
		}
	}()
	p.Serve(w, r, t)
}
