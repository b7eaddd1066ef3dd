package artifacts_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/artifacts"
)

// split is a text's lines as hunks count them.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// compare makes hunks without any line kept, by the longest common
// subsequence.
func compare(a, b string) (hunks []artifacts.Hunk) {
	old, text := split(a), split(b)
	common := make([][]int, len(old)+1)
	for i := range common {
		common[i] = make([]int, len(text)+1)
	}
	for i := len(old) - 1; i >= 0; i-- {
		for j := len(text) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); old[i] == text[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(old) || j < len(text) {
		if i < len(old) && j < len(text) && old[i] == text[j] {
			i, j = i+1, j+1
			continue
		}
		h := artifacts.Hunk{FromStart: i + 1, ToStart: j + 1}
		for (i < len(old) || j < len(text)) && !(i < len(old) && j < len(text) && old[i] == text[j]) {
			if j == len(text) || i < len(old) && common[i+1][j] >= common[i][j+1] {
				h.Lines = append(h.Lines, "-"+old[i])
				i, h.FromLines = i+1, h.FromLines+1
			} else {
				h.Lines = append(h.Lines, "+"+text[j])
				j, h.ToLines = j+1, h.ToLines+1
			}
		}
		if h.FromLines == 0 {
			h.FromStart--
		}
		if h.ToLines == 0 {
			h.ToStart--
		}
		hunks = append(hunks, h)
	}
	return hunks
}

func words(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(12) {
		b.WriteString([]string{"a", "b", "c", "", "+", "-", "\n", "\n", "\n", "ü\r"}[r.IntN(10)])
	}
	return b.String()
}

// What differs between two texts, put on the one, gives the other; and it keeps
// to the rules of a difference.
func TestApplyUndoesNothingElse(t *testing.T) {
	r := rand.New(rand.NewPCG(20, 26))
	for range 3000 {
		a, b := words(r), words(r)
		hunks := compare(a, b)
		got, err := artifacts.Apply(a, hunks)
		if err != nil || got != b {
			t.Fatalf("%q to %q by %+v: %q, %v", a, b, hunks, got, err)
		}
		d := artifacts.Diff{From: 1, To: 2, Mode: "lines", Equal: len(hunks) == 0, Hunks: hunks}
		for _, h := range hunks {
			for _, line := range h.Lines {
				if line[0] == '+' {
					d.Stats.Added++
				} else {
					d.Stats.Removed++
				}
			}
		}
		if got := judge(t, artifacts.DiffSchema, d); got != nil {
			t.Fatalf("%q to %q by %+v: %v", a, b, hunks, got)
		}
	}
}

// The worked examples belong together: the patch makes the text.
func TestExamplesBelongTogether(t *testing.T) {
	posted := example[artifacts.VersionCreate](t, "hux.artifact_version.create.v1")
	version := example[artifacts.Version](t, artifacts.VersionSchema)
	diff := example[artifacts.Diff](t, artifacts.DiffSchema)
	for what, hunks := range map[string][]artifacts.Hunk{"posted": posted.Patch, "diff": diff.Hunks} {
		got, err := artifacts.Apply("date;amount;text\n02.03.2026;-12,50;Bakery\n", hunks)
		if err != nil || got != *version.Content {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

func TestPatchesThatDoNotApply(t *testing.T) {
	const base = "one\ntwo\nthree"
	hunk := func(fromStart, fromLines, toStart, toLines int, lines ...string) artifacts.Hunk {
		return artifacts.Hunk{FromStart: fromStart, FromLines: fromLines, ToStart: toStart, ToLines: toLines, Lines: lines}
	}
	for name, c := range map[string]struct {
		hunks []artifacts.Hunk
		want  string // "" where it does not apply
	}{
		"nothing":             {nil, base},
		"in the middle":       {[]artifacts.Hunk{hunk(2, 1, 2, 1, "-two", "+2")}, "one\n2\nthree"},
		"with lines kept":     {[]artifacts.Hunk{hunk(1, 3, 1, 3, " one", "-two", "+2", " three")}, "one\n2\nthree"},
		"before all":          {[]artifacts.Hunk{hunk(0, 0, 1, 1, "+zero")}, "zero\none\ntwo\nthree"},
		"after all":           {[]artifacts.Hunk{hunk(3, 0, 4, 1, "+four")}, "one\ntwo\nthree\nfour"},
		"twice":               {[]artifacts.Hunk{hunk(1, 1, 0, 0, "-one"), hunk(3, 0, 3, 1, "+four")}, "two\nthree\nfour"},
		"a line that is not":  {[]artifacts.Hunk{hunk(2, 1, 2, 1, "-zwei", "+2")}, ""},
		"a line kept, not so": {[]artifacts.Hunk{hunk(1, 2, 1, 2, " eins", " two")}, ""},
		"past the end":        {[]artifacts.Hunk{hunk(4, 0, 5, 1, "+five")}, ""},
		"over the end":        {[]artifacts.Hunk{hunk(3, 2, 3, 0, "-three", "-four")}, ""},
		"far past the end":    {[]artifacts.Hunk{hunk(math.MaxInt, 0, math.MaxInt, 0)}, ""},
		"before the start":    {[]artifacts.Hunk{hunk(0, 1, 0, 1, " one")}, ""},
		"negative":            {[]artifacts.Hunk{hunk(-3, 0, -2, 1, "+x")}, ""},
		"out of order":        {[]artifacts.Hunk{hunk(3, 1, 3, 1, "-three", "+3"), hunk(1, 1, 1, 1, "-one", "+1")}, ""},
		"one on another":      {[]artifacts.Hunk{hunk(1, 2, 1, 2, " one", " two"), hunk(2, 1, 2, 1, "-two", "+2")}, ""},
		"miscounted":          {[]artifacts.Hunk{hunk(2, 2, 2, 1, "-two", "+2")}, ""},
		"misplaced":           {[]artifacts.Hunk{hunk(2, 1, 3, 1, "-two", "+2")}, ""},
		"without a sign":      {[]artifacts.Hunk{hunk(2, 1, 2, 1, "two")}, ""},
		"without a line":      {[]artifacts.Hunk{hunk(2, 1, 2, 1, "")}, ""},
	} {
		got, err := artifacts.Apply(base, c.hunks)
		if got != c.want || (code(err) == hux.PatchDoesNotApply) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// No hunks, however odd, make Apply panic, or make something of a text that
// the rules refuse.
func TestApplyIsTotal(t *testing.T) {
	r := rand.New(rand.NewPCG(0, 1))
	numbers := []int{0, 1, 2, 3, -1, math.MaxInt, math.MinInt}
	for range 20000 {
		hunks := make([]artifacts.Hunk, r.IntN(4))
		for i := range hunks {
			pick := func() int { return numbers[r.IntN(len(numbers))] }
			hunks[i] = artifacts.Hunk{FromStart: pick(), FromLines: pick(), ToStart: pick(), ToLines: pick()}
			for range r.IntN(4) {
				hunks[i].Lines = append(hunks[i].Lines, []string{"+a", "-a", " a", "", "-", "x"}[r.IntN(6)])
			}
		}
		if _, err := artifacts.Apply("a\na\n\na", hunks); err == nil {
			if got := judge(t, "hux.artifact_version.create.v1", artifacts.VersionCreate{Patch: hunks}); got != nil {
				t.Fatalf("%+v: applied, though %v", hunks, got)
			}
		}
	}
}

func TestRulesOfDifferences(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*artifacts.Diff)
		want   []string
	}{
		"as it is":           {func(*artifacts.Diff) {}, nil},
		"backwards":          {func(d *artifacts.Diff) { d.From, d.To = d.To, d.From }, nil},
		"from the empty one": {func(d *artifacts.Diff) { d.From = 0 }, nil},
		"coarse":             {func(d *artifacts.Diff) { d.Mode = "coarse" }, nil},
		"cut off":            {func(d *artifacts.Diff) { d.Truncated, d.Stats.Added, d.Hunks = true, 900, d.Hunks[:1] }, nil},
		"cut off to nothing": {func(d *artifacts.Diff) { d.Truncated, d.Hunks = true, nil }, nil},
		"cut off, short":     {func(d *artifacts.Diff) { d.Truncated, d.Stats.Added = true, 1 }, []string{"/stats diff_mismatch"}},
		"equal":              {func(d *artifacts.Diff) { d.Equal, d.Hunks, d.Stats = true, nil, artifacts.Stats{} }, nil},
		"equal with hunks":   {func(d *artifacts.Diff) { d.Equal = true }, []string{"/hunks diff_mismatch"}},
		"binary":             {func(d *artifacts.Diff) { d.Mode, d.Hunks, d.Stats = "binary", nil, artifacts.Stats{} }, nil},
		"binary with hunks":  {func(d *artifacts.Diff) { d.Mode = "binary" }, []string{"/hunks diff_mismatch"}},
		"itself":             {func(d *artifacts.Diff) { d.From = d.To }, []string{"/equal diff_mismatch"}},
		"shows nothing":      {func(d *artifacts.Diff) { d.Hunks, d.Stats = nil, artifacts.Stats{} }, []string{"/hunks diff_mismatch"}},
		"shows what is kept": {
			func(d *artifacts.Diff) {
				d.Hunks = []artifacts.Hunk{{FromStart: 1, FromLines: 1, ToStart: 1, ToLines: 1, Lines: []string{" a"}}}
				d.Stats = artifacts.Stats{}
			},
			[]string{"/hunks diff_mismatch"},
		},
		"miscounted": {func(d *artifacts.Diff) { d.Stats.Removed++ }, []string{"/stats diff_mismatch"}},
		"misplaced":  {func(d *artifacts.Diff) { d.Hunks[1].ToStart++ }, []string{"/hunks/1 hunk_mismatch"}},
		"reversed":   {func(d *artifacts.Diff) { slices.Reverse(d.Hunks) }, []string{"/hunks/0 hunk_mismatch"}},
	} {
		d := example[artifacts.Diff](t, artifacts.DiffSchema)
		c.change(d)
		if got := judge(t, artifacts.DiffSchema, d); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
