package bridge_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"bstein.dev/hux/bridge"
)

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// get asks a real server for path; "V" in it stands for the version.
func get(t *testing.T, server *httptest.Server, method, path string, header http.Header) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, server.URL+strings.ReplaceAll(path, "V", bridge.Version), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestVersion(t *testing.T) {
	if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(bridge.Version) {
		t.Errorf("Version = %q, want 12 hex digits", bridge.Version)
	}
}

func TestHandler(t *testing.T) {
	server := httptest.NewServer(bridge.Handler())
	defer server.Close()
	for _, test := range []struct {
		method, path string
		status       int
		contentType  string
	}{
		{"GET", "/hux/bridge/V/inject/hux.js", 200, "text/javascript; charset=utf-8"},
		{"HEAD", "/hux/bridge/V/inject/hux.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/hux/bridge/V/inject/hux.css", 200, "text/css; charset=utf-8"},
		{"GET", "/hux/bridge/V/pages/panel.js", 200, "text/javascript; charset=utf-8"},
		{"GET", "/hux/bridge/V/pages/hux.svg", 200, "image/svg+xml"},
		{"POST", "/hux/bridge/V/inject/hux.js", 405, ""},
		{"GET", "/hux/bridge/000000000000/inject/hux.js", 404, ""},
		{"GET", "/hux/bridge/inject/hux.js", 404, ""},
		{"GET", "/hux/bridge/V/pages/layout.html", 404, ""},
		{"GET", "/hux/bridge/V/pages/", 404, ""},
		{"GET", "/hux/bridge/V/inject", 404, ""},
		{"GET", "/hux/bridge/V/", 404, ""},
		{"GET", "/hux/bridge/V", 404, ""},
		{"GET", "/hux/bridge/V/inject/../../bridge.js", 404, ""},
		{"GET", "/hux/bridge/V//inject/hux.js", 404, ""},
		{"GET", "/hux/bridge/V/inject/none.js", 404, ""},
	} {
		res, body := get(t, server, test.method, test.path, nil)
		if res.StatusCode != test.status {
			t.Errorf("%s %s: status %d, want %d", test.method, test.path, res.StatusCode, test.status)
			continue
		}
		if got := res.Header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s %s: X-Content-Type-Options %q", test.method, test.path, got)
		}
		cache := res.Header.Get("Cache-Control")
		if test.status != 200 {
			if strings.Contains(cache, "immutable") {
				t.Errorf("%s %s: a refusal is cached: %q", test.method, test.path, cache)
			}
			continue
		}
		if got := res.Header.Get("Content-Type"); got != test.contentType {
			t.Errorf("%s: Content-Type %q, want %q", test.path, got, test.contentType)
		}
		if cache != "public, max-age=31536000, immutable" {
			t.Errorf("%s: Cache-Control %q", test.path, cache)
		}
		if test.method == "GET" && body == "" || test.method == "HEAD" && body != "" {
			t.Errorf("%s %s: %d bytes of body", test.method, test.path, len(body))
		}
	}
}

func TestHandlerRevalidates(t *testing.T) {
	server := httptest.NewServer(bridge.Handler())
	defer server.Close()
	res, _ := get(t, server, "GET", "/hux/bridge/V/inject/hux.js", nil)
	tag := res.Header.Get("ETag")
	if tag == "" {
		t.Fatal("no ETag")
	}
	res, body := get(t, server, "GET", "/hux/bridge/V/inject/hux.js", http.Header{"If-None-Match": {tag}})
	if res.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("If-None-Match: status %d with %d bytes, want 304 with none", res.StatusCode, len(body))
	}
}

func TestHead(t *testing.T) {
	head := bridge.Head(mustURL(t, "HTTPS://Hux.Example.org:443/"))
	for _, want := range []string{
		`<link rel="stylesheet" href="/hux/bridge/` + bridge.Version + `/inject/hux.css">`,
		`<script type="module" src="/hux/bridge/` + bridge.Version + `/inject/hux.js"`,
		`data-hux-console="https://hux.example.org"`,
		`data-hux-version="` + bridge.Version + `"`,
		`></script>`,
	} {
		if !strings.Contains(head, want) {
			t.Errorf("Head lacks %s:\n%s", want, head)
		}
	}
	if strings.Count(head, "<") != 3 {
		t.Errorf("Head has more than a link and a script: %s", head)
	}
	server := httptest.NewServer(bridge.Handler())
	defer server.Close()
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"]+)"`).FindAllStringSubmatch(head, -1) {
		if res, _ := get(t, server, "GET", m[1], nil); res.StatusCode != 200 {
			t.Errorf("%s: status %d", m[1], res.StatusCode)
		}
	}
}
