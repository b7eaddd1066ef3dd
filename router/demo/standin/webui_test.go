package standin_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bstein.dev/hux/router/demo/standin"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(int) {
		http.DefaultClient.CloseIdleConnections()
	}))
}

// guest is a browser in front of a stand-in, behind a router that names it.
type guest struct {
	t        *testing.T
	base     string
	identity string
	csrf     string
	client   *http.Client
}

const identityHeader = "X-Hux-User"

func newWebUI(t *testing.T, o standin.Options) *guest {
	t.Helper()
	if o.Wait == nil {
		o.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	u := standin.New(o)
	base := serve(t, u)
	t.Cleanup(u.Close)
	jar, _ := cookiejar.New(nil)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	g := &guest{t: t, base: base, identity: "usr_alice", client: &http.Client{Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	g.load()
	return g
}

var tokenInPage = regexp.MustCompile(`__HERMES_CSRF_TOKEN__="([0-9a-f]{64})"`)

// load opens the page, which brings the cookie and the token.
func (g *guest) load() {
	g.t.Helper()
	res := g.do(http.MethodGet, "/", "")
	body := g.body(res)
	found := tokenInPage.FindStringSubmatch(body)
	if found == nil {
		g.t.Fatal("the page has no CSRF token")
	}
	g.csrf = found[1]
}

// do sends a request as the page would; headers come in pairs and replace.
func (g *guest) do(method, path, body string, headers ...string) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.base+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set(identityHeader, g.identity)
	if method != http.MethodGet {
		req.Header.Set("Origin", g.base)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.Header.Set("X-Hermes-CSRF-Token", g.csrf)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (g *guest) body(res *http.Response) string {
	g.t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(body)
}

// json sends a request and reads the answer, which must have the status.
func (g *guest) json(status int, method, path string, body any) map[string]any {
	g.t.Helper()
	sent, _ := json.Marshal(body)
	if body == nil {
		sent = nil
	}
	res := g.do(method, path, string(sent))
	text := g.body(res)
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		g.t.Fatalf("%s %s: %v in %q", method, path, err, text)
	}
	if res.StatusCode != status {
		g.t.Fatalf("%s %s answered %d %v, want %d", method, path, res.StatusCode, got, status)
	}
	return got
}

func (g *guest) newSession() string {
	g.t.Helper()
	s := g.json(200, http.MethodPost, "/api/session/new", map[string]any{})["session"].(map[string]any)
	return s["session_id"].(string)
}

func (g *guest) start(sid, message string) string {
	g.t.Helper()
	started := g.json(200, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": message})
	return started["stream_id"].(string)
}

func TestTrustedHeader(t *testing.T) {
	g := newWebUI(t, standin.Options{})
	res := g.do(http.MethodGet, "/api/sessions", "")
	if res.StatusCode != 200 || len(res.Cookies()) != 0 {
		t.Errorf("with a cookie: %d, and %v is set", res.StatusCode, res.Cookies())
	}

	g.client.Jar, _ = cookiejar.New(nil)
	cookie := g.do(http.MethodGet, "/api/sessions", "").Cookies()[0]
	if cookie.Name != "hermes_session" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" ||
		!regexp.MustCompile(`^[0-9a-f]{64}\.[0-9a-f]{64}$`).MatchString(cookie.Value) {
		t.Errorf("the cookie is %v", cookie)
	}

	for name, c := range map[string]struct {
		path     string
		status   int
		location string
	}{
		"api":       {"/api/sessions", 401, ""},
		"page":      {"/session/abc", 302, "login?next=%2Fsession%2Fabc"},
		"static":    {"/static/style.css", 200, ""},
		"worker":    {"/sw.js", 200, ""},
		"manifest":  {"/manifest.json", 200, ""},
		"health":    {"/health", 200, ""},
		"who am I":  {"/api/auth/status", 200, ""},
		"the shell": {"/", 302, "login?next=%2F"},
	} {
		res := g.do(http.MethodGet, c.path, "", identityHeader, "")
		if res.StatusCode != c.status || res.Header.Get("Location") != c.location {
			t.Errorf("%s without a name: %d to %q", name, res.StatusCode, res.Header.Get("Location"))
		}
	}
	// The cookie without the name ended the session.
	if res := g.do(http.MethodGet, "/api/sessions", ""); len(res.Cookies()) != 1 {
		t.Error("the old cookie still counts")
	}

	g.load()
	g.identity = "usr_bob"
	res = g.do(http.MethodPost, "/api/session/new", "{}")
	if res.StatusCode != 403 || len(res.Cookies()) != 1 {
		t.Errorf("another person with the old page: %d", res.StatusCode)
	}
	g.load()
	g.newSession()
}

func TestCrossSite(t *testing.T) {
	g := newWebUI(t, standin.Options{})
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"same origin":          {nil, 200},
		"other token header":   {[]string{"X-Hermes-CSRF-Token", "", "X-CSRF-Token", g.csrf}, 200},
		"no browser":           {[]string{"Origin", "", "X-Hermes-CSRF-Token", ""}, 200},
		"no token":             {[]string{"X-Hermes-CSRF-Token", ""}, 403},
		"wrong token":          {[]string{"X-Hermes-CSRF-Token", strings.Repeat("0", 64)}, 403},
		"cross-site":           {[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		"foreign origin":       {[]string{"Origin", "http://evil.test"}, 403},
		"foreign port":         {[]string{"Origin", "http://127.0.0.1:1"}, 403},
		"null origin":          {[]string{"Origin", "null"}, 403},
		"referer":              {[]string{"Origin", "", "Referer", g.base + "/x"}, 200},
		"foreign referer":      {[]string{"Origin", "", "Referer", "http://evil.test/"}, 403},
		"the origin's port 80": {[]string{"Origin", "http://127.0.0.1"}, 403},
	} {
		if res := g.do(http.MethodPost, "/api/session/new", "{}", c.headers...); res.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, c.status)
		}
	}
}

func TestShellAndStatic(t *testing.T) {
	g := newWebUI(t, standin.Options{Title: "Slot <1>"})
	for _, path := range []string{"/", "/index.html", "/session/abc", "/session/a/b"} {
		res := g.do(http.MethodGet, path, "", "Accept-Encoding", "gzip")
		h := res.Header
		if res.StatusCode != 200 || h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("Content-Encoding") != "" || h.Get("ETag") != "" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-src 'self'") {
			t.Errorf("%s: %d %v", path, res.StatusCode, h)
		}
		if body := g.body(res); strings.Contains(body, "<1>") || int64(len(body)) != res.ContentLength {
			t.Errorf("%s: the title is not escaped, or the length is wrong", path)
		}
	}
	res := g.do(http.MethodGet, "/static/style.css?v=x", "", "Accept-Encoding", "gzip")
	etag := res.Header.Get("ETag")
	if res.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(etag, `W/"`) || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("static: %v", res.Header)
	}
	if res := g.do(http.MethodGet, "/static/style.css", "", "If-None-Match", etag); res.StatusCode != 304 {
		t.Errorf("a fresh file was answered %d", res.StatusCode)
	}
	for _, path := range []string{"/static/index.html", "/static/none.js", "/static/../webui.go", "/nothing"} {
		if res := g.do(http.MethodGet, path, ""); res.StatusCode != 404 {
			t.Errorf("%s was answered %d", path, res.StatusCode)
		}
	}
	if res := g.do(http.MethodGet, "/sw.js", ""); res.Header.Get("Service-Worker-Allowed") != "/" || strings.Contains(g.body(res), "{{") {
		t.Error("the worker has no version or no scope")
	}
	for _, path := range []string{"/api/terminal/start", "/api/settings"} {
		if got := g.json(200, http.MethodPost, path, map[string]any{}); got["reached"] != "POST "+path {
			t.Errorf("%s answered %v", path, got)
		}
	}
}

// serve serves a handler as long as the test goes, and gives its address.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return "http://" + l.Addr().String()
}
