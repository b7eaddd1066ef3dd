package hermes

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is where a value stands in the text: below a key, or as an item of a
// list.
type place struct {
	key   *yaml.Node
	value *yaml.Node // nil if there is none
	item  bool       // it is an item of a list
	flow  bool       // it stands within brackets
}

// under finds the value below a key of a mapping.
func (m *merger) under(p place, key string) (place, error) {
	switch {
	case p.value == nil || empty(p.value):
		return place{}, nil
	case p.value.Kind != yaml.MappingNode || merging(p.value):
		return place{}, notPlain(p.value)
	}
	i := keyAt(p.value, key)
	if i < 0 {
		return place{}, nil
	}
	found := place{key: p.value.Content[i], value: p.value.Content[i+1], flow: p.flow || p.value.Style&yaml.FlowStyle != 0}
	if found.value.Kind == yaml.AliasNode {
		return place{}, notPlain(found.value)
	}
	return found, nil
}

func keyAt(mapping *yaml.Node, key string) int {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

// merging reports whether a mapping has a merge key, which takes over members
// that stand elsewhere.
func merging(mapping *yaml.Node) bool { return keyAt(mapping, "<<") >= 0 }

func empty(n *yaml.Node) bool {
	return n.Tag == "!!null" && n.Kind == yaml.ScalarNode || n.Kind != yaml.ScalarNode && n.Kind != yaml.AliasNode && len(n.Content) == 0
}

func notPlain(n *yaml.Node) error {
	return fmt.Errorf("line %d: what stands there is no plain list of key: value lines (it may be an anchor or an alias); write it out first", n.Line)
}

// add puts a key into a mapping that has not got it.
func (m *merger) add(p place, key string, value any) error {
	entry := []pair{{key, value}}
	switch {
	case p.value == nil: // the file holds nothing but comments
		return m.append("", render(entry, false))
	case empty(p.value):
		return m.fill(p, entry)
	case p.value.Style&yaml.FlowStyle != 0:
		inner := strings.TrimSuffix(strings.TrimPrefix(render(entry, true), "{"), "}")
		return m.splice(p.value.Line, p.value.Column+1, "", inner+", ")
	case p.key == nil && !p.item:
		return m.append(strings.Repeat(" ", p.value.Column-1), render(entry, false))
	}
	line := 0
	if p.item { // below a line of the entry that holds a key and all of its value
		for i := 0; i+1 < len(p.value.Content) && line == 0; i += 2 {
			if k, v := p.value.Content[i], p.value.Content[i+1]; v.Kind == yaml.ScalarNode && k.Line == v.Line && m.written(v) != "" {
				line = k.Line
			}
		}
	} else {
		line = p.key.Line
	}
	return m.insert(line, p.value.Column-1, render(entry, false))
}

// prepend puts an entry before the others of a list.
func (m *merger) prepend(p place, entry []pair) error {
	if p.value.Style&yaml.FlowStyle != 0 {
		return m.splice(p.value.Line, p.value.Column+1, "", render(entry, true)+", ")
	}
	return m.insert(p.key.Line, p.value.Column-1, render([]any{entry}, false))
}

// fill puts a value in the place of an empty one: null, {} or [].
func (m *merger) fill(p place, value any) error {
	old := m.written(p.value)
	switch {
	case p.flow:
		if old == "" {
			return notPlain(p.value)
		}
		return m.splice(p.value.Line, p.value.Column, old, render(value, true))
	case p.key == nil: // the root
		return m.splice(p.value.Line, p.value.Column, old, strings.ReplaceAll(render(value, false), "\n", m.eol))
	case old != "":
		if m.splice(p.value.Line, p.value.Column-1, " "+old, "") == nil {
			return nil
		}
		return m.splice(p.value.Line, p.value.Column, old, "")
	}
	return m.insert(p.key.Line, p.key.Column+1, render(value, false))
}

// replace writes another value in the place of one that stands in one line.
func (m *merger) replace(p place, value any) error {
	n, old := p.value, m.written(p.value)
	if old == "" && empty(n) && n.Anchor == "" { // nothing stands there
		return m.splice(p.key.Line, p.key.Column, p.key.Value+":", p.key.Value+": "+render(value, true))
	}
	if old == "" {
		return fmt.Errorf("line %d: what stands there must be %s; write it so", n.Line, render(value, true))
	}
	return m.splice(n.Line, n.Column, old, render(value, true))
}

// written is a value as it stands in the text, if it is a scalar of one line or
// a pair of brackets. It is "" for any other form.
func (m *merger) written(n *yaml.Node) string {
	rest, ok := m.at(n.Line, n.Column)
	if !ok || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n")
	end := 0
	switch {
	case n.Kind != yaml.ScalarNode && len(n.Content) == 0 && len(rest) > 1:
		end = 1 + strings.IndexAny(rest[1:], "]}") + 1
		if strings.TrimSpace(rest[1:max(end-1, 1)]) != "" {
			end = 0
		}
	case n.Kind == yaml.SequenceNode && n.Style&yaml.FlowStyle != 0 && !strings.ContainsAny(rest, `'"#`):
		end = strings.IndexByte(rest, ']') + 1
	case n.Kind != yaml.ScalarNode:
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := 1; i < len(rest); i++ {
			if rest[i] == '\\' {
				i++
			} else if rest[i] == '"' {
				end = i + 1
				break
			}
		}
	case n.Style&yaml.SingleQuotedStyle != 0:
		if i := strings.Index(strings.ReplaceAll(rest[1:], "''", "  "), "'"); i >= 0 {
			end = i + 2
		}
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && strings.HasPrefix(rest, n.Value):
		end = len(n.Value)
	}
	return rest[:max(end, 0)]
}

// at is the text that begins at a line and a column, both counted from 1.
func (m *merger) at(line, column int) (string, bool) {
	i, ok := m.offset(line, column)
	return m.text[i:], ok
}

func (m *merger) offset(line, column int) (int, bool) {
	at := 0
	for range line - 1 {
		i := strings.IndexByte(m.text[at:], '\n')
		if i < 0 {
			return 0, false
		}
		at += i + 1
	}
	for range column - 1 {
		if at >= len(m.text) || m.text[at] == '\n' {
			return 0, false
		}
		for at++; at < len(m.text) && m.text[at]&0xC0 == 0x80; at++ { // the rest of a character
		}
	}
	return at, true
}

// splice replaces the text old, which must stand at a line and a column.
func (m *merger) splice(line, column int, old, with string) error {
	i, ok := m.offset(line, column)
	if !ok || !strings.HasPrefix(m.text[i:], old) {
		return errForm
	}
	m.set(m.text[:i] + with + m.text[i+len(old):])
	return nil
}

// insert puts lines below a line.
func (m *merger) insert(line, indent int, lines string) error {
	if line == 0 {
		return errForm
	}
	i, ok := m.offset(line+1, 1)
	if !ok { // it is the last
		return m.append(strings.Repeat(" ", indent), lines)
	}
	m.set(m.text[:i] + m.indented(strings.Repeat(" ", indent), lines) + m.text[i:])
	return nil
}

// append puts lines at the end.
func (m *merger) append(indent, lines string) error {
	end := ""
	if m.text != "" && !strings.HasSuffix(m.text, "\n") {
		end = m.eol
	}
	m.set(m.text + end + m.indented(indent, lines))
	return nil
}

func (m *merger) set(text string) {
	if !m.dry {
		m.text = text
	}
}

func (m *merger) indented(indent, lines string) string {
	return indent + strings.ReplaceAll(lines, "\n", m.eol+indent) + m.eol
}
