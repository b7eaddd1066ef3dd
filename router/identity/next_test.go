package identity_test

import (
	"net/url"
	"strings"
	"testing"

	"bstein.dev/hux/router/identity"
)

var hostileNext = []string{
	"", "//", "///", "//evil.example", "///evil.example", `/\evil.example`, `\\evil.example`, `/\/evil.example`, "https:evil.example",
	"https://evil.example/", "@evil.example", "evil.example", "/%2fevil.example", "/%2Fevil.example", "/%5cevil.example",
	"/%255cevil.example", "/%252fevil.example", "%2f%2fevil.example", "/\t/evil.example", "/\n/evil.example", "\t//evil.example",
	" //evil.example", "/%09/evil.example", "/%0a/evil.example", "/a\r\nSet-Cookie: x=y", "/a%0d%0aLocation:%20x", "/.//evil.example",
	"/a/..//evil.example", "/\x00", "/ü", "javascript:alert(1)", "/hux/auth/sign-in", "/hux/auth/../auth/end", "/login",
	"/session/login?next=/", "/%zz", "/" + strings.Repeat("a", 2000),
}

func TestCheckNext(t *testing.T) {
	for _, next := range hostileNext {
		if got := identity.CheckNext(next); got != "/" {
			t.Errorf("%q became %q", next, got)
		}
	}
	for _, next := range []string{"/", "/ok/page?x=1", "/session/abc", "/a%20b?c=%2F%2Fd", "/hux/api/ui/", "/a?next=https://b", "/logins", "/a#b"} {
		if got := identity.CheckNext(next); got != next {
			t.Errorf("%q became %q", next, got)
		}
	}
}

func FuzzCheckNext(f *testing.F) {
	for _, next := range hostileNext {
		f.Add(next)
	}
	f.Add("/ok/page?x=1")
	base := &url.URL{Scheme: "https", Host: "chat.example.test", Path: "/hux/auth/accept"}
	f.Fuzz(func(t *testing.T, next string) {
		got := identity.CheckNext(next)
		if got != next && got != "/" {
			t.Fatalf("%q became %q", next, got)
		}
		ref, err := url.Parse(got)
		if err != nil {
			t.Fatalf("%q does not parse", got)
		}
		if to := base.ResolveReference(ref); to.Host != base.Host || to.Scheme != base.Scheme || to.User != nil {
			t.Fatalf("%q leads to %s", got, to)
		}
		// As browsers read it: a backslash is a slash, control characters are nothing.
		browser := strings.Map(func(r rune) rune {
			switch {
			case r == '\\':
				return '/'
			case r < 0x20:
				return -1
			}
			return r
		}, got)
		if strings.HasPrefix(browser, "//") || !strings.HasPrefix(browser, "/") {
			t.Fatalf("a browser reads %q as %q", got, browser)
		}
	})
}
