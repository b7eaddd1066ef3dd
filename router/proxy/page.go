package proxy

import (
	"bytes"
	"html"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	tokenizer "golang.org/x/net/html"
)

// scan is what was found in the beginning of a page.
type scan struct {
	insert   int          // where the snippet goes
	policies []metaPolicy // behind it
	done     bool         // more of the page would change nothing
}

// metaPolicy is a policy in a meta element: its text, and where the value of
// the content attribute stands, with its quotes.
type metaPolicy struct {
	text       string
	start, end int
}

// scanPage looks for the place right behind the head tag, or before the first
// thing that a browser would open the body or the head for. A tokenizer takes
// comments, scripts and attributes for what they are. whole says that view is
// all of the page.
func scanPage(view []byte, whole, metas bool) scan {
	s := scan{insert: -1}
	// Without the attribute's name there is no such element, and the tokenizer
	// need not go on through the head. No escape can hide a name.
	metas = metas && (!whole || mentions(view, "http-equiv"))
	at := 0
	if bytes.HasPrefix(view, []byte("\xef\xbb\xbf")) { // a byte order mark, no text
		at = 3
	}
	z := tokenizer.NewTokenizer(bytes.NewReader(view[at:]))
	for {
		kind := z.Next()
		start := at
		at += len(z.Raw())
		if kind == tokenizer.ErrorToken || !whole && at >= len(view) && kind != tokenizer.EndTagToken && kind != tokenizer.StartTagToken {
			// The end, or something that may go on behind what was read.
			if s.insert < 0 {
				s.insert = start
			}
			s.done = s.done || whole
			return s
		}
		var name []byte
		if kind == tokenizer.StartTagToken || kind == tokenizer.SelfClosingTagToken || kind == tokenizer.EndTagToken {
			name, _ = z.TagName()
		}
		if s.insert < 0 {
			switch {
			case kind == tokenizer.DoctypeToken,
				kind == tokenizer.TextToken && len(bytes.TrimLeft(view[start:at], " \t\r\n\f")) == 0,
				kind == tokenizer.CommentToken && closed(view[start:at]),
				kind == tokenizer.StartTagToken && string(name) == "html":
				continue
			case kind != tokenizer.EndTagToken && string(name) == "head":
				s.insert = at
			default:
				s.insert = start
			}
			if !metas {
				s.done = true
				return s
			}
		}
		switch kind {
		case tokenizer.StartTagToken, tokenizer.SelfClosingTagToken:
			switch string(name) {
			case "meta":
				if p, ok := readMeta(view[start:at]); ok {
					p.start += start
					p.end += start
					s.policies = append(s.policies, p)
				}
			case "html", "head", "base", "link", "title", "script", "style", "noscript", "template":
			default:
				s.done = true
				return s
			}
		case tokenizer.EndTagToken:
			if string(name) == "head" || string(name) == "html" {
				s.done = true
				return s
			}
		}
	}
}

// mentions reports whether name, which has a "q" in it, stands in view in
// any case. There are few of that letter in a page.
func mentions(view []byte, name string) bool {
	at := strings.IndexByte(name, 'q')
	for _, q := range [...]byte{'q', 'Q'} {
		for i := 0; i < len(view); i++ {
			n := bytes.IndexByte(view[i:], q)
			if n < 0 {
				break
			}
			i += n
			if start := i - at; start >= 0 && start+len(name) <= len(view) && strings.EqualFold(string(view[start:start+len(name)]), name) {
				return true
			}
		}
	}
	return false
}

// closed reports whether a comment token ends in the page, so that what
// follows is no part of it.
func closed(comment []byte) bool {
	if bytes.HasPrefix(comment, []byte("<!--")) {
		return bytes.HasSuffix(comment, []byte("-->")) || bytes.HasSuffix(comment, []byte("--!>"))
	}
	return bytes.HasSuffix(comment, []byte(">"))
}

// readMeta finds the policy in a meta tag.
func readMeta(tag []byte) (metaPolicy, bool) {
	var p metaPolicy
	isPolicy, hasContent := false, false
	for i := len("<meta"); i < len(tag); {
		for i < len(tag) && (space(tag[i]) || tag[i] == '/') {
			i++
		}
		if i >= len(tag) || tag[i] == '>' {
			break
		}
		nameStart := i
		for i++; i < len(tag) && !space(tag[i]) && tag[i] != '/' && tag[i] != '>' && tag[i] != '='; i++ {
		}
		name := tag[nameStart:i]
		for i < len(tag) && space(tag[i]) {
			i++
		}
		if i >= len(tag) || tag[i] != '=' {
			continue
		}
		for i++; i < len(tag) && space(tag[i]); i++ {
		}
		start, end := i, i
		var value []byte
		if i < len(tag) && (tag[i] == '"' || tag[i] == '\'') {
			n := bytes.IndexByte(tag[i+1:], tag[i])
			if n < 0 {
				break
			}
			end = i + 1 + n + 1
			value = tag[start+1 : end-1]
		} else {
			for end < len(tag) && !space(tag[end]) && tag[end] != '>' {
				end++
			}
			value = tag[start:end]
		}
		i = end
		switch {
		case bytes.EqualFold(name, []byte("http-equiv")):
			isPolicy = strings.EqualFold(strings.TrimSpace(html.UnescapeString(string(value))), "content-security-policy")
		case bytes.EqualFold(name, []byte("content")) && !hasContent:
			hasContent = true
			p = metaPolicy{text: html.UnescapeString(string(value)), start: start, end: end}
		}
	}
	return p, isPolicy && hasContent
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

// attribute writes a policy as the quoted value of an attribute.
func attribute(policy string) string {
	return `"` + strings.NewReplacer("&", "&amp;", `"`, "&#34;").Replace(policy) + `"`
}

// pageView is the beginning of a page as UTF-8, and how to get back to it as
// it is encoded: as it stands, or in UTF-16.
type pageView struct {
	text       []byte
	utf16, big bool
}

// viewOf reads the raw beginning of a page; ok is false for UTF-16 that does
// not come back as the same bytes.
func viewOf(raw []byte, charset string) (v pageView, ok bool) {
	big, is := utf16Order(raw, charset)
	if !is {
		return pageView{text: raw}, true
	}
	return decodeUTF16(raw, big)
}

// utf16Order tells whether a page is UTF-16, by its byte order mark, else by
// the charset of its Content-Type (a charset in the page itself can't be). The
// labels are those that browsers know (WHATWG Encoding Standard, 4.2).
func utf16Order(start []byte, charset string) (big, is bool) {
	switch {
	case bytes.HasPrefix(start, []byte{0xfe, 0xff}):
		return true, true
	case bytes.HasPrefix(start, []byte{0xff, 0xfe}):
		return false, true
	case bytes.HasPrefix(start, []byte{0xef, 0xbb, 0xbf}):
		return false, false
	}
	switch strings.ToLower(charset) {
	case "utf-16be", "unicodefffe":
		return true, true
	case "utf-16", "utf-16le", "csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff":
		return false, true
	}
	return false, false
}

// decodeUTF16 gives a view of the raw beginning of a page. A character that is
// cut off at the end is left out.
func decodeUTF16(raw []byte, big bool) (v pageView, ok bool) {
	units := make([]uint16, len(raw)/2)
	for i := range units {
		if big {
			units[i] = uint16(raw[2*i])<<8 | uint16(raw[2*i+1])
		} else {
			units[i] = uint16(raw[2*i+1])<<8 | uint16(raw[2*i])
		}
	}
	if n := len(units); n > 0 && units[n-1]&0xfc00 == 0xd800 {
		units = units[:n-1]
	}
	v = pageView{text: []byte(string(utf16.Decode(units))), utf16: true, big: big}
	return v, bytes.Equal(v.encode(string(v.text)), raw[:2*len(units)])
}

// encode writes s as the page is encoded.
func (v pageView) encode(s string) []byte {
	if !v.utf16 {
		return []byte(s)
	}
	units := utf16.Encode([]rune(s))
	b := make([]byte, 2*len(units))
	for i, u := range units {
		if v.big {
			b[2*i], b[2*i+1] = byte(u>>8), byte(u)
		} else {
			b[2*i], b[2*i+1] = byte(u), byte(u>>8)
		}
	}
	return b
}

// raw is the offset in the raw page of an offset in the text.
func (v pageView) raw(offset int) int {
	if !v.utf16 {
		return offset
	}
	n := 0
	for t := v.text[:offset]; len(t) > 0; {
		r, size := utf8.DecodeRune(t)
		n += 2 * utf16.RuneLen(r)
		t = t[size:]
	}
	return n
}

// ascii reports whether s can stand in a page of any encoding.
func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
