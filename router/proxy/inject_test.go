package proxy_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/net/html"

	"bstein.dev/hux/router/proxy"
)

// pages are what is served and where the snippet goes, shown by |.
var pages = map[string]string{
	"plain":               "<!doctype html><html><head>|<title>x</title></head><body></body></html>",
	"attributes":          `<!DOCTYPE html><HTML lang="en"><HEAD data-x="<head>" class='a>b'>|<TITLE>x</TITLE>`,
	"comment":             "<!doctype html><!-- <head> --><html><!--<head>--><head>|</head>",
	"script":              "<html>|<script>'<head>'</script><head></head>",
	"no head":             "<!doctype html>\n<html>\n|<body><p>x",
	"no html":             "<!doctype html> \n|<p>x</p>",
	"title first":         "|<title><head></title><head>",
	"text":                "|just text <head>",
	"empty":               "|",
	"only doctype":        "<!doctype html>|",
	"header":              "<html>|<header></header><head>",
	"end tag":             "<html>|</head><body>",
	"byte order mark":     "\ufeff<!doctype html><head>|<title>",
	"open comment":        "<html>|<!-- <head>",
	"bogus comment":       "<?xml version='1.0'?><html><head>|",
	"open tag":            "<html>|<head",
	"strange bytes":       "<!doctype html>|<head\x00x><head>\xff\xfe",
	"second head":         "<head>|</head><head></head>",
	"doctype with a head": `<!doctype html public "<head>|"><head>`,
}

func split(page string) (before, after string) {
	before, after, _ = strings.Cut(page, "|")
	return before, after
}

func utf16le(s string) string {
	var b bytes.Buffer
	for _, u := range utf16.Encode([]rune(s)) {
		b.WriteByte(byte(u))
		b.WriteByte(byte(u >> 8))
	}
	return b.String()
}

func utf16be(s string) string {
	b := []byte(utf16le(s))
	for i := 0; i < len(b); i += 2 {
		b[i], b[i+1] = b[i+1], b[i]
	}
	return string(b)
}

// served is an upstream whose answer the test sets.
type served struct {
	body    string
	headers []string
	chunks  int // bytes a chunk; 0: with a length
	request http.Header
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.request = r.Header.Clone()
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	for _, l := range s.headers {
		name, value, _ := strings.Cut(l, ": ")
		if name == "Content-Type" {
			h.Del(name)
		}
		h.Add(name, value)
	}
	if s.chunks == 0 {
		h.Set("Content-Length", fmt.Sprint(len(s.body)))
		_, _ = io.WriteString(w, s.body)
		return
	}
	for body := s.body; body != ""; {
		n := min(s.chunks, len(body))
		_, _ = io.WriteString(w, body[:n])
		_ = http.NewResponseController(w).Flush()
		body = body[n:]
	}
}

func TestInject(t *testing.T) {
	s := &served{}
	r := newRouter(t, upstream(t, s.ServeHTTP), nil, nil)
	both(t, r, func(t *testing.T, c *http.Client) {
		for name, page := range pages {
			before, after := split(page)
			for _, filler := range []string{"", strings.Repeat("y", 50_000), strings.Repeat("<i>z</i>", 50_000)} {
				for _, chunks := range []int{0, 1, 7, 1000} {
					if chunks > 0 && chunks < 1000 && filler != "" {
						continue
					}
					if filler != "" && (strings.HasPrefix(name, "open") || name == "only doctype" || name == "empty") {
						continue // the filler would close what is open
					}
					s.body, s.chunks, s.headers = before+after+filler, chunks, []string{"ETag: x", "Last-Modified: x", "Accept-Ranges: bytes", "Cache-Control: max-age=9"}
					resp, got := do(t, c, "GET", r.URL+"/session/x", nil, "Accept-Encoding: gzip, br", "Range: bytes=0-1", "If-None-Match: x")
					if want := before + plain + after + filler; got != want {
						t.Fatalf("%s, %d filler, %d a chunk: %.200q", name, len(filler), chunks, got)
					}
					if l := resp.Header.Get("Content-Length"); l != "" && l != fmt.Sprint(len(got)) || chunks == 0 && l == "" {
						t.Errorf("%s: length %q of %d", name, l, len(got))
					}
					for _, h := range []string{"Etag", "Last-Modified", "Accept-Ranges", "Content-Encoding"} {
						if resp.Header.Get(h) != "" {
							t.Errorf("%s: %s is left", name, h)
						}
					}
					if resp.Header.Get("Cache-Control") != "no-store" {
						t.Errorf("%s: %s", name, resp.Header.Get("Cache-Control"))
					}
					if s.request.Get("Accept-Encoding") != "identity" || s.request.Get("Range") != "" || s.request.Get("If-None-Match") != "" {
						t.Errorf("%s: asked with %v", name, s.request)
					}
				}
			}
		}
	})
}

func TestInjectEncodings(t *testing.T) {
	const page = "<html><head><title>x</title></head><body>é</body></html>"
	const want = "<html><head>" + plain + "<title>x</title></head><body>é</body></html>"
	s := &served{}
	r := newRouter(t, upstream(t, s.ServeHTTP), nil, nil)
	c := r.client(false)
	encoders := map[string]func(io.Writer) io.WriteCloser{
		"gzip":    func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"x-gzip":  func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"deflate": func(w io.Writer) io.WriteCloser { return zlib.NewWriter(w) },
		"Deflate": func(w io.Writer) io.WriteCloser { z, _ := flate.NewWriter(w, 5); return z },
		"br":      func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		"zstd":    func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
	}
	for name, encoder := range encoders {
		for _, filler := range []int{0, 300_000} {
			var b bytes.Buffer
			z := encoder(&b)
			_, _ = io.WriteString(z, page+strings.Repeat("z", filler))
			_ = z.Close()
			s.body, s.headers = b.String(), []string{"Content-Encoding: " + name}
			resp, got := do(t, c, "GET", r.URL+"/", nil)
			if got != want+strings.Repeat("z", filler) || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%s: %.200q", name, got)
			}
			s.body = s.body[:len(s.body)/2]
			if resp, err := c.Get(r.URL + "/"); err == nil && resp.StatusCode == http.StatusOK {
				if _, err := io.ReadAll(resp.Body); err == nil {
					t.Errorf("%s cut in half is a whole page", name)
				}
			}
		}
	}
	gzipped := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text)
		_ = z.Close()
		return b.String()
	}
	for name, body := range map[string]string{
		"trailing bytes": gzipped(page) + "\x00\x00trailing", "one trailing byte": gzipped(page) + "\x1f", "two members": gzipped(page[:20]) + gzipped(page[20:]),
		"half a header": gzipped(page) + "\x1f\x8b\x08",
	} {
		s.body, s.headers = body, []string{"Content-Encoding: gzip"}
		if _, got := do(t, c, "GET", r.URL+"/", nil); got != want {
			t.Errorf("gzip with %s: %q", name, got)
		}
	}
	s.body, s.headers = page, []string{"Content-Encoding: mystery", "ETag: x"}
	if resp, got := do(t, c, "GET", r.URL+"/", nil); got != page || resp.Header.Get("Content-Encoding") != "mystery" || resp.Header.Get("Etag") != "x" {
		t.Errorf("unknown encoding: %q", got)
	}
	for _, label := range []string{"csunicode", "ISO-10646-UCS-2", "ucs-2", "Unicode", "unicodefeff", "utf-16", "UTF-16LE", "unicodefffe", "utf-16be"} {
		encode := utf16le
		if label == "unicodefffe" || label == "utf-16be" {
			encode = utf16be
		}
		s.body, s.headers = encode(page), []string{"Content-Type: text/html; charset=" + label}
		if _, got := do(t, c, "GET", r.URL+"/", nil); got != encode(want) {
			t.Errorf("%s: %q", label, got)
		}
		s.body = "\xef\xbb\xbf" + page // a mark counts for more than a header
		if _, got := do(t, c, "GET", r.URL+"/", nil); got != "\xef\xbb\xbf"+want {
			t.Errorf("%s over a UTF-8 mark: %q", label, got)
		}
	}
	for name, in := range map[string][2]string{
		"by mark":        {"text/html", "\xff\xfe" + utf16le(page)},
		"by mark, big":   {"text/html; charset=utf-8", "\xfe\xff" + utf16be(page)},
		"by charset":     {"text/html; charset=UTF-16", utf16le(page)},
		"by charset, be": {`text/html; Charset="utf-16be"`, utf16be(page)},
	} {
		encode := utf16le
		if strings.Contains(name, "b") && (strings.Contains(name, "big") || strings.HasSuffix(name, "be")) {
			encode = utf16be
		}
		s.body, s.headers = in[1]+encode("😀"), []string{"Content-Type: " + in[0]}
		_, got := do(t, c, "GET", r.URL+"/", nil)
		mark := strings.TrimSuffix(in[1], encode(page))
		if got != mark+encode(want+"😀") {
			t.Errorf("UTF-16 %s: %q", name, got)
		}
	}
	broken := "\xff\xfe" + utf16le("<head>") + "\x00\xdc" // a lone surrogate
	s.body, s.headers = broken, nil
	if _, got := do(t, c, "GET", r.URL+"/", nil); got != broken {
		t.Errorf("broken UTF-16: %q", got)
	}
}

func TestNotInjected(t *testing.T) {
	const page = "<html><head></head></html>"
	s := &served{body: page}
	r := newRouter(t, upstream(t, s.ServeHTTP), nil, nil)
	c := r.client(false)
	for name, headers := range map[string][]string{
		"json": {"Content-Type: application/json"}, "download": {"Content-Disposition: attachment"},
		"xhtml": {"Content-Type: application/xhtml+xml"}, "like html": {"Content-Type: text/html5"}, "no type": {"Content-Type: "},
	} {
		s.headers = append([]string{"ETag: x"}, headers...)
		if resp, got := do(t, c, "GET", r.URL+"/", nil); got != page || resp.Header.Get("Etag") != "x" {
			t.Errorf("%s: %q", name, got)
		}
	}
	s.headers = nil
	if _, got := do(t, c, "GET", r.URL+"/p", nil); got != page {
		t.Errorf("another rule: %q", got)
	}
	resp, _ := do(t, c, "HEAD", r.URL+"/", nil)
	if resp.StatusCode != 200 || resp.Header.Get("Content-Length") != "" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("HEAD: %v", resp.Header)
	}
	if resp, _ := do(t, c, "HEAD", r.URL+"/p", nil); resp.Header.Get("Content-Length") != fmt.Sprint(len(page)) {
		t.Errorf("HEAD of another rule: %v", resp.Header)
	}
}

func TestInjectPolicies(t *testing.T) {
	s := &served{}
	r := newRouter(t, upstream(t, s.ServeHTTP), nil, nil)
	c := r.client(true)
	withNonces := func(script, style string) string {
		return strings.NewReplacer(proxy.ScriptNonce, script, proxy.StyleNonce, style).Replace(head)
	}
	for name, test := range map[string]struct{ header, wantHeader, page, want string }{
		"unsafe-inline": {"script-src 'self' 'unsafe-inline'; frame-src 'self'", "script-src 'self' 'unsafe-inline'; frame-src 'self' " + console,
			"<head></head>", "<head>" + plain + "</head>"},
		"nonces": {"script-src 'nonce-n1'", "script-src 'nonce-n1'", "<head></head>", "<head>" + withNonces(` nonce="n1"`, "") + "</head>"},
		"nonces of each": {"script-src 'nonce-n1'; style-src 'nonce-n2'", "script-src 'nonce-n1'; style-src 'nonce-n2'",
			"<head></head>", "<head>" + withNonces(` nonce="n1"`, ` nonce="n2"`) + "</head>"},
		"default only": {"default-src 'self'", "default-src 'self'; frame-src 'self' " + console, "<head></head>", "<head>" + plain + "</head>"},
		"meta": {"", "", `<head><meta HTTP-EQUIV=content-security-policy content="default-src 'self'"><p>`,
			`<head>` + plain + `<meta HTTP-EQUIV=content-security-policy content="default-src 'self'; frame-src 'self' ` + console + `"><p>`},
		"meta, escaped": {"", "", `<head><meta content='child-src &#39;self&#39;; x &quot;' http-equiv='Content-Security-Policy'/></head>`,
			`<head>` + plain + `<meta content="child-src 'self' ` + console + `; x &#34;" http-equiv='Content-Security-Policy'/></head>`},
		"meta, bare": {"", "", `<meta content=frame-src http-equiv=Content-Security-Policy><title>`,
			plain + `<meta content="frame-src ` + console + `" http-equiv=Content-Security-Policy><title>`},
		"meta with nonce": {"", "", `<head><meta http-equiv=Content-Security-Policy content="script-src 'nonce-m'">`,
			`<head>` + withNonces(` nonce="m"`, "") + `<meta http-equiv=Content-Security-Policy content="script-src 'nonce-m'">`},
		"meta in a comment": {"", "", `<head><!--<meta http-equiv=Content-Security-Policy content="frame-src x">-->`,
			`<head>` + plain + `<!--<meta http-equiv=Content-Security-Policy content="frame-src x">-->`},
		"another meta": {"", "", `<head><meta name=description content="frame-src 'self'">`, `<head>` + plain + `<meta name=description content="frame-src 'self'">`},
	} {
		s.body, s.headers = test.page, nil
		if test.header != "" {
			s.headers = []string{"Content-Security-Policy: " + test.header, "Content-Security-Policy-Report-Only: frame-src x"}
		}
		resp, got := do(t, c, "GET", r.URL+"/", nil)
		if got != test.want || resp.Header.Get("Content-Length") != fmt.Sprint(len(test.want)) {
			t.Errorf("%s:\n%s, want\n%s", name, got, test.want)
		}
		if h := resp.Header.Get("Content-Security-Policy"); h != test.wantHeader {
			t.Errorf("%s: %q, want %q", name, h, test.wantHeader)
		}
		if test.header != "" && resp.Header.Get("Content-Security-Policy-Report-Only") != "frame-src x "+console {
			t.Errorf("%s: reports %q", name, resp.Header.Get("Content-Security-Policy-Report-Only"))
		}
	}
	// A policy far down in a long head, and a head that is too far down.
	meta := `<meta http-equiv=Content-Security-Policy content="frame-src 'self'">`
	framed := `<meta http-equiv=Content-Security-Policy content="frame-src 'self' ` + console + `">`
	comment := "<!--" + strings.Repeat("c", 100_000) + "-->"
	s.headers, s.body = nil, "<head>"+comment+meta+"</head>"+comment+comment
	if _, got := do(t, c, "GET", r.URL+"/", nil); got != "<head>"+plain+comment+framed+"</head>"+comment+comment {
		t.Errorf("a long head: %.300q", got)
	}
	s.body = "<!doctype html>" + comment + comment + comment + "<head>"
	if _, got := do(t, c, "GET", r.URL+"/", nil); got != "<!doctype html>"+comment+comment+plain+comment+"<head>" {
		t.Errorf("a late head: %.300q", got)
	}
	// UTF-16 with a policy in the page, in a long page.
	long := strings.Repeat("é😀", 30_000)
	s.headers = []string{"Content-Type: text/html; charset=utf-16"}
	s.body = utf16le(`<head><meta http-equiv=Content-Security-Policy content="frame-src 'self'">` + long)
	if _, got := do(t, c, "GET", r.URL+"/", nil); got != utf16le(`<head>`+plain+`<meta http-equiv=Content-Security-Policy content="frame-src 'self' `+console+`">`+long) {
		t.Errorf("UTF-16 with a policy: %.300q", got)
	}
}

// FuzzInject: whatever a page is, and in whatever pieces it comes, what comes
// out is the page and the snippet once in it.
func FuzzInject(f *testing.F) {
	for _, page := range pages {
		before, after := split(page)
		f.Add([]byte(before+after), byte(0))
		f.Add([]byte(before+after), byte(3))
	}
	f.Add([]byte("\xff\xfe"+utf16le("<head>x")), byte(1))
	f.Add([]byte("<!--"+strings.Repeat("x", 50_000)), byte(200))
	s := &served{}
	p, err := proxy.New(proxy.Options{Rules: rules(f, testRules), PublicURL: mustURL(origin), Head: head})
	if err != nil {
		f.Fatal(err)
	}
	target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(upstream(f, s.ServeHTTP)), User: alice}
	f.Fuzz(func(t *testing.T, page []byte, piece byte) {
		s.body, s.chunks = string(page), int(piece)
		w := newDiscard()
		p.Serve(w, newRequest("GET", "/"), target)
		got := w.Body.String()
		for _, snippet := range []string{plain, utf16le(plain), utf16be(plain)} {
			for from := 0; ; {
				i := strings.Index(got[from:], snippet)
				if i < 0 {
					break
				}
				if got[:from+i]+got[from+i+len(snippet):] == s.body {
					if snippet == plain && !runs(got) {
						t.Fatalf("%q: the script would not run in %q", page, got)
					}
					return
				}
				from += i + 1
			}
		}
		if got != s.body || !strings.HasPrefix(got, "\xff\xfe") && !strings.HasPrefix(got, "\xfe\xff") {
			t.Fatalf("%q became %q", page, got)
		}
	})
}

// runs reports whether a page has our script as a tag.
func runs(page string) bool {
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return false
		case html.StartTagToken:
			if t := z.Token(); t.Data == "script" && len(t.Attr) == 2 && t.Attr[0].Val == "/hux/bridge/v/hux.js" {
				return true
			}
		}
	}
}
