package blackbox_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/andybalholm/brotli"
)

// snippet matches what the router puts into a page.
var snippet = regexp.MustCompile(`<link rel="stylesheet" href="/hux/bridge/[0-9a-f]{12}/inject/hux\.css"><script type="module" src="/hux/bridge/[0-9a-f]{12}/inject/hux\.js"[^>]*></script>`)

func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func brotlied(s string) string {
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	_ = w.Close()
	return b.String()
}

func utf16le(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

func fromUTF16LE(t *testing.T, s string) string {
	t.Helper()
	if len(s)%2 != 0 || !strings.HasPrefix(s, "\xff\xfe") {
		t.Fatalf("no UTF-16: %q", s)
	}
	var units []uint16
	for i := 2; i < len(s); i += 2 {
		units = append(units, uint16(s[i])|uint16(s[i+1])<<8)
	}
	return string(utf16.Decode(units))
}

// The marker is in every page exactly once and nothing else changes.
func TestInjection(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	long := "<!doctype html><html><head><title>x</title></head><body>" + strings.Repeat("0123456789abcdef", 20_000) + "</body></html>"
	html := "Content-Type: text/html; charset=utf-8"
	chunked := func(parts ...string) func(*exchange) {
		return func(x *exchange) {
			x.start(200, html, "Transfer-Encoding: chunked")
			for _, p := range parts {
				if !x.write(hexLength(p) + "\r\n" + p + "\r\n") {
					return
				}
			}
			x.write("0\r\n\r\n")
		}
	}
	plain := func(body string, header ...string) func(*exchange) {
		return func(x *exchange) { x.answer(200, body, header...) }
	}
	cases := map[string]struct {
		original string
		serve    func(*exchange)
	}{
		"plain":                {page, plain(page, html)},
		"gzip":                 {page, plain(gzipped(page), html, "Content-Encoding: gzip")},
		"br":                   {page, plain(brotlied(page), html, "Content-Encoding: br")},
		"long":                 {long, plain(long, html)},
		"long and gzip":        {long, plain(gzipped(long), html, "Content-Encoding: gzip")},
		"split inside the tag": {page, chunked("<!doctype html><html><he", "ad", "><title>WebUI</title></head><body><p>Hello</p></body></html>")},
		"a byte a chunk":       {page, chunked(strings.Split(page, "")...)},
		"until the end":        {page, func(x *exchange) { x.closed = true; x.start(200, html); x.write(page) }},
		"head in a comment":    {`<!-- <head> --><html><head><title>x</title></head></html>`, plain(`<!-- <head> --><html><head><title>x</title></head></html>`, html)},
		"head in a script":     {`<html><script>"<head>"</script><body>x</body></html>`, plain(`<html><script>"<head>"</script><body>x</body></html>`, html)},
		"no head":              {`<p>only a paragraph`, plain(`<p>only a paragraph`, html)},
		"nothing":              {``, plain(``, html)},
		"upper case":           {`<HTML><HEAD LANG="a>b"><TITLE>x</TITLE></HEAD></HTML>`, plain(`<HTML><HEAD LANG="a>b"><TITLE>x</TITLE></HEAD></HTML>`, html)},
		"header":               {`<html><header>no head</header></html>`, plain(`<html><header>no head</header></html>`, html)},
		"two heads":            {`<html><head></head><body><head></head></body></html>`, plain(`<html><head></head><body><head></head></body></html>`, html)},
		"odd type":             {page, plain(page, `Content-Type: TEXT/HTML ; Charset="UTF-8"`)},
	}
	protocols(t, func(t *testing.T, proto string) {
		up.handle(func(x *exchange) { x.ordinary() })
		alice := h.signIn(t, proto, "alice")
		for name, c := range cases {
			up.handle(c.serve)
			up.forget()
			a := alice.visit(t, chatURL+"/session/x", "Accept-Encoding: gzip, br, zstd", "Range: bytes=0-10", `If-None-Match: "x"`, "If-Modified-Since: Mon, 30 Nov 2026 00:00:00 GMT")
			if a.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d", name, a.StatusCode)
				continue
			}
			if n := len(snippet.FindAllString(a.body, -1)); n != 1 {
				t.Errorf("%s: the marker is there %d times: %.300q", name, n, a.body)
			}
			if rest := snippet.ReplaceAllString(a.body, ""); rest != c.original {
				t.Errorf("%s: the rest is %.300q, want %.300q", name, rest, c.original)
			}
			if at := snippet.FindStringIndex(a.body); at != nil && strings.Contains(a.body[:at[0]], "<!--") && !strings.Contains(a.body[:at[0]], "-->") {
				t.Errorf("%s: the marker is in a comment", name)
			}
			if a.Header.Get("Content-Encoding") != "" || a.ContentLength >= 0 && a.ContentLength != int64(len(a.body)) {
				t.Errorf("%s: encoding %q, length %d of %d", name, a.Header.Get("Content-Encoding"), a.ContentLength, len(a.body))
			}
			if a.Header.Get("ETag") != "" || a.Header.Get("Last-Modified") != "" || a.Header.Get("Accept-Ranges") != "" || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
				t.Errorf("%s: %v", name, a.Header)
			}
			if s := up.last(t); s.get("Range") != "" || s.get("If-None-Match") != "" || s.get("If-Modified-Since") != "" {
				t.Errorf("%s: the upstream was asked for a part:\n%s", name, s.raw)
			}
		}

		up.handle(plain(utf16le(page), "Content-Type: text/html; charset=utf-16le"))
		a := alice.visit(t, chatURL+"/")
		if text := fromUTF16LE(t, a.body); len(snippet.FindAllString(text, -1)) != 1 || snippet.ReplaceAllString(text, "") != page {
			t.Errorf("UTF-16: %.300q", text)
		}

		untouched := map[string]struct {
			path string
			body string
			head []string
		}{
			"JSON":             {"/api/list", `{"html":"<head></head>"}`, []string{"Content-Type: application/json"}},
			"gzipped JSON":     {"/api/list", gzipped(`{"a":1}`), []string{"Content-Type: application/json", "Content-Encoding: gzip"}},
			"download":         {"/", page, []string{html, "Content-Disposition: attachment; filename=x.html"}},
			"file of a page":   {"/api/file/raw", page, []string{html}},
			"script":           {"/static/x.js", "<head>", []string{"Content-Type: text/javascript"}},
			"unknown encoding": {"/", "<head>", []string{html, "Content-Encoding: compress"}},
			"no type":          {"/static/x", page, []string{"Content-Type: "}},
			"XHTML":            {"/session/x", page, []string{"Content-Type: application/xhtml+xml"}},
		}
		for name, c := range untouched {
			up.handle(plain(c.body, append(c.head, `ETag: "theirs"`)...))
			a := alice.do(t, "GET", chatURL+c.path, nil, "Accept-Encoding: gzip, compress")
			if a.StatusCode != 200 || a.body != c.body || a.ContentLength != int64(len(c.body)) {
				t.Errorf("%s: %d, %d bytes, length %d: %.200q", name, a.StatusCode, len(a.body), a.ContentLength, a.body)
			}
		}

		up.handle(func(x *exchange) { // parts and freshness of what is not injected are the upstream's to tell
			if x.get("If-None-Match") == `"v1"` {
				x.start(304, `ETag: "v1"`, "Content-Length: 0")
				return
			}
			if x.get("Range") == "bytes=2-4" {
				x.answer(206, "234", "Content-Type: text/plain", "Content-Range: bytes 2-4/10", `ETag: "v1"`)
				return
			}
			x.answer(200, "0123456789", "Content-Type: text/plain", `ETag: "v1"`)
		})
		if a := alice.do(t, "GET", chatURL+"/static/x", nil, "Range: bytes=2-4"); a.StatusCode != 206 || a.body != "234" || a.Header.Get("Content-Range") != "bytes 2-4/10" {
			t.Errorf("Range: %d %q", a.StatusCode, a.body)
		}
		if a := alice.do(t, "GET", chatURL+"/static/x", nil, `If-None-Match: "v1"`); a.StatusCode != 304 || a.body != "" {
			t.Errorf("If-None-Match: %d %q", a.StatusCode, a.body)
		}
		up.handle(plain(page, html, `ETag: "theirs"`))
		head := alice.do(t, "HEAD", chatURL+"/", nil)
		get := alice.do(t, "GET", chatURL+"/", nil)
		if head.StatusCode != 200 || head.body != "" || head.Header.Get("ETag") != "" {
			t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
		}
		if l := head.Header.Get("Content-Length"); l != "" && l != get.Header.Get("Content-Length") {
			t.Errorf("HEAD says %s, GET %s", l, get.Header.Get("Content-Length"))
		}
		up.handle(func(x *exchange) { x.answer(404, page, html) })
		if a := alice.visit(t, chatURL+"/session/none"); a.body != page || a.StatusCode != 404 {
			t.Errorf("an error page: %d %.200q", a.StatusCode, a.body)
		}
	})

	// What the marker names is there, for anybody, for ever.
	b := h.browser(t, "h2")
	up.handle(plain(page, html))
	alice := h.signIn(t, "h2", "alice")
	body := alice.visit(t, chatURL+"/").body
	for _, ref := range regexp.MustCompile(`/hux/bridge/[^"]+`).FindAllString(body, -1) {
		a := b.do(t, "GET", chatURL+ref, nil)
		if a.StatusCode != 200 || !strings.Contains(a.Header.Get("Cache-Control"), "immutable") || a.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d %v", ref, a.StatusCode, a.Header)
		}
	}
	if !strings.Contains(body, `data-hux-console="`+consoleURL+`"`) {
		t.Errorf("the marker does not name the console: %s", body)
	}
}

func hexLength(s string) string {
	const digits = "0123456789abcdef"
	n, text := len(s), ""
	for ; n > 0; n >>= 4 {
		text = string(digits[n&15]) + text
	}
	return text
}

// The page's policy stays, but for one frame of ours.
func TestInjectionAndCSP(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	const c = consoleURL
	cases := []struct{ name, policy, want string }{
		{"unsafe-inline", "script-src 'self' 'unsafe-inline'; frame-src 'self'", "script-src 'self' 'unsafe-inline'; frame-src 'self' " + c},
		{"no frame-src", "script-src 'self' 'unsafe-inline'", "script-src 'self' 'unsafe-inline'"},
		{"child-src", "default-src 'none'; child-src 'self'", "default-src 'none'; child-src 'self' " + c},
		{"default-src only", "default-src 'self'", "default-src 'self'; frame-src 'self' " + c},
		{"none", "frame-src 'none'", "frame-src " + c},
		{"default none", "default-src 'none'; script-src 'self'", "default-src 'none'; script-src 'self'; frame-src " + c},
		{"upper case", "FRAME-SRC 'self'", "FRAME-SRC 'self' " + c},
		{"twice", "frame-src 'self'; frame-src 'none'", "frame-src 'self' " + c + "; frame-src 'none'"},
		{"all", "frame-src *", "frame-src *"},
		{"there already", "frame-src " + c, "frame-src " + c},
		{"a list", "frame-src 'self', default-src 'self'", "frame-src 'self' " + c + ", default-src 'self'; frame-src 'self' " + c},
		{"ancestors stay", "frame-src 'self'; frame-ancestors 'none'; form-action 'self'", "frame-src 'self' " + c + "; frame-ancestors 'none'; form-action 'self'"},
	}
	normal := func(policy string) string {
		var parts []string
		for p := range strings.SplitSeq(policy, ",") {
			var directives []string
			for d := range strings.SplitSeq(p, ";") {
				if d = strings.Join(strings.Fields(d), " "); d != "" {
					directives = append(directives, d)
				}
			}
			parts = append(parts, strings.Join(directives, "; "))
		}
		return strings.Join(parts, ", ")
	}
	protocols(t, func(t *testing.T, proto string) {
		up.handle(func(x *exchange) { x.ordinary() })
		alice := h.signIn(t, proto, "alice")
		for _, c := range cases {
			up.handle(func(x *exchange) {
				x.answer(200, page, "Content-Type: text/html", "Content-Security-Policy: "+c.policy, "X-Frame-Options: DENY")
			})
			a := alice.visit(t, chatURL+"/")
			if got := normal(a.Header.Get("Content-Security-Policy")); got != normal(c.want) {
				t.Errorf("%s: header %q, want %q", c.name, got, c.want)
			}
			if a.Header.Get("X-Frame-Options") != "DENY" || strings.Contains(a.body, "nonce") {
				t.Errorf("%s: X-Frame-Options %q, %s", c.name, a.Header.Get("X-Frame-Options"), a.body)
			}
			meta := `<html><head><meta http-equiv="Content-Security-Policy" content="` + c.policy + `"><title>x</title></head></html>`
			up.handle(func(x *exchange) { x.answer(200, meta, "Content-Type: text/html") })
			a = alice.visit(t, chatURL+"/")
			found := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(a.body)
			if found == nil {
				t.Errorf("%s: no meta in %s", c.name, a.body)
				continue
			}
			want := normal(c.want)
			if strings.Contains(c.policy, ",") { // in a meta element a comma does not part policies
				want = "frame-src 'self', default-src 'self' " + consoleURL
			}
			if got := normal(strings.ReplaceAll(found[1], "&#39;", "'")); got != want {
				t.Errorf("%s: meta %q, want %q", c.name, got, want)
			}
			if rest := strings.Replace(snippet.ReplaceAllString(a.body, ""), found[1], c.policy, 1); rest != meta {
				t.Errorf("%s: the rest of the page changed: %s", c.name, rest)
			}
		}
		// A policy of nonces: the page's own let our script and stylesheet load.
		up.handle(func(x *exchange) {
			x.answer(200, page, "Content-Type: text/html", "Content-Security-Policy: script-src 'nonce-abc123' 'strict-dynamic'; style-src 'nonce-def456'; frame-src 'self'")
		})
		a := alice.visit(t, chatURL+"/")
		if got := a.Header.Get("Content-Security-Policy"); normal(got) != "script-src 'nonce-abc123' 'strict-dynamic'; style-src 'nonce-def456'; frame-src 'self' "+consoleURL {
			t.Errorf("nonces: header %q", got)
		}
		for _, tag := range []string{`<script [^>]*nonce="abc123"`, `<link [^>]*nonce="def456"`} {
			if !regexp.MustCompile(tag).MatchString(a.body) {
				t.Errorf("nonces: no %s in %s", tag, a.body)
			}
		}
		// Answers that are no page keep their policy to the letter.
		up.handle(func(x *exchange) {
			x.answer(200, "{}", "Content-Type: application/json", "Content-Security-Policy: frame-src 'self'")
		})
		if got := alice.fetch(t, "GET", chatURL+"/api/sessions", "").Header.Get("Content-Security-Policy"); got != "frame-src 'self'" {
			t.Errorf("JSON: policy %q", got)
		}
	})
}
