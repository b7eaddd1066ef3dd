package autonomy

import (
	"regexp"
	"slices"
	"strings"
)

// prose reads a text of which nobody knows what it is: a command may stand
// anywhere in it.
func (r reader) prose(text string) bool {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(";|&\n", c) }) {
		words := strings.FieldsFunc(line, notInWord)
		for i, word := range words {
			words[i] = strings.TrimRight(word, ".")
		}
		if r.anywhere(words) {
			return true
		}
	}
	return false
}

func notInWord(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./:=@*", r)
}

// code reads a program's text, in a language with strings in quotes, lists in
// brackets and comments behind #. What is called to run something is in the
// catalogue, and so is what only says something. Anything else is read as prose.
func (r reader) code(text string) bool {
	if len(text) > maxShellText {
		return true
	}
	var (
		calls []string // the names before the brackets that are open
		list  []string // the strings of the list that is being read
		ident strings.Builder
		plain strings.Builder // what is prose
	)
	callee := func() string {
		for _, call := range slices.Backward(calls) {
			if call != "[" {
				return call
			}
		}
		return ""
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if letter(c) {
			ident.WriteByte(c)
			plain.WriteByte(c)
			continue
		}
		name := ident.String()
		ident.Reset()
		switch c {
		case '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case '"', '\'', '`':
			literal, length := quoted(text[i:])
			i += length - 1
			if slices.Contains(catalogue.Says, callee()) {
				continue
			}
			if strings.HasPrefix(strings.ToLower(name), "f") && len(name) < 3 {
				literal = holes.ReplaceAllString(literal, unknown)
			}
			if len(calls) > 0 && calls[len(calls)-1] == "[" {
				list = append(list, literal)
			} else if slices.Contains(catalogue.Runs, callee()) && r.text(literal) {
				return true
			}
			plain.WriteString(" " + literal + " ")
		case '(':
			calls = append(calls, name)
		case '[':
			calls, list = append(calls, "["), nil
		case ')', ']':
			if c == ']' && slices.Contains(catalogue.Runs, callee()) && r.command(list) {
				return true
			}
			calls = calls[:max(0, len(calls)-1)]
		case '\n':
			if len(calls) > 0 {
				c = ' '
			}
		}
		plain.WriteByte(c)
	}
	return r.prose(plain.String())
}

var holes = regexp.MustCompile(`\{[^{}]*\}`)

func letter(c byte) bool { return c == '_' || c == '$' || small(c|0x20) || c >= '0' && c <= '9' }

func small(c byte) bool { return c >= 'a' && c <= 'z' }

// quoted is the string at the beginning of text, and how long it is there.
func quoted(text string) (literal string, length int) {
	quote := text[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text, triple) {
		quote = triple
	}
	var out strings.Builder
	for i := len(quote); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			return out.String(), i + len(quote)
		case text[i] == '\\' && i+1 < len(text):
			i++
			if text[i] == 'n' {
				out.WriteByte('\n')
				continue
			}
		case text[i] == '\n' && len(quote) == 1 && quote != "`":
			return out.String(), i
		}
		out.WriteByte(text[i])
	}
	return out.String(), len(text)
}
