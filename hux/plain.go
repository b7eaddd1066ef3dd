package hux

import (
	"fmt"
	"strings"
	"unicode"
)

// Hidden reports whether a character would not be seen where text is shown, or
// moves or hides what is: a control, a space that is no blank, one that nothing
// is drawn for.
func Hidden(r rune) bool {
	if r == ' ' {
		return false
	}
	return !unicode.IsGraphic(r) || unicode.In(r, unicode.Zs, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) ||
		r == '\u2800' || r == '\ufffc' || r == '\U0001d159' // drawn as nothing, though they are symbols
}

// Plain is foreign text in one line, as it is, with what would not be seen
// written out by its code, such as ⟨U+202E⟩, and blanks for breaks and tabs.
func Plain(text string) string {
	if !strings.ContainsFunc(text, Hidden) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		switch {
		case r == '\n', r == '\r', r == '\t':
			out.WriteByte(' ')
		case Hidden(r):
			fmt.Fprintf(&out, "⟨U+%04X⟩", r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}
