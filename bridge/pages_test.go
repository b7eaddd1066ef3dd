package bridge_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bstein.dev/hux/bridge"
	"bstein.dev/hux/hux"
)

var allPages = []bridge.Page{
	bridge.Home, bridge.Activity, bridge.Panel, bridge.SignOut, bridge.SignedOut, bridge.Status,
	bridge.NoSlot, bridge.SlotDown, bridge.Failure, bridge.Clear, bridge.Contract, bridge.Decisions, bridge.Autonomy, bridge.Again,
}

// write renders a page of a console at console.example.org, or of one origin
// if console is "".
func write(t *testing.T, console string, status int, page bridge.Page, facts bridge.Facts) *http.Response {
	t.Helper()
	o := bridge.PagesOptions{
		ChatURL: mustURL(t, "https://chat.example.org/"),
		SignOut: []*url.URL{mustURL(t, "https://login.example.org/realms/x")},
	}
	if console != "" {
		o.ConsoleURL = mustURL(t, console)
	}
	pages, err := bridge.NewPages(o)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	pages.Write(w, httptest.NewRequest("GET", "/", nil), status, page, facts)
	return w.Result()
}

func text(t *testing.T, res *http.Response) string {
	t.Helper()
	var b strings.Builder
	if err := res.Write(&b); err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(b.String(), "\r\n\r\n")
	return body
}

func TestPagesHeaders(t *testing.T) {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self' https://chat.example.org; " +
		"base-uri 'none'; form-action 'self'; frame-ancestors "
	for _, page := range allPages {
		res := write(t, "https://hux.example.org", 418, page, bridge.Facts{})
		if res.StatusCode != 418 {
			t.Errorf("%s: status %d", page, res.StatusCode)
		}
		framers, frameOptions := "'none'", "DENY"
		if page == bridge.Panel || page == bridge.Decisions {
			framers, frameOptions = "https://chat.example.org", ""
		}
		referrer := "same-origin"
		if page == bridge.Failure {
			referrer = "no-referrer"
		}
		for name, want := range map[string]string{
			"Content-Security-Policy":    policy + framers,
			"X-Frame-Options":            frameOptions,
			"Cache-Control":              "no-store, no-transform",
			"Content-Type":               "text/html; charset=utf-8",
			"Referrer-Policy":            referrer,
			"X-Content-Type-Options":     "nosniff",
			"Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", page, name, got, want)
			}
		}
		if want := strconv.Itoa(len(text(t, res))); res.Header.Get("Content-Length") != want {
			t.Errorf("%s: Content-Length %s, want %s", page, res.Header.Get("Content-Length"), want)
		}
	}
}

// inline is what the policy forbids in a page.
var inline = regexp.MustCompile(`(?i)<style|\sstyle=|\son[a-z]+=|<script(?:\s[^>]*)?>[^<]|="\s*javascript:`)

// What the policy forbids would fail silently in a browser, so no page may
// hold it; and every asset that a page names must be served.
func TestPagesMarkup(t *testing.T) {
	server := httptest.NewServer(bridge.Handler())
	defer server.Close()
	asset := regexp.MustCompile(`(?:href|src)="(/hux/bridge/[^"]+)"`)
	for _, page := range allPages {
		html := text(t, write(t, "https://hux.example.org", 200, page, bridge.Facts{Contract: whole(t).Page("overview", "")}))
		if m := inline.FindString(html); m != "" {
			t.Errorf("%s: inline %q", page, m)
		}
		for _, want := range []string{"<!doctype html>", `<html lang="en"`, "<title>", "<h1"} {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %s", page, want)
			}
		}
		assets := asset.FindAllStringSubmatch(html, -1)
		if len(assets) == 0 {
			t.Errorf("%s: no assets", page)
		}
		for _, m := range assets {
			if res, _ := get(t, server, "GET", m[1], nil); res.StatusCode != 200 {
				t.Errorf("%s: %s: status %d", page, m[1], res.StatusCode)
			}
		}
	}
}

func TestPagesEscape(t *testing.T) {
	const evil = `"><script>alert(1)</script>'`
	for _, page := range allPages {
		html := text(t, write(t, "https://hux.example.org", 500, page, bridge.Facts{Detail: evil, RequestID: evil}))
		if strings.Contains(html, "<script>alert") {
			t.Errorf("%s: not escaped:\n%s", page, html)
		}
	}
	for page, facts := range map[bridge.Page]bridge.Facts{
		bridge.SignedOut: {Detail: "The pool is empty."},
		bridge.NoSlot:    {Detail: "The pool is empty."},
		bridge.SlotDown:  {Detail: "The pool is empty."},
		bridge.Failure:   {Detail: "The pool is empty.", RequestID: "req-1"},
	} {
		html := text(t, write(t, "https://hux.example.org", 503, page, facts))
		for _, want := range []string{facts.Detail, facts.RequestID} {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %q", page, want)
			}
		}
	}
}

func TestFailurePage(t *testing.T) {
	const again = "https://chat.example.org/session/x?a=1&b=2"
	const retries, reloads = `http-equiv="refresh" content="15; url=https://chat.example.org/session/x?a=1&amp;b=2"`, `http-equiv="refresh" content="15">`
	for name, c := range map[string]struct {
		status      int
		facts       bridge.Facts
		has, hasNot []string
	}{
		"a sign-in that may work soon": {503, bridge.Facts{Code: hux.SignInUnavailable, Again: again, Retry: true},
			[]string{"<h1>Signing in does not work right now</h1>", retries, "tries again by itself"}, []string{"To the console"}},
		"a sign-in that went wrong": {400, bridge.Facts{Code: hux.BadRequest, Again: again},
			[]string{`href="https://chat.example.org/session/x?a=1&amp;b=2">Begin again`}, []string{"refresh"}},
		"a provider that is needed":   {503, bridge.Facts{Code: hux.SignInUnavailable, Retry: true}, []string{reloads, `href="">Try now`}, nil},
		"nothing there":               {404, bridge.Facts{Code: hux.NotFound, Detail: "There is nothing here."}, []string{"<h1>There is nothing here</h1>", "To the chat"}, []string{"refresh", "here.</p>"}},
		"an account that is for none": {403, bridge.Facts{Code: hux.HumanRequired, Detail: "Why."}, []string{"This account is for programs", "Why.", "https://hux.example.org/hux/api/ui/sign-out"}, []string{"To the chat"}},
		"another":                     {500, bridge.Facts{Code: hux.InternalError}, []string{"Something went wrong", "To the chat"}, []string{"refresh"}},
	} {
		html := text(t, write(t, "https://hux.example.org", c.status, bridge.Failure, c.facts))
		for _, want := range c.has {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %s:\n%s", name, want, html)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(html, not) {
				t.Errorf("%s: has %s:\n%s", name, not, html)
			}
		}
	}
}

func TestClearPage(t *testing.T) {
	const onward = "https://login.example.org/logout?a=1&id_token_hint=x.y.z"
	for name, c := range map[string]struct {
		facts       bridge.Facts
		has, hasNot []string
	}{
		"at a sign-in": {bridge.Facts{Ticket: "t-1", Onward: "https://hux.example.org/hux/auth/sign-in?flow=f&next=%2F"},
			[]string{"<h1>Getting your chat ready</h1>", `data-ticket="t-1"`, `href="https://hux.example.org/hux/auth/sign-in?flow=f&amp;next=%2F" data-onward`}, []string{"Go on"}},
		"at a sign-out": {bridge.Facts{Ending: true, Onward: onward, Otherwise: "/otherwise"},
			[]string{"<h1>Signing you out</h1>", `href="https://login.example.org/logout?a=1&amp;id_token_hint=x.y.z" data-onward`, `href="/otherwise">Go on`, "may still be signed in"}, nil},
	} {
		html := text(t, write(t, "https://hux.example.org", 200, bridge.Clear, c.facts))
		for _, want := range c.has {
			if !strings.Contains(html, want) {
				t.Errorf("%s: no %s:\n%s", name, want, html)
			}
		}
		for _, not := range c.hasNot {
			if strings.Contains(html, not) {
				t.Errorf("%s: has %s:\n%s", name, not, html)
			}
		}
	}
	if html := text(t, write(t, "https://hux.example.org", 200, bridge.SignedOut, bridge.Facts{Unsure: true})); strings.Contains(html, "You are signed out") {
		t.Errorf("sure of what is not known:\n%s", html)
	}
}

func TestPagesOneOrigin(t *testing.T) {
	res := write(t, "", 200, bridge.Panel, bridge.Facts{})
	if got := res.Header.Get("Content-Security-Policy"); !strings.HasSuffix(got, "connect-src 'self'; base-uri 'none'; form-action 'self' https://login.example.org; frame-ancestors https://chat.example.org") {
		t.Errorf("policy %q", got)
	}
	if html := text(t, res); !strings.Contains(html, `data-console="https://chat.example.org"`) {
		t.Errorf("links lead elsewhere:\n%s", html)
	}
}

func TestPagesUnknown(t *testing.T) {
	if res := write(t, "", 200, "none", bridge.Facts{}); res.StatusCode != http.StatusInternalServerError {
		t.Errorf("status %d, want 500", res.StatusCode)
	}
}
