package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const tsHead = `// The records of HUX and the bodies of its requests, made from schemas/ by make
// types-generate: do not change them here. A record may have members besides,
// of a later version; bounds and patterns are in the schemas alone.

`

// typescript writes the types for the bridge's scripts. What records share is
// in a namespace, called as its file is, since some of it is called as a record
// is.
func typescript(all []declaration) []byte {
	var shared, own bytes.Buffer
	for _, d := range all {
		if d.shared {
			tsDeclare(&shared, d, d.shape.doc, "  ")
		} else {
			tsDeclare(&own, d, strings.TrimSpace(d.source+". "+d.shape.doc), "")
		}
	}
	return fmt.Appendf(nil, "%sexport namespace defs {\n%s}\n%s", tsHead, bytes.TrimPrefix(shared.Bytes(), []byte("\n")), own.Bytes())
}

func tsDeclare(b *bytes.Buffer, d declaration, doc, indent string) {
	b.WriteString("\n" + tsDoc(doc, indent))
	if d.shape.kind == object && !d.shape.null {
		fmt.Fprintf(b, "%sexport interface %s %s\n", indent, d.name, tsMembers(d.shape.members, indent))
	} else {
		fmt.Fprintf(b, "%sexport type %s = %s;\n", indent, d.name, tsType(d.shape, indent))
	}
}

func tsType(s *shape, indent string) string {
	t := tsPlain(s, indent)
	if s.null && t != "unknown" {
		t += " | null"
	}
	return t
}

func tsPlain(s *shape, indent string) string {
	switch s.kind {
	case text:
		return "string"
	case integer:
		return "number"
	case boolean:
		return "boolean"
	case literal:
		quoted := make([]string, len(s.values))
		for i, v := range s.values {
			quoted[i] = "'" + strings.Trim(strconv.Quote(v), `"`) + "'"
		}
		return strings.Join(quoted, " | ")
	case object:
		return tsMembers(s.members, indent)
	case dict:
		return "Record<string, " + tsType(s.elem, indent) + ">"
	case list:
		elem := tsType(s.elem, indent)
		if s.elem.null || len(s.elem.values) > 1 || len(s.elem.options) > 1 {
			elem = "(" + elem + ")"
		}
		return elem + "[]"
	case named:
		return "defs." + pascal(s.name)
	case union:
		var options []string
		for _, o := range s.options {
			if t := tsType(o, indent); !slices.Contains(options, t) {
				options = append(options, t)
			}
		}
		return strings.Join(options, " | ")
	}
	return "unknown"
}

func tsMembers(members []member, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	inner := indent + "  "
	for _, m := range members {
		name, optional := m.name, "?"
		if m.required {
			optional = ""
		}
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			name = strconv.Quote(name)
		}
		fmt.Fprintf(&b, "%s%s%s%s: %s;\n", tsDoc(m.shape.doc, inner), inner, name, optional, tsType(m.shape, inner))
	}
	b.WriteString(indent + "}")
	return b.String()
}

func tsDoc(doc, indent string) string {
	if doc == "" {
		return ""
	}
	return indent + "/** " + strings.ReplaceAll(doc, "*/", "* /") + " */\n"
}
