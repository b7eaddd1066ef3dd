package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// domain ends the names of the router's hosts. It is reserved for tests (RFC
// 6761), and cookies go to it over plain HTTP.
const domain = ".hux.test"

// signInSoon signs in as soon as that can be done: a proxy may look for its
// provider in the background.
func signInSoon(ctx context.Context, page string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		cookie, err := signIn(ctx, page)
		if err == nil {
			return cookie, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return "", err
		}
	}
}

// signIn goes a browser's way from a page to the provider's form and back, as
// the person, and returns the Cookie header for the page's host.
func signIn(ctx context.Context, page string) (string, error) {
	start, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if host, port, err := net.SplitHostPort(addr); err == nil && strings.HasSuffix(host, domain) {
			addr = net.JoinHostPort("127.0.0.1", port)
		}
		return dialer.DialContext(ctx, network, addr)
	}}
	defer transport.CloseIdleConnections()
	browser := &http.Client{Transport: transport, Jar: jar, Timeout: 10 * time.Second}

	form, _, err := visit(ctx, browser, http.MethodGet, page, "", "")
	if err != nil {
		return "", err
	}
	if form.Host == start.Host {
		return "", errors.New("nobody asked to sign in")
	}
	end, body, err := visit(ctx, browser, http.MethodPost, form.String(), "", url.Values{"username": {person}, "password": {person}}.Encode())
	if err != nil {
		return "", err
	}
	if page := clearPage.FindStringSubmatch(body); page != nil { // the router's; its script sends this and goes on
		ticket := url.Values{"ticket": {html.UnescapeString(page[1])}}.Encode()
		if _, _, err := visit(ctx, browser, http.MethodPost, start.Scheme+"://"+start.Host+"/hux/auth/clear", end.Scheme+"://"+end.Host, ticket); err != nil {
			return "", err
		}
		if end, _, err = visit(ctx, browser, http.MethodGet, html.UnescapeString(page[2]), "", ""); err != nil {
			return "", err
		}
	}
	if end.Host != start.Host {
		return "", fmt.Errorf("the sign-in ended at %s", end.Host)
	}
	var cookies []string
	for _, c := range jar.Cookies(start) {
		cookies = append(cookies, c.Name+"="+c.Value)
	}
	return strings.Join(cookies, "; "), nil
}

// clearPage is what matters of the page that has the chat host forget an
// earlier user.
var clearPage = regexp.MustCompile(`(?s)data-ticket="([^"]*)".*<a href="([^"]*)" data-onward`)

// visit sends a request as a browser does that goes to a page, and returns
// where the redirects led to, which must be a success, and the body. A form
// comes from a page of origin, if that is given.
func visit(ctx context.Context, browser *http.Client, method, to, origin, form string) (*url.URL, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, to, strings.NewReader(form))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Accept", "text/html")
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	if form != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := browser.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, "", err
	}
	if resp.StatusCode/100 != 2 {
		return nil, "", fmt.Errorf("%s%s answers %s", resp.Request.URL.Host, resp.Request.URL.Path, resp.Status)
	}
	return resp.Request.URL, string(body), nil
}
