package proxy

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"

	"bstein.dev/hux/hux"
)

// An upstream's cookies live in the browser under names that carry their
// tenant's tag: "hxt", 8 hex digits, "_", and the upstream's own name. Only
// these go up, with the tag taken off, so that neither our own cookies nor
// another tenant's ever do, and an upstream cannot set either.
const (
	tagPrefix = "hxt"
	tagLength = len(tagPrefix) + 8 + 1
)

// maxForeign bounds how many cookies of other tenants one answer expires.
const maxForeign = 20

// jar renames the cookies of one tenant.
type jar struct{ tag string }

func newJar(t hux.Tenant) jar {
	sum := sha256.Sum256([]byte(t))
	return jar{tag: tagPrefix + hex.EncodeToString(sum[:4]) + "_"}
}

// namePrefixes are those by which a browser holds a cookie to its attributes
// (RFC 6265bis, 4.1.3). They stay in front of the tag, so that they go on
// meaning what they say.
var namePrefixes = [...]string{"__Host-Http-", "__Http-", "__Host-", "__Secure-"}

func splitPrefix(name string) (prefix, rest string) {
	if !strings.HasPrefix(name, "__") {
		return "", name
	}
	for _, p := range namePrefixes {
		if len(name) >= len(p) && strings.EqualFold(name[:len(p)], p) {
			return name[:len(p)], name[len(p):]
		}
	}
	return "", name
}

// tagged splits the tag from a name and reports whether it has one.
func tagged(rest string) (tag, name string, ok bool) {
	if len(rest) <= tagLength || !strings.HasPrefix(rest, tagPrefix) || rest[tagLength-1] != '_' {
		return "", "", false
	}
	for i := len(tagPrefix); i < tagLength-1; i++ {
		if c := rest[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return "", "", false
		}
	}
	return rest[:tagLength], rest[tagLength:], true
}

// request gives the Cookie header that goes up: this tenant's cookies under
// the upstream's own names. Names of other tenants' cookies are put into
// foreign.
func (j jar) request(lines []string, foreign *[]string) string {
	var b strings.Builder
	for _, line := range lines {
		for line != "" {
			var pair string
			pair, line, _ = strings.Cut(line, ";")
			name, value, ok := strings.Cut(strings.Trim(pair, " \t"), "=")
			if !ok {
				continue
			}
			prefix, rest := splitPrefix(name)
			tag, plain, ok := tagged(rest)
			if !ok || !cookieName(plain) {
				continue
			}
			if tag != j.tag {
				if len(*foreign) < maxForeign {
					*foreign = append(*foreign, name)
				}
				continue
			}
			if b.Len() > 0 {
				b.WriteString("; ")
			}
			b.WriteString(prefix)
			b.WriteString(plain)
			b.WriteByte('=')
			b.WriteString(value)
		}
	}
	return b.String()
}

// answer renames the cookies that an upstream sets, strips their Domain, and
// drops those without a proper name: a browser could take one of them for a
// cookie of another name.
func (j jar) answer(h http.Header) {
	lines := h["Set-Cookie"]
	if len(lines) == 0 {
		return
	}
	kept := make([]string, 0, len(lines))
	for _, line := range lines {
		if s, ok := j.rename(line); ok {
			kept = append(kept, s)
		}
	}
	if len(kept) == 0 {
		delete(h, "Set-Cookie")
		return
	}
	h["Set-Cookie"] = kept
}

func (j jar) rename(line string) (string, bool) {
	pair, attributes, _ := strings.Cut(line, ";")
	name, value, ok := strings.Cut(pair, "=")
	name = strings.Trim(name, " \t")
	prefix, rest := splitPrefix(name)
	if !ok || !cookieName(rest) || strings.ContainsFunc(line, control) {
		return "", false
	}
	var b strings.Builder
	b.Grow(len(line) + tagLength)
	b.WriteString(prefix)
	b.WriteString(j.tag)
	b.WriteString(rest)
	b.WriteByte('=')
	b.WriteString(strings.Trim(value, " \t"))
	for attributes != "" {
		var a string
		a, attributes, _ = strings.Cut(attributes, ";")
		key, _, _ := strings.Cut(a, "=")
		if strings.EqualFold(strings.Trim(key, " \t"), "domain") {
			continue
		}
		b.WriteByte(';')
		b.WriteString(a)
	}
	return b.String(), true
}

// expire adds to h what makes a browser forget the named cookies.
func expire(h http.Header, names []string) {
	for _, name := range names {
		s := name + "=; Path=/; Max-Age=0"
		if prefix, _ := splitPrefix(name); prefix != "" {
			s += "; Secure; HttpOnly"
		}
		h["Set-Cookie"] = append(h["Set-Cookie"], s)
	}
}

// cookieName reports whether name is a token (RFC 6265, 4.1.1).
func cookieName(name string) bool {
	if name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return true
}

func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
