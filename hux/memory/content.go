package memory

import (
	"math/big"
	"regexp"
	"strings"

	"bstein.dev/hux/hux/redact"
)

// What a text may state of a forbidden topic. No list of patterns finds all of
// it; what is found is refused whatever the entry's own topics say.
var (
	secretSaid  = regexp.MustCompile(`(?i)\b(pass(word|wort|phrase|code)|kennwort|secret key|api[ _-]?key|access token)\b[^.\n]{0,40}?(\b(is|ist|lautet)\b|[:=])\s*\S`)
	pinSaid     = regexp.MustCompile(`(?i)\bpin\b[^.\n]{0,40}?(\b(is|ist|lautet)\b|[:=])\s*[0-9]{3}`)
	coordinates = regexp.MustCompile(`[-+]?[0-9]{1,3}\.[0-9]{3,}\s*[,;/ ]\s*[-+]?[0-9]{1,3}\.[0-9]{3,}|[0-9]{1,3}\s*°\s*[0-9]{1,2}\s*['′]`)
	digits      = regexp.MustCompile(`[0-9][0-9 -]{11,30}[0-9]`)
	account     = regexp.MustCompile(`\b[A-Z]{2}[0-9]{2}( ?[A-Z0-9]{1,4}){3,8}\b`)
	personal    = regexp.MustCompile(`(?i)\b[0-9]{3}-[0-9]{2}-[0-9]{4}\b|\b(passport|reisepass|personalausweis|(identity|id) card|social security|tax id|driving licen[cs]e)\b[^.\n]{0,30}?\b[A-Z]{0,3}[0-9]{5,}\b`)
)

// StatesOf is what a text states that is never remembered: credentials, location
// or identity (the number of a card, an account or a person); "" for nothing.
func StatesOf(text string) string {
	switch {
	case redact.Secretive(text), secretSaid.MatchString(text), pinSaid.MatchString(text):
		return "credentials"
	case coordinates.MatchString(text):
		return "location"
	case personal.MatchString(text):
		return "identity"
	}
	for _, run := range digits.FindAllString(text, -1) {
		if cardNumber(strings.NewReplacer(" ", "", "-", "").Replace(run)) {
			return "identity"
		}
	}
	for _, run := range account.FindAllString(text, -1) {
		if accountNumber(strings.ReplaceAll(run, " ", "")) {
			return "identity"
		}
	}
	return ""
}

// issued is what the numbers of payment cards begin with.
var issued = regexp.MustCompile(`^(3[0-9]|4|5[0-9]|6|2(2[2-9]|[3-6]|7[01]|720))`)

// cardNumber reports whether digits have the beginning, the length and the
// check digit of a card's number (ISO/IEC 7812-1).
func cardNumber(digits string) bool {
	if len(digits) < 13 || len(digits) > 19 || !issued.MatchString(digits) {
		return false
	}
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// accountNumber reports whether s is an IBAN (ISO 13616): its letters count as
// two digits each, and it leaves 1 by 97.
func accountNumber(s string) bool {
	if len(s) < 15 || len(s) > 34 {
		return false
	}
	var number strings.Builder
	for _, c := range s[4:] + s[:4] {
		if c >= 'A' {
			number.WriteString(big.NewInt(int64(c - 'A' + 10)).String())
			continue
		}
		number.WriteRune(c)
	}
	n, ok := new(big.Int).SetString(number.String(), 10)
	return ok && n.Mod(n, big.NewInt(97)).Int64() == 1
}
