package identity_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/router/identity"
)

const (
	chatURL    = "https://chat.example.test"
	consoleURL = "https://console.example.test"

	publicIssuer = "http://id.example.test" // of a provider that is reached by an internal URL
)

var testKey = bytes.Repeat([]byte{7}, 32)

// clock is the real one, set forward by what a test says.
type clock struct{ ahead atomic.Int64 }

func (c *clock) Now() time.Time          { return time.Now().Add(time.Duration(c.ahead.Load())) }
func (c *clock) Advance(d time.Duration) { c.ahead.Add(int64(d)) }

// router is a Service behind a TLS socket that plays both hosts: its auth
// paths, /who, which says who sent the request, and /stream, which is open
// until the context of the request ends.
type router struct {
	*identity.Service
	t        testing.TB
	idp      *idp
	clock    *clock
	server   *httptest.Server
	db       *store.DB
	path     string
	registry *prometheus.Registry
	options  identity.Options
	stop     func()
	streams  atomic.Int64
	log      lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
func (l *lockedBuffer) String() string { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func newRouter(t testing.TB, change ...func(*identity.Options)) *router {
	t.Helper()
	rt := &router{t: t, clock: &clock{}, path: filepath.Join(t.TempDir(), "router.db")}
	rt.idp = newIDP(t, rt.clock.Now)
	rt.options = identity.Options{
		Key: testKey, PublicURL: mustURL(chatURL), ConsoleURL: mustURL(consoleURL),
		Issuer: rt.idp.URL, ClientID: clientID, ClientSecret: clientSecret, BearerClients: []string{clientID, "cli"},
		Now: rt.clock.Now, Log: slog.New(slog.NewTextHandler(&rt.log, nil)),
		Clear: func(w http.ResponseWriter, _ *http.Request, c identity.Clearing) {
			_ = api.JSON(w, http.StatusOK, map[string]identity.Clearing{"clearing": c})
		},
	}
	for _, c := range change {
		c(&rt.options)
	}
	if rt.options.Issuer == publicIssuer {
		rt.idp.issuer = publicIssuer
	}
	rt.server = httptest.NewTLSServer(http.HandlerFunc(rt.serve))
	t.Cleanup(rt.server.Close)
	rt.open()
	t.Cleanup(func() { rt.close() })
	rt.findProvider()
	return rt
}

// open starts the Service on its database; close stops it.
func (rt *router) open() {
	rt.t.Helper()
	var err error
	if rt.db, err = store.Open(rt.path, 0); err != nil {
		rt.t.Fatal(err)
	}
	rt.registry = prometheus.NewRegistry()
	rt.options.DB, rt.options.Registry = rt.db, rt.registry
	if rt.Service, err = identity.New(rt.options); err != nil {
		rt.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = rt.Run(ctx) }()
	rt.stop = func() { cancel(); <-done; _ = rt.db.Close() }
}

func (rt *router) close() {
	if rt.stop != nil {
		rt.stop()
		rt.stop = nil
	}
}

func (rt *router) restart() { rt.t.Helper(); rt.restartUnfound(); rt.findProvider() }

func (rt *router) restartUnfound() { rt.t.Helper(); rt.close(); rt.open() }

// findProvider waits until signing in works.
func (rt *router) findProvider() {
	rt.t.Helper()
	eventually(rt.t, rt.Ready)
}

func (rt *router) serve(w http.ResponseWriter, r *http.Request) {
	site := map[string]identity.Site{"chat.example.test": identity.Chat, "console.example.test": identity.Console}[r.Host]
	if site == "" {
		site = identity.API
	}
	if strings.HasPrefix(r.URL.Path, "/hux/auth/") || strings.HasSuffix(r.URL.Path, "/login") {
		rt.Handler(site).ServeHTTP(w, r)
		return
	}
	id, ctx, err := rt.Authenticate(r, site)
	if err != nil {
		if challenge := identity.Challenge(err); challenge != "" {
			w.Header().Set("WWW-Authenticate", challenge)
		}
		api.WriteError(w, r, err)
		return
	}
	if id == nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/stream" {
		rt.streams.Add(1)
		defer rt.streams.Add(-1)
		_ = http.NewResponseController(w).Flush()
		<-ctx.Done()
		return
	}
	_ = api.JSON(w, 200, id)
}

// browser is a client with a cookie jar.
type browser struct {
	*http.Client
	t      testing.TB
	follow func(*http.Request) bool // whether to go where a redirect leads
	walked []string                 // the URLs that redirects led to
	header http.Header              // sent with every request
	clears []string                 // Clear-Site-Data seen, with the host
	idle   bool                     // runs no script: stays on a page that clears
}

func (rt *router) browser() *browser {
	jar, _ := cookiejar.New(nil)
	b := &browser{t: rt.t, header: http.Header{"Accept": {"text/html"}}}
	addr := rt.server.Listener.Addr().String()
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			switch {
			case to == "id.example.test:80":
				to = rt.idp.Listener.Addr().String()
			case strings.HasSuffix(to, ".example.test:443"):
				to = addr
			}
			return (&net.Dialer{}).DialContext(ctx, network, to)
		},
	}
	rt.t.Cleanup(transport.CloseIdleConnections)
	b.Client = &http.Client{Jar: jar, Transport: watched{transport, b}, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		b.walked = append(b.walked, r.URL.String())
		if b.follow != nil && !b.follow(r) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	return b
}

type watched struct {
	http.RoundTripper
	b *browser
}

func (w watched) RoundTrip(r *http.Request) (*http.Response, error) {
	for k, v := range w.b.header {
		if r.Header.Get(k) == "" {
			r.Header[k] = v
		}
	}
	resp, err := w.RoundTripper.RoundTrip(r)
	if err == nil {
		if c := resp.Header.Get("Clear-Site-Data"); c != "" {
			w.b.clears = append(w.b.clears, r.URL.Host+" "+c)
		}
	}
	return resp, err
}

// answer is a response whose body has been read.
type answer struct {
	*http.Response
	body string
}

func (b *browser) send(r *http.Request) answer {
	b.t.Helper()
	b.walked = nil
	for {
		a := b.load(r)
		c := a.clearing()
		if c == nil || b.idle {
			return a
		}
		if cleared := b.clear(c.Ticket); cleared.StatusCode != http.StatusNoContent {
			b.t.Fatalf("clearing: %d %s", cleared.StatusCode, cleared.body)
		}
		b.walked = append(b.walked, c.Onward)
		r, _ = http.NewRequest(http.MethodGet, c.Onward, nil)
		if b.follow != nil && !b.follow(r) {
			a.Header.Set("Location", c.Onward)
			return a
		}
	}
}

func (b *browser) load(r *http.Request) answer {
	b.t.Helper()
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return answer{resp, string(body)}
}

// clearing is what a page that clears the chat host was told; nil for another
// page.
func (a answer) clearing() *identity.Clearing {
	var page struct {
		Clearing *identity.Clearing `json:"clearing"`
	}
	_ = json.Unmarshal([]byte(a.body), &page)
	return page.Clearing
}

// clear is what the script of that page sends. Headers stand in for its own.
func (b *browser) clear(ticket string, headers ...string) answer {
	b.t.Helper()
	if headers == nil {
		headers = []string{"Origin", consoleURL, "Sec-Fetch-Site", "same-site"}
	}
	r, _ := http.NewRequest(http.MethodPost, chatURL+"/hux/auth/clear", strings.NewReader(url.Values{"ticket": {ticket}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return b.load(r)
}

func (b *browser) get(u string, headers ...string) answer {
	b.t.Helper()
	r, _ := http.NewRequest(http.MethodGet, u, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return b.send(r)
}

func (b *browser) post(u string, form url.Values, headers ...string) answer {
	b.t.Helper()
	r, _ := http.NewRequest(http.MethodPost, u, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return b.send(r)
}

// signIn goes through a sign-in from the chat host and must end at /who.
func (b *browser) signIn() answer {
	b.t.Helper()
	a := b.get(chatURL + "/hux/auth/start?next=/who")
	if a.StatusCode != 200 || a.Request.URL.String() != chatURL+"/who" {
		b.t.Fatalf("sign-in ended at %s with %d after %v: %s", a.Request.URL, a.StatusCode, b.walked, a.body)
	}
	return a
}

// until stops the browser before the first redirect whose URL contains part,
// and gives that URL.
func (b *browser) until(u, part string) string {
	b.t.Helper()
	b.follow = func(r *http.Request) bool { return !strings.Contains(r.URL.String(), part) }
	defer func() { b.follow = nil }()
	a := b.get(u)
	loc := a.Header.Get("Location")
	if !strings.Contains(loc, part) {
		b.t.Fatalf("no redirect to %s: %d at %s", part, a.StatusCode, a.Request.URL)
	}
	return loc
}

// cookies is the Cookie header for u, of those whose names contain part.
func (b *browser) cookies(u, part string) string {
	var pairs []string
	for _, c := range b.Jar.Cookies(mustURL(u)) {
		if strings.Contains(c.Name, part) {
			pairs = append(pairs, c.Name+"="+c.Value)
		}
	}
	return strings.Join(pairs, "; ")
}

func (b *browser) status(u string) int { b.t.Helper(); return b.get(u).StatusCode }

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// eventually polls for a condition; a test that fails takes ten seconds.
func eventually(t testing.TB, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		if ok() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("it did not come to be")
}
