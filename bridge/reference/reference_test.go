package reference_test

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/bridge/reference"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/schema"
)

// whole is the contract of this build, with some flags.
func whole(t *testing.T, flags ...string) *reference.Contract {
	t.Helper()
	set, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	routes, err := api.Foundation{Schemas: set}.Routes(cards.Routes(cards.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	c, err := reference.New(reference.Sources{
		Schemas: set, Examples: contract.Examples, Registry: registry, Flags: hux.ResolveFlags(registry, flags),
		Machines: cards.Machines(), Routes: routes,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Each schema has its page, once in the list, with fields, the example and
// what is refused; each machine is on just one of them, each route on the pages
// of what it takes and gives.
func TestEverythingIsThere(t *testing.T) {
	c := whole(t, "all")
	files, err := fs.Glob(contract.Schemas, "schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	machines := map[string]int{}
	for _, g := range c.Groups {
		for _, r := range g.Records {
			listed[r.Schema]++
			for _, m := range r.Machines {
				machines[m.Name]++
			}
			for _, rt := range r.Routes {
				if rt.Request != r.Schema && rt.Record != r.Schema {
					t.Errorf("%s lists %s %s, which has nothing to do with it", r.Schema, rt.Method, rt.Path)
				}
			}
			if r.Verb != "" && !strings.Contains(r.Schema, "."+r.Verb+".") {
				t.Errorf("%s does not %s", r.Schema, r.Verb)
			}
		}
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(file, "schemas/"), ".json")
		if name == "defs" {
			continue
		}
		p := c.Page(name, "")
		if p == nil || listed[name] != 1 {
			t.Errorf("%s is listed %d times", name, listed[name])
			continue
		}
		if r := p.Record; len(r.Fields) == 0 || r.Example == "" || len(r.Refused) == 0 || r.Title == "" || r.Verb == "" && r.Description == "" {
			t.Errorf("%s lacks something: %d fields, %d refused, %q, %q", name, len(r.Fields), len(r.Refused), r.Title, r.Description)
		}
	}
	if len(listed) != c.Count() {
		t.Errorf("%d listed, %d there", len(listed), c.Count())
	}
	for _, m := range cards.Machines() {
		if machines[m.Name] != 1 {
			t.Errorf("the machine %s is shown %d times", m.Name, machines[m.Name])
		}
	}
	inCards := 0
	for _, card := range c.Cards {
		inCards += len(card.Routes)
	}
	if inCards != len(c.Routes) {
		t.Errorf("%d routes by card, %d in all", inCards, len(c.Routes))
	}
	for _, at := range []string{"overview", "routes", "errors", "shared"} {
		if c.Page(at, "") == nil {
			t.Errorf("%s has no page", at)
		}
	}
	for _, at := range []string{"", "defs", "hux.none.v1", "Overview", "../x"} {
		if c.Page(at, "") != nil {
			t.Errorf("%q has a page", at)
		}
	}
}

func TestFieldsSayWhatTheSchemaSays(t *testing.T) {
	fields := whole(t).Page("hux.event.v1", "").Record.Fields
	for path, want := range map[string]reference.Field{
		"schema":            {Type: "string", Required: true, Bounds: []string{"always `hux.event.v1`"}},
		"seq":               {Type: "integer", Def: "seq", Required: true, ReadOnly: true, Bounds: []string{"at least 1"}},
		"status":            {Type: "string or null", Def: "event_status", Required: true, Bounds: []string{"one of `started`, `progress`, `completed`, `failed`, `cancelled`"}},
		"evidence":          {Type: "list of evidence_ref", Def: "evidence", Required: true, Bounds: []string{"at most 20 items"}},
		"provenance":        {Type: "object", Def: "provenance", Required: true},
		"tombstone":         {Type: "object or null", Required: true, ReadOnly: true},
		"tombstone.reason":  {Depth: 1, Type: "string", Required: true, ReadOnly: true, Bounds: []string{"matches `^[a-z_]{1,64}$`"}},
		"run_id":            {Type: "string or null", Def: "foreign_id", Bounds: []string{"matches `^\\.*[A-Za-z0-9_:-][A-Za-z0-9_.:-]*$`", "at most 128 characters"}},
		"redaction":         {Type: "object", Def: "redaction", Required: true},
		"causes":            {Type: "list of integer", Def: "causes", Bounds: []string{"at most 20 items", "no two alike", "each at least 1"}},
		"provenance.actor":  {},
		"tombstone.missing": {},
	} {
		i := slices.IndexFunc(fields, func(f reference.Field) bool { return f.Path == path })
		if i < 0 {
			if want.Type != "" {
				t.Errorf("there is no %s", path)
			}
			continue
		}
		got := fields[i]
		if got.Depth != want.Depth || got.Type != want.Type || got.Def != want.Def || got.Required != want.Required || got.ReadOnly != want.ReadOnly || !slices.Equal(got.Bounds, want.Bounds) {
			t.Errorf("%s: %+v, want %+v", path, got, want)
		}
	}
	if fields[0].Path != "schema" || fields[1].Path != "id" {
		t.Error("the fields are not in the order of the schema")
	}
}

// What is said of a rule between members is what it says.
func TestConditionsAreSaid(t *testing.T) {
	got := whole(t).Page("hux.event.v1", "").Record.Conditions
	want := []reference.Condition{
		{When: []string{"`tombstone` is an object"}, Then: []string{"`summary` is empty", "`evidence` is empty", "`data` is absent"}},
		{When: []string{"`sensitivity` is `restricted`"}, Then: []string{"`redaction.level` is `full`"}},
	}
	if len(got) != len(want) {
		t.Fatalf("%q", got)
	}
	for i := range want {
		if !slices.Equal(got[i].When, want[i].When) || !slices.Equal(got[i].Then, want[i].Then) || got[i].Else != nil {
			t.Errorf("%q, want %q", got[i], want[i])
		}
	}
}

func TestSearch(t *testing.T) {
	c := whole(t)
	for text, want := range map[string]bool{"": true, "event": true, "EVENT": true, "tombstone": true, "hux.event.v1": true, "nonsense": false, "<script>": false} {
		p := c.Page("overview", text)
		found := false
		for _, g := range p.Found {
			found = found || slices.ContainsFunc(g.Records, func(r *reference.Record) bool { return r.Schema == "hux.event.v1" })
		}
		if found != want || (p.Share == "") != (text == "") {
			t.Errorf("%q: the event is found: %v; %q", text, found, p.Share)
		}
	}
}

func TestFlagsSayTheirState(t *testing.T) {
	states := map[string]string{}
	for _, f := range whole(t, "hux.foundation", "hux.multimodal", "hux.activity_timeline").Flags {
		states[f.Name] = f.State
	}
	for name, want := range map[string]string{"hux.foundation": "on", "hux.activity_timeline": "on", "hux.multimodal": "blocked", "hux.research": "off"} {
		if states[name] != want {
			t.Errorf("%s is %s, want %s", name, states[name], want)
		}
	}
}
