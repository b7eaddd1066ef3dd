package research_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/research"
	"bstein.dev/hux/hux/schema"
)

// codes gives the codes of what a rule finds.
func codes(t *testing.T, name string, record any) []string {
	t.Helper()
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	list, err := research.Rules[name](text)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, f := range list {
		found = append(found, f.Code)
	}
	return found
}

func TestLocators(t *testing.T) {
	for _, c := range []struct{ kind, locator, code string }{
		{"web", "https://example.org/csv?x=1#y", ""},
		{"web", "http://example.org:8080", ""},
		{"web", "https://93.184.215.14/", ""},
		{"web", "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/", ""},
		{"web", "file:///etc/hostname", "locator_invalid"},
		{"web", "javascript:alert(1)", "locator_invalid"},
		{"web", "https:example.org", "locator_invalid"},
		{"web", "https://", "locator_invalid"},
		{"web", "//example.org/", "locator_invalid"},
		{"web", "https://exa mple.org/", "locator_invalid"},
		{"web", "ftp://example.org/", "locator_invalid"},
		{"web", "", "locator_invalid"},
		{"web", "https://alice@example.org/", "locator_credentials"},
		{"web", "https://alice:secret@example.org/", "locator_credentials"},
		{"web", "http://localhost/", "locator_not_public"},
		{"web", "http://LOCALHOST./", "locator_not_public"},
		{"web", "http://slot.localhost/", "locator_not_public"},
		{"web", "http://metadata.google.internal/", "locator_not_public"},
		{"web", "http://printer.local/", "locator_not_public"},
		{"web", "http://router/", "locator_not_public"},
		{"web", "http://127.0.0.1/", "locator_not_public"},
		{"web", "http://127.1/", "locator_not_public"},
		{"web", "http://2130706433/", "locator_not_public"},
		{"web", "http://0x7f.0.0.0x1/", "locator_not_public"},
		{"web", "http://169.254.169.254/latest/", "locator_not_public"},
		{"web", "http://10.0.0.1/", "locator_not_public"},
		{"web", "http://0.0.0.0/", "locator_not_public"},
		{"web", "http://[::1]/", "locator_not_public"},
		{"web", "http://[fe80::1%25eth0]/", "locator_not_public"},
		{"web", "http://[fd00:ec2::254]/", "locator_not_public"},
		{"web", "http://[::ffff:127.0.0.1]/", "locator_not_public"},
		{"artifact", "art_0198f3a2c0b07910a1b2c3d4e5f60718", ""},
		{"artifact", "src_0198f3a2c0b07910a1b2c3d4e5f60718", "locator_invalid"},
		{"artifact", "https://example.org/", "locator_invalid"},
		{"message", "20260302_091455_a1b2c3.4", ""},
		{"message", "a b", "locator_invalid"},
		{"file", "att_0198f3a2c0b07910a1b2c3d4e5f60718", ""},
		{"file", "../../etc/hostname", "locator_invalid"},
		{"nonsense", "x/y", "locator_invalid"},
	} {
		want := []string{}
		if c.code != "" {
			want = []string{c.code}
		}
		for _, name := range []string{research.SourceSchema, "hux.source.create.v1"} {
			if got := codes(t, name, map[string]string{"kind": c.kind, "locator": c.locator}); !slices.Equal(got, want) {
				t.Errorf("%s: %s %s: %v, want %v", name, c.kind, c.locator, got, want)
			}
		}
	}
}

func TestPassageIsWhatItsQuoteSays(t *testing.T) {
	good := research.Passage{Text: "zwölf", Match: research.Exact, Selector: research.Selector{
		Quote: research.Quote{Exact: "zwölf"}, Position: &research.Span{Start: 3, End: 8}, Time: &research.TimeSpan{StartMS: 5, EndMS: 5},
	}}
	for name, c := range map[string]struct {
		change func(*research.Passage)
		want   []string
	}{
		"good":                  {func(*research.Passage) {}, []string{}},
		"no position":           {func(p *research.Passage) { p.Selector.Position = nil }, []string{}},
		"other words":           {func(p *research.Passage) { p.Text = "zehn." }, []string{"text_not_quote"}},
		"too long a position":   {func(p *research.Passage) { p.Selector.Position.End = 9 }, []string{"position_length"}},
		"normalized may differ": {func(p *research.Passage) { p.Selector.Position.End, p.Match = 9, research.Normalized }, []string{}},
		"position backwards":    {func(p *research.Passage) { p.Selector.Position.End = 1 }, []string{"span_order", "position_length"}},
		"time backwards":        {func(p *research.Passage) { p.Selector.Time.EndMS = 4 }, []string{"span_order"}},
		"redacted":              {func(p *research.Passage) { p.Text, p.Selector.Quote = "", research.Quote{} }, []string{}},
	} {
		p := good
		position, time := *good.Selector.Position, *good.Selector.Time
		p.Selector.Position, p.Selector.Time = &position, &time
		c.change(&p)
		if got := codes(t, research.PassageSchema, p); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPassageStateFollowsTheSource(t *testing.T) {
	const first, second = "sha256:1", "sha256:2"
	source := func(status, hash string) *research.Source {
		s := &research.Source{Status: status}
		if hash != "" {
			s.ContentHash = &hash
		}
		return s
	}
	for name, c := range map[string]struct {
		text   string
		source *research.Source
		want   string
	}{
		"as it was":                      {"words", source(research.Ready, first), research.Valid},
		"read again, with other content": {"words", source(research.Ready, second), research.SourceChanged},
		"gone":                           {"words", source(research.Gone, first), research.SourceGone},
		"forgotten":                      {"", nil, research.SourceGone},
		"forgotten, the words kept":      {"words", nil, research.SourceGone},
		"the words taken out":            {"", source(research.Ready, first), research.Redacted},
		"taken out, and changed":         {"", source(research.Ready, second), research.Redacted},
		"never read":                     {"words", source(research.Pending, ""), research.SourceChanged},
	} {
		if got := research.PassageState(&research.Passage{Text: c.text, ContentHash: first}, c.source); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestCitations(t *testing.T) {
	marks := func(ordinals ...int) (list []research.Mark) {
		for _, n := range ordinals {
			list = append(list, research.Mark{Ordinal: n})
		}
		return list
	}
	for name, c := range map[string]struct {
		have  int
		marks []research.Mark
		at    []string // pointers of what does not follow
	}{
		"the first":        {0, marks(1, 2, 3), nil},
		"the next":         {3, marks(4, 5), nil},
		"none":             {3, nil, nil},
		"a hole":           {0, marks(1, 2, 4), []string{"/citations/2/ordinal"}},
		"one twice":        {0, marks(1, 1), []string{"/citations/1/ordinal"}},
		"not in order":     {0, marks(2, 1), []string{"/citations/0/ordinal", "/citations/1/ordinal"}},
		"the same again":   {2, marks(1, 2), []string{"/citations/0/ordinal", "/citations/1/ordinal"}},
		"leaves out one":   {2, marks(4), []string{"/citations/0/ordinal"}},
		"from a number on": {0, marks(0, 1), []string{"/citations/0/ordinal", "/citations/1/ordinal"}},
	} {
		var at []string
		for _, f := range research.FaultsOfOrdinals(c.have, c.marks) {
			if f.Code != string(hux.OrdinalsNotContiguous) {
				t.Errorf("%s: the code %s", name, f.Code)
			}
			at = append(at, f.Pointer)
		}
		if !slices.Equal(at, c.at) {
			t.Errorf("%s: %v, want %v", name, at, c.at)
		}
	}
	if got := codes(t, "hux.citation.create.v1", research.CitationCreate{Citations: marks(7, 8)}); len(got) > 0 {
		t.Errorf("a list may go on with any ordinal, got %v", got)
	}
	if got := codes(t, "hux.citation.create.v1", research.CitationCreate{Citations: []research.Mark{{Ordinal: 1, ClaimSpan: &research.Span{Start: 2, End: 2}}}}); !slices.Equal(got, []string{"span_order"}) {
		t.Errorf("an empty claim: %v", got)
	}
	if got := codes(t, research.CitationSchema, research.Citation{Ordinal: 1, SourceNumber: 2, ClaimSpan: &research.Span{Start: 9}}); !slices.Equal(got, []string{"span_order", "source_number_high"}) {
		t.Errorf("a citation: %v", got)
	}
}

// However often one posts, the ordinals of a message are 1, 2, 3 … and the
// numbers of its sources too, in the order in which they appear.
func TestOrdinalsAndNumbersHaveNoHoles(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for range 300 {
		var accepted []research.Mark
		for range r.IntN(8) {
			next := make([]research.Mark, r.IntN(4))
			for i := range next {
				next[i].Ordinal = len(accepted) + 1 + i + r.IntN(5)/4 // now and then one too far
			}
			if research.FaultsOfOrdinals(len(accepted), next) == nil {
				accepted = append(accepted, next...)
			}
		}
		for i, m := range accepted {
			if m.Ordinal != i+1 {
				t.Fatalf("ordinals %v", accepted)
			}
		}
	}
	numbered := func(letters []byte) bool {
		sources := make([]string, len(letters))
		for i, l := range letters {
			sources[i] = string('a' + rune(l%7))
		}
		numbers := research.SourceNumbers(sources)
		highest := 0
		for i, n := range numbers {
			first := slices.Index(sources, sources[i])
			if n < 1 || n > highest+1 || numbers[first] != n || (first == i) != (n == highest+1) {
				return false
			}
			highest = max(highest, n)
		}
		return len(numbers) == len(sources)
	}
	if err := quick.Check(numbered, nil); err != nil {
		t.Error(err)
	}
}

func TestNotesHaveIDsOfTheirOwn(t *testing.T) {
	notes := []research.Note{{ID: "a"}, {ID: "b"}, {ID: "a"}}
	for name, record := range map[string]any{
		research.NotebookSchema:           research.Notebook{Notes: notes},
		"hux.research_notebook.create.v1": research.NotebookCreate{Notes: notes},
		"hux.research_notebook.patch.v1":  research.NotebookPatch{Notes: notes, ProjectID: json.RawMessage("null"), Question: json.RawMessage("null")},
	} {
		if got := codes(t, name, record); !slices.Equal(got, []string{"note_twice"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestRulesAreTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 3))
	for name, rule := range research.Rules {
		for _, text := range []string{`{}`, `{"kind":"web"}`, `{"citations":[]}`, `{"citations":[{}]}`, `{"notes":[{},{}]}`, `{"selector":{"quote":{}}}`, `{"locator":"http://%zz"}`} {
			if _, err := rule([]byte(text)); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		if _, err := rule([]byte(`[`)); err == nil {
			t.Errorf("%s: no JSON is no error", name)
		}
	}
	for range 2000 {
		locator := make([]byte, r.IntN(20))
		for i := range locator {
			locator[i] = "htp:/@.[]%0x1a#?"[r.IntN(16)]
		}
		text, err := json.Marshal(map[string]string{"kind": "web", "locator": "http://" + string(locator)})
		if err != nil {
			t.Fatal(err)
		}
		list, err := research.Rules[research.SourceSchema](text)
		if err != nil || slices.ContainsFunc(list, func(f schema.Fault) bool { return strings.Contains(f.Message, "http://") }) {
			t.Fatalf("%s: %v %v", locator, list, err)
		}
	}
}

func TestSourceStates(t *testing.T) {
	legal := map[string]string{"pending ready": "", "pending failed": "", "pending gone": "", "ready gone": "", "failed gone": ""}
	for from := range research.SourceStates.Moves {
		for to := range research.SourceStates.Moves {
			if _, ok := legal[from+" "+to]; ok != (research.SourceStates.Check(from, to) == nil) {
				t.Errorf("%s to %s: %v", from, to, !ok)
			}
		}
	}
	if research.SourceStates.Start != research.Pending {
		t.Errorf("starts %s", research.SourceStates.Start)
	}
}
