package schema

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"bstein.dev/hux/hux"
)

// What a JSON body may hold. The bounds on numbers keep them cheap in exact
// arithmetic: 1e999999 is eight bytes long and takes big.Rat 20 ms.
const (
	MaxBody      = 64 << 10 // bytes (contracts 2.7)
	MaxRecord    = 64 << 20 // bytes of a record that is no request's body
	maxDepth     = 64
	maxNumberLen = 40
	maxExponent  = 308
)

// limits are how long a text may be, and how many values it may hold.
type limits struct{ bytes, values int }

// ofRecord is much more than the body of a request may have: a person's
// memories, exported, or the lines in which two versions of a text differ.
var ofRecord = limits{MaxRecord, 1 << 20}

// longBodies are the bodies that may be longer than MaxBody, in bytes.
var longBodies = map[string]int{
	"hux.artifact_version.create.v1":  5 << 18,
	"hux.research_notebook.create.v1": 5 << 18,
	"hux.research_notebook.patch.v1":  5 << 18,
	"hux.memory.import.v1":            2 << 20,
	"hux.ingest.hermes.v1":            1 << 20, // the results of tools are in it
}

// BodyLimit is how many bytes a body of the schema name may have.
func BodyLimit(name string) int {
	if n, ok := longBodies[name]; ok {
		return n
	}
	return MaxBody
}

// ofBody are the limits of a body of the schema name: one value for 16 bytes.
func ofBody(name string) limits {
	n := BodyLimit(name)
	return limits{n, n / 16}
}

// Parse reads body as one JSON text in the strict sense of I-JSON (RFC 7493):
// UTF-8, no name twice in an object, no lone surrogates, nothing after it. It
// gives what encoding/json would with UseNumber, but for integers, which have
// one spelling: 3.0 and 30e-1 are 3. The error is a *hux.Error, invalid_json or
// too_large.
func Parse(body []byte) (any, error) {
	v, _, err := parse(body, ofBody(""))
	return v, err
}

// parse reads a body within limits, and says besides where in it it stopped.
func parse(body []byte, within limits) (v any, stopped int, err error) {
	if len(body) > within.bytes {
		return nil, 0, hux.Errorf(hux.TooLarge, "The body is larger than %d bytes.", within.bytes)
	}
	// One string holds the text, and all strings without escapes are parts of it.
	p := parser{text: string(body), left: within.values, most: within.values}
	if !utf8.ValidString(p.text) {
		return nil, 0, invalid("is not UTF-8")
	}
	p.space()
	if v, err = p.value(0); err != nil {
		return nil, p.at, err
	}
	if p.space(); p.at < len(p.text) {
		return nil, p.at, invalid("goes on after its end")
	}
	return v, p.at, nil
}

func invalid(what string) *hux.Error {
	return hux.Errorf(hux.InvalidJSON, "The body %s.", what)
}

var errSyntax = "is not JSON"

type parser struct {
	text string
	at   int
	left int // values that may still come
	most int // values in all
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// peek is the next byte, or 0 at the end; a NUL is no part of JSON's syntax.
func (p *parser) peek() byte {
	if p.at < len(p.text) {
		return p.text[p.at]
	}
	return 0
}

func (p *parser) value(depth int) (any, error) {
	if p.left--; p.left < 0 {
		return nil, hux.Errorf(hux.TooLarge, "The body holds more than %d values.", p.most)
	}
	switch c := p.peek(); {
	case c == '"':
		return p.str()
	case c == '{' || c == '[':
		if depth == maxDepth {
			return nil, invalid("is nested more than " + strconv.Itoa(maxDepth) + " deep")
		}
		p.at++
		p.space()
		if c == '{' {
			return p.object(depth + 1)
		}
		return p.array(depth + 1)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	case c == 't' && p.word("true"):
		return true, nil
	case c == 'f' && p.word("false"):
		return false, nil
	case c == 'n' && p.word("null"):
		return nil, nil
	}
	return nil, invalid(errSyntax)
}

func (p *parser) word(w string) bool {
	if len(p.text)-p.at < len(w) || p.text[p.at:p.at+len(w)] != w {
		return false
	}
	p.at += len(w)
	return true
}

func (p *parser) object(depth int) (any, error) {
	m := map[string]any{}
	if p.peek() == '}' {
		p.at++
		return m, nil
	}
	for {
		if p.peek() != '"' {
			return nil, invalid(errSyntax)
		}
		name, err := p.str()
		if err != nil {
			return nil, err
		}
		if p.space(); p.peek() != ':' {
			return nil, invalid(errSyntax)
		}
		p.at++
		p.space()
		n := len(m)
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		if m[name] = v; len(m) == n {
			return nil, invalid("names a member twice")
		}
		p.space()
		switch p.peek() {
		case ',':
			p.at++
			p.space()
		case '}':
			p.at++
			return m, nil
		default:
			return nil, invalid(errSyntax)
		}
	}
}

func (p *parser) array(depth int) (any, error) {
	list := []any{}
	if p.peek() == ']' {
		p.at++
		return list, nil
	}
	for {
		v, err := p.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.space()
		switch p.peek() {
		case ',':
			p.at++
			p.space()
		case ']':
			p.at++
			return list, nil
		default:
			return nil, invalid(errSyntax)
		}
	}
}

// digits skips digits and says whether there was one.
func (p *parser) digits() bool {
	from := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	return p.at > from
}

func (p *parser) number() (any, error) {
	from := p.at
	if p.peek() == '-' {
		p.at++
	}
	if p.peek() == '0' {
		p.at++
	} else if !p.digits() {
		return nil, invalid(errSyntax)
	}
	if p.peek() == '.' {
		if p.at++; !p.digits() {
			return nil, invalid(errSyntax)
		}
	}
	exponent := 0
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		sign := p.at
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if !p.digits() {
			return nil, invalid(errSyntax)
		}
		if p.at-sign > maxNumberLen {
			exponent = math.MaxInt
		} else if n, err := strconv.Atoi(p.text[sign:p.at]); err != nil {
			exponent = math.MaxInt
		} else {
			exponent = n
		}
	}
	if p.at-from > maxNumberLen || exponent > maxExponent || exponent < -maxExponent {
		return nil, invalid("holds a number out of bounds")
	}
	return json.Number(integer(p.text[from:p.at], exponent)), nil
}

// maxDigits is how long an integer may be that is spelt anew: enough for all
// that an int64 holds.
const maxDigits = 18

// integer spells number, whose exponent is given, as an integer if it is one.
func integer(number string, exponent int) string {
	if !strings.ContainsAny(number, ".eE") {
		return number
	}
	mantissa := number
	if n := strings.IndexAny(number, "eE"); n >= 0 {
		mantissa = number[:n]
	}
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	significant := strings.TrimRight(digits, "0")
	zeros := len(digits) - len(significant) - len(fraction) + exponent
	if zeros < 0 || len(significant)+zeros > maxDigits {
		return number
	}
	return sign + significant + strings.Repeat("0", zeros)
}

func (p *parser) str() (string, error) {
	p.at++
	from := p.at
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return p.text[from : p.at-1], nil
		case c == '\\':
			return p.escaped(from)
		case c < ' ':
			return "", invalid(errSyntax)
		}
		p.at++
	}
	return "", invalid(errSyntax)
}

// escapes is what stands for a byte after a backslash (RFC 8259, 7).
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escaped reads on a string that began at from and has a backslash at p.at.
func (p *parser) escaped(from int) (string, error) {
	out := append(make([]byte, 0, p.at-from+32), p.text[from:p.at]...)
	for p.at < len(p.text) {
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			return string(out), nil
		case c < ' ':
			return "", invalid(errSyntax)
		case c != '\\':
			out = append(out, c)
			continue
		}
		if c = p.peek(); c != 'u' {
			if c = escapes[c]; c == 0 {
				return "", invalid(errSyntax)
			}
			p.at++
			out = append(out, c)
			continue
		}
		r, ok := p.unit()
		if ok && utf16.IsSurrogate(r) {
			var low rune
			if p.peek() != '\\' {
				return "", invalid("holds half a surrogate pair")
			}
			p.at++
			if low, ok = p.unit(); ok {
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return "", invalid("holds half a surrogate pair")
				}
			}
		}
		if !ok {
			return "", invalid(errSyntax)
		}
		out = utf8.AppendRune(out, r)
	}
	return "", invalid(errSyntax)
}

// unit reads uXXXX, what follows the backslash of an escaped UTF-16 unit.
func (p *parser) unit() (rune, bool) {
	if len(p.text)-p.at < 5 || p.text[p.at] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.text[p.at+1 : p.at+5]) {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	p.at += 5
	return r, true
}
