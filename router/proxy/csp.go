package proxy

import (
	"cmp"
	"net/http"
	"strings"
	"sync/atomic"
)

// The one change to a page's policy is that the console's origin may be
// framed. It goes where a browser looks for what may (CSP 3, 6.3): frame-src,
// else child-src, else a frame-src made from default-src. The
// order and the text of everything else stay.

var policyHeaders = [...]string{"Content-Security-Policy", "Content-Security-Policy-Report-Only"}

// readPolicy is what a line of policies becomes: with the console's origin in
// it, and with the nonces that it makes our files need.
type readPolicy struct {
	line, framed string
	nonces       nonces
}

// nonces are those that our script and our stylesheet need, each "" for none.
type nonces struct{ script, style string }

func (n nonces) or(other nonces) nonces {
	return nonces{cmp.Or(n.script, other.script), cmp.Or(n.style, other.style)}
}

// policyMemo keeps the last line of each header that was read. Most upstreams
// send the same one with every page.
type policyMemo [len(policyHeaders)]atomic.Pointer[readPolicy]

// apply changes the policies of an answer and gives the nonces that our files
// need under those that are more than reports.
func (m *policyMemo) apply(h http.Header, console string) (needed nonces) {
	for i, name := range policyHeaders {
		lines := h[name]
		for j, line := range lines {
			read := m[i].Load()
			if read == nil || read.line != line {
				read = readLine(line, console)
				m[i].Store(read)
			}
			lines[j] = read.framed
			if i == 0 {
				needed = needed.or(read.nonces)
			}
		}
	}
	return needed
}

// readLine reads a header's line, which may hold several policies.
func readLine(line, console string) *readPolicy {
	policies := strings.Split(line, ",")
	read := &readPolicy{line: line, nonces: policyNonces(policies)}
	for i, policy := range policies {
		policies[i] = framing(policy, console)
	}
	read.framed = strings.Join(policies, ",")
	return read
}

// directive is one of a policy, with where it stands in the text.
type directive struct {
	name       string
	sources    []string
	start, end int
}

// directives reads a policy. The first directive of a name is the one that
// counts.
func directives(policy string) []directive {
	var list []directive
	for start := 0; start <= len(policy); {
		end := len(policy)
		if i := strings.IndexByte(policy[start:], ';'); i >= 0 {
			end = start + i
		}
		if fields := strings.Fields(policy[start:end]); len(fields) > 0 {
			list = append(list, directive{strings.ToLower(fields[0]), fields[1:], start, end})
		}
		start = end + 1
	}
	return list
}

// effective is the first of the named directives that a policy has.
func effective(list []directive, names ...string) *directive {
	for _, name := range names {
		for i := range list {
			if list[i].name == name {
				return &list[i]
			}
		}
	}
	return nil
}

// framing is policy with origin in its effective frame-src; a policy that
// does not restrict frames, or allows origin, is returned as it is.
func framing(policy, origin string) string {
	if origin == "" {
		return policy
	}
	d := effective(directives(policy), "frame-src", "child-src", "default-src")
	if d == nil {
		return policy
	}
	for _, s := range d.sources {
		if s == "*" || strings.EqualFold(s, origin) {
			return policy
		}
	}
	sources := d.sources
	if len(sources) == 1 && strings.EqualFold(sources[0], "'none'") {
		sources = nil
	}
	if d.name == "default-src" {
		text := strings.Join(append(append([]string{"frame-src"}, sources...), origin), " ")
		if strings.HasSuffix(strings.TrimRight(policy, " \t"), ";") {
			return policy + " " + text
		}
		return policy + "; " + text
	}
	if len(sources) < len(d.sources) || len(sources) == 0 {
		text := policy[d.start:d.end]
		name := len(text) - len(strings.TrimLeft(text, " \t\n\f\r")) + len(d.name)
		return policy[:d.start+name] + " " + origin + policy[d.end:]
	}
	end := d.start + len(strings.TrimRight(policy[d.start:d.end], " \t\n\f\r"))
	return policy[:end] + " " + origin + policy[end:]
}

// policyNonces are the nonces that an external script and stylesheet of the
// page's own origin need to load under the policies. Only a nonce that one of
// them already has can be one.
func policyNonces(policies []string) (needed nonces) {
	for _, policy := range policies {
		list := directives(policy)
		needed = needed.or(nonces{
			script: effective(list, "script-src-elem", "script-src", "default-src").nonce(),
			style:  effective(list, "style-src-elem", "style-src", "default-src").nonce(),
		})
	}
	return needed
}

// nonce is d's nonce if a file of the page's own origin is allowed by nothing
// else. 'strict-dynamic' switches 'self' and hosts off.
func (d *directive) nonce() string {
	if d == nil {
		return ""
	}
	nonce, self, strict := "", false, false
	for _, s := range d.sources {
		switch low := strings.ToLower(s); {
		case low == "'self'" || low == "*" || low == "https:" || low == "http:":
			self = true
		case low == "'strict-dynamic'":
			strict = true
		case nonce == "" && strings.HasPrefix(low, "'nonce-") && strings.HasSuffix(low, "'"):
			nonce = s[len("'nonce-") : len(s)-1]
		}
	}
	if self && !strict || strings.Trim(nonce, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=") != "" {
		return ""
	}
	return nonce
}
