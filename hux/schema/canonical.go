package schema

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strconv"

	"github.com/gowebpki/jcs"
)

// Canonical writes v as JSON in the one form that RFC 8785 gives it, which is
// what the contract hashes: names in the order of their UTF-16 units, numbers
// as ECMAScript writes them, no spaces.
//
// RFC 8785 knows numbers as doubles, and would give two long integers one
// form. Since a hash says that what was seen is what runs, a number of 2^53 or
// more that a double does not hold is an error, and so is one out of its range.
func Canonical(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if err := numbersHold(text); err != nil {
		return nil, err
	}
	return jcs.Transform(text)
}

var errNumber = errors.New("a number is too long or too large to be written in one form")

// numbersHold reports, as an error, a number of a JSON text that is not exact.
func numbersHold(text []byte) error {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '-' || '0' <= c && c <= '9':
			start := i
			for i < len(text) && partOfNumber(text[i]) {
				i++
			}
			if !exact(string(text[start:i])) {
				return errNumber
			}
			i--
		}
	}
	return nil
}

func partOfNumber(c byte) bool {
	return '0' <= c && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

// exact reports whether a number is below 2^53, where at most the digits
// after the point are rounded, or is the one that its double is written as.
func exact(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	if math.Abs(f) < 1<<53 {
		return true
	}
	given, ok := new(big.Rat).SetString(number)
	written, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
	return ok && given.Cmp(written) == 0
}
