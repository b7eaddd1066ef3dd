package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// document is a JSON Schema as the page shows it, its members in the order in
// which the file has them.
type document struct {
	Ref         string       `json:"$ref"`
	Defs        members      `json:"$defs"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	ReadOnly    bool         `json:"readOnly"`
	Type        types        `json:"type"`
	Const       *any         `json:"const"`
	Enum        []any        `json:"enum"`
	Format      string       `json:"format"`
	Pattern     string       `json:"pattern"`
	Minimum     *json.Number `json:"minimum"`
	Maximum     *json.Number `json:"maximum"`
	MinLength   *json.Number `json:"minLength"`
	MaxLength   *json.Number `json:"maxLength"`
	MinItems    *json.Number `json:"minItems"`
	MaxItems    *json.Number `json:"maxItems"`
	MinNames    *json.Number `json:"minProperties"`
	MaxNames    *json.Number `json:"maxProperties"`
	Unique      bool         `json:"uniqueItems"`
	Items       *document    `json:"items"`
	Properties  members      `json:"properties"`
	Required    []string     `json:"required"`
	Others      *document    `json:"additionalProperties"`
	Names       *document    `json:"propertyNames"`
	AllOf       []*document  `json:"allOf"`
	AnyOf       []*document  `json:"anyOf"`
	If          *document    `json:"if"`
	Then        *document    `json:"then"`
	Else        *document    `json:"else"`

	nothing bool // the schema false, which no value fits
}

// UnmarshalJSON takes true and false for schemas, as JSON Schema does.
func (d *document) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case "true":
		return nil
	case "false":
		d.nothing = true
		return nil
	}
	type plain document
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode((*plain)(d)); err != nil {
		return err
	}
	// A const of null is one too, which a pointer does not tell from none.
	if d.Const == nil && bytes.Contains(text, []byte(`"const"`)) {
		var has map[string]json.RawMessage
		if err := json.Unmarshal(text, &has); err != nil {
			return err
		}
		if string(has["const"]) == "null" {
			d.Const = new(any)
		}
	}
	return nil
}

// types is the keyword type: one name or several.
type types []string

// UnmarshalJSON reads either form.
func (t *types) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*t = types{""}
		return json.Unmarshal(text, &(*t)[0])
	}
	return json.Unmarshal(text, (*[]string)(t))
}

// members are schemas by name, in order.
type members []member

type member struct {
	name string
	*document
}

// UnmarshalJSON keeps the order of the text.
func (m *members) UnmarshalJSON(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	if _, err := decoder.Token(); err != nil {
		return err
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		one := member{fmt.Sprint(name), &document{}}
		if err := decoder.Decode(one.document); err != nil {
			return err
		}
		*m = append(*m, one)
	}
	return nil
}

func (m members) named(name string) *document {
	for _, one := range m {
		if one.name == name {
			return one.document
		}
	}
	return nil
}

// view is a schema with what it refers to: the layers of rules that hold for
// the same value.
type view struct {
	layers   []*document
	def      string // the shared definition among them, "" for none
	nullable bool
	branches []*document // where the value has one of several forms
}

// see gathers what holds for a value of d.
func (f *fields) see(d *document) view {
	v := view{}
	for d != nil {
		v.layers = append(v.layers, d)
		next := (*document)(nil)
		if d.Ref != "" {
			_, def, _ := strings.Cut(d.Ref, "#/$defs/")
			if v.def == "" {
				v.def = def
			}
			next = f.defs.named(def)
		}
		if d.AnyOf != nil {
			var forms []*document
			for _, branch := range d.AnyOf {
				if len(branch.Type) == 1 && branch.Type[0] == "null" {
					v.nullable = true
				} else {
					forms = append(forms, branch)
				}
			}
			if len(forms) == 1 {
				next = forms[0]
			} else {
				v.branches = forms
			}
		}
		d = next
	}
	return v
}

// typeOf names the JSON type of a value, such as string or list of integer.
func (f *fields) typeOf(v view) string {
	var names []string
	add := func(name string) {
		if name == "null" {
			v.nullable = true
		} else if name != "" && name != "any" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, d := range v.layers {
		for _, t := range d.Type {
			switch {
			case t == "array" && d.Items != nil:
				items := f.see(d.Items)
				if items.def != "" && f.isObject(items) {
					add("list of " + items.def)
				} else {
					add("list of " + f.typeOf(items))
				}
			case t == "array":
				add("list")
			default:
				add(t)
			}
		}
		if d.Const != nil {
			add(typeOfValue(*d.Const))
		}
		for _, value := range d.Enum {
			add(typeOfValue(value))
		}
	}
	for _, branch := range v.branches {
		b := f.see(branch)
		if b.def != "" && f.isObject(b) {
			add(b.def)
		} else {
			add(f.typeOf(b))
		}
	}
	if len(names) == 0 {
		names = []string{"any"}
	}
	if v.nullable {
		names = append(names, "null")
	}
	return list(names, "or")
}

func typeOfValue(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case json.Number:
		return "integer"
	}
	return "object"
}

// isObject reports whether a value has members that the schema describes.
func (f *fields) isObject(v view) bool {
	for _, d := range v.layers {
		if d.Properties != nil || d.Others != nil && !d.Others.nothing {
			return true
		}
	}
	return false
}
