package reference

import (
	"encoding/json"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
)

// Part is a piece of a sentence.
type Part struct {
	Text string
	Code bool
}

// Prose takes a sentence apart, in which code stands between backquotes.
func Prose(sentence string) []Part {
	var parts []Part
	for i, text := range strings.Split(sentence, "`") {
		if text != "" {
			parts = append(parts, Part{text, i%2 == 1})
		}
	}
	return parts
}

// list joins words as a sentence has them.
func list(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

func article(noun string) string {
	switch {
	case noun == "null":
		return noun
	case strings.ContainsAny(noun[:1], "aeiou"):
		return "an " + noun
	}
	return "a " + noun
}

// span says a range of numbers, or of how many things there may be. The largest
// integer that JSON carries safely is no bound that anybody needs to be told.
func span(from, to *json.Number, thing string) []string {
	if to != nil && *to == "9007199254740991" {
		to = nil
	}
	said := func(n json.Number) string {
		if many, err := strconv.Atoi(string(n)); err == nil && thing != "" {
			return hux.Count(many, thing)
		}
		return string(n)
	}
	switch {
	case from != nil && to != nil && *from == *to:
		return []string{"exactly " + said(*from)}
	case from != nil && to != nil:
		return []string{string(*from) + " to " + said(*to)}
	case from != nil:
		return []string{"at least " + said(*from)}
	case to != nil:
		return []string{"at most " + said(*to)}
	}
	return nil
}

func codes(values []any) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = code(v)
	}
	return all
}

// code writes a value of JSON as code; a string without its quotes.
func code(v any) string {
	if s, ok := v.(string); ok && s != "" {
		return "`" + s + "`"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return "`" + string(text) + "`"
}
