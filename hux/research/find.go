package research

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// How a quote was found.
const (
	Exact      = "exact"      // letter by letter
	Normalized = "normalized" // after NFC, with each run of white space as one space
)

// Find looks for a quote in a text: as it is written or, where it is not there,
// normalized. It must stand between its prefix and suffix. Of several places
// it takes the one that begins nearest to near, or the first. The span is of
// the text as given. ok is false where the quote is empty or not there.
func Find(text string, q Quote, near *Span) (at Span, match string, ok bool) {
	from := -1
	if near != nil {
		from = offset(text, max(near.Start, 0))
	}
	if i := locate(text, q, from); i >= 0 {
		return spanOf(text, i, i+len(q.Exact)), Exact, true
	}
	folded, origin := fold(text)
	if from >= 0 {
		from, _ = slices.BinarySearch(origin, from)
	}
	exact, _ := fold(q.Exact)
	prefix, _ := fold(q.Prefix)
	suffix, _ := fold(q.Suffix)
	// Where the white space belongs at the quote's ends, nobody can tell.
	q = Quote{strings.Trim(exact, " "), strings.TrimRight(prefix, " "), strings.TrimLeft(suffix, " ")}
	i := locate(folded, q, from)
	if i < 0 {
		return Span{}, "", false
	}
	end := i + len(q.Exact)
	for origin[end] == origin[end-1] { // in the middle of letters that were composed
		end++
	}
	return spanOf(text, origin[i], origin[end]), Normalized, true
}

// locate gives the byte where the quote begins in text, nearest to the byte
// near if that is not negative, or -1.
func locate(text string, q Quote, near int) int {
	if q.Exact == "" {
		return -1
	}
	fits := func(i int) bool {
		before, behind := text[:i], text[i+len(q.Exact):]
		return endsWith(before, q.Prefix) && startsWith(behind, q.Suffix)
	}
	if near >= 0 && near <= len(text) && strings.HasPrefix(text[near:], q.Exact) && fits(near) {
		return near
	}
	best := -1
	for i := 0; ; i += len(q.Exact) {
		next := strings.Index(text[i:], q.Exact)
		if next < 0 {
			return best
		}
		if i += next; !fits(i) {
			continue
		}
		if near < 0 {
			return i
		}
		if best >= 0 && i-near >= near-best {
			return best // all that follow are farther away
		}
		best = i
	}
}

// endsWith and startsWith let one space stand between a quote and its context.
func endsWith(text, prefix string) bool {
	return strings.HasSuffix(text, prefix) || strings.HasSuffix(strings.TrimSuffix(text, " "), prefix)
}

func startsWith(text, suffix string) bool {
	return strings.HasPrefix(text, suffix) || strings.HasPrefix(strings.TrimPrefix(text, " "), suffix)
}

// fold normalizes s, and says for each byte of the result, and for its end,
// where in s it comes from.
func fold(s string) (folded string, origin []int) {
	var b strings.Builder
	var segments norm.Iter
	segments.InitString(norm.NFC, s)
	space := false
	for !segments.Done() {
		start := segments.Pos()
		for _, r := range string(segments.Next()) {
			isSpace := unicode.IsSpace(r)
			if isSpace && space {
				continue
			}
			if space = isSpace; isSpace {
				r = ' '
			}
			n, _ := b.WriteRune(r)
			for range n {
				origin = append(origin, start)
			}
		}
	}
	return b.String(), append(origin, len(s))
}

// offset is the byte where a code point begins; the end for one beyond it.
func offset(text string, codePoint int) int {
	n := 0
	for i := range text {
		if n == codePoint {
			return i
		}
		n++
	}
	return len(text)
}

func spanOf(text string, start, end int) Span {
	n := utf8.RuneCountInString(text[:start])
	return Span{n, n + utf8.RuneCountInString(text[start:end])}
}
