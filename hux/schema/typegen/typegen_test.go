package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

const schemas = `{"$defs": {
	"mode": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
	"level": {"enum": ["low", "high", null]},
	"seq": {"type": "integer"},
	"timestamp": {"type": "string"},
	"notes": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}}
}}`

// What each form of schema is in TypeScript, and as a member of a Go struct.
func TestTypes(t *testing.T) {
	for name, c := range map[string]struct{ schema, typescript, golang string }{
		"text":          {`{"type":"string","maxLength":3}`, "m?: string;", "M *string `json:\"m,omitzero\"`"},
		"nullable":      {`{"anyOf":[{"$ref":"defs.json#/$defs/seq"},{"type":"null"}]}`, "m?: defs.Seq | null;", "M *int64 `json:\"m,omitzero\"`"},
		"two types":     {`{"type":["string","null"]}`, "m?: string | null;", "M *string `json:\"m,omitzero\"`"},
		"choice":        {`{"enum":["a","b"]}`, "m?: 'a' | 'b';", "M *string `json:\"m,omitzero\"` // a or b"},
		"shared choice": {`{"$ref":"defs.json#/$defs/level"}`, "m?: defs.Level;", "M *string `json:\"m,omitzero\"` // low or high"},
		"only one":      {`{"const":true}`, "m?: boolean;", "M *bool `json:\"m,omitzero\"`"},
		"a word":        {`{"$ref":"defs.json#/$defs/timestamp"}`, "m?: defs.Timestamp;", "M *hux.Time `json:\"m,omitzero\"`"},
		"shared":        {`{"$ref":"defs.json#/$defs/mode"}`, "m?: defs.Mode;", "M *ModePart `json:\"m,omitzero\"`"},
		"list":          {`{"type":"array","items":{"type":["integer","null"]}}`, "m?: (number | null)[];", "M []*int64 `json:\"m,omitzero\"`"},
		"shared list":   {`{"$ref":"defs.json#/$defs/notes"}`, "m?: defs.Notes;", "M []Note `json:\"m,omitzero\"`"},
		"dict":          {`{"type":"object","additionalProperties":{"type":"boolean"}}`, "m?: Record<string, boolean>;", "M map[string]bool `json:\"m,omitzero\"`"},
		"free":          {`{"type":"object"}`, "m?: Record<string, unknown>;", "M map[string]any `json:\"m,omitzero\"`"},
		"anything":      {`true`, "m?: unknown;", "M json.RawMessage `json:\"m,omitzero\"`"},
		"object":        {`{"type":"object","properties":{"page_ids":{"type":"integer"}},"required":["page_ids"]}`, "m?: {\n    page_ids: number;\n  };", "M *ModeM `json:\"m,omitzero\"`"},
		"union":         {`{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`, "m?: string | number | null;", "M json.RawMessage `json:\"m,omitzero\"`"},
		"two structs":   {`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"string"}}}]}`, "m?: {\n    a: string;\n  } | {\n    b?: string;\n  };", "M *ModeM `json:\"m,omitzero\"`"},
	} {
		t.Run(name, func(t *testing.T) {
			record := `{"description": "A mode.", "type": "object", "properties": {"m": ` + c.schema + `, "n_url": {"type": "string", "description": "Where."}}, "required": ["n_url"]}`
			all, err := load(fstest.MapFS{"defs.json": {Data: []byte(schemas)}, "hux.mode.v1.json": {Data: []byte(record)}})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(typescript(all)); !strings.Contains(got, "/** hux.mode.v1. A mode. */\nexport interface Mode {\n  "+c.typescript+"\n  /** Where. */\n  n_url: string;\n}\n") {
				t.Errorf("TypeScript:\n%s", got)
			}
			code, err := golang(all)
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(strings.Fields(string(code)), " ")
			if !strings.Contains(got, "// Mode is hux.mode.v1. A mode. type Mode struct { "+c.golang+" NURL string `json:\"n_url\"` // Where. }") {
				t.Errorf("Go:\n%s", code)
			}
		})
	}
}

// A merge patch tells null from absent.
func TestPatch(t *testing.T) {
	all, err := load(fstest.MapFS{"hux.mode.patch.v1.json": {Data: []byte(`{"type": "object", "properties": {"m": {"type": ["string", "null"]}, "n": {"type": "string"}}}`)}})
	if err != nil {
		t.Fatal(err)
	}
	code, err := golang(all)
	if err != nil || !strings.Contains(string(code), "Nullable[string]") || !strings.Contains(string(code), "*string ") {
		t.Errorf("%v\n%s", err, code)
	}
}

// A struct within a shared definition is declared once.
func TestSharedOnce(t *testing.T) {
	record := []byte(`{"type": "object", "properties": {"m": {"$ref": "defs.json#/$defs/notes"}}}`)
	all, err := load(fstest.MapFS{"defs.json": {Data: []byte(schemas)}, "hux.a.v1.json": {Data: record}, "hux.b.v1.json": {Data: record}})
	if err != nil {
		t.Fatal(err)
	}
	code, err := golang(all)
	if err != nil || strings.Count(string(code), "type Note struct") != 1 {
		t.Errorf("%v\n%s", err, code)
	}
}

// Two structs of one name are an error, not a file that does not compile.
func TestNamesAreUnique(t *testing.T) {
	object := func(name string) []byte {
		return []byte(`{"type": "object", "properties": {"` + name + `": {"type": "object", "properties": {"x": {"type": "string"}}}}}`)
	}
	all, err := load(fstest.MapFS{"hux.mode.v1.json": {Data: object("a_b")}, "hux.mode.a.v1.json": {Data: object("b")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := golang(all); err == nil || !strings.Contains(err.Error(), "ModeAB") {
		t.Errorf("%v", err)
	}
}
