package artifacts

import (
	"fmt"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// lines splits a text at its line feeds. One that ends in a line feed has an
// empty last line, so that join gives it back; the empty text has no line.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

func join(lines []string) string { return strings.Join(lines, "\n") }

// first is the index of the first line of a side of a hunk.
func first(start, count int) int {
	if count == 0 {
		return start // the line before
	}
	return start - 1
}

// count counts a hunk's lines; ok is false where they have not the number or
// the form that it says.
func (h Hunk) count() (added, removed int, ok bool) {
	kept := 0
	for _, line := range h.Lines {
		switch {
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		case strings.HasPrefix(line, " "):
			kept++
		default:
			return 0, 0, false
		}
	}
	return added, removed, h.FromLines == kept+removed && h.ToLines == kept+added
}

// faultsOfHunks holds hunks at a pointer against each other: they are in
// order, apart, and each says what is in it.
func faultsOfHunks(at string, hunks []Hunk) (faults schema.Faults) {
	from, shift := 0, 0 // where the hunk before ended, and what it moved
	for i, h := range hunks {
		added, removed, ok := h.count()
		start := first(h.FromStart, h.FromLines)
		if !ok || start < from || first(h.ToStart, h.ToLines) != start+shift {
			faults.Add(fmt.Sprintf("%s/%d", at, i), "hunk_mismatch", "does not have the lines that it says, or not where it says")
			return faults
		}
		from, shift = start+h.FromLines, shift+added-removed
	}
	return faults
}

func faultsOfDiff(d *Diff) schema.Faults {
	const mismatch = "diff_mismatch"
	faults := faultsOfHunks("/hunks", d.Hunks)
	var sum Stats
	for _, h := range d.Hunks {
		added, removed, _ := h.count()
		sum.Added, sum.Removed = sum.Added+added, sum.Removed+removed
	}
	if d.From == d.To && !d.Equal {
		faults.Add("/equal", mismatch, "must be true of a version and itself")
	}
	if bare := d.Equal || d.Mode == "binary"; bare && (len(d.Hunks) > 0 || d.Stats != Stats{} || d.Truncated) {
		faults.Add("/hunks", mismatch, "must be empty, with no line counted, where there is nothing to show")
	} else if !bare && (sum == Stats{}) && !d.Truncated {
		faults.Add("/hunks", mismatch, "must show what is not equal")
	}
	if d.Stats.Added < sum.Added || d.Stats.Removed < sum.Removed || !d.Truncated && d.Stats != sum {
		faults.Add("/stats", mismatch, "must count the lines of the hunks")
	}
	return faults
}

// Apply makes the text that hunks say of base. Where base has not the lines
// that they name, they don't apply: nothing is guessed.
func Apply(base string, hunks []Hunk) (string, error) {
	refused := hux.Errorf(hux.PatchDoesNotApply, "The patch is not one of this version's text.")
	if faultsOfHunks("", hunks) != nil {
		return "", refused
	}
	old := lines(base)
	var text []string
	at := 0
	for _, h := range hunks {
		start := first(h.FromStart, h.FromLines)
		if start > len(old) {
			return "", refused
		}
		text = append(text, old[at:start]...)
		at = start
		for _, line := range h.Lines {
			if line[0] != '+' {
				if at == len(old) || old[at] != line[1:] {
					return "", refused
				}
				at++
			}
			if line[0] != '-' {
				text = append(text, line[1:])
			}
		}
	}
	return join(append(text, old[at:]...)), nil
}
