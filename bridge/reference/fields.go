package reference

import (
	"fmt"
	"slices"
	"strings"
)

// Field is one line of a table of fields.
type Field struct {
	Anchor      string // of a shared definition on its page, "" for any other
	Path        string // such as branch.depth or evidence[].id
	Name        string // the last part of it
	Depth       int    // how deep it is nested
	Type        string
	Def         string // the shared definition that describes it, "" for none
	Required    bool
	ReadOnly    bool     // the server alone sets it
	Bounds      []string // each a phrase; code stands between backquotes
	Description string
}

// Condition is a rule of a schema between members: what holds when.
type Condition struct {
	When, Then, Else []string // clauses that hold together; code stands between backquotes
}

// fields collects what the table of a schema shows.
type fields struct {
	defs       members
	said       map[string]bool // the definitions whose description was given before
	list       []Field
	conditions []Condition
}

// table describes the members of a schema, nested ones after the one that they
// are in. Objects of the shared definitions are named there, not spread out.
func table(defs members, d *document) ([]Field, []Condition) {
	f := &fields{defs: defs, said: map[string]bool{}}
	f.inside("", 0, f.see(d), false)
	return f.list, f.conditions
}

// definitions describes what schemas share: each value itself, then its members.
func definitions(defs members) []Field {
	var all []Field
	for _, one := range defs {
		f := &fields{defs: defs, said: map[string]bool{}}
		f.add(one.name, one.name, 0, one.document, false, false)
		f.list[0].Anchor = one.name
		all = append(all, f.list...)
	}
	return all
}

func (f *fields) add(path, name string, depth int, d *document, required, readOnly bool) {
	v := f.see(d)
	field := Field{Path: path, Name: name, Depth: depth, Type: f.typeOf(v), Def: v.def, Required: required, ReadOnly: readOnly}
	for i, layer := range v.layers {
		field.ReadOnly = field.ReadOnly || layer.ReadOnly
		field.Bounds = append(field.Bounds, bounds(layer)...)
		if layer.Description != "" && field.Description == "" {
			shared := i > 0 && v.def != ""
			if !shared || !f.said[v.def] {
				field.Description = layer.Description
			}
			f.said[v.def] = f.said[v.def] || shared
		}
		if layer.Items != nil {
			items := f.see(layer.Items)
			if items.def != "" && field.Def == "" {
				field.Def = items.def
			}
			for _, item := range items.layers {
				for _, bound := range bounds(item) {
					field.Bounds = append(field.Bounds, "each "+bound)
				}
			}
		}
	}
	f.list = append(f.list, field)
	if v.def == "" {
		f.inside(path, depth+1, v, field.ReadOnly)
	}
}

// inside adds the members of a value, and the rules between them.
func (f *fields) inside(path string, depth int, v view, readOnly bool) {
	for _, d := range v.layers {
		for _, one := range d.Properties {
			if !one.nothing {
				f.add(join(path, one.name), one.name, depth, one.document, slices.Contains(d.Required, one.name), readOnly)
			}
		}
		if d.Others != nil && !d.Others.nothing && d.Others.hasRules() {
			f.add(join(path, "*"), "any other name", depth, d.Others, false, readOnly)
		}
		if d.Items != nil {
			if items := f.see(d.Items); items.def == "" {
				f.inside(path+"[]", depth, items, readOnly)
			}
		}
		for _, rule := range append([]*document{d}, d.AllOf...) {
			f.condition(path, rule, rule != d)
		}
	}
	for _, branch := range v.branches {
		if b := f.see(branch); b.def == "" {
			f.inside(path, depth, b, readOnly)
		}
	}
}

// hasRules tells a schema from one that any value fits.
func (d *document) hasRules() bool {
	return d.Type != nil || d.Ref != "" || d.Properties != nil || d.AnyOf != nil || d.Enum != nil
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func (f *fields) condition(path string, d *document, whole bool) {
	switch {
	case d.If != nil:
		f.conditions = append(f.conditions, Condition{f.clauses(path, d.If, false), f.clauses(path, d.Then, true), f.clauses(path, d.Else, true)})
	case whole:
		if always := f.clauses(path, d, true); always != nil {
			f.conditions = append(f.conditions, Condition{Then: always})
		}
	}
}

// clauses says what d asks of the members below path; demands is whether it is
// of use to say that one must be there.
func (f *fields) clauses(path string, d *document, demands bool) []string {
	if d == nil {
		return nil
	}
	var all []string
	if path != "" {
		for _, layer := range f.see(d).layers {
			all = append(all, f.says(path, layer)...)
			if layer.Ref != "" {
				break // its name says the rest
			}
		}
	}
	for _, one := range d.Properties {
		all = append(all, f.clauses(join(path, one.name), one.document, demands)...)
	}
	if d.Items != nil {
		all = append(all, f.clauses(path+"[]", d.Items, demands)...)
	}
	for _, name := range d.Required {
		if demands || d.Properties.named(name) == nil {
			all = append(all, "`"+join(path, name)+"` is there")
		}
	}
	for _, part := range d.AllOf {
		all = append(all, f.clauses(path, part, demands)...)
	}
	if d.AnyOf != nil {
		var forms []string
		for _, branch := range d.AnyOf {
			forms = append(forms, strings.Join(f.clauses(path, branch, demands), " and "))
		}
		all = append(all, strings.Join(forms, ", or "))
	}
	return all
}

// says is what one layer asks of the value at path itself.
func (f *fields) says(path string, d *document) []string {
	name := "`" + path + "`"
	switch {
	case d.nothing:
		return []string{name + " is absent"}
	case d.Const != nil:
		return []string{name + " is " + code(*d.Const)}
	case d.Enum != nil:
		return []string{name + " is " + list(codes(d.Enum), "or")}
	case d.MaxLength != nil && *d.MaxLength == "0", d.MaxItems != nil && *d.MaxItems == "0":
		return []string{name + " is empty"}
	}
	var all []string
	if d.Ref != "" {
		_, def, _ := strings.Cut(d.Ref, "#/$defs/")
		return []string{name + " is of the form `" + def + "`"}
	}
	if d.Type != nil && d.Properties == nil {
		all = append(all, name+" is "+article(list(d.Type, "or")))
	}
	for _, bound := range bounds(d) {
		all = append(all, name+": "+bound)
	}
	return all
}

// bounds are the phrases for what one layer of a schema asks besides a type.
func bounds(d *document) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if d.Const != nil {
		add("always %s", code(*d.Const))
	}
	if values := slices.DeleteFunc(slices.Clone(d.Enum), func(v any) bool { return v == nil }); len(values) > 0 {
		add("one of %s", strings.Join(codes(values), ", "))
	}
	if d.Format != "" {
		add("format `%s`", d.Format)
	}
	if d.Pattern != "" && d.Format == "" { // it would say the same again
		add("matches `%s`", d.Pattern)
	}
	all = append(all, span(d.Minimum, d.Maximum, "")...)
	all = append(all, span(d.MinLength, d.MaxLength, "character")...)
	all = append(all, span(d.MinItems, d.MaxItems, "item")...)
	all = append(all, span(d.MinNames, d.MaxNames, "member")...)
	if d.Unique {
		add("no two alike")
	}
	if d.Names != nil {
		for _, bound := range bounds(d.Names) {
			add("each name %s", bound)
		}
	}
	return all
}
