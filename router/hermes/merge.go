package hermes

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	acceptKey   = "hooks_auto_accept"
	callbackKey = "hook_callback_timeout"
	byteOrder   = "\ufeff" // what some editors begin a file with; it takes no column
	maxSteps    = 64       // a Merge needs fewer than thirty
)

// Merge gives the configuration with the hooks of s, and says in words what it
// changed. What the operator has written stays as it is, to the byte; entries
// of ours are brought up to date. If the file can't be changed without risk,
// the error says at which line.
func Merge(content []byte, s Setup) (merged []byte, changes []string, err error) {
	text, marked := strings.CutPrefix(string(content), byteOrder)
	m := merger{text: text, setup: s, eol: "\n"}
	if strings.Contains(m.text, "\r\n") {
		m.eol = "\r\n"
	}
	for i := range maxSteps {
		if m.root, err = parse(m.text); err != nil {
			if len(changes) > 0 {
				err = errForm
			}
			return nil, nil, err
		}
		if i == 0 {
			if err := m.try(); err != nil {
				return nil, nil, err
			}
		}
		before := m.text
		what, err := m.step()
		if err != nil {
			return nil, nil, err
		}
		if what == "" {
			if !same(text, m.text) {
				return nil, nil, errForm
			}
			if marked {
				m.text = byteOrder + m.text
			}
			return []byte(m.text), changes, nil
		}
		if m.text == before {
			break
		}
		if !slices.Contains(changes, what) {
			changes = append(changes, what)
		}
	}
	return nil, nil, errForm
}

var errForm = errors.New("it is of a form that can't be changed without risk; put the lines in by hand")

// merger changes a text one place at a time, and reads it anew after each.
type merger struct {
	setup Setup
	text  string
	eol   string
	root  *yaml.Node
	dry   bool // set changes nothing
}

func (m *merger) top() place { return place{value: m.root} }

// tasks are the things to check. Each makes one change that is needed and says
// what it is, or returns "" if nothing is left to do.
func (m *merger) tasks() (tasks []func() (string, error)) {
	for _, l := range slices.Backward(m.setup.lists()) { // each is put before those that are there
		tasks = append(tasks, func() (string, error) { return m.list(l) })
	}
	return append(tasks, m.accept, m.callback)
}

// step makes the first change that is needed, and says what it is; "" if none
// is.
func (m *merger) step() (what string, err error) {
	for _, task := range m.tasks() {
		if what, err = task(); what != "" || err != nil {
			break
		}
	}
	return what, err
}

// try finds what can't be changed. It runs before the first change, so that the
// line in its error is the operator's.
func (m *merger) try() error {
	m.dry = true
	defer func() { m.dry = false }()
	for _, task := range m.tasks() {
		if _, err := task(); err != nil {
			return err
		}
	}
	return nil
}

func (m *merger) accept() (string, error) {
	what := acceptKey + ": without it a gateway starts no hook, since nobody is there to accept it"
	accept, err := m.under(m.top(), acceptKey)
	switch {
	case err != nil:
		return "", err
	case accept.value == nil:
		return what, m.add(m.top(), acceptKey, true)
	case !truthy(accept.value):
		return what, m.replace(accept, true)
	}
	return "", nil
}

func (m *merger) callback() (string, error) {
	what := fmt.Sprintf("plugins.%s: %d s, else Hermes ends the hook after 30 s while a person is asked", callbackKey, CallbackTimeout)
	plugins, err := m.under(m.top(), "plugins")
	if err != nil {
		return "", err
	}
	if plugins.value == nil {
		return what, m.add(m.top(), "plugins", []pair{{callbackKey, CallbackTimeout}})
	}
	callback, err := m.under(plugins, callbackKey)
	switch {
	case err != nil:
		return "", err
	case callback.value == nil:
		return what, m.add(plugins, callbackKey, CallbackTimeout)
	case !long(callback.value):
		return what, m.replace(callback, CallbackTimeout)
	}
	return "", nil
}

// list makes one change to a list below hooks, if one is needed.
func (m *merger) list(l list) (string, error) {
	what := "hooks." + l.event + ": the entry of hux"
	hooks, err := m.under(m.top(), "hooks")
	if err != nil {
		return "", err
	}
	if hooks.value == nil || empty(hooks.value) {
		var all []pair
		for _, l := range m.setup.lists() {
			all = append(all, pair{l.event, []any{l.entry}})
		}
		what = "hooks: the entries of hux"
		if hooks.value == nil {
			return what, m.add(m.top(), "hooks", all)
		}
		return what, m.fill(hooks, all)
	}
	entries, err := m.under(hooks, l.event)
	switch {
	case err != nil:
		return "", err
	case entries.value == nil:
		return what, m.add(hooks, l.event, []any{l.entry})
	case empty(entries.value):
		return what, m.fill(entries, []any{l.entry})
	case entries.value.Kind != yaml.SequenceNode:
		return "", fmt.Errorf("line %d: hooks.%s must be a list", entries.value.Line, l.event)
	}
	found := false
	for _, item := range entries.value.Content {
		var entry map[string]any
		if item.Decode(&entry) != nil || !l.ours(entry) {
			continue
		}
		found = true
		if item.Kind != yaml.MappingNode || merging(item) {
			return "", notPlain(item)
		}
		for _, p := range l.entry {
			if reflect.DeepEqual(entry[p.key], p.value) {
				continue
			}
			what := fmt.Sprintf("hooks.%s: %s of the entry of hux", l.event, p.key)
			if i := keyAt(item, p.key); i >= 0 {
				return what, m.replace(place{key: item.Content[i], value: item.Content[i+1]}, p.value)
			}
			return what, m.add(place{value: item, item: true, flow: entries.flow}, p.key, p.value)
		}
	}
	if !found {
		return what, m.prepend(entries, l.entry)
	}
	return "", nil
}

// truthy reports whether Hermes takes a value for a yes.
func truthy(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && slices.Contains([]string{"1", "true", "yes", "on"}, strings.ToLower(strings.TrimSpace(n.Value)))
}

// long reports whether a limit on callbacks lets a hook wait for a person: it
// is 0, which switches it off, or at least CallbackTimeout.
func long(n *yaml.Node) bool {
	var seconds float64
	return n.Decode(&seconds) == nil && n.Tag != "!!str" && n.Tag != "!!null" && (seconds == 0 || seconds >= CallbackTimeout)
}
