package redact

import "strings"

// assignments masks the values of secret names: FOO_TOKEN=…, "password": "…",
// --token …, Authorization: …, ?access_token=…. One pass from left to right;
// every byte is looked at a bounded number of times.
func (r rules) assignments(s string) string {
	separators := "=:"
	if strings.Contains(s, "--") {
		separators = "=: "
	}
	var out strings.Builder
	last := 0
	for i := 0; i < len(s); {
		n := strings.IndexAny(s[i:], separators)
		if n < 0 {
			break
		}
		i += n
		name := nameBefore(s, last, i)
		rule, strength := "assignment", name.strength
		if name.parameter {
			rule, strength = "url_parameter", max(strength, parameter(name.text))
		}
		if strength == plain || s[i] == ' ' && !name.option {
			i++
			continue
		}
		v := valueAfter(s, i, name, strength)
		if v.from == v.to || strength == counted && isCount(s[v.from:v.to]) || harmless(s[v.from:v.to]) {
			i = max(i+1, v.from)
			continue
		}
		r.found[rule] = true
		out.WriteString(s[last:v.from])
		out.WriteString(Masked)
		last, i = v.to, v.to
	}
	if last == 0 {
		return s
	}
	out.WriteString(s[last:])
	return out.String()
}

// name is what stands before a separator.
type name struct {
	text      string
	strength  strength
	parameter bool // of a URL: after ? & # ;
	option    bool // after a hyphen, as in --token
	quoted    bool
	enclosing byte // the quote before it, where that is not its own
	escapes   int  // the backslashes before that quote
}

// nameBefore reads the name that ends before s[i], not looking before from.
func nameBefore(s string, from, i int) name {
	end := i
	quoted := false
	// Between a name and its separator: blanks, and the end of a quoted or
	// indexed name, however often it is escaped.
	for n := 0; s[i] != ' ' && n < 16 && end > from && strings.IndexByte(" \t\"'`\\]+?!", s[end-1]) >= 0; n++ {
		end--
		quoted = quoted || isQuote(s[end])
	}
	start := end
	for start > from && end-start < maxName && nameByte(s[start-1]) {
		start--
	}
	if start == end {
		return name{}
	}
	n := name{text: s[start:end], option: s[start] == '-', quoted: quoted}
	n.strength = strengthOf(n.text)
	if start > 0 {
		switch c := s[start-1]; c {
		case '?', '&', '#', ';':
			n.parameter = true
		case '"', '\'', '`':
			if quoted {
				break
			}
			n.enclosing = c
			for n.escapes < 16 && start-2-n.escapes >= 0 && s[start-2-n.escapes] == '\\' {
				n.escapes++
			}
		}
	}
	return n
}

func nameByte(c byte) bool {
	return small(c) || c >= 'A' && c <= 'Z' || c == '_' || c == '-' || c == '.' || c == '$'
}

// parameter judges names that are secret in a URL only.
func parameter(text string) strength {
	text = strings.ToLower(text)
	switch {
	case text == "code":
		return counted
	case text == "key", text == "sig", text == "assertion", text == "ticket",
		strings.HasSuffix(text, "signature"), strings.HasSuffix(text, "-credential"):
		return secret
	}
	return plain
}

// value is where a value stands in its text.
type value struct{ from, to int }

// valueAfter reads the value that follows the separator at s[i].
func valueAfter(s string, i int, n name, of strength) value {
	v := i + 1
	for v < len(s) && strings.IndexByte(" \t=:>", s[v]) >= 0 {
		v++
	}
	q := quoteAt(s, v)
	if s[i] == ':' && header(n.text) && (q < 0 || !n.quoted) {
		return value{v, lineEnd(s, v, n)}
	}
	switch {
	case v == len(s), s[v] == '{', s[i] == ' ' && s[v] == '-':
		return value{v, v}
	case s[v] == '\n', s[v] == '\r', s[v] == '|':
		if s[i] == ':' && of == secret {
			return block(s, i, v)
		}
		return value{v, v}
	case q >= 0:
		return value{q + 1, quoteEnd(s, q+1, s[q], q-v)}
	case s[v] == '[' && !strings.HasPrefix(s[v:], Masked):
		if of != secret {
			return value{v, v}
		}
		if n := strings.IndexByte(s[v:], ']'); n >= 0 {
			return value{v, v + n + 1}
		}
		return value{v, len(s)}
	}
	to := wordEnd(s, v)
	switch strings.ToLower(s[v:min(to, v+len("negotiate"))]) {
	case "bearer", "basic", "token", "digest", "negotiate": // and then the secret
		next := to
		for next < len(s) && (s[next] == ' ' || s[next] == '\t') {
			next++
		}
		if next > to {
			to = wordEnd(s, next)
		}
	}
	return value{v, to}
}

// block is the lines after s[v] that are indented deeper than the line of
// s[i], a value of many lines as YAML writes it. A separator ends a line here,
// so that no line is measured twice.
func block(s string, i, v int) value {
	line := strings.IndexByte(s[v:], '\n')
	if line < 0 || strings.Trim(s[v:v+line], "|>+-0123456789 \r") != "" {
		return value{v, v}
	}
	start := strings.LastIndexByte(s[:i], '\n') + 1
	indent := len(s[start:i]) - len(strings.TrimLeft(s[start:i], " \t-"))
	from, to := v+line+1, v
	for at := from; at < len(s); {
		end := len(s)
		if n := strings.IndexByte(s[at:], '\n'); n >= 0 {
			end = at + n
		}
		text := strings.TrimLeft(s[at:end], " \t")
		if text != "" && end-at-len(text) <= indent {
			break
		}
		if text != "" {
			to = end
		}
		at = end + 1
	}
	from += len(s[from:max(from, to)]) - len(strings.TrimLeft(s[from:max(from, to)], " \t\r\n"))
	return value{from, max(from, to)}
}

// header reports whether name is a header whose whole line is secret.
func header(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")
}

// quoteAt is where a quote stands at or, behind backslashes, after s[v]; -1
// where there is none.
func quoteAt(s string, v int) int {
	for v < len(s) && s[v] == '\\' {
		v++
	}
	if v < len(s) && isQuote(s[v]) {
		return v
	}
	return -1
}

// quoteEnd is where the value ends that began behind a quote with so many
// backslashes before it: at the same quote with no more of them. Without one
// it goes on to the end.
func quoteEnd(s string, from int, quote byte, depth int) int {
	for i := from; i < len(s); i++ {
		if s[i] != quote {
			continue
		}
		escapes := 0
		for i-escapes > from && s[i-escapes-1] == '\\' {
			escapes++
		}
		if escapes <= depth || depth == 0 && escapes%2 == 0 {
			return i - min(escapes, depth)
		}
	}
	return len(s)
}

// lineEnd is the end of the line, or of the quoted text that n stands in.
func lineEnd(s string, from int, n name) int {
	if end := strings.IndexAny(s[from:], "\r\n"); end >= 0 {
		s = s[:from+end]
	}
	if n.enclosing == 0 {
		return len(s)
	}
	return quoteEnd(s, from, n.enclosing, n.escapes)
}

// wordEnd is the end of a word as a shell sees it: quotes may be part of it.
func wordEnd(s string, from int) int {
	for i := from; i < len(s); i++ {
		switch c := s[i]; c {
		case ' ', '\t', '\n', '\r', '&', ';', '|', '<', '>':
			return i
		case '\\':
			q := i
			for q < len(s) && s[q] == '\\' {
				q++
			}
			if q < len(s) && isQuote(s[q]) && closes(s, q) {
				return i // the end of an escaped string that the word stands in
			}
			i = q - 1 + (q-i)%2 // an odd one out escapes what follows
		case '"', '\'', '`':
			if closes(s, i) {
				return i
			}
			i = quoteEnd(s, i+1, c, 0)
		}
	}
	return len(s)
}

// closes reports whether the quote at s[i] looks like the end of something.
func closes(s string, i int) bool {
	return i+1 == len(s) || strings.IndexByte(" \t\r\n,;:)]}\"'`\\", s[i+1]) >= 0
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// harmless reports whether v is no secret whatever its name is: nothing, a
// truth value, a variable, or masked already.
func harmless(v string) bool {
	const trailing = ",.)}]"
	if after, ok := strings.CutPrefix(v, Masked); ok && strings.Trim(after, trailing) == "" {
		return true
	}
	bare := strings.TrimRight(v, trailing)
	if len(bare) <= len("undefined") {
		switch strings.ToLower(bare) {
		case "", "true", "false", "null", "none", "nil", "undefined":
			return true
		}
	}
	variable, ok := strings.CutPrefix(v, "$")
	variable = strings.TrimSuffix(strings.TrimPrefix(variable, "{"), "}")
	return ok && variable != "" && strings.Trim(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == ""
}
