package schema_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Each fault is found in the line that it is in, whatever the layout.
func TestInspectNamesTheLine(t *testing.T) {
	set := load(t)
	event := string(example(t, "hux.event.v1"))
	line := func(part string) int {
		before, _, _ := strings.Cut(event, part)
		return 1 + strings.Count(before, "\n")
	}
	var compact strings.Builder
	if err := json.NewEncoder(&compact).Encode(json.RawMessage(event)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text, pointer, code string
		line                int
	}{
		"member":                    {strings.Replace(event, `"seq": `, `"seq": -`, 1), "/seq", "minimum", line(`"seq"`)},
		"deep":                      {strings.Replace(event, `"surface": "`, `"surface": "x`, 1), "/provenance/surface", "enum", line(`"surface"`)},
		"in a list":                 {strings.Replace(event, `"owner": "gateway"`, `"owner": "nobody"`, 1), "/evidence/0/owner", "enum", line(`"owner": "gateway"`)},
		"missing":                   {strings.Replace(event, `"conversation_id"`, `"conversation"`, 1), "/conversation_id", "required", 1},
		"missing, deep":             {strings.Replace(event, `"surface"`, `"surfaces"`, 1), "/provenance/surface", "required", line(`"provenance"`)},
		"not JSON":                  {strings.Replace(event, `"conversation_id"`, `conversation_id`, 1), "", "invalid_json", line(`"conversation_id"`)},
		"a member twice":            {strings.Replace(event, `"conversation_id"`, `"id"`, 1), "", "invalid_json", line(`"conversation_id"`)},
		"cut off":                   {event[:strings.Index(event, `"conversation_id"`)+4], "", "invalid_json", line(`"conversation_id"`)},
		"an escape, cut":            {`"\`, "", "invalid_json", 1},
		"on one line":               {strings.Replace(compact.String(), `"seq":`, `"seq":-`, 1), "/seq", "minimum", 1},
		"no object":                 {"\n\n[]", "", "type", 3},
		"nothing at all":            {"", "", "invalid_json", 1},
		"not even UTF-8":            {"\xff", "", "invalid_json", 1},
		"far too large":             {strings.Repeat(" ", 64<<20+1), "", "too_large", 1},
		"larger than a body may be": {strings.Repeat(" ", schema.MaxBody) + event, "", "", 0},
		"nothing at fault":          {event, "", "", 0},
	} {
		found, _, err := set.Inspect("hux.event.v1", []byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.code == "" {
			if len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
			continue
		}
		if !slices.ContainsFunc(found, func(f schema.Finding) bool { return f.Line == c.line && f.Pointer == c.pointer && f.Code == c.code }) {
			t.Errorf("%s: %v, want line %d: %s: %s", name, found, c.line, c.pointer, c.code)
		}
	}
}

// A record may be far larger than a body: what a list or a text of the contract
// may hold is read whole. What a request's body may not hold is refused here too.
func TestInspectReadsLargeRecords(t *testing.T) {
	set := loadWith(t, nil)
	entry := string(example(t, "hux.memory.v1"))
	list := func(item string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	hunk := `{"from_start":1,"from_lines":0,"to_start":1,"to_lines":20,"lines":` + list(`"+`+strings.Repeat("x", 100)+`"`, 20) + `}`
	for name, c := range map[string]struct{ schema, member, value, want string }{
		"1,000 memories":      {"hux.memory_export.v1", "items", list(entry, 1000), ""},
		"20,000 lines":        {"hux.artifact_diff.v1", "hunks", list(hunk, 1000), ""},
		"2 million values":    {"hux.memory_export.v1", "items", list("0", 2<<20), "too_large"},
		"a body of 5,000":     {"hux.event.create.v1", "data", `{"n":` + list("0", 5000) + `}`, "too_large"},
		"a body of few bytes": {"hux.event.create.v1", "data", `{"n":` + list("0", 4) + `}`, ""},
	} {
		var record map[string]json.RawMessage
		if err := json.Unmarshal(example(t, c.schema), &record); err != nil {
			t.Fatal(err)
		}
		if record[c.member] == nil && !strings.Contains(name, "body") {
			t.Fatalf("%s has no %s", c.schema, c.member)
		}
		record[c.member] = json.RawMessage(c.value)
		text, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		found, _, err := set.Inspect(c.schema, text)
		if err != nil || (c.want == "") != (len(found) == 0) || c.want != "" && found[0].Code != c.want {
			t.Errorf("%s, %d bytes: %.300v, %v, want %q", name, len(text), found, err, c.want)
		}
	}
}

func TestInspectAsksTheRuleLast(t *testing.T) {
	asked := ""
	rule := func(record []byte) (schema.Faults, error) {
		asked = string(record)
		return schema.Faults{{Pointer: "/summary", Code: "too_short", Message: "is too short"}}, nil
	}
	rules := map[string]schema.Rule{"hux.event.create.v1": rule}
	set := loadWith(t, rules)
	body := "{\"kind\":\"run.started\",\n\"summary\":\"s\",\"colour\":1}"
	found, ignored, err := set.Inspect("hux.event.create.v1", []byte(body))
	if err != nil || len(found) != 1 || found[0].Line != 2 || found[0].Code != "too_short" || !slices.Equal(ignored, []string{"colour"}) {
		t.Errorf("%v, %v, %v", found, ignored, err)
	}
	if want := `{"kind":"run.started","summary":"s"}`; asked != want {
		t.Errorf("the rule was asked about %s, want %s", asked, want)
	}
	asked = ""
	if found, _, err = set.Inspect("hux.event.create.v1", []byte(`{"kind":"run.started","seq":1}`)); err != nil || asked != "" || len(found) != 1 || found[0].Code != "read_only_field" {
		t.Errorf("%v, %v, asked about %q", found, err, asked)
	}
	broken := errors.New("broken")
	rules["hux.event.create.v1"] = func([]byte) (schema.Faults, error) { return nil, broken }
	if _, _, err = set.Inspect("hux.event.create.v1", []byte(body)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if _, _, err = set.Inspect("hux.nothing.v1", []byte(`{}`)); err == nil {
		t.Error("there is no such schema")
	}
}

// Faults come in one order, whichever rule found which of them first.
func TestFaultsHaveAnOrder(t *testing.T) {
	a, b, c := schema.Fault{Pointer: "/data", Code: "vendor_name"}, schema.Fault{Pointer: "/summary", Code: "self_sourced"}, schema.Fault{Pointer: "/summary", Code: "too_short"}
	for _, list := range [][]schema.Fault{{a, b, c}, {c, b, a}, {b, c, a}} {
		rules := map[string]schema.Rule{"hux.event.v1": func([]byte) (schema.Faults, error) { return slices.Clone(list), nil }}
		found, _, err := loadWith(t, rules).Inspect("hux.event.v1", example(t, "hux.event.v1"))
		if err != nil || len(found) != 3 || found[0].Fault != a || found[1].Fault != b || found[2].Fault != c {
			t.Errorf("%v: %v, %v", list, found, err)
		}
		var e *hux.Error
		if !errors.As(schema.Refused(slices.Clone(list)), &e) || e.Code != hux.VendorName {
			t.Errorf("%v is refused by %v", list, e)
		}
	}
}

// A record says itself what it is; a body can't.
func TestInspectReadsTheSchemaOfARecord(t *testing.T) {
	set := load(t)
	for text, want := range map[string]string{
		string(example(t, "hux.event.v1")):              "",
		string(example(t, "hux.conversation.v1")):       "",
		`{"schema":"hux.event.v1"}`:                     "required",
		`{"kind":"run.started"}`:                        "required",
		`{"schema":1}`:                                  "unknown_schema",
		`{"schema":"hux.nothing.v1"}`:                   "unknown_schema",
		`{"schema":"defs"}`:                             "unknown_schema",
		`{"schema":"hux.event.create.v1","summary":""}`: "unknown_schema",
		`[]`:      "type",
		`"event"`: "type",
		`{`:       "invalid_json",
	} {
		found, _, err := set.Inspect("", []byte(text))
		if err != nil || (want == "") != (len(found) == 0) || want != "" && found[0].Code != want {
			t.Errorf("%.60s: %v, %v, want %q", text, found, err, want)
		}
	}
}

// FuzzInspect: whatever the text, each finding is in one of its lines.
func FuzzInspect(f *testing.F) {
	for _, name := range []string{"hux.event.v1", "hux.event.create.v1", "hux.error.v1"} {
		f.Add(name, example(f, name))
	}
	f.Add("", []byte("{\"schema\":\n\"hux.event.v1\",\"evidence\":[\n1,{}]}"))
	f.Add("", []byte(`"\`))
	set := load(f)
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		found, _, err := set.Inspect(name, text)
		if err != nil && set.File(name) != nil && name != "defs" {
			t.Fatalf("%q: %v", text, err)
		}
		for _, finding := range found {
			if lines := 1 + strings.Count(string(text), "\n"); finding.Line < 1 || finding.Line > lines || finding.Code == "" || finding.Message == "" {
				t.Fatalf("%q: %+v of %d lines", text, finding, lines)
			}
		}
	})
}
