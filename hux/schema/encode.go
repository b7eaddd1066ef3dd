package schema

import (
	"encoding/json"
	"maps"
	"slices"
)

// Encode writes a value, as Parse gives it, as JSON without blanks.
func Encode(v any) []byte { return encode(nil, v) }

// encode appends a value, as Parse gives it, to text as JSON: without spaces,
// and with the names of each object in order, so that values that are the same
// have the same text. It takes a third of the time of json.Marshal, which does
// not know that there is nothing else in it.
func encode(text []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(text, "null"...)
	case bool:
		if v {
			return append(text, "true"...)
		}
		return append(text, "false"...)
	case string:
		return encodeString(text, v)
	case json.Number:
		return append(text, v...)
	case []any:
		text = append(text, '[')
		for i, item := range v {
			if i > 0 {
				text = append(text, ',')
			}
			text = encode(text, item)
		}
		return append(text, ']')
	case map[string]any:
		text = append(text, '{')
		var few [16]string
		names := slices.AppendSeq(few[:0], maps.Keys(v))
		slices.Sort(names)
		for i, name := range names {
			if i > 0 {
				text = append(text, ',')
			}
			text = append(encodeString(text, name), ':')
			text = encode(text, v[name])
		}
		return append(text, '}')
	}
	other, _ := json.Marshal(v) // of no type that Parse gives
	return append(text, other...)
}

const hexDigits = "0123456789abcdef"

// encodeString appends s, which is UTF-8, and escapes what must be (RFC 8259,
// section 7).
func encodeString(text []byte, s string) []byte {
	text = append(text, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		text = append(append(text, s[from:i]...), '\\')
		if c < ' ' {
			text = append(text, 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			text = append(text, c)
		}
		from = i + 1
	}
	return append(append(text, s[from:]...), '"')
}
