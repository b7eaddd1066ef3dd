package main

import (
	"bytes"
	"fmt"
	"go/format"
	"slices"
	"strings"
)

const goHead = `// Code generated from schemas/ by make types-generate. DO NOT EDIT.

package client

import (
	"encoding/json"

	"bstein.dev/hux/hux"
)

`

// words are the definitions that package hux has a type for.
var words = map[string]string{
	"timestamp": "hux.Time", "user_id": "hux.User", "agent_id": "hux.Agent", "surface": "hux.Surface", "actor": "hux.Actor", "build": "hux.Build",
	"route": "hux.Route", "provenance": "hux.Provenance", "evidence_ref": "hux.EvidenceRef", "redaction": "hux.Redaction",
}

// gopher writes Go.
type gopher struct {
	shared  map[string]*shape // definitions by name
	records map[string]bool   // names of the types of records and bodies
	patch   bool              // in a merge patch, where null and absent differ
	later   []declaration     // structs that were met inside others
	used    map[string]bool   // shared structs that something names
	names   map[string]*shape // of all types
	twice   string            // a name that two types have
}

// golang writes the types of hux/client.
func golang(all []declaration) ([]byte, error) {
	g := &gopher{shared: map[string]*shape{}, records: map[string]bool{}, names: map[string]*shape{}, used: map[string]bool{}}
	for _, d := range all {
		if d.shared {
			g.shared[d.source] = d.shape
		} else {
			g.records[d.name] = true
		}
	}
	var b bytes.Buffer
	b.WriteString(goHead)
	for _, d := range all {
		if !d.shared {
			g.patch = strings.Contains(d.source, ".patch.")
			g.declare(&b, d)
		}
	}
	g.patch = false
	for done := 0; done < len(g.used); { // what is shared may name more of it
		for _, d := range all {
			if d.shared && g.used[d.source] && g.names[g.free(exported(d.source))] == nil {
				g.declare(&b, d)
				done++
			}
		}
	}
	if g.twice != "" {
		return nil, fmt.Errorf("two types would be called %s", g.twice)
	}
	content := b.Bytes()
	if !bytes.Contains(content, []byte("json.RawMessage")) {
		content = bytes.Replace(content, []byte("\t\"encoding/json\"\n\n"), nil, 1)
	}
	return format.Source(content)
}

// table writes the tests' list of the types by schema.
func table(all []declaration) []byte {
	var b bytes.Buffer
	b.WriteString("// Code generated from schemas/ by make types-generate. DO NOT EDIT.\n\npackage client_test\n\nimport \"bstein.dev/hux/hux/client\"\n\n")
	b.WriteString("// records makes a record, or a body, of each schema.\nvar records = map[string]func() any{\n")
	for _, d := range all {
		if !d.shared {
			fmt.Fprintf(&b, "\t%q: func() any { return new(client.%s) },\n", d.source, d.name)
		}
	}
	b.WriteString("}\n")
	content, _ := format.Source(b.Bytes()) // it has one form
	return content
}

// declare writes a type, and those inside it below it.
func (g *gopher) declare(b *bytes.Buffer, d declaration) {
	name := d.name
	if d.shared {
		name = g.free(exported(d.source))
	}
	for i, next := 0, []declaration{{name, d.source, d.shared, d.shape}}; i < len(next); i++ {
		at := next[i]
		switch g.names[at.name] {
		case nil:
			g.names[at.name] = at.shape
		case at.shape: // in a definition that several records name
			continue
		default:
			g.twice = at.name
		}
		doc := at.name + " is a part of " + at.source + "."
		if i == 0 && !d.shared {
			doc = at.name + " is " + at.source + "."
		}
		if i == 0 && d.shared {
			doc = at.name + " is shared by records."
		}
		if at.shape.doc != "" {
			doc += " " + at.shape.doc
		}
		if at.shape.kind == object {
			fmt.Fprintf(b, "// %s\ntype %s struct {\n", doc, at.name)
			for _, m := range at.shape.members {
				g.member(b, at, m)
			}
			b.WriteString("}\n\n")
		} else {
			fmt.Fprintf(b, "// %s\ntype %s %s\n\n", doc, at.name, g.plain(at.shape, at.name, at.source))
		}
		next = append(next, g.later...)
		g.later = nil
	}
}

// free is the name of a struct that is shared or within another, where a record
// may have the name that it would have.
func (g *gopher) free(name string) string {
	if g.records[name] {
		return name + "Part"
	}
	return name
}

func (g *gopher) member(b *bytes.Buffer, in declaration, m member) {
	t := g.plain(m.shape, in.name+exported(m.name), in.source)
	tag := m.name
	pointable := !strings.HasPrefix(t, "[]") && !strings.HasPrefix(t, "map[") && t != "json.RawMessage"
	null := m.shape.null || g.shared[m.shape.name] != nil && g.shared[m.shape.name].null
	switch {
	case !m.required && null && g.patch:
		t = "Nullable[" + t + "]"
	case (!m.required || null) && pointable:
		t = "*" + t
	}
	if !m.required {
		tag += ",omitzero"
	}
	fmt.Fprintf(b, "\t%s %s `json:%q`", exported(m.name), t, tag)
	values := m.shape.values
	if def := g.shared[m.shape.name]; def != nil {
		values = def.values
	}
	switch {
	case m.shape.doc != "":
		b.WriteString(" // " + m.shape.doc)
	case len(values) > 1:
		b.WriteString(" // " + choice(values))
	}
	b.WriteString("\n")
}

// choice is "a, b or c".
func choice(values []string) string {
	last := len(values) - 1
	return strings.Join(values[:last], ", ") + " or " + values[last]
}

// plain is the type of a shape without its null. A struct in it is declared
// later, as name.
func (g *gopher) plain(s *shape, name, source string) string {
	switch s.kind {
	case text, literal:
		return "string"
	case integer:
		return "int64"
	case boolean:
		return "bool"
	case object:
		name = g.free(name)
		g.later = append(g.later, declaration{name, source, false, s})
		return name
	case dict:
		if s.elem.kind == anything {
			return "map[string]any"
		}
		return "map[string]" + g.element(s.elem, singular(name), source)
	case list:
		return "[]" + g.element(s.elem, singular(name), source)
	case named:
		if word, ok := words[s.name]; ok {
			return word
		}
		def := g.shared[s.name]
		if def == nil || def.kind == object {
			g.used[s.name] = true
			return g.free(exported(s.name))
		}
		return g.plain(def, exported(s.name), s.name)
	case union:
		return g.union(s, name, source)
	}
	return "json.RawMessage"
}

func (g *gopher) element(s *shape, name, source string) string {
	t := g.plain(s, name, source)
	if s.null {
		return "*" + t
	}
	return t
}

// union is the one type that all options have; of several structs one with the
// members of all; else JSON.
func (g *gopher) union(s *shape, name, source string) string {
	merged := &shape{kind: object, doc: s.doc}
	types := map[string]bool{}
	for _, o := range s.options {
		at := o
		if at.kind == named && g.shared[at.name] != nil {
			at = g.shared[at.name]
		}
		if at.kind != object {
			if at.kind == union {
				return "json.RawMessage"
			}
			types[g.plain(o, name, source)] = true
			continue
		}
		for _, m := range at.members {
			m.required = false
			if !slices.ContainsFunc(merged.members, func(other member) bool { return other.name == m.name }) {
				merged.members = append(merged.members, m)
			}
		}
	}
	switch {
	case len(types) == 0:
		return g.plain(merged, name, source)
	case len(types) == 1 && len(merged.members) == 0:
		for t := range types {
			return t
		}
	}
	return "json.RawMessage"
}
