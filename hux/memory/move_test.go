package memory_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/memory"
)

var states = []string{"proposed", "active", "rejected", "expired", "forgotten"}

// proposal is an entry that nobody has approved yet.
func proposal(t *testing.T, id string) *memory.Memory {
	m := entry(t)
	m.ID, m.State, m.Transitions = id, memory.Proposed, nil
	return m
}

func code(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// No sequence of moves leaves the machine, loses the trail, or keeps content
// that is rejected or forgotten.
func TestMoves(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	at := hux.Time{Time: made}
	for range 2000 {
		m := proposal(t, "mem_0198f3a2e8117a3fb0c1d2e3f4051627")
		for range 6 {
			before, to := *m, states[r.IntN(len(states))]
			if err := m.Move(to, memory.Asked, alice, at); err != nil {
				if code(err) != hux.InvalidTransition || !reflect.DeepEqual(*m, before) {
					t.Fatalf("%s to %s: %v, %+v", before.State, to, err, m)
				}
				continue
			}
			if got := judge(t, memory.Schema, m); got != nil {
				t.Fatalf("%s to %s: %v", before.State, to, got)
			}
			if gone := to == memory.Rejected || to == memory.Forgotten; gone != (m.Content == nil) {
				t.Fatalf("%s has content %v", to, m.Content != nil)
			}
			if last := m.Transitions[len(m.Transitions)-1]; last != (memory.Transition{From: before.State, To: to, At: at, Actor: alice, ReasonCode: memory.Asked}) {
				t.Fatalf("the trail says %+v", last)
			}
		}
	}
}

func TestForget(t *testing.T) {
	for state, want := range map[string]struct {
		changed bool
		code    hux.Code
	}{
		"proposed": {true, hux.InvalidTransition}, "active": {true, ""}, "rejected": {true, hux.InvalidTransition},
		"expired": {true, ""}, "forgotten": {false, ""},
	} {
		m := entry(t)
		m.State = state
		changed, err := m.Forget(memory.Asked, alice, hux.Time{Time: made})
		if changed != want.changed || code(err) != want.code {
			t.Errorf("%s: %v, %v", state, changed, err)
		}
		if err == nil && changed && (m.State != memory.Forgotten || m.Content != nil) {
			t.Errorf("%s: is %s", state, m.State)
		}
	}
}

// A correction takes a place and leaves none empty, in whatever state the two
// are.
func TestCorrectSwaps(t *testing.T) {
	const oldID, newID = "mem_0198f39a4d207b1c8e9fa0b1c2d3e4f5", "mem_0198f3a2e8117a3fb0c1d2e3f4051627"
	for _, was := range states {
		for _, is := range states {
			for _, corrects := range []*string{nil, ptr(oldID), ptr(newID)} {
				old, next := proposal(t, oldID), proposal(t, newID)
				old.State, next.State, next.Corrects = was, is, corrects
				oldBefore, nextBefore, said := *old, *next, *old.Content
				err := memory.Correct(old, next, alice, hux.Time{Time: made})
				if legal := was == memory.Active && is == memory.Proposed && corrects != nil && *corrects == oldID; legal != (err == nil) {
					t.Fatalf("%s by %s, which corrects %v: %v", was, is, corrects, err)
				}
				if err != nil {
					if !reflect.DeepEqual(*old, oldBefore) || !reflect.DeepEqual(*next, nextBefore) {
						t.Fatalf("%s by %s: refused and changed", was, is)
					}
					continue
				}
				if old.State != memory.Expired || next.State != memory.Active || *old.SupersededBy != newID || *old.Content != said {
					t.Fatalf("%s and %s", old.State, next.State)
				}
				if last := old.Transitions[len(old.Transitions)-1]; last.ReasonCode != memory.Corrected {
					t.Fatalf("the old one's trail says %s", last.ReasonCode)
				}
			}
		}
	}
	m := proposal(t, oldID)
	if m.Corrects = ptr(oldID); memory.Correct(m, m, alice, hux.Time{Time: made}) == nil {
		t.Error("an entry corrects itself")
	}
}

// Of two corrections of one entry the second is refused.
func TestOnlyOneCorrectionCounts(t *testing.T) {
	old, first, second := entry(t), proposal(t, "mem_a"), proposal(t, "mem_b")
	first.Corrects, second.Corrects = &old.ID, &old.ID
	if err := memory.Correct(old, first, alice, hux.Time{Time: made}); err != nil {
		t.Fatal(err)
	}
	if err := memory.Correct(old, second, alice, hux.Time{Time: made}); code(err) != hux.InvalidTransition || second.State != memory.Proposed {
		t.Errorf("%v, and the second is %s", err, second.State)
	}
}

func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		active   int
		corrects bool
		want     hux.Code
	}{{0, false, ""}, {999, false, ""}, {1000, false, hux.QuotaExceeded}, {1000, true, ""}, {5000, false, hux.QuotaExceeded}} {
		if err := memory.Admit(c.active, c.corrects); code(err) != c.want {
			t.Errorf("%d, %v: %v", c.active, c.corrects, err)
		}
	}
}

func TestUntilAndDue(t *testing.T) {
	for name, c := range map[string]struct {
		retention memory.Retention
		after     time.Duration
		ends      bool
	}{
		"none":              {memory.Retention{Kind: "none"}, 0, false},
		"a date":            {memory.Retention{Kind: "expire", ExpiresAt: &hux.Time{Time: made.Add(time.Hour)}}, time.Hour, true},
		"no date":           {memory.Retention{Kind: "expire"}, 0, true},
		"decay of a day":    {memory.Retention{Kind: "decay", HalfLifeDays: ptr(1)}, 103*time.Hour + 40*time.Minute + 48*time.Second, true},
		"decay of 6":        {memory.Retention{Kind: "decay", HalfLifeDays: ptr(6)}, 622*time.Hour + 4*time.Minute + 48*time.Second, true},
		"decay of none":     {memory.Retention{Kind: "decay"}, 0, true},
		"decay of less":     {memory.Retention{Kind: "decay", HalfLifeDays: ptr(-5)}, 0, true},
		"decay of too much": {memory.Retention{Kind: "decay", HalfLifeDays: ptr(math.MaxInt)}, 15768 * 24 * time.Hour, true},
		"nothing known":     {memory.Retention{Kind: "sometimes"}, 0, true},
	} {
		at, ends := c.retention.Until(made)
		if ends != c.ends || ends && !at.Equal(made.Add(c.after)) {
			t.Errorf("%s: %v after, %v", name, at.Sub(made), ends)
		}
		m := entry(t)
		m.CreatedAt, m.Retention = hux.Time{Time: made}, c.retention
		if due, ok := m.Due(); ok != ends || !due.Equal(at) {
			t.Errorf("%s: due %v, %v", name, due, ok)
		}
		for _, state := range []string{"proposed", "rejected", "expired", "forgotten"} {
			if m.State = state; func() bool { _, ok := m.Due(); return ok }() {
				t.Errorf("%s: due though %s", name, state)
			}
		}
	}
}

// A score halves with each half-life, never grows, and is below 0.05 only of
// what has expired.
func TestScore(t *testing.T) {
	m := entry(t)
	m.CreatedAt = hux.Time{Time: made}
	for days := 1; days <= 3650; days += 73 {
		m.Retention = memory.Retention{Kind: "decay", HalfLifeDays: &days}
		half := time.Duration(days) * 24 * time.Hour
		for n, want := range []float64{1, 0.5, 0.25, 0.125, 0.0625, 0} {
			if got := m.Score(made.Add(time.Duration(n) * half)); got != want {
				t.Errorf("after %d half-lives of %d days: %v, want %v", n, days, got, want)
			}
		}
		before := 1.0
		for age := -half; age < 6*half; age += half / 50 {
			score := m.Score(made.Add(age))
			until, _ := m.Retention.Until(made)
			if expired := !made.Add(age).Before(until); score > before || expired != (score == 0) || !expired && score < 0.05 {
				t.Fatalf("half-life %d, age %v: %v after %v, expired %v", days, age, score, before, expired)
			}
			before = score
		}
	}
	for _, r := range []memory.Retention{{}, {Kind: "decay"}, {Kind: "decay", HalfLifeDays: ptr(-1)}, {Kind: "expire"}} {
		m.Retention = r
		if before, after := m.Score(made.Add(-time.Hour)), m.Score(made); before != 1 || after != 0 {
			t.Errorf("%+v: %v, then %v", r, before, after)
		}
	}
}

func TestRetrievable(t *testing.T) {
	const here, there = "cnv_0198f3a17c3e7d54b1a2c3d4e5f60718", "cnv_0198f3a17c3e7d54b1a2c3d4e5f60719"
	const project, other = "prj_0198f39f10b27c44a6b7c8d9e0f10213", "prj_0198f39f10b27c44a6b7c8d9e0f10214"
	in := memory.Reading{Conversation: here, Project: project, Surface: hux.SurfaceChat, At: made.Add(time.Hour)}
	scope := func(level, conversation, project string) func(*memory.Memory, *memory.Reading) {
		return func(m *memory.Memory, _ *memory.Reading) {
			m.Scope = memory.Scope{Level: level, Surfaces: []hux.Surface{"chat"}}
			if conversation != "" {
				m.Scope.ConversationID = &conversation
			}
			if project != "" {
				m.Scope.ProjectID = &project
			}
		}
	}
	for name, c := range map[string]struct {
		change func(*memory.Memory, *memory.Reading)
		want   bool
	}{
		"as it is":            {func(*memory.Memory, *memory.Reading) {}, true},
		"switched off":        {func(m *memory.Memory, _ *memory.Reading) { m.Retrieval.Enabled = false }, false},
		"without content":     {func(m *memory.Memory, _ *memory.Reading) { m.Content = nil }, false},
		"memory off":          {func(_ *memory.Memory, in *memory.Reading) { in.Off = true }, false},
		"another surface":     {func(_ *memory.Memory, in *memory.Reading) { in.Surface = hux.SurfaceVoice }, false},
		"decayed":             {func(_ *memory.Memory, in *memory.Reading) { in.At = made.AddDate(2, 0, 0) }, false},
		"this conversation":   {scope("conversation", here, ""), true},
		"another one":         {scope("conversation", there, ""), false},
		"no conversation":     {scope("conversation", "", ""), false},
		"another project":     {scope("project", "", other), false},
		"no project":          {scope("project", "", ""), false},
		"project, none there": {func(_ *memory.Memory, in *memory.Reading) { in.Project = "" }, false},
		"user":                {scope("user", "", ""), true},
		"no level":            {scope("", here, project), false},
		"user, project only": {func(m *memory.Memory, in *memory.Reading) {
			scope("user", "", "")(m, in)
			in.ProjectOnly = true
		}, false},
		"project, project only": {func(_ *memory.Memory, in *memory.Reading) { in.ProjectOnly = true }, true},
		"user, project only of no project": {func(m *memory.Memory, in *memory.Reading) {
			scope("user", "", "")(m, in)
			in.ProjectOnly, in.Project = true, ""
		}, true},
	} {
		m, in := entry(t), in
		m.CreatedAt = hux.Time{Time: made}
		c.change(m, &in)
		for _, state := range states {
			m.State = state
			if got := m.Retrievable(in); got != (c.want && state == memory.Active) {
				t.Errorf("%s, %s: %v", name, state, got)
			}
		}
	}
}
