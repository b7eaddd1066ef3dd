package hux

import (
	"fmt"
	"unicode/utf8"
)

// OneLine is JSON in which nothing stands as it is that some reader takes for
// the end of a line, or for nothing at all: the C1 controls (U+0085 is one),
// U+2028, U+2029, and U+FEFF. In JSON they are in strings alone, so each becomes
// an escape that means the same. Text without them is given back itself.
func OneLine(json []byte) []byte {
	var out []byte
	copied := 0
	for i := 0; i < len(json); {
		if json[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(json[i:])
		if 0x80 <= r && r <= 0x9f || r == 0x2028 || r == 0x2029 || r == 0xfeff {
			out = fmt.Appendf(append(out, json[copied:i]...), `\u%04x`, r)
			copied = i + size
		}
		i += size
	}
	if out == nil {
		return json
	}
	return append(out, json[copied:]...)
}
