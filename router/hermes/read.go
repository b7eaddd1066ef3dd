package hermes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parse reads a configuration and gives its root, a mapping; nil if the file
// holds nothing. The errors name a line and never show what stands there.
func parse(text string) (*yaml.Node, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return nil, errors.New("it is no text in UTF-8")
	}
	var doc yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	if err := decoder.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, unreadable(text, err)
	}
	if err := decoder.Decode(new(yaml.Node)); err == nil {
		return nil, errors.New("it holds more than one YAML document")
	} else if !errors.Is(err, io.EOF) {
		return nil, unreadable(text, err)
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" && root.Value == "" {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: it must be a list of key: value lines", root.Line)
	}
	return root, twice(root)
}

var lineOf = regexp.MustCompile(`line (\d+)`)

// unreadable says at which line a text is no YAML.
func unreadable(text string, err error) error {
	for i, line := range strings.Split(text, "\n") {
		if indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]; strings.Contains(indent, "\t") && strings.TrimSpace(line) != "" {
			return fmt.Errorf("line %d is indented with a tab, which YAML does not allow", i+1)
		}
	}
	if m := lineOf.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("it is no valid YAML, at about line %s", m[1])
	}
	return errors.New("it is no valid YAML")
}

// twice finds a key that stands twice in a mapping. Newer versions of Hermes
// refuse the whole file then, and run without hooks.
func twice(n *yaml.Node) error {
	seen := map[string]int{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			if first, ok := seen[child.Value]; ok {
				return fmt.Errorf("line %d: a key stands twice, also in line %d; put the two together first", child.Line, first)
			}
			seen[child.Value] = child.Line
		}
		if err := twice(child); err != nil {
			return err
		}
	}
	return nil
}

// same reports whether two configurations are the same apart from what is ours.
func same(before, after string) bool {
	a, errA := others(before)
	b, errB := others(after)
	return errA == nil && errB == nil && (len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b))
}

// others is a configuration without what is ours.
func others(text string) (map[string]any, error) {
	doc := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, err
	}
	if hooks, ok := doc["hooks"].(map[string]any); ok {
		for _, l := range (Setup{}).lists() {
			if entries, ok := hooks[l.event].([]any); ok {
				hooks[l.event] = slices.DeleteFunc(entries, func(e any) bool {
					entry, ok := e.(map[string]any)
					return ok && l.ours(entry)
				})
			}
			prune(hooks, l.event)
		}
	}
	if plugins, ok := doc["plugins"].(map[string]any); ok {
		delete(plugins, callbackKey)
	}
	delete(doc, acceptKey)
	prune(doc, "hooks")
	prune(doc, "plugins")
	return doc, nil
}

// prune deletes a member that is empty. For Hermes an empty member is the same
// as none.
func prune(m map[string]any, key string) {
	v := reflect.ValueOf(m[key])
	if m[key] == nil || (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() == 0 {
		delete(m, key)
	}
}
