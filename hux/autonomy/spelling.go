package autonomy

import (
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"bstein.dev/hux/hux"
)

// mayBe reports whether a call's target may be the one that a denial names, in
// another spelling.
func mayBe(tool, denied, asked string) bool {
	switch known := catalogue.Tools[tool]; {
	case asked == "":
		return false
	case denied == asked:
		return true
	case known.HostOf != "":
		return oneHost(denied) == oneHost(asked)
	case known.Target == "path":
		return pathOf(denied).mayBe(pathOf(asked))
	case known.Target != "":
		return recipientOf(denied).mayBe(recipientOf(asked))
	}
	return plain(denied) == plain(asked)
}

// plain is text as a system may read it that ignores case, how letters are
// composed, and invisible characters.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case hux.Hidden(r):
			return -1
		}
		return r
	}, norm.NFKC.String(text))
	return strings.TrimSpace(norm.NFKC.String(cases.Fold().String(text)))
}

// spelled is a path, in a form in which two spellings can be compared.
type spelled struct {
	parts  []string
	rooted bool // it begins at the root; else it may stand below any folder
	vague  bool // it may be any path
}

// untold finds what a shell or a system turns into another path: variables, an
// address, backslashes, a short name of an older Windows.
var untold = regexp.MustCompile("[$`\\\\]|^[a-z][a-z0-9+.-]*:/|%[a-z_]+%|~[0-9]|(^|/) *\\.\\. *(/|$)")

func pathOf(text string) (p spelled) {
	text = plain(text)
	p.rooted, p.vague = strings.HasPrefix(text, "/"), untold.MatchString(text)
	for part := range strings.SplitSeq(path.Clean(text), "/") {
		if part = strings.TrimRight(strings.TrimSpace(part), ". "); part != "" {
			p.parts = append(p.parts, part)
		}
	}
	if len(p.parts) > 0 && !p.rooted && p.parts[0][0] == '~' {
		p.parts = p.parts[1:]
	}
	for p.rooted && len(p.parts) > 0 && p.parts[0] == "proc" {
		end := slices.IndexFunc(p.parts, func(part string) bool { return part == "root" || part == "cwd" })
		if end < 0 {
			p.vague = p.vague || slices.ContainsFunc(p.parts, func(part string) bool { return part == "fd" || part == "exe" || part == "map_files" })
			break
		}
		p.parts = p.parts[end+1:]
		p.rooted = len(p.parts) > 0 && p.parts[0] == "proc"
	}
	if p.rooted && len(p.parts) > 1 {
		switch p.parts[0] {
		case "dev":
			p.vague = p.vague || slices.Contains([]string{"fd", "stdin", "stdout", "stderr"}, p.parts[1])
		case "private": // on a Mac, /tmp and the like are links to below it
			p.parts = p.parts[1:]
		}
	}
	return p
}

// mayBe reports whether both may be the same path. One that does not begin at
// the root may be the end of the other.
func (p spelled) mayBe(other spelled) bool {
	long, short := p, other
	if len(short.parts) > len(long.parts) {
		long, short = short, long
	}
	return p.vague || other.vague ||
		!(short.rooted && len(long.parts) > len(short.parts)) && !(p.rooted && other.rooted && len(p.parts) != len(other.parts)) &&
			slices.Equal(long.parts[len(long.parts)-len(short.parts):], short.parts)
}

// recipient is whom a message goes to: a platform, a chat, a topic of the chat.
type recipient []string

func recipientOf(text string) (r recipient) {
	for part := range strings.SplitSeq(plain(text), ":") {
		part = strings.TrimSpace(part)
		if id, _, ok := strings.Cut(part, "@"); ok && digits(id) { // a phone number with its service
			part = id
		}
		part = strings.TrimLeft(strings.TrimPrefix(part, "-100"), "-+@# ")
		if bare := strings.NewReplacer(" ", "", "-", "", "(", "", ")", "").Replace(part); digits(bare) {
			part = strings.TrimLeft(bare, "0")
		}
		r = append(r, part)
	}
	return r
}

func digits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// mayBe reports whether a denial of d may be about r: r is the same, is a part
// of d, or can't be compared with it, as a chat's number with a chat's name.
func (d recipient) mayBe(r recipient) bool {
	if !slices.Contains(catalogue.Platforms, d[0]) {
		return slices.Contains(r, d[len(d)-1])
	}
	if !slices.Contains(catalogue.Platforms, r[0]) || strings.ContainsAny(strings.Join(r, ""), ",;") {
		return true
	}
	for i, part := range d {
		if i == len(r) { // r names a platform alone, whose usual chat may be any
			return i == 1
		}
		if part != r[i] && (i != 1 || digits(part) == digits(r[i])) {
			return false
		}
	}
	return true
}

// oneHost is a host without its port and its network interface. All names of the
// machine itself become localhost.
func oneHost(host string) string {
	host = portless(host)
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	switch {
	case err == nil && (ip.IsLoopback() || ip.IsUnspecified()), strings.HasSuffix("."+host, ".localhost"):
		return "localhost"
	case err == nil:
		return ip.WithZone("").String()
	}
	return host
}
