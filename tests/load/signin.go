package main

import (
	"context"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
)

// domain ends the names of the router's hosts. It is reserved for tests (RFC
// 6761), and cookies go to it over plain HTTP.
const domain = ".hux.test"

// site is the origin of one of the hosts of a router that listens on addr.
func site(name, addr string) string {
	_, port, _ := net.SplitHostPort(addr)
	return "http://" + name + domain + ":" + port
}

// browser goes to pages as a person's does, from an address of its own: the
// router bounds the sign-ins of each.
type browser struct{ http.Client }

func newBrowser() *browser {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(rand.IntN(256)), byte(1+rand.IntN(254)))}}
	return &browser{http.Client{Jar: must(cookiejar.New(nil)), Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if host, port, err := net.SplitHostPort(addr); err == nil && strings.HasSuffix(host, domain) {
				addr = net.JoinHostPort("127.0.0.1", port)
			}
			return dialer.DialContext(ctx, network, addr)
		},
	}}}
}

// visit goes to a page, or sends a form there from one of origin, and returns
// where the redirects led to, which must be a success, and the body.
func (b *browser) visit(to, origin string, form url.Values) (*url.URL, string) {
	req := must(http.NewRequest(http.MethodGet, to, strings.NewReader(form.Encode())))
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Method = http.MethodPost
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	resp, err := b.Do(req)
	check(err)
	defer func() { _ = resp.Body.Close() }()
	body := must(io.ReadAll(resp.Body))
	if resp.StatusCode/100 != 2 {
		check(fmt.Errorf("%s%s answers %s", resp.Request.URL.Host, resp.Request.URL.Path, resp.Status))
	}
	return resp.Request.URL, string(body)
}

// clearPage is what matters of the router's page that has the chat host forget
// an earlier user.
var clearPage = regexp.MustCompile(`(?s)data-ticket="([^"]*)".*<a href="([^"]*)" data-onward`)

// signIn goes a browser's way from a host to the provider's form and back, as
// somebody, and returns the Cookie header for the host.
func signIn(origin, name string) string {
	start := must(url.Parse(origin))
	b := newBrowser()
	form, _ := b.visit(origin, "", nil)
	at, body := b.visit(form.String(), "", url.Values{"username": {name}, "password": {name}})
	if found := clearPage.FindStringSubmatch(body); found != nil { // its script sends the ticket and goes on
		b.visit(origin+"/hux/auth/clear", at.Scheme+"://"+at.Host, url.Values{"ticket": {html.UnescapeString(found[1])}})
		at, _ = b.visit(html.UnescapeString(found[2]), "", nil)
	}
	if form.Host == start.Host || at.Host != start.Host {
		check(fmt.Errorf("the sign-in went from %s by %s to %s", start.Host, form.Host, at.Host))
	}
	var cookies []string
	for _, c := range b.Jar.Cookies(start) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	return strings.Join(cookies, "; ")
}
