package proxy_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/proxy"
)

func TestCheckTarget(t *testing.T) {
	for _, target := range []string{
		"/", "/a", "/a/", "/a/b.js", "/.well-known/x", "/files/a%20b?q=a%2Fb", "/?", "/a?b=%2e%2e%5c;x",
		"/s/%C3%A9", "/a%25", "/a@b:c,d=e+f!$&'()*", "/a?b=c?d/e//f", "/a/...b", "/a?q=\"<>|^`{}[]\\",
	} {
		u, err := proxy.CheckTarget(target)
		if err != nil {
			t.Errorf("%q: %v", target, err)
			continue
		}
		if u.RequestURI() != target {
			t.Errorf("%q is sent as %q", target, u.RequestURI())
		}
	}
	for _, target := range []string{
		"", "*", "a", "http://x/p", "http:http://x/p", "x:80", "?a", "//p", "/a//b", "/./p", "/x/../p", "/..", "/.", "/p/.", "/p/..",
		"/p;x", "/p%3bx", "/p#x", "/p%23x", "/p?x#y", `/a\b`, `\a`, "/a%5cb", "/a%2fb", "/a%2Fb", "/a%252fb", "/a%25252fb", "/a%255cb",
		"/%2e/p", "/%2e%2e/p", "/%252e%252e/p", "/x/.%2e/p", "/p.", "/p./q", "/p%2e", "/p%20", "/p%20/q", "/p%2520", "/p%00", "/p%2500",
		"/p%0a", "/p%7f", "/p%250d", "/p%C2%85", "/a b", "/a\tb", "/a\x00", "/é", "/a?é", "/%zz", "/%", "/%2", "/a?%", "/a?%zz", "/a?b c",
		"/%c0%ae%c0%ae/p", "/%ff", "/p%3fx", "/a%25252525252525252541", "/a|b", "/p...",
	} {
		if u, err := proxy.CheckTarget(target); err == nil {
			t.Errorf("%q passed as %q", target, u)
		} else if e := (*hux.Error)(nil); !errors.As(err, &e) || e.Code != hux.BadRequest {
			t.Errorf("%q: %v", target, err)
		}
	}
}

func FuzzCheckTarget(f *testing.F) {
	for _, s := range []string{"/", "/files/a%20b?q=a%2Fb", "/%252e%252e/x", "//x", "/a;b", "/a%2525252fb?%41", "/a%C3%A9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := proxy.CheckTarget(target)
		if err != nil {
			return
		}
		if u.RequestURI() != target || u.Host != "" || u.Scheme != "" {
			t.Fatalf("%q is sent as %q", target, u)
		}
		path, _, _ := strings.Cut(target, "?")
		segments := strings.Count(path, "/")
		for i := 0; ; i++ {
			if strings.ContainsAny(path, ";#?\\\x00\r\n\x7f") || strings.Contains(path, "//") || strings.Count(path, "/") != segments {
				t.Fatalf("%q holds %q", target, path)
			}
			for s := range strings.SplitSeq(path, "/") {
				if s != "" && (strings.HasSuffix(s, ".") || strings.HasSuffix(s, " ")) {
					t.Fatalf("%q holds %q", target, path)
				}
			}
			next, err := url.PathUnescape(path)
			if err != nil || next == path {
				return
			}
			if i > 10 {
				t.Fatalf("%q is never decoded", target)
			}
			path = next
		}
	})
}
