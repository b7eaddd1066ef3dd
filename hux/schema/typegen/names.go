package main

import "strings"

// initialisms are written as Go writes them.
var initialisms = map[string]string{"id": "ID", "ids": "IDs", "url": "URL", "sha256": "SHA256", "json": "JSON", "ci": "CI", "ms": "MS"}

// pascal is a name in snake_case as a type is called in TypeScript.
func pascal(snake string) string {
	var b strings.Builder
	for _, part := range strings.FieldsFunc(snake, func(r rune) bool { return r == '_' || r == '.' || r == '-' || r == '$' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// exported is a name in snake_case as Go calls it.
func exported(snake string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(snake, "_") {
		if whole, ok := initialisms[part]; ok {
			b.WriteString(whole)
		} else {
			b.WriteString(pascal(part))
		}
	}
	return b.String()
}

// singular is what one of several is called.
func singular(plural string) string {
	for _, end := range [][2]string{{"ies", "y"}, {"ches", "ch"}, {"sses", "ss"}, {"s", ""}} {
		if stem, ok := strings.CutSuffix(plural, end[0]); ok {
			return stem + end[1]
		}
	}
	return plural + "Item"
}
