package schema_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// isRequest tells a request's schema, hux.event.create.v1, from a record's.
func isRequest(name string) bool { return strings.Count(name, ".") == 3 }

// names are the schemas that bodies are checked against.
func names(set *schema.Set) []string {
	return slices.DeleteFunc(set.Names(), func(n string) bool { return n == "defs" })
}

// judge sends v, or what stands at its place in a record, through the door.
func judge(set *schema.Set, name string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if isRequest(name) {
		_, err := set.Decode(name, text)
		return err
	}
	if v, err = schema.Parse(text); err != nil {
		return err
	}
	return set.Validate(name, v)
}

func TestEverySchemaHasAnExampleThatPassesAndCasesThatDoNot(t *testing.T) {
	set := load(t)
	for _, name := range names(set) {
		t.Run(name, func(t *testing.T) {
			var good any
			if err := json.Unmarshal(example(t, name), &good); err != nil {
				t.Fatal(err)
			}
			if err := judge(set, name, good); err != nil {
				t.Fatalf("the worked example: %v", err)
			}
			least := 8
			if isRequest(name) {
				least = 3
			}
			cases, err := fs.Glob(contract.Examples, "examples/invalid/"+name+"/*.json")
			if err != nil || len(cases) < least {
				t.Fatalf("%d cases that must be refused, want %d, %v", len(cases), least, err)
			}
			for _, file := range cases {
				text, err := fs.ReadFile(contract.Examples, file)
				if err != nil {
					t.Fatal(err)
				}
				refused(t, set, name, path.Base(file), text)
			}
		})
	}
}

// refused checks one case of examples/invalid.
func refused(t *testing.T, set *schema.Set, name, file string, text []byte) {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	var body any
	if err := json.Unmarshal(example(t, name), &body); err != nil {
		t.Fatal(err)
	}
	value, put := c["value"]
	body = place(t, body, c["pointer"].(string), value, put)
	rule := c["rule"].(string)
	var e *hux.Error
	if err := judge(set, name, body); !errors.As(err, &e) || e.Code.Status() != 422 && string(e.Code) != rule {
		t.Fatalf("%s: %v, want %s or a 422", file, err, rule)
	}
	list := e.Members["errors"].([]schema.Fault)
	if (rule == "read_only_field") != (e.Code == hux.ReadOnlyField) {
		t.Errorf("%s: code %s", file, e.Code)
	}
	if !slices.ContainsFunc(list, func(f schema.Fault) bool { return f.Code == rule }) {
		t.Errorf("%s: refused by %v, want %s", file, list, rule)
	}
	if text, ok := value.(string); ok && len(text) > 3 {
		if said, _ := json.Marshal(list); strings.Contains(string(said), text) {
			t.Errorf("%s: the answer quotes the value: %s", file, said)
		}
	}
}

// place gives body with v at pointer, or without what is there.
func place(t *testing.T, body any, pointer string, v any, put bool) any {
	t.Helper()
	if pointer == "" {
		return v
	}
	tokens := strings.Split(pointer[1:], "/")
	at := body
	for _, token := range tokens[:len(tokens)-1] {
		switch in := at.(type) {
		case map[string]any:
			at = in[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil {
				t.Fatal(err)
			}
			at = in[i]
		}
	}
	last := tokens[len(tokens)-1]
	switch in := at.(type) {
	case map[string]any:
		if in[last] = v; !put {
			delete(in, last)
		}
	case []any:
		i, err := strconv.Atoi(last)
		if err != nil {
			t.Fatal(err)
		}
		in[i] = v
	default:
		t.Fatalf("%s leads nowhere", pointer)
	}
	return body
}

func TestExamplesBelongToSchemas(t *testing.T) {
	set := load(t)
	err := fs.WalkDir(contract.Examples, "examples", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := strings.TrimSuffix(path.Base(file), ".json")
		if dir := path.Dir(file); dir != "examples" {
			name = path.Base(dir)
		}
		if !slices.Contains(names(set), name) {
			t.Errorf("%s is of no schema", file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The names of the contract do not move.
func TestIdentifiersAreStable(t *testing.T) {
	want := []string{"defs", "hux.capabilities.v1", "hux.conversation.create.v1", "hux.conversation.patch.v1", "hux.conversation.v1",
		"hux.error.v1", "hux.event.create.v1", "hux.event.v1", "hux.manifest.v1"}
	set := load(t)
	for _, name := range want {
		var head struct {
			ID string `json:"$id"`
		}
		if err := json.Unmarshal(set.File(name), &head); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if id := "https://bstein.dev/hux/schemas/" + name + ".json"; head.ID != id {
			t.Errorf("%s has the $id %s, want %s", name, head.ID, id)
		}
	}
	if set.File("hux.event.v2") != nil {
		t.Error("a schema that nobody wrote")
	}
}

// What JSON Schema passes over in silence stops the start, and so does what its
// own schema, that of 2020-12, refuses.
func TestSlipsInSchemasAreRefused(t *testing.T) {
	head := func(rest string) string {
		return `{"$schema":"https://json-schema.org/draft/2020-12/schema","$id":"https://bstein.dev/hux/schemas/x.json",` + rest + `}`
	}
	for name, c := range map[string]struct{ text, says string }{
		"right":               {head(`"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":9}},"required":["a"]`), ""},
		"right, bounded":      {head(`"properties":{"a":{"type":["string","null"],"format":"date-time"},"b":{"type":"string","enum":["x"]},"c":{"type":"object","maxProperties":2}}`), ""},
		"right, in a rule":    {head(`"properties":{"a":{"type":["string","null"],"maxLength":9}},"allOf":[{"if":{"properties":{"a":{"type":"string"}}},"then":{"required":["a"]}},{"properties":{"a":{"type":"string"}}}]`), ""},
		"string of any size":  {head(`"properties":{"a":{"type":"string","minLength":2}}`), "#/properties/a has no maxLength"},
		"integer of any size": {head(`"properties":{"a":{"type":["integer","null"],"minimum":0}}`), "#/properties/a has no maximum"},
		"integer below zero":  {head(`"properties":{"a":{"type":"integer","maximum":1}}`), "#/properties/a has no minimum"},
		"list of any size":    {head(`"properties":{"a":{"type":"array","items":{"const":1}}}`), "#/properties/a has no maxItems"},
		"items of any size":   {head(`"properties":{"a":{"type":"array","maxItems":1,"items":{"type":"string"}}}`), "#/properties/a/items has no maxLength"},
		"object of any size":  {head(`"anyOf":[{"type":"object"},{"type":"null"}]`), "#/anyOf/0 has no maxProperties"},
		"keyword":             {head(`"properties":{"a":{"minLenght":2}}`), "minLenght"},
		"keyword in anyOf":    {head(`"anyOf":[{"patern":"^a$"}]`), "patern"},
		"keyword in if":       {head(`"if":{"require":["a"]}`), "require"},
		"format":              {head(`"format":"dat-time"`), "format"},
		"type":                {head(`"type":"strng"`), "type"},
		"number, not whole":   {head(`"type":"number"`), "type"},
		"required":            {head(`"properties":{"summary":{}},"required":["summry"]`), "summry"},
		"pattern":             {head(`"pattern":"[a-z]+"`), "anchored"},
		"bound":               {head(`"maxLength":"12"`), "number"},
		"camelCase":           {head(`"properties":{"runId":{}}`), "snake_case"},
		"file":                {head(`"$ref":"file:///etc/hostname"`), "leaves"},
		"http":                {head(`"$ref":"http://127.0.0.1/x.json"`), "leaves"},
		"nowhere":             {head(`"$ref":"#/$defs/nothing"`), "nothing"},
		"negative bound":      {head(`"minLength":-1`), "minLength"},
		"enum of one":         {head(`"enum":"a"`), "enum"},
		"required twice":      {head(`"properties":{"a":{}},"required":["a","a"]`), "required"},
		"required, no list":   {head(`"properties":{"a":{}},"required":"a"`), "required"},
		"members in a list":   {head(`"properties":[{"type":"string"}]`), "properties"},
		"branches, no list":   {head(`"anyOf":{"type":"string"}`), "anyOf"},
		"title, no text":      {head(`"title":1`), "title"},
		"name twice":          {head(`"type":"object","type":"string"`), "twice"},
		"$id":                 {strings.Replace(head(`"type":"object"`), "x.json", "y.json", 1), "$id"},
		"draft":               {strings.Replace(head(`"type":"object"`), "2020-12", "2019-09", 1), "2020-12"},
	} {
		set, err := schema.Load(fstest.MapFS{"schemas/x.json": {Data: []byte(c.text)}}, nil)
		if err == nil {
			err = set.Compile()
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestRecordsTolerateMembersOfLaterVersions(t *testing.T) {
	set := loadWith(t, nil)
	for _, name := range names(set) {
		var v map[string]any
		if err := json.Unmarshal(example(t, name), &v); err != nil {
			t.Fatal(err)
		}
		v["of_a_later_version"] = map[string]any{"x": true}
		if p, ok := v["provenance"].(map[string]any); ok {
			p["of_a_later_version"] = 1
		}
		if err := judge(set, name, v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnknownMembersAreTakenOutAndNamed(t *testing.T) {
	set := load(t)
	many := ""
	for i := range 30 {
		many += `"x_` + strings.Repeat("y", i+1) + `":0,`
	}
	for name, c := range map[string]struct {
		body    string
		ignored []string
		left    string
	}{
		"none":   {`{"kind":"run.started","summary":"s","data":{"anything":{"id":1,"tenant":"t"}}}`, nil, `{"data":{"anything":{"id":1,"tenant":"t"}},"kind":"run.started","summary":"s"}`},
		"top":    {`{"kind":"run.started","summary":"s","colour":"red"}`, []string{"colour"}, `{"kind":"run.started","summary":"s"}`},
		"nested": {`{"kind":"run.started","summary":"s","evidence":[{"kind":"event","id":"e","owner":"hux","note":1}],"provenance":{"surface":"chat","weather":1}}`, []string{"note", "surface", "weather"}, `{"evidence":[{"id":"e","kind":"event","owner":"hux"}],"kind":"run.started","provenance":{},"summary":"s"}`},
		"case":   {`{"kind":"run.started","summary":"s","SUMMARY":"` + strings.Repeat("x", 300) + `"}`, nil, `{"kind":"run.started","summary":"s"}`},
		"many":   {`{` + many + `"kind":"run.started","summary":"s"}`, make([]string, 20), `{"kind":"run.started","summary":"s"}`},
	} {
		r, err := set.Decode("hux.event.create.v1", []byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		slices.Sort(r.Ignored)
		if len(r.Ignored) != len(c.ignored) || name != "many" && !slices.Equal(r.Ignored, c.ignored) {
			t.Errorf("%s: ignored %q, want %q", name, r.Ignored, c.ignored)
		}
		if left, _ := json.Marshal(r.Value); string(left) != c.left {
			t.Errorf("%s: left %s, want %s", name, left, c.left)
		}
	}
}

// encoding/json matches names in any case, and knows one spelling of an integer.
func TestIntoTakesWhatWasChecked(t *testing.T) {
	set := load(t)
	var event struct {
		Summary string
		Causes  []int64
		Data    map[string]any
	}
	r, err := set.Decode("hux.event.create.v1", []byte(`{"causes":[3.0, 1e2],"kind":"run.started","summary":"short","SUMMARY":"`+strings.Repeat("x", 300)+`","data":{"n":9007199254740993}}`))
	if err != nil {
		t.Fatal(err)
	}
	err = r.Into(&event)
	if err != nil || event.Summary != "short" || !slices.Equal(event.Causes, []int64{3, 100}) || event.Data["n"] != json.Number("9007199254740993") {
		t.Errorf("%+v, %v", event, err)
	}
	if want := `{"causes":[3,100],"data":{"n":9007199254740993},"kind":"run.started","summary":"short"}`; string(r.Text) != want {
		t.Errorf("text %s, want %s", r.Text, want)
	}
}

func TestFaultsNameNoMembersOfTheSender(t *testing.T) {
	set := load(t)
	v, err := schema.Parse(example(t, "hux.capabilities.v1"))
	if err != nil {
		t.Fatal(err)
	}
	flags := v.(map[string]any)["flags"].(map[string]any)
	flags["Bearer SENTINEL/~"] = maps.Clone(flags["hux.privacy"].(map[string]any))
	flags["Bearer SENTINEL/~"].(map[string]any)["enabled"] = "SENTINEL"
	err = set.Validate("hux.capabilities.v1", v)
	var e *hux.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if said, _ := json.Marshal(e.Members); strings.Contains(string(said), "SENTINEL") || !strings.Contains(string(said), "/flags") {
		t.Errorf("%s", said)
	}
}

func TestUnknownSchema(t *testing.T) {
	set := load(t)
	if _, err := set.Decode("hux.nothing.v1", []byte(`{}`)); err == nil {
		t.Error("Decode against no schema")
	}
	if err := set.Validate("hux.nothing.v1", nil); err == nil {
		t.Error("Validate against no schema")
	}
}
