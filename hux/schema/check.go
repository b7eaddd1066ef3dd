package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// check says yes fast, so that the library, which takes several times as long
// as reading the body, is asked only where something is or may be wrong: what
// check accepts the library accepts, and it leaves the other answer and its
// reasons to the library.
type check struct {
	schema     *jsonschema.Schema
	unsure     bool // the schema has something that is not handled here
	certain    bool // what accepts does not accept is invalid for sure
	types      map[string]bool
	values     []any // const or enum, of strings, booleans and null
	ref        *check
	all, any   []*check
	cond       *check // if
	then, els  *check
	required   []string
	members    map[string]*check
	others     *check
	noOthers   bool
	names      *check
	items      *check
	minN, maxN int64 // of a number
}

// checkOf makes the check of s. seen holds what is made, and ends recursion.
func checkOf(s *jsonschema.Schema, seen map[*jsonschema.Schema]*check) *check {
	if s == nil {
		return nil
	}
	if have, ok := seen[s]; ok {
		return have
	}
	c := &check{schema: s, required: s.Required}
	seen[s] = c
	c.ref, c.items, c.names = checkOf(s.Ref, seen), checkOf(s.Items2020, seen), checkOf(s.PropertyNames, seen)
	c.cond, c.then, c.els = checkOf(s.If, seen), checkOf(s.Then, seen), checkOf(s.Else, seen)
	for _, branch := range s.AllOf {
		c.all = append(c.all, checkOf(branch, seen))
	}
	for _, branch := range s.AnyOf {
		c.any = append(c.any, checkOf(branch, seen))
	}
	if len(s.Properties) > 0 {
		c.members = map[string]*check{}
		for name, property := range s.Properties {
			c.members[name] = checkOf(property, seen)
		}
	}
	switch others := s.AdditionalProperties.(type) {
	case bool:
		c.noOthers = !others
	case *jsonschema.Schema:
		c.others = checkOf(others, seen)
	}
	if s.Types != nil && !s.Types.IsEmpty() {
		c.types = map[string]bool{}
		for _, t := range s.Types.ToStrings() {
			c.types[t] = true
		}
	}
	if s.Const != nil {
		c.values = []any{*s.Const}
	}
	if s.Enum != nil {
		c.values = s.Enum.Values
		c.unsure = s.Const != nil
	}
	for _, v := range c.values {
		switch v.(type) {
		case string, bool, nil:
		default:
			c.unsure = true
		}
	}
	var exact bool
	if c.minN, exact = bound(s.Minimum, -1<<63); !exact {
		c.unsure = true
	}
	if c.maxN, exact = bound(s.Maximum, 1<<63-1); !exact {
		c.unsure = true
	}
	c.certain = c.isCertain()
	return c
}

// isCertain reports whether the check knows both answers. Conditions are of
// this kind: a member that is there, of a type, or one of some strings.
// Numbers are not, since one may be written in several ways.
func (c *check) isCertain() bool {
	s := c.schema
	if c.unsure || c.ref != nil || c.all != nil || c.any != nil || c.cond != nil || c.items != nil || c.names != nil || c.others != nil || c.noOthers ||
		c.types["integer"] || s.Minimum != nil || s.Maximum != nil || s.UniqueItems {
		return false
	}
	for _, member := range c.members {
		if !member.certain || member.types == nil && member.values == nil { // what is open to numbers
			return false
		}
	}
	return true
}

// valid reports whether v is, by way of the library where the check knows
// only one answer.
func (c *check) valid(v any) bool {
	_, number := v.(json.Number)
	return c.accepts(v) || (number || !c.certain) && c.schema.Validate(v) == nil
}

func bound(r *big.Rat, otherwise int64) (int64, bool) {
	if r == nil {
		return otherwise, true
	}
	return r.Num().Int64(), r.IsInt() && r.Num().IsInt64()
}

// accepts reports whether v is valid for sure.
func (c *check) accepts(v any) bool {
	s := c.schema
	if s.Bool != nil {
		return *s.Bool
	}
	if c.unsure || c.ref != nil && !c.ref.accepts(v) {
		return false
	}
	if c.values != nil {
		switch v.(type) {
		case string, bool, nil:
		default:
			return false
		}
		if !slices.Contains(c.values, v) {
			return false
		}
	}
	if s.Format != nil && s.Format.Validate(v) != nil {
		return false
	}
	for _, branch := range c.all {
		if !branch.accepts(v) {
			return false
		}
	}
	if c.any != nil && !slices.ContainsFunc(c.any, func(branch *check) bool { return branch.accepts(v) }) {
		return false
	}
	if s.If != nil {
		branch := c.then
		if !c.cond.valid(v) {
			branch = c.els
		}
		if branch != nil && !branch.accepts(v) {
			return false
		}
	}
	switch v := v.(type) {
	case nil:
		return c.isType("null")
	case bool:
		return c.isType("boolean")
	case string:
		return c.isType("string") && c.text(v)
	case json.Number:
		return c.isType("integer") && c.integer(v)
	case []any:
		return c.isType("array") && c.list(v)
	case map[string]any:
		return c.isType("object") && c.object(v)
	}
	return false
}

func (c *check) isType(t string) bool { return c.types == nil || c.types[t] }

func (c *check) text(v string) bool {
	s := c.schema
	if s.MinLength != nil || s.MaxLength != nil {
		n := utf8.RuneCountInString(v)
		if s.MinLength != nil && n < *s.MinLength || s.MaxLength != nil && n > *s.MaxLength {
			return false
		}
	}
	return s.Pattern == nil || s.Pattern.MatchString(v)
}

// integer is about a number written as a plain integer; 1.0 and 1e2 are left
// to the library.
func (c *check) integer(v json.Number) bool {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil && c.minN <= n && n <= c.maxN
}

func (c *check) list(v []any) bool {
	s := c.schema
	if s.MinItems != nil && len(v) < *s.MinItems || s.MaxItems != nil && len(v) > *s.MaxItems {
		return false
	}
	if s.UniqueItems {
		for i, item := range v {
			switch item := item.(type) {
			case string:
			case json.Number:
				// One number has one spelling if it is a plain integer.
				if _, err := strconv.ParseInt(string(item), 10, 64); err != nil || item == "-0" {
					return false
				}
			default:
				return false
			}
			if slices.Contains(v[:i], item) {
				return false
			}
		}
	}
	if c.items != nil {
		for _, item := range v {
			if !c.items.accepts(item) {
				return false
			}
		}
	}
	return true
}

func (c *check) object(v map[string]any) bool {
	s := c.schema
	if s.MinProperties != nil && len(v) < *s.MinProperties || s.MaxProperties != nil && len(v) > *s.MaxProperties {
		return false
	}
	for _, name := range c.required {
		if _, ok := v[name]; !ok {
			return false
		}
	}
	if c.members == nil && c.others == nil && c.names == nil && !c.noOthers {
		return true
	}
	for name, member := range v {
		if c.names != nil && !c.names.accepts(name) {
			return false
		}
		rule, known := c.members[name]
		switch {
		case !known && c.noOthers:
			return false
		case !known:
			rule = c.others
		}
		if rule != nil && !rule.accepts(member) {
			return false
		}
	}
	return true
}
