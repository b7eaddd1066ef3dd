package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// within is which schemas there are in a keyword's value, for lint.
type within int

const (
	nothingMore within = iota // a plain value
	oneSchema
	listOfSchemas
	mapOfSchemas
)

// keywords are those of JSON Schema 2020-12 that the contract uses, and that
// check knows. Anything else in a schema is taken for a slip.
var keywords = map[string]within{
	"$schema": nothingMore, "$id": nothingMore, "$ref": nothingMore, "$defs": mapOfSchemas,
	"title": nothingMore, "description": nothingMore, "examples": nothingMore, "readOnly": nothingMore,
	"type": nothingMore, "const": nothingMore, "enum": nothingMore, "format": nothingMore, "pattern": nothingMore,
	"minimum": nothingMore, "maximum": nothingMore, "minLength": nothingMore, "maxLength": nothingMore,
	"items": oneSchema, "minItems": nothingMore, "maxItems": nothingMore, "uniqueItems": nothingMore,
	"properties": mapOfSchemas, "required": nothingMore, "additionalProperties": oneSchema, "propertyNames": oneSchema,
	"minProperties": nothingMore, "maxProperties": nothingMore,
	"allOf": listOfSchemas, "anyOf": listOfSchemas, "if": oneSchema, "then": oneSchema, "else": oneSchema,
}

var (
	formats    = []string{"date-time", "hux-name", "hux-route", "json-pointer", "uri-reference"}
	types      = []string{"null", "boolean", "integer", "string", "array", "object"}
	memberName = regexp.MustCompile(`^\$?[a-z][a-z0-9_.]{0,63}$`)
	reference  = regexp.MustCompile(`^(defs\.json)?#/\$defs/[a-z0-9_]+$`)
)

// lint looks for what a validator passes over in silence: unknown keywords and
// formats, a required member that no schema describes, patterns without
// anchors, values without bounds, a foreign reference, and an $id other than
// Base + name.
func lint(name string, doc any) error {
	root, ok := doc.(map[string]any)
	if !ok {
		return fmt.Errorf("is no object")
	}
	if root["$id"] != Base+name+".json" {
		return fmt.Errorf("has not the $id %s%s.json", Base, name)
	}
	if root["$schema"] != "https://json-schema.org/draft/2020-12/schema" {
		return fmt.Errorf("does not say that it is of 2020-12")
	}
	return lintSchema(root, "#", false)
}

// lintSchema goes through a schema at a place in its document; conditional is
// whether it only adds rules to members that are described elsewhere.
func lintSchema(v any, at string, conditional bool) error {
	if _, ok := v.(bool); ok {
		return nil
	}
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no schema", at)
	}
	if lacking := unbounded(s); lacking != "" && !conditional {
		return fmt.Errorf("%s has no %s", at, lacking)
	}
	for keyword, value := range s {
		here := at + "/" + keyword
		kind, known := keywords[keyword]
		if !known {
			return fmt.Errorf("%s: no such keyword", here)
		}
		conditional := conditional || keyword == "allOf" || keyword == "if" || keyword == "then" || keyword == "else"
		switch kind {
		case oneSchema:
			if err := lintSchema(value, here, conditional); err != nil {
				return err
			}
		case listOfSchemas:
			list, _ := value.([]any)
			for i, item := range list {
				if err := lintSchema(item, fmt.Sprintf("%s/%d", here, i), conditional); err != nil {
					return err
				}
			}
		case mapOfSchemas:
			members, _ := value.(map[string]any)
			for member, item := range members {
				if !memberName.MatchString(member) {
					return fmt.Errorf("%s/%s: not in snake_case", here, member)
				}
				if err := lintSchema(item, here+"/"+member, conditional); err != nil {
					return err
				}
			}
		case nothingMore:
			if err := lintValue(s, keyword, value, conditional); err != nil {
				return fmt.Errorf("%s: %w", here, err)
			}
		}
	}
	return nil
}

// bounds are what keeps the values of a type from being of any size; one of each
// list is enough.
var bounds = map[string][][]string{
	"string":  {{"maxLength", "format", "pattern"}},
	"integer": {{"minimum"}, {"maximum"}},
	"array":   {{"maxItems"}},
	"object":  {{"maxProperties", "properties"}},
}

// unbounded names the keyword that a schema lacks to keep its values small, ""
// for none.
func unbounded(s map[string]any) string {
	for _, says := range []string{"$ref", "const", "enum"} {
		if s[says] != nil {
			return ""
		}
	}
	list, ok := s["type"].([]any)
	if !ok {
		list = []any{s["type"]}
	}
	for _, t := range list {
		name, _ := t.(string)
		for _, any := range bounds[name] {
			if !slices.ContainsFunc(any, func(keyword string) bool { return s[keyword] != nil }) {
				return any[0]
			}
		}
	}
	return ""
}

func lintValue(s map[string]any, keyword string, value any, conditional bool) error {
	switch keyword {
	case "format":
		if f, _ := value.(string); !slices.Contains(formats, f) {
			return fmt.Errorf("no such format")
		}
	case "type":
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, t := range list {
			if t, _ := t.(string); !slices.Contains(types, t) {
				return fmt.Errorf("no such type")
			}
		}
	case "pattern":
		if p, _ := value.(string); !strings.HasPrefix(p, "^") || !strings.HasSuffix(p, "$") {
			return fmt.Errorf("not anchored")
		}
	case "$ref":
		if r, _ := value.(string); !reference.MatchString(r) {
			return fmt.Errorf("leaves the contract")
		}
	case "required":
		list, _ := value.([]any)
		described, _ := s["properties"].(map[string]any)
		for _, member := range list {
			m, _ := member.(string)
			if _, ok := described[m]; !ok && !conditional && s["additionalProperties"] == nil {
				return fmt.Errorf("%s is not described", m)
			}
		}
	case "const", "enum", "examples", "title", "description", "$id", "$schema":
	case "readOnly", "uniqueItems":
		if _, ok := value.(bool); !ok {
			return fmt.Errorf("not true or false")
		}
	default: // the bounds
		if _, ok := value.(json.Number); !ok {
			return fmt.Errorf("no number")
		}
	}
	return nil
}
