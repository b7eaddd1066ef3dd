package conformance_test

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
)

// findings is what the suite has looked at, and what it has not and why. It is
// printed at the end of a verbose run.
var findings ledger

type ledger struct {
	mu        sync.Mutex
	checked   map[string]bool
	unchecked map[string]string
}

func (l *ledger) check(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.checked == nil {
		l.checked = map[string]bool{}
	}
	l.checked[what] = true
}

func (l *ledger) leave(what, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unchecked == nil {
		l.unchecked = map[string]string{}
	}
	l.unchecked[what] = why
}

func (l *ledger) print(w io.Writer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(w, "\nchecked on %s:\n", *baseURL)
	for _, what := range sorted(l.checked) {
		fmt.Fprintln(w, "  "+what)
	}
	if len(l.unchecked) > 0 {
		fmt.Fprintln(w, "not checked:")
	}
	for _, what := range sorted(l.unchecked) {
		fmt.Fprintf(w, "  %s: %s\n", what, l.unchecked[what])
	}
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// checked notes that something was looked at.
func checked(what string) { findings.check(what) }

// off notes what can't be looked at because the server has a capability
// switched off, or the caller gave no credential for it.
func off(t *testing.T, what, why string) {
	t.Helper()
	t.Logf("not checked: %s: %s", what, why)
	findings.leave(what, why)
}

// lacking notes what the server serves and this suite has no check for. Of our
// own binary that is a fault of the suite's.
func lacking(t *testing.T, what, why string) {
	t.Helper()
	off(t, what, why)
	if own {
		t.Errorf("%s is served, but the suite does not check it: %s", what, why)
	}
}
