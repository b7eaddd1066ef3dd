package research_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"bstein.dev/hux/hux/research"
)

func TestFind(t *testing.T) {
	at := func(start int) *research.Span { return &research.Span{Start: start, End: start + 1} }
	for name, c := range map[string]struct {
		text  string
		quote research.Quote
		near  *research.Span
		match string // "" where it is not there
		start int
		end   int
	}{
		"exact":                       {"one two three", research.Quote{Exact: "two"}, nil, research.Exact, 4, 7},
		"the whole":                   {"one", research.Quote{Exact: "one"}, nil, research.Exact, 0, 3},
		"code points, not bytes":      {"äöü zwei", research.Quote{Exact: "zwei"}, nil, research.Exact, 4, 8},
		"first of several":            {"a b a b", research.Quote{Exact: "b"}, nil, research.Exact, 2, 3},
		"nearest of several":          {"a b a b a b", research.Quote{Exact: "b"}, at(7), research.Exact, 6, 7},
		"just there, though it laps":  {"aaa", research.Quote{Exact: "aa"}, at(1), research.Exact, 1, 3},
		"near far behind the end":     {"a b a b", research.Quote{Exact: "b"}, at(1 << 40), research.Exact, 6, 7},
		"near before the start":       {"a b a b", research.Quote{Exact: "b"}, at(-9), research.Exact, 2, 3},
		"by prefix":                   {"a b c b", research.Quote{Exact: "b", Prefix: "c "}, nil, research.Exact, 6, 7},
		"by suffix":                   {"b a b c", research.Quote{Exact: "b", Suffix: " c"}, nil, research.Exact, 4, 5},
		"prefix without its space":    {"a b c b", research.Quote{Exact: "b", Prefix: "c"}, nil, research.Exact, 6, 7},
		"prefix that is not there":    {"a b", research.Quote{Exact: "b", Prefix: "x "}, nil, "", 0, 0},
		"folded white space":          {"one\n\t two three", research.Quote{Exact: "one two"}, nil, research.Normalized, 0, 9},
		"no-break space":              {"one\u00a0two", research.Quote{Exact: "one two"}, nil, research.Normalized, 0, 7},
		"white space round the quote": {"one two", research.Quote{Exact: "\n two  "}, nil, research.Normalized, 4, 7},
		"composed in the quote":       {"cafe\u0301 au lait", research.Quote{Exact: "caf\u00e9 au"}, nil, research.Normalized, 0, 8},
		"composed in the text":        {"caf\u00e9 au lait", research.Quote{Exact: "cafe\u0301 au"}, nil, research.Normalized, 0, 7},
		"ends in a composed letter":   {"a cafe\u0301!", research.Quote{Exact: "caf\u00e9"}, nil, research.Normalized, 2, 7},
		"exact before normalized":     {"a  b a b", research.Quote{Exact: "a b"}, nil, research.Exact, 5, 8},
		"nearest when normalized":     {"a\tb c a\tb c", research.Quote{Exact: "a b"}, at(5), research.Normalized, 6, 9},
		"normalized by prefix":        {"a\tb c\n a\tb", research.Quote{Exact: "a b", Prefix: "c\t"}, nil, research.Normalized, 7, 10},
		"case counts":                 {"One", research.Quote{Exact: "one"}, nil, "", 0, 0},
		"not there":                   {"one two", research.Quote{Exact: "three"}, nil, "", 0, 0},
		"empty quote":                 {"one", research.Quote{}, nil, "", 0, 0},
		"quote of white space":        {"one\ttwo", research.Quote{Exact: " \n"}, nil, "", 0, 0},
		"empty text":                  {"", research.Quote{Exact: "one"}, nil, "", 0, 0},
		"no UTF-8":                    {"a\xffb", research.Quote{Exact: "b"}, nil, research.Exact, 2, 3},
	} {
		span, match, ok := research.Find(c.text, c.quote, c.near)
		if match != c.match || ok != (c.match != "") || span.Start != c.start || span.End != c.end {
			t.Errorf("%s: %v %q %v, want %d to %d, %q", name, span, match, ok, c.start, c.end, c.match)
		}
	}
}

// words draws a text of words of several scripts, some of them not composed.
func words(r *rand.Rand) []string {
	list := make([]string, 1+r.IntN(12))
	for i := range list {
		list[i] = []string{"one", "zwei", "caf\u00e9", "cafe\u0301", "\u1112\u1161\u11ab", "数", "a", "a", "b\u0323\u0307", "🙂"}[r.IntN(10)]
	}
	return list
}

func space(r *rand.Rand) string {
	return []string{" ", "\n", "\t ", "\u00a0", " \r\n  "}[r.IntN(5)]
}

// What stands in a text is found there however its letters are composed and
// its words are set, and the span says where.
func TestFindFindsWhatIsThere(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 3000 {
		list := words(r)
		from := r.IntN(len(list))
		to := from + 1 + r.IntN(len(list)-from)
		var text, quote strings.Builder
		for i, w := range list {
			if i > 0 {
				text.WriteString(space(r))
			}
			text.WriteString(w)
			if i >= from && i < to {
				if i > from {
					quote.WriteString(space(r))
				}
				if r.IntN(2) == 0 {
					w = norm.NFD.String(w)
				}
				quote.WriteString(w)
			}
		}
		span, match, ok := research.Find(text.String(), research.Quote{Exact: quote.String()}, nil)
		if !ok {
			t.Fatalf("%q is not found in %q", quote.String(), text.String())
		}
		said := string([]rune(text.String())[span.Start:span.End])
		if match == research.Exact && said != quote.String() {
			t.Fatalf("exact: %q for %q", said, quote.String())
		}
		if folded(said) != folded(quote.String()) {
			t.Fatalf("%q for %q", said, quote.String())
		}
	}
}

func folded(s string) string { return strings.Join(strings.Fields(norm.NFC.String(s)), " ") }

// Any text and quote have an answer within the text.
func TestFindIsTotal(t *testing.T) {
	within := func(text, exact, prefix, suffix []byte, start, end int) bool {
		q := research.Quote{Exact: string(exact), Prefix: string(prefix), Suffix: string(suffix)}
		for _, near := range []*research.Span{nil, {Start: start, End: end}} {
			span, _, ok := research.Find(string(text), q, near)
			n := utf8.RuneCount(text)
			if ok && (span.Start < 0 || span.Start >= span.End || span.End > n) || !ok && span != (research.Span{}) {
				return false
			}
		}
		return true
	}
	if err := quick.Check(within, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

// A text that repeats itself costs no more than one that does not.
func TestFindIsFastOnWhatRepeats(t *testing.T) {
	text := strings.Repeat(" a", 1<<19)
	start := time.Now()
	for _, q := range []research.Quote{
		{Exact: " ", Prefix: "x"}, {Exact: "a", Suffix: "x"}, {Exact: strings.Repeat("a ", 1000) + "b"}, {Exact: "a", Prefix: strings.Repeat(" a", 100) + "b"},
	} {
		if _, _, ok := research.Find(text, q, &research.Span{Start: 1 << 19}); ok {
			t.Errorf("found %.10q", q.Exact)
		}
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}
