package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// kind is what sort of values a shape has.
type kind int

const (
	anything kind = iota
	text
	integer
	boolean
	literal // one of values
	object  // with members
	dict    // of names and elem
	list    // of elem
	named   // what defs.json calls name
	union   // one of options
)

// shape is what a language's type can say of a schema. Bounds, patterns and
// what depends on other members are left to the schema.
type shape struct {
	kind    kind
	doc     string
	null    bool // or null
	values  []string
	members []member
	elem    *shape
	name    string
	options []*shape
}

type member struct {
	name     string
	shape    *shape
	required bool
}

// declaration is a type with a name: a record, a request body, or a definition
// that they share.
type declaration struct {
	name   string // as the type is called
	source string // the schema, or the definition in defs.json
	shared bool
	shape  *shape
}

// load reads all schemas: what they share first, then by name.
func load(files fs.FS) ([]declaration, error) {
	names, err := fs.Glob(files, "*.json")
	if err != nil {
		return nil, err
	}
	var all []declaration
	for _, file := range names {
		content, err := fs.ReadFile(files, file)
		if err != nil {
			return nil, err
		}
		var doc ordered
		if err := json.Unmarshal(content, &doc); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := strings.TrimSuffix(path.Base(file), ".json")
		if name == "defs" {
			defs, _ := doc.get("$defs").(ordered)
			for _, d := range defs {
				all = append(all, declaration{pascal(d.name), d.name, true, shapeOf(d.value)})
			}
			continue
		}
		all = append(all, declaration{typeName(name), name, false, shapeOf(doc)})
	}
	slices.SortStableFunc(all, func(a, b declaration) int {
		if a.shared != b.shared {
			return map[bool]int{true: -1, false: 1}[a.shared]
		}
		return 0
	})
	return all, nil
}

// typeName is what the type of a schema is called: hux.event.create.v1 is
// EventCreate. An error is a Problem, as RFC 9457 calls it, since Error has
// another sense in either language.
func typeName(schema string) string {
	parts := strings.Split(schema, ".")
	name := ""
	for _, p := range parts[1 : len(parts)-1] {
		name += pascal(p)
	}
	if v := parts[len(parts)-1]; v != "v1" {
		name += pascal(v)
	}
	if name == "Error" {
		return "Problem"
	}
	return name
}

func shapeOf(v any) *shape {
	s, ok := v.(ordered)
	if !ok {
		return &shape{} // true, or false where a condition forbids it
	}
	sh := plain(s)
	if doc, ok := s.get("description").(string); ok {
		sh.doc = doc
	}
	return sh
}

func plain(s ordered) *shape {
	if ref, ok := s.get("$ref").(string); ok {
		return &shape{kind: named, name: ref[strings.LastIndex(ref, "/")+1:]}
	}
	if v, ok := s.find("const"); ok {
		return literalOf([]any{v})
	}
	if v, ok := s.get("enum").([]any); ok {
		return literalOf(v)
	}
	if v, ok := s.get("anyOf").([]any); ok && s.get("properties") == nil {
		return unionOf(v)
	}
	types, _ := s.get("type").([]any)
	if t, ok := s.get("type").(string); ok {
		types = []any{t}
	}
	var options []any
	null := false
	for _, t := range types {
		if t == "null" {
			null = true
			continue
		}
		options = append(options, t)
	}
	if len(options) != 1 {
		if members := membersOf(s); len(members) > 0 {
			return &shape{kind: object, members: members, null: null}
		}
		return &shape{null: null}
	}
	sh := &shape{null: null}
	switch options[0] {
	case "string":
		sh.kind = text
	case "integer":
		sh.kind = integer
	case "boolean":
		sh.kind = boolean
	case "array":
		sh.kind, sh.elem = list, shapeOf(s.get("items"))
	case "object":
		if sh.members = membersOf(s); len(sh.members) > 0 {
			sh.kind = object
		} else {
			sh.kind, sh.elem = dict, shapeOf(s.get("additionalProperties"))
		}
	}
	return sh
}

func membersOf(s ordered) []member {
	required, _ := s.get("required").([]any)
	properties, _ := s.get("properties").(ordered)
	var members []member
	for _, p := range properties {
		members = append(members, member{p.name, shapeOf(p.value), slices.Contains(required, any(p.name))})
	}
	return members
}

// literalOf is a choice between values; those that are no strings have only
// their type.
func literalOf(values []any) *shape {
	sh := &shape{}
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			sh.null = true
		case string:
			sh.kind, sh.values = literal, append(sh.values, v)
		case bool:
			sh.kind = boolean
		case json.Number:
			sh.kind = integer
		}
	}
	return sh
}

func unionOf(options []any) *shape {
	sh := &shape{kind: union}
	for _, o := range options {
		option := shapeOf(o)
		if s, ok := o.(ordered); ok && s.get("type") == "null" {
			sh.null = true
			continue
		}
		sh.options = append(sh.options, option)
	}
	if len(sh.options) == 1 {
		one := *sh.options[0]
		one.null = one.null || sh.null
		return &one
	}
	return sh
}
