package blackbox_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// protocols runs a test over HTTP/1.1 and over HTTP/2.
func protocols(t *testing.T, test func(t *testing.T, proto string)) {
	t.Helper()
	for _, proto := range []string{"h1", "h2"} {
		t.Run(proto, func(t *testing.T) { test(t, proto) })
	}
}

// transport speaks proto: "h1" or "h2" over TLS, or "plain", which is
// HTTP/1.1 without TLS for URLs that say https, as behind a proxy that ends it.
func (h *router) transport(proto string) *http.Transport {
	t := &http.Transport{
		DialContext: h.dial, TLSClientConfig: &tls.Config{RootCAs: authority.pool},
		ForceAttemptHTTP2: proto == "h2", DisableCompression: true,
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(proto != "h2")
	protocols.SetHTTP2(proto == "h2")
	t.Protocols = protocols
	if proto == "plain" {
		t.DialTLSContext = h.dial
	}
	return t
}

// browser is one person's browser: a cookie jar, and no redirect followed
// unseen.
type browser struct {
	h      *router
	proto  string
	jar    http.CookieJar
	client *http.Client
}

func (h *router) browser(t testing.TB, proto string) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := h.transport(proto)
	if proto == "h2" { // the provider has no TLS
		transport.Protocols.SetHTTP1(true)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{h, proto, jar, &http.Client{
		Transport: transport, Jar: jar, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is a response that was read to its end.
type answer struct {
	*http.Response
	body string
}

func (a *answer) code(t testing.TB) string {
	t.Helper()
	var p struct {
		Code string `json:"code"`
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%s %s: no problem document but %q", a.Status, a.Request.URL.Path, a.body)
	}
	return p.Code
}

// want checks the status, and the code of a problem document unless that is "".
func (a *answer) want(t testing.TB, status int, code string) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("%s %s: status %d, want %d: %.300s", a.Request.Method, a.Request.URL.Path, a.StatusCode, status, a.body)
	}
	if code == "" {
		return
	}
	if ct := a.Header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("%s %s: Content-Type %q of an error", a.Request.Method, a.Request.URL.Path, ct)
	}
	if got := a.code(t); got != code {
		t.Errorf("%s %s: code %s, want %s", a.Request.Method, a.Request.URL.Path, got, code)
	}
}

// do sends a request and reads the answer. Header lines are "Name: value".
func (b *browser) do(t testing.TB, method, target string, body io.Reader, header ...string) *answer {
	t.Helper()
	a, err := b.read(b.try(t, context.Background(), method, target, body, header...))
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return a
}

// read reads an answer to its end.
func (b *browser) read(res *http.Response, err error) (*answer, error) {
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &answer{res, string(body)}, err
}

// navigation is what a browser says of a click on a link.
var navigation = []string{"Accept: text/html,application/xhtml+xml,*/*;q=0.8", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-Site: none"}

// open sends a request and leaves the body to read.
func (b *browser) open(t testing.TB, ctx context.Context, method, target string, body io.Reader, header ...string) *http.Response {
	t.Helper()
	res, err := b.try(t, ctx, method, target, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return res
}

func (b *browser) try(t testing.TB, ctx context.Context, method, target string, body io.Reader, header ...string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			req.Host = value
			continue
		}
		req.Header[http.CanonicalHeaderKey(name)] = append(req.Header[http.CanonicalHeaderKey(name)], value)
	}
	res, err := b.client.Do(req)
	if err != nil {
		return nil, err
	}
	b.h.secrets.observe(res)
	if want := map[string]int{"h1": 1, "h2": 2, "plain": 1}[b.proto]; res.ProtoMajor != want && req.URL.Host != "sso.hux.test" {
		t.Errorf("%s was answered over %s", target, res.Proto)
	}
	return res, nil
}

// visit goes to a page, as a click on a link does.
func (b *browser) visit(t testing.TB, target string, header ...string) *answer {
	t.Helper()
	return b.do(t, http.MethodGet, target, nil, append(slices.Clone(navigation), header...)...)
}

// fetch is what a script on the page of the target's own origin does.
func (b *browser) fetch(t testing.TB, method, target, body string, header ...string) *answer {
	t.Helper()
	header = append([]string{"Accept: */*", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Sec-Fetch-Site: same-origin"}, header...)
	var reader io.Reader
	if method != http.MethodGet && method != http.MethodHead {
		header = append(header, "Origin: "+originOf(t, target), "Content-Type: application/json")
		reader = strings.NewReader(body)
	}
	return b.do(t, method, target, reader, header...)
}

func originOf(t testing.TB, target string) string {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	return u.Scheme + "://" + u.Host
}

// onward does what the script of the page does that clears the chat host, and
// gives where that goes on; "" for another page.
func (b *browser) onward(t testing.TB, page *answer) (cleared *answer, next string, err error) {
	t.Helper()
	found := clearPage.FindStringSubmatch(page.body)
	if page.StatusCode != http.StatusOK || found == nil {
		return nil, "", nil
	}
	cleared, err = b.read(b.clear(t, url.Values{"ticket": {html.UnescapeString(found[1])}}, "Origin: "+consoleURL, "Sec-Fetch-Site: same-site"))
	if err == nil && cleared.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("clearing the chat host: status %d", cleared.StatusCode)
	}
	return cleared, html.UnescapeString(found[2]), err
}

var clearPage = regexp.MustCompile(`(?s)data-ticket="([^"]*)".*<a href="([^"]*)" data-onward`)

// clear asks the chat host to clear itself.
func (b *browser) clear(t testing.TB, form url.Values, header ...string) (*http.Response, error) {
	t.Helper()
	return b.try(t, context.Background(), http.MethodPost, chatURL+"/hux/auth/clear", strings.NewReader(form.Encode()),
		append([]string{"Accept: */*", "Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, header...)...)
}

// follow walks redirects from target to an answer that is none, by way of the
// provider's sign-in form if it shows one and of the page that clears the chat
// host, and gives every step.
func (b *browser) follow(t testing.TB, target, name string) []*answer {
	t.Helper()
	steps, err := b.walk(t, target, name)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// walk is follow for whom an error is no surprise.
func (b *browser) walk(t testing.TB, target, name string) ([]*answer, error) {
	t.Helper()
	var steps []*answer
	for range 16 {
		a, err := b.read(b.try(t, context.Background(), http.MethodGet, target, nil, navigation...))
		if err != nil {
			return steps, err
		}
		steps = append(steps, a)
		at := a.Request.URL
		if a.StatusCode == http.StatusOK && at.Host == "sso.hux.test" && strings.Contains(a.body, `name="password"`) {
			if name == "" {
				return steps, nil
			}
			form := url.Values{"username": {name}, "password": {name}}
			a, err = b.read(b.try(t, context.Background(), http.MethodPost, target, strings.NewReader(form.Encode()),
				"Content-Type: application/x-www-form-urlencoded", "Origin: "+issuer, "Sec-Fetch-Site: same-origin"))
			if err != nil {
				return steps, err
			}
			steps = append(steps, a)
		}
		cleared, onward, err := b.onward(t, a)
		if err != nil {
			return steps, err
		}
		if onward != "" {
			steps, target = append(steps, cleared), onward
			continue
		}
		if a.StatusCode/100 != 3 {
			return steps, nil
		}
		next, err := at.Parse(a.Header.Get("Location"))
		if err != nil {
			return steps, err
		}
		target = next.String()
	}
	return steps, fmt.Errorf("redirects without end: %s", target)
}

// signIn signs somebody in by going to a page of the chat, and ends there.
func (h *router) signIn(t testing.TB, proto, name string) *browser {
	t.Helper()
	b := h.browser(t, proto)
	b.signIn(t, name)
	return b
}

func (b *browser) signIn(t testing.TB, name string) {
	t.Helper()
	steps := b.follow(t, chatURL+"/", name)
	end := steps[len(steps)-1]
	if end.Request.URL.String() != chatURL+"/" {
		t.Fatalf("signing in ends at %s with %d: %.300s", end.Request.URL.Path, end.StatusCode, end.body)
	}
	if b.cookie(t, chatURL, "__Host-hux_c") == "" {
		t.Fatal("signing in set no session cookie on the chat host")
	}
}

// cookie is the value of the cookie whose name begins so, or "".
func (b *browser) cookie(t testing.TB, site, prefix string) string {
	t.Helper()
	u, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.jar.Cookies(u) {
		if strings.HasPrefix(c.Name, prefix) {
			return c.Value
		}
	}
	return ""
}

// cookieHeader is what the browser would send to a site.
func (b *browser) cookieHeader(t testing.TB, site string) string {
	t.Helper()
	u, err := url.Parse(site)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, c := range b.jar.Cookies(u) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

// me is who the router says the browser is.
type me struct {
	User     string   `json:"user"`
	Name     string   `json:"name"`
	Roles    []string `json:"roles"`
	Actor    struct{ Kind, ID string }
	Site     string `json:"site"`
	Tenant   *struct{ ID, Slot, State string }
	SlotFree bool `json:"slot_free"`
}

func (b *browser) me(t testing.TB, site string, header ...string) *me {
	t.Helper()
	a := b.fetch(t, http.MethodGet, site+"/hux/api/me", "", header...)
	if a.StatusCode == http.StatusUnauthorized {
		return nil
	}
	a.want(t, http.StatusOK, "")
	var m me
	if err := json.Unmarshal([]byte(a.body), &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func bearer(token string) string { return "Authorization: Bearer " + token }

// dialTLS opens a connection to the router that speaks proto.
func (h *router) dialTLS(t testing.TB, proto string) *tls.Conn {
	t.Helper()
	alpn := map[string]string{"h1": "http/1.1", "h2": "h2"}[proto]
	c, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", h.addr.get(), &tls.Config{
		RootCAs: authority.pool, ServerName: "chat.hux.test", NextProtos: []string{alpn},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.ConnectionState().NegotiatedProtocol; got != alpn {
		t.Fatalf("the router speaks %q, not %q", got, alpn)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	t.Cleanup(func() { _ = c.Close() })
	return c
}
