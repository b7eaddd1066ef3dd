package proxy

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"bstein.dev/hux/hux"
)

// maxDecode bounds how often a path is decoded to see what a careless reader
// could see in it. One that is still encoded then is refused.
const maxDecode = 6

// errTarget is the one answer to every bad target: which check it failed is
// no use to an honest client.
var errTarget = hux.Errorf(hux.BadRequest, "The request target is malformed or ambiguous.")

// CheckTarget reads the target of a request as it stood on the request line.
// Only an origin-form target that every reader understands alike passes; for
// all else it returns a bad_request *hux.Error. The URL that it returns
// writes itself as the same bytes again, so that a decision about it is a
// decision about what is sent.
func CheckTarget(requestURI string) (*url.URL, error) {
	path, query, hasQuery := strings.Cut(requestURI, "?")
	if len(path) == 0 || path[0] != '/' || !plainQuery(query) {
		return nil, errTarget
	}
	escaped, ok := plainPath(path)
	if !ok {
		return nil, errTarget
	}
	u := &url.URL{Path: path, RawQuery: query, ForceQuery: hasQuery && query == ""}
	if escaped {
		var err error
		if u.Path, err = url.PathUnescape(path); err != nil {
			return nil, errTarget
		}
		u.RawPath = path
		if !plainDecoded(u.Path, strings.Count(path, "/")) {
			return nil, errTarget
		}
	}
	if u.RequestURI() != requestURI {
		// Some bytes are legal on the wire but are written otherwise by url.URL.
		u.RawPath = path
		if u.RequestURI() != requestURI {
			return nil, errTarget
		}
	}
	return u, nil
}

// plainPath checks the raw bytes of a path and tells whether any is escaped.
func plainPath(path string) (escaped, ok bool) {
	for i := range len(path) {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7f:
			return false, false
		case c == ';' || c == '#' || c == '\\':
			return false, false
		case c == '%':
			escaped = true
		case c == '/':
			if i > 0 && (path[i-1] == '/' || path[i-1] == '.') {
				return false, false
			}
		}
	}
	return escaped, path[len(path)-1] != '.'
}

// plainDecoded checks a path that was decoded once, and decodes on until
// nothing is left to decode. No decoding may bring a slash to light.
func plainDecoded(path string, slashes int) bool {
	for range maxDecode {
		if !utf8.ValidString(path) || strings.Count(path, "/") != slashes || !plainRunes(path) {
			return false
		}
		next, changed := unescapeOnce(path)
		if !changed {
			return true
		}
		path = next
	}
	return false
}

func plainRunes(path string) bool {
	prev := '/'
	for i, c := range path {
		switch {
		case unicode.IsControl(c) || c == ';' || c == '#' || c == '?' || c == '\\':
			return false
		case c == '/' && i > 0 && (prev == '/' || prev == '.' || unicode.IsSpace(prev)):
			return false
		}
		prev = c
	}
	return prev != '.' && !unicode.IsSpace(prev)
}

// unescapeOnce decodes the valid escapes of s and leaves the rest.
func unescapeOnce(s string) (string, bool) {
	if strings.IndexByte(s, '%') < 0 {
		return s, false
	}
	var b strings.Builder
	changed := false
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && hexDigit(s[i+1]) && hexDigit(s[i+2]) {
			b.WriteByte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			changed = true
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String(), changed
}

// plainQuery checks a raw query: printable ASCII, no fragment, whole escapes.
func plainQuery(query string) bool {
	for i := 0; i < len(query); i++ {
		switch c := query[i]; {
		case c <= ' ' || c >= 0x7f || c == '#':
			return false
		case c == '%':
			if i+2 >= len(query) || !hexDigit(query[i+1]) || !hexDigit(query[i+2]) {
				return false
			}
			i += 2
		}
	}
	return true
}

func hexDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func unhex(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c <= 'F':
		return c - 'A' + 10
	default:
		return c - 'a' + 10
	}
}
