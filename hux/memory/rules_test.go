package memory_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/memory"
)

var (
	alice = hux.Actor{Kind: hux.KindHuman, ID: "usr_4f1d2c9a7be03658d1c24f7a90b3e6581d2c4f7a"}
	made  = time.Date(2026, 3, 2, 9, 15, 20, 0, time.UTC)
)

// entry is the worked example.
func entry(t *testing.T) *memory.Memory {
	t.Helper()
	text, err := contract.Examples.ReadFile("examples/hux.memory.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(memory.Memory)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	return m
}

func ptr[T any](v T) *T { return &v }

// judge gives what the card's rules say of v, a record or a request.
func judge(t *testing.T, name string, v any) (codes []string) {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	faults, err := memory.Rules[name](text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		codes = append(codes, f.Pointer+" "+f.Code)
	}
	return codes
}

func TestRulesOfARecord(t *testing.T) {
	private := func(m *memory.Memory) { // as sensitive as may be
		m.Sensitivity = "sensitive"
		m.Scope = memory.Scope{Level: "conversation", ConversationID: ptr("cnv_0198f3a17c3e7d54b1a2c3d4e5f60718"), Surfaces: []hux.Surface{"chat"}}
		m.Retention = memory.Retention{Kind: "decay", HalfLifeDays: ptr(6)}
	}
	old := hux.EvidenceRef{Kind: "memory", ID: "mem_0198f39a4d207b1c8e9fa0b1c2d3e4f5", Owner: "hux"}
	for name, c := range map[string]struct {
		change func(m *memory.Memory)
		want   []string
	}{
		"as it is":            {func(*memory.Memory) {}, nil},
		"sensitive":           {private, nil},
		"sensitive, too wide": {func(m *memory.Memory) { private(m); m.Scope.Surfaces = []hux.Surface{"chat", "voice"} }, []string{"/scope scope_too_wide"}},
		"sensitive, user":     {func(m *memory.Memory) { private(m); m.Scope.Level = "user" }, []string{"/scope scope_too_wide"}},
		"sensitive, auto": {
			func(m *memory.Memory) { private(m); m.Source.Kind, m.ApprovalMode = "user_statement", "auto" },
			[]string{"/approval_mode approval_required"},
		},
		"sensitive, no end": {func(m *memory.Memory) { private(m); m.Retention = memory.Retention{Kind: "none"} }, []string{"/retention retention_required"}},
		"sensitive, 30 days": {func(m *memory.Memory) {
			private(m)
			m.Retention = memory.Retention{Kind: "expire", ExpiresAt: &hux.Time{Time: m.CreatedAt.Add(30 * 24 * time.Hour)}}
		}, nil},
		"sensitive, a moment more": {func(m *memory.Memory) {
			private(m)
			m.Retention = memory.Retention{Kind: "expire", ExpiresAt: &hux.Time{Time: m.CreatedAt.Add(30*24*time.Hour + time.Millisecond)}}
		}, []string{"/retention retention_required"}},
		"sensitive, decay past 30 days": {func(m *memory.Memory) { private(m); m.Retention.HalfLifeDays = ptr(7) }, []string{"/retention retention_required"}},
		"restricted":                    {func(m *memory.Memory) { m.Sensitivity = "restricted" }, []string{"/sensitivity memory_topic_forbidden"}},
		"never written": {
			func(m *memory.Memory) { m.Topics = []string{"work", "credentials", "minors"} },
			[]string{"/topics/1 memory_topic_forbidden", "/topics/2 memory_topic_forbidden"},
		},
		"from a memory": {func(m *memory.Memory) { m.Source.Evidence = append(m.Source.Evidence, old) }, []string{"/source/evidence/2 self_sourced"}},
		"correction": {func(m *memory.Memory) {
			m.Source, m.Corrects = memory.Source{Kind: "correction", Evidence: []hux.EvidenceRef{old}}, ptr(old.ID)
		}, nil},
		"correction of another": {func(m *memory.Memory) {
			m.Source, m.Corrects = memory.Source{Kind: "correction", Evidence: []hux.EvidenceRef{old}}, ptr(m.ID)
		}, []string{"/corrects corrects_mismatch"}},
		"an agent's correction, auto": {func(m *memory.Memory) {
			m.Source, m.Corrects = memory.Source{Kind: "correction", Evidence: []hux.EvidenceRef{old}}, ptr(old.ID)
			m.ApprovalMode = "auto"
		}, []string{"/approval_mode approval_required"}},
		"a person's correction, auto": {func(m *memory.Memory) {
			m.Source, m.Corrects = memory.Source{Kind: "correction", Evidence: []hux.EvidenceRef{old}}, ptr(old.ID)
			m.ApprovalMode, m.Provenance.Actor = "auto", alice
		}, nil},
		"corrects without saying so": {func(m *memory.Memory) { m.Corrects = ptr(old.ID) }, []string{"/corrects corrects_mismatch"}},
		"superseded, active":         {func(m *memory.Memory) { m.SupersededBy = ptr(old.ID) }, []string{"/superseded_by superseded_but_current"}},
		"a state without a move":     {func(m *memory.Memory) { m.State = "expired" }, []string{"/state invalid_transition"}},
		"a move that is none": {
			func(m *memory.Memory) {
				m.Transitions = append(m.Transitions, memory.Transition{From: "active", To: "proposed"})
			},
			[]string{"/transitions/1 invalid_transition"},
		},
		"the zero record": {
			func(m *memory.Memory) { *m = memory.Memory{} },
			[]string{"/state invalid_transition"},
		},
	} {
		m := entry(t)
		c.change(m)
		if got := judge(t, memory.Schema, m); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	for _, kind := range []string{"web", "document", "tool"} {
		m := entry(t)
		m.Source.Kind, m.ApprovalMode = kind, "auto"
		if got := judge(t, memory.Schema, m); !slices.Equal(got, []string{"/approval_mode approval_required"}) {
			t.Errorf("from %s without approval: %q", kind, got)
		}
	}
}

// A request is judged by what it says; a date in it by whoever makes the entry.
func TestRulesOfRequests(t *testing.T) {
	later := &hux.Time{Time: made.Add(1000 * time.Hour)}
	wide := memory.Scope{Level: "user", Surfaces: []hux.Surface{"chat"}}
	near := memory.Scope{Level: "conversation", ConversationID: ptr("cnv_0198f3a17c3e7d54b1a2c3d4e5f60718"), Surfaces: []hux.Surface{"chat"}}
	said := memory.Source{Kind: "user_statement", Evidence: []hux.EvidenceRef{{Kind: "message", ID: "m.1", Owner: "gateway"}}}
	for name, c := range map[string]struct {
		schema string
		body   any
		want   []string
	}{
		"create": {"hux.memory.create.v1", memory.Create{Scope: wide, Sensitivity: "normal", Retention: memory.Retention{Kind: "none"}, Source: said}, nil},
		"create, sensitive with a date": {
			"hux.memory.create.v1",
			memory.Create{Scope: near, Sensitivity: "sensitive", Retention: memory.Retention{Kind: "expire", ExpiresAt: later}, Source: said}, nil,
		},
		"create, sensitive": {
			"hux.memory.create.v1",
			memory.Create{Scope: wide, Sensitivity: "sensitive", Retention: memory.Retention{Kind: "none"}, Source: said},
			[]string{"/scope scope_too_wide", "/retention retention_required"},
		},
		"edit, the text alone": {"hux.memory.edit.v1", memory.Edit{Content: "x"}, nil},
		"edit, to a sensitive one": {
			"hux.memory.edit.v1",
			memory.Edit{Content: "x", Sensitivity: ptr("sensitive"), Scope: &wide, Retention: &memory.Retention{Kind: "decay", HalfLifeDays: ptr(7)}},
			[]string{"/scope scope_too_wide", "/retention retention_required"},
		},
		"edit, to a restricted one": {"hux.memory.edit.v1", memory.Edit{Content: "x", Sensitivity: ptr("restricted")}, []string{"/sensitivity memory_topic_forbidden"}},
		"import": {
			"hux.memory.import.v1",
			memory.Import{
				Evidence: []hux.EvidenceRef{{Kind: "memory", ID: "mem_1", Owner: "hux"}},
				Items:    []memory.Imported{{Sensitivity: "normal"}, {Topics: []string{"location"}}, {Sensitivity: "sensitive", Scope: near, Retention: memory.Retention{Kind: "none"}}},
			},
			[]string{"/evidence/0 self_sourced", "/items/1/topics/0 memory_topic_forbidden", "/items/2/retention retention_required"},
		},
	} {
		if got := judge(t, c.schema, c.body); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// auto is given to a person's own entry of no foreign source, at the lowest
// sensitivity, and to nothing else.
func TestApprovalMode(t *testing.T) {
	for _, asked := range []string{"auto", "ask", "", "nonsense"} {
		for _, sensitivity := range []string{"normal", "sensitive", "restricted", ""} {
			for _, source := range []string{"user_statement", "inferred", "web", "document", "tool", "import", "correction"} {
				for _, by := range []hux.Kind{hux.KindHuman, hux.KindAgent, hux.KindWorker, hux.KindSystem} {
					want := "ask"
					free := by == hux.KindHuman && slices.Contains([]string{"user_statement", "inferred", "import", "correction"}, source)
					if asked == "auto" && sensitivity == "normal" && free {
						want = "auto"
					}
					if got := memory.ApprovalMode(asked, sensitivity, source, by); got != want {
						t.Errorf("%s, %s, %s, %s: %s", asked, sensitivity, source, by, got)
					}
				}
			}
		}
	}
}

// Whatever somebody writes, what the rules let pass is sensitive only in one
// conversation, on one surface, with approval and for 30 days at most.
func TestNothingSensitiveSlipsThrough(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 30))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	passed := 0
	for range 5000 {
		m := entry(t)
		m.Topics = []string{pick("work", "health", "credentials", "minors", "location", "biometric")}
		m.Sensitivity = pick("normal", "sensitive", "restricted")
		m.ApprovalMode = pick("auto", "ask")
		m.Scope.Level = pick("conversation", "project", "user")
		m.Scope.Surfaces = []hux.Surface{"chat", "worker", "voice"}[:1+r.IntN(3)]
		m.Source.Kind = pick("user_statement", "inferred", "web", "document", "tool", "import")
		m.Retention = memory.Retention{Kind: pick("none", "expire", "decay"), HalfLifeDays: ptr(r.IntN(12)), ExpiresAt: &hux.Time{Time: m.CreatedAt.AddDate(0, 0, r.IntN(60))}}
		if judge(t, memory.Schema, m) != nil {
			continue
		}
		passed++
		if slices.Contains([]string{"credentials", "minors", "location", "biometric"}, m.Topics[0]) || m.Sensitivity == "restricted" {
			t.Fatalf("written for ever: %v, %s", m.Topics, m.Sensitivity)
		}
		asks := m.ApprovalMode == "ask"
		if slices.Contains([]string{"web", "document", "tool"}, m.Source.Kind) && !asks {
			t.Fatalf("from %s without approval", m.Source.Kind)
		}
		if m.Sensitivity != "sensitive" {
			continue
		}
		until, ends := m.Retention.Until(m.CreatedAt.Time)
		if !asks || m.Scope.Level != "conversation" || len(m.Scope.Surfaces) != 1 || !ends || until.Sub(m.CreatedAt.Time) > 30*24*time.Hour {
			t.Fatalf("sensitive and let through: %+v", m)
		}
	}
	if passed < 100 {
		t.Errorf("only %d of them passed", passed)
	}
}

// Faults of any record, however odd, are given without a panic.
func TestRulesAreTotal(t *testing.T) {
	for name, rule := range memory.Rules {
		for _, text := range []string{`{}`, `null`, `{"retention":{"kind":"decay"},"sensitivity":"sensitive"}`, `{"items":[{}],"evidence":null}`, `{"transitions":[{}]}`, `{"source":{"kind":"correction"}}`} {
			if _, err := rule([]byte(text)); err != nil {
				t.Errorf("%s of %s: %v", name, text, err)
			}
		}
	}
}
