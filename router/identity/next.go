package identity

import (
	"net/url"
	"path"
	"strings"
)

// maxNext bounds a return path; it has to fit into the flow cookie.
const maxNext = 1024

// CheckNext is next if that is a path with query on this host, else "/". What
// a browser, or anything on the way that decodes once more, could take for
// another host is refused, and so is a way back into signing in.
func CheckNext(next string) string {
	if len(next) > maxNext || !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, notPlain) {
		return "/"
	}
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" {
		return "/"
	}
	// An encoded slash or backslash may be decoded on the way, twice at worst.
	decoded := u.Path
	for range 2 {
		if again, err := url.PathUnescape(decoded); err == nil {
			decoded = again
		}
		if strings.HasPrefix(decoded, "//") || strings.ContainsFunc(decoded, func(r rune) bool { return r < 0x20 || r == 0x7f || r == '\\' }) {
			return "/"
		}
	}
	if strings.Contains(decoded, "/./") || strings.Contains(decoded, "/../") {
		return "/"
	}
	switch clean := path.Clean(decoded); {
	case clean == "/login", clean == "/session/login", strings.HasPrefix(clean+"/", "/hux/auth/"):
		return "/"
	}
	return next
}

// notPlain is whatever may not stand in a URL as it is (RFC 3986), and the
// backslash that browsers read as a slash.
func notPlain(r rune) bool { return r <= 0x20 || r >= 0x7f || r == '\\' }
