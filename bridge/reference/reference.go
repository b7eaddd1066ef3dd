// Package reference is the contract as its browser shows it: what each record
// looks like, an example, what is refused, its states as a picture, the routes
// that use it, the errors and the flags. All of it comes from what the router
// itself runs on, so that it can't say anything else than the router does.
//
// The pages are rendered here, by the server, rather than by a script from a
// JSON of their own: they then work without scripts, each record has an
// address, a browser has the least to load, and there is no third form of the
// contract beside its schemas and the OpenAPI document, which programs read.
package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/schema"
)

// Sources is what the contract consists of in this build.
type Sources struct {
	Schemas  *schema.Set
	Examples fs.FS // examples/<name>.json and examples/invalid/<name>/*.json
	Registry []hux.Flag
	Flags    hux.Flags
	Machines []hux.Machine
	Routes   []api.Route
}

// Contract is all of it, ready to be shown. It does not change.
type Contract struct {
	Version string
	Groups  []Group // the records, by card
	Shared  []Field // the shared definitions
	Routes  []Route
	Cards   []Card // the routes, by card
	Codes   []hux.Code
	Flags   []Flag
	Needs   Picture // the flags and what each depends on
	records map[string]*Record

	published bool
}

// Group is the records of a card.
type Group struct {
	Name    string
	Records []*Record // each followed by the bodies of the requests about it
}

// Record is a schema: of a record, or of the body of a request.
type Record struct {
	Schema, Title, Description string
	Of                         *Record // the record that a request is about, nil for a record
	Verb                       string  // what a request does, "" for a record
	Fields                     []Field
	Conditions                 []Condition
	Example                    string // JSON, as the file has it
	Refused                    []Refused
	Machines                   []Machine
	Routes                     []Route
	Mutable                    bool   // has revisions, and so an ETag
	Words                      string // what a search finds it by, in lower case
}

// Refused is a value that must be refused: the example with Value at Pointer.
type Refused struct {
	Name, Pointer, Rule string
	Code                hux.Code // the rule, where it is an error code
	Value               string   // JSON, shortened; "" where the member is taken away
}

// New gathers the contract from its sources.
func New(s Sources) (*Contract, error) {
	c := &Contract{Version: hux.ContractVersion, Codes: hux.Codes(), records: map[string]*Record{}, published: s.Flags.Enabled("hux.foundation")}
	var shared document
	if err := json.Unmarshal(s.Schemas.File("defs"), &shared); err != nil {
		return nil, fmt.Errorf("defs: %w", err)
	}
	c.Shared = definitions(shared.Defs)
	for _, name := range s.Schemas.Names() {
		if name == "defs" {
			continue
		}
		r, err := newRecord(s, shared.Defs, name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		c.records[name] = r
	}
	c.Flags, c.Needs = flagsOf(s)
	c.addRoutes(s.Routes)
	for _, m := range s.Machines {
		r := c.records[recordOfMachine(m.Name)]
		if r == nil {
			return nil, fmt.Errorf("the machine %s is of no record", m.Name)
		}
		r.Machines = append(r.Machines, machineOf(m))
	}
	c.group(s)
	return c, nil
}

// Matching are the groups with the records that have a text in their name,
// their title or the name of a field; all for "".
func (c *Contract) Matching(text string) []Group {
	text = strings.ToLower(strings.TrimSpace(text))
	var groups []Group
	for _, g := range c.Groups {
		found := slices.DeleteFunc(slices.Clone(g.Records), func(r *Record) bool { return !strings.Contains(r.Words, text) })
		if len(found) > 0 {
			groups = append(groups, Group{g.Name, found})
		}
	}
	return groups
}

func newRecord(s Sources, defs members, name string) (*Record, error) {
	var d document
	if err := json.Unmarshal(s.Schemas.File(name), &d); err != nil {
		return nil, err
	}
	r := &Record{Schema: name, Title: d.Title, Description: d.Description, Mutable: s.Schemas.Mutable(name)}
	r.Fields, r.Conditions = table(defs, &d)
	words := []string{name, d.Title}
	for _, f := range r.Fields {
		words = append(words, f.Name)
	}
	r.Words = strings.ToLower(strings.Join(words, " "))
	example, err := fs.ReadFile(s.Examples, "examples/"+name+".json")
	if err != nil {
		return nil, err
	}
	r.Example = strings.TrimSpace(string(example))
	r.Refused, err = refusedOf(s.Examples, name)
	return r, err
}

// longest is how much of a refused value is shown, in bytes.
const longest = 96

func refusedOf(examples fs.FS, name string) ([]Refused, error) {
	files, err := fs.ReadDir(examples, "examples/invalid/"+name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var all []Refused
	for _, file := range files {
		text, err := fs.ReadFile(examples, path.Join("examples/invalid", name, file.Name()))
		if err != nil {
			return nil, err
		}
		var one struct {
			Pointer, Rule string
			Value         json.RawMessage
		}
		if err := json.Unmarshal(text, &one); err != nil {
			return nil, fmt.Errorf("%s: %w", file.Name(), err)
		}
		refused := Refused{
			Name:    strings.ReplaceAll(strings.TrimSuffix(file.Name(), ".json"), "-", " "),
			Pointer: one.Pointer, Rule: one.Rule, Value: shortened(one.Value),
		}
		if hux.Code(one.Rule).Meaning() != "" {
			refused.Code = hux.Code(one.Rule)
		}
		all = append(all, refused)
	}
	return all, nil
}

func shortened(value json.RawMessage) string {
	var b bytes.Buffer
	if len(value) == 0 || json.Compact(&b, value) != nil {
		return ""
	}
	if b.Len() <= longest {
		return b.String()
	}
	return strings.ToValidUTF8(b.String()[:longest], "") + "…"
}

func (c *Contract) addRoutes(routes []api.Route) {
	at, served := map[string]int{}, api.Served(routes)
	for _, rt := range routes {
		r := routeOf(rt, c.Flags, served)
		c.Routes = append(c.Routes, r)
		i, ok := at[rt.Tag()]
		if !ok {
			i = len(c.Cards)
			at[rt.Tag()] = i
			c.Cards = append(c.Cards, Card{Name: rt.Tag()})
		}
		c.Cards[i].Routes = append(c.Cards[i].Routes, r)
	}
}

// group puts the records under the cards whose routes use them, and each
// request after its record.
func (c *Contract) group(s Sources) {
	card := map[string]string{}
	var order []string
	for _, f := range s.Registry {
		order = append(order, f.Name)
	}
	for _, rt := range s.Routes {
		if !slices.Contains(order, rt.Tag()) {
			order = slices.Insert(order, 1, rt.Tag()) // of several cards: after the foundation
		}
		for _, name := range []string{rt.Record, rt.Request} {
			if card[name] == "" {
				card[name] = rt.Tag()
			}
		}
	}
	for name, r := range c.records {
		r.Routes = c.using(name)
		if of, verb := schema.RecordOf(name); verb != "" && c.records[of] != nil {
			r.Of, r.Verb = c.records[of], verb
		}
	}
	groups := map[string][]*Record{}
	for _, r := range slices.SortedFunc(maps.Values(c.records), inOrder) {
		tag := card[r.subject()]
		if tag == "" {
			tag = order[0] // what is everybody's, such as an error
		}
		groups[tag] = append(groups[tag], r)
	}
	for _, tag := range order {
		if groups[tag] != nil {
			c.Groups = append(c.Groups, Group{tag, groups[tag]})
		}
	}
}

// subject is the schema of the record that r is or is about.
func (r *Record) subject() string {
	if r.Of != nil {
		return r.Of.Schema
	}
	return r.Schema
}

func inOrder(a, b *Record) int {
	return cmp.Or(cmp.Compare(a.subject(), b.subject()), cmp.Compare(a.Verb, b.Verb))
}

// using are the routes that take or give a schema.
func (c *Contract) using(name string) []Route {
	return slices.DeleteFunc(slices.Clone(c.Routes), func(rt Route) bool { return rt.Request != name && rt.Record != name })
}
