package projects_test

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/projects"
)

func code(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// judge gives what the card's rules say of a worked example that was changed.
func judge[T any](t *testing.T, name string, change func(*T)) (got []string) {
	t.Helper()
	text, err := contract.Examples.ReadFile("examples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	v := new(T)
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatal(err)
	}
	change(v)
	if text, err = json.Marshal(v); err != nil {
		t.Fatal(err)
	}
	faults, err := projects.Rules[name](text)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range faults {
		got = append(got, f.Pointer+" "+f.Code)
	}
	return got
}

func TestRulesOfLineage(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*projects.Lineage)
		want   []string
	}{
		"as it is":            {func(*projects.Lineage) {}, nil},
		"of a root":           {func(l *projects.Lineage) { l.Self, l.Ancestors, l.Children = l.Root, nil, nil }, nil},
		"another root":        {func(l *projects.Lineage) { l.Root = l.Self }, []string{"/root lineage_broken"}},
		"ancestors reversed":  {func(l *projects.Lineage) { slices.Reverse(l.Ancestors) }, []string{"/ancestors/0 lineage_broken", "/ancestors/1 lineage_broken", "/self lineage_broken", "/root lineage_broken"}},
		"its own child":       {func(l *projects.Lineage) { l.Children[0].ID = l.Self.ID }, []string{"/children/0/id lineage_cycle"}},
		"its own grandchild":  {func(l *projects.Lineage) { l.Children[0].ID = l.Root.ID }, []string{"/children/0/id lineage_cycle"}},
		"a child twice":       {func(l *projects.Lineage) { l.Children = append(l.Children, l.Children[0]) }, []string{"/children/1/id lineage_cycle"}},
		"a child too deep":    {func(l *projects.Lineage) { l.Children[0].Depth++ }, []string{"/children/0 lineage_broken"}},
		"a child of nowhere":  {func(l *projects.Lineage) { l.Children[0].ParentID = nil }, []string{"/children/0 lineage_broken"}},
		"a child of no event": {func(l *projects.Lineage) { l.Children[0].ForkSeq = nil }, []string{"/children/0 lineage_broken"}},
		"nothing at all":      {func(l *projects.Lineage) { *l = projects.Lineage{} }, nil},
	} {
		if got := judge(t, projects.LineageSchema, c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestRulesOfSearch(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*projects.Search)
		want   []string
	}{
		"as it is":                 {func(*projects.Search) {}, nil},
		"nothing found":            {func(s *projects.Search) { s.Items = nil }, nil},
		"an id of another type":    {func(s *projects.Search) { s.Items[0].ID = s.Items[1].ID }, []string{"/items/0/id search_mismatch"}},
		"a message, by its tags":   {func(s *projects.Search) { s.Items[1].Type = "message" }, nil},
		"a field of another type":  {func(s *projects.Search) { s.Items[0].Field = "project.title" }, []string{"/items/0/field search_mismatch"}},
		"a field nobody looked at": {func(s *projects.Search) { s.Indexed = s.Indexed[:3] }, []string{"/items/1/field search_mismatch"}},
		"looked at and not":        {func(s *projects.Search) { s.NotIndexed = append(s.NotIndexed, "tags") }, []string{"/not_indexed/1 search_mismatch"}},
	} {
		if got := judge(t, projects.SearchSchema, c.change); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if got := judge(t, projects.SearchSchema, func(s *projects.Search) { s.Indexed, s.NotIndexed = projects.Indexed, projects.NotIndexed }); got != nil {
		t.Errorf("what the router says it looks into: %q", got)
	}
}

// talk is a conversation with so many events.
func talk(id string, head uint64) *conversation.Conversation {
	return &conversation.Conversation{Meta: hux.Meta{ID: id}, State: conversation.Active, Branch: conversation.Branch{RootID: id}, HeadSeq: head}
}

func TestFork(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*conversation.Conversation)
		seq      uint64
		children int
		want     hux.Code
	}{
		"the first event":    {nil, 1, 0, ""},
		"the last event":     {nil, 10, 199, ""},
		"before the first":   {nil, 0, 0, hux.UnknownReference},
		"past the last":      {nil, 11, 0, hux.UnknownReference},
		"far past the last":  {nil, 1 << 63, 0, hux.UnknownReference},
		"no room":            {nil, 5, 200, hux.QuotaExceeded},
		"archived":           {func(c *conversation.Conversation) { c.State = conversation.Archived }, 5, 0, ""},
		"forgotten":          {func(c *conversation.Conversation) { c.State = conversation.Forgotten }, 5, 0, hux.ConversationForgotten},
		"private":            {func(c *conversation.Conversation) { c.Ephemeral = true }, 5, 0, hux.PrivateHistory},
		"was private":        {func(c *conversation.Conversation) { c.Private = true }, 5, 0, ""},
		"as deep as may be":  {func(c *conversation.Conversation) { c.Branch.Depth = 31 }, 5, 0, ""},
		"deeper than may be": {func(c *conversation.Conversation) { c.Branch.Depth = 32 }, 5, 0, hux.QuotaExceeded},
		"empty":              {func(c *conversation.Conversation) { c.HeadSeq = 0 }, 1, 0, hux.UnknownReference},
	} {
		parent := talk("cnv_p", 10)
		if c.change != nil {
			c.change(parent)
		}
		b, err := projects.Fork(parent, c.seq, c.children)
		if code(err) != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (b.RootID != "cnv_p" || *b.ParentID != "cnv_p" || *b.ForkSeq != c.seq || b.Depth != parent.Branch.Depth+1) {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func TestForkSeq(t *testing.T) {
	parent := talk("cnv_p", 10)
	for name, c := range map[string]struct {
		message *projects.Message
		running bool
		seq     uint64
		want    hux.Code
	}{
		"committed":                {&projects.Message{ConversationID: "cnv_p", Seq: 4}, false, 4, ""},
		"committed while running":  {&projects.Message{ConversationID: "cnv_p", Seq: 4}, true, 4, ""},
		"still being written":      {nil, true, 0, hux.MessageNotCommitted},
		"unknown":                  {nil, false, 0, hux.UnknownReference},
		"of another conversation":  {&projects.Message{ConversationID: "cnv_q", Seq: 4}, false, 0, hux.UnknownReference},
		"of another while running": {&projects.Message{ConversationID: "cnv_q", Seq: 4}, true, 0, hux.UnknownReference},
	} {
		if seq, err := projects.ForkSeq(parent, c.message, c.running); seq != c.seq || code(err) != c.want {
			t.Errorf("%s: %d, %v", name, seq, err)
		}
	}
}

// tree grows conversations by legal forks, each with its own events and, copied
// at the fork, the history that it must have.
type tree struct {
	nodes   []*conversation.Conversation
	history map[string][]string
	own     map[string][]string
}

func grow(r *rand.Rand, n int) *tree {
	tr := &tree{history: map[string][]string{}, own: map[string][]string{}}
	add := func(c *conversation.Conversation, shared []string) {
		for i := range 1 + r.IntN(20) {
			tr.own[c.ID] = append(tr.own[c.ID], c.ID+":"+strconv.Itoa(i+1))
		}
		c.HeadSeq = uint64(len(tr.own[c.ID]))
		tr.history[c.ID] = append(slices.Clone(shared), tr.own[c.ID]...)
		tr.nodes = append(tr.nodes, c)
	}
	add(talk("c0", 0), nil)
	children := map[string]int{}
	for len(tr.nodes) < n {
		parent := tr.nodes[r.IntN(len(tr.nodes))]
		seq := 1 + r.Uint64N(parent.HeadSeq)
		b, err := projects.Fork(parent, seq, children[parent.ID])
		if err != nil {
			continue
		}
		children[parent.ID]++
		c := talk("c"+strconv.Itoa(len(tr.nodes)), 0)
		c.Branch = b
		inherited := len(tr.history[parent.ID]) - len(tr.own[parent.ID])
		add(c, tr.history[parent.ID][:inherited+int(seq)])
	}
	return tr
}

func (tr *tree) find(id string) *conversation.Conversation {
	i := slices.IndexFunc(tr.nodes, func(c *conversation.Conversation) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return tr.nodes[i]
}

// However branches grow, each conversation's history is its parent's up to the
// fork and then its own, in the same order; its lineage keeps to the rules and
// leads to one root.
func TestBranchesKeepOrderAndParents(t *testing.T) {
	r := rand.New(rand.NewPCG(32, 200))
	for range 20 {
		tr := grow(r, 60)
		for _, c := range tr.nodes {
			up, err := projects.Trace(c, tr.find)
			if err != nil || len(up) != c.Branch.Depth {
				t.Fatalf("%s: %d ancestors at depth %d, %v", c.ID, len(up), c.Branch.Depth, err)
			}
			var history []string
			for _, s := range projects.History(c, up) {
				own := tr.own[s.ConversationID]
				if s.Until > 0 {
					own = own[:s.Until]
				}
				history = append(history, own...)
			}
			if !slices.Equal(history, tr.history[c.ID]) {
				t.Fatalf("%s: %v, want %v", c.ID, history, tr.history[c.ID])
			}
			var children []*conversation.Conversation
			for _, other := range tr.nodes {
				if other.Branch.ParentID != nil && *other.Branch.ParentID == c.ID {
					children = append(children, other)
				}
			}
			l := projects.NewLineage(c, up, children)
			if got := judge(t, projects.LineageSchema, func(v *projects.Lineage) { *v = l }); got != nil {
				t.Fatalf("%s: %v", c.ID, got)
			}
			if l.Root.ID != "c0" || l.Schema != projects.LineageSchema {
				t.Fatalf("%s: root %s", c.ID, l.Root.ID)
			}
		}
	}
}

// A lineage that a damaged store makes up ends all the same.
func TestTraceEnds(t *testing.T) {
	a, b := talk("a", 1), talk("b", 1)
	a.Branch.ParentID, b.Branch.ParentID = &b.ID, &a.ID
	find := func(id string) *conversation.Conversation {
		return map[string]*conversation.Conversation{"a": a, "b": b}[id]
	}
	if _, err := projects.Trace(a, find); code(err) != hux.LineageCycle {
		t.Errorf("in a circle: %v", err)
	}
	gone := "gone"
	a.Branch.ParentID = &gone
	if _, err := projects.Trace(b, find); code(err) != hux.UnknownReference {
		t.Errorf("to nowhere: %v", err)
	}
	deep := map[string]*conversation.Conversation{}
	for i := range 33 {
		c := talk(strings.Repeat("x", i+1), 1)
		if i > 0 {
			parent := strings.Repeat("x", i)
			c.Branch.ParentID = &parent
		}
		deep[c.ID] = c
	}
	up, err := projects.Trace(deep[strings.Repeat("x", 33)], func(id string) *conversation.Conversation { return deep[id] })
	if err != nil || len(up) != 32 || up[0].ID != "x" {
		t.Errorf("32 deep: %d, %v", len(up), err)
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		from, to string
		legal    bool
	}{{"active", "archived", true}, {"archived", "active", true}, {"active", "forgotten", true}, {"archived", "forgotten", true}, {"forgotten", "active", false}, {"active", "active", false}, {"", "active", false}} {
		if err := projects.States.Check(c.from, c.to); (err == nil) != c.legal {
			t.Errorf("%s to %s: %v", c.from, c.to, err)
		}
	}
}
