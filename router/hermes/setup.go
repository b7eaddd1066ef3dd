// Package hermes puts the hooks of hux into the config.yaml of a Hermes agent.
// It changes only the text that it has to and leaves all other bytes as they
// are.
package hermes

import (
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Least is the least version of Hermes that blocks a call whose hook can't be
// started, does not end, ends with status 2 or writes no JSON.
const Least = "0.20.1"

// Limits of a call that waits for a person, in seconds. Hermes waits 300 s for a
// hook at most. Its limit on callbacks ends a hook too, and is 30 s if not set.
const (
	HookTimeout     = 300
	CallbackTimeout = 310
)

// SecretVariable is the environment variable in which Hermes finds the secret of
// its webhooks.
const SecretVariable = "HUX_HOOK_SECRET"

// Setup is what the hooks of an agent need to know.
type Setup struct {
	Program        string // the binary, as the agent starts it
	URL            string // where hux answers the agent: scheme and host
	Agent          string
	CredentialFile string
	SecretFile     string
}

func (s Setup) gate() string {
	return Join(s.Program, "hook", "--url", s.URL, "--credential-file", s.CredentialFile)
}

func (s Setup) tell() string {
	return Join(s.Program, "hook", "event", "--url", s.URL, "--credential-file", s.CredentialFile, "--secret-file", s.SecretFile)
}

// list is a list below hooks in config.yaml: the entry of hux that it is to
// have, and a test that finds the entries of hux in it.
type list struct {
	event string
	entry []pair
	ours  func(entry map[string]any) bool
}

type pair struct {
	key   string
	value any
}

func (s Setup) lists() []list {
	return []list{
		{"pre_tool_call", []pair{{"matcher", ".*"}, {"command", s.gate()}, {"timeout", HookTimeout}, {"fail_closed", true}}, gates},
		{"post_tool_call", []pair{{"matcher", ".*"}, {"command", s.tell()}, {"timeout", 10}}, tells},
		{"outbound", []pair{
			{"name", "hux"}, {"url", s.URL + "/hux/v1/ingest/hermes/" + s.Agent}, {"events", []any{"pre_tool_call", "post_tool_call"}},
			{"matcher", ".*"}, {"secret_env", SecretVariable}, {"timeout", 10},
		}, reports},
	}
}

// Ours reports whether a hook's command is one of hux, and whether it is hux
// hook event, which reports, and not hux hook, which asks.
func Ours(command string) (ours, telling bool) {
	words, ok := Split(command)
	if !ok || len(words) < 2 || !IsProgram(words[0]) || words[1] != "hook" {
		return false, false
	}
	return true, len(words) > 2 && words[2] == "event"
}

// IsProgram reports whether a path names the binary of hux.
func IsProgram(path string) bool { return strings.HasPrefix(filepath.Base(path), "hux") }

func gates(entry map[string]any) bool {
	command, _ := entry["command"].(string)
	ours, telling := Ours(command)
	return ours && !telling
}

func tells(entry map[string]any) bool {
	command, _ := entry["command"].(string)
	ours, telling := Ours(command)
	return ours && telling
}

func reports(entry map[string]any) bool {
	url, _ := entry["url"].(string)
	return entry["name"] == "hux" || strings.Contains(url, "/hux/v1/ingest/hermes/")
}

// Commands are the commands of our hooks in a config.yaml: gate asks, tell
// reports; "" if there is none.
func Commands(content []byte) (gate, tell string, err error) {
	root, err := parse(string(content))
	if err != nil || root == nil {
		return "", "", err
	}
	var doc struct {
		Hooks map[string]yaml.Node `yaml:"hooks"`
	}
	_ = root.Decode(&doc) // what is of another form holds no hook of ours
	find := func(event string, ours func(map[string]any) bool) string {
		var entries []map[string]any
		at := doc.Hooks[event]
		_ = at.Decode(&entries)
		for _, entry := range entries {
			if ours(entry) {
				return entry["command"].(string)
			}
		}
		return ""
	}
	return find("pre_tool_call", gates), find("post_tool_call", tells), nil
}

// node makes the YAML of a value.
func node(value any, flow bool) *yaml.Node {
	n := &yaml.Node{}
	switch v := value.(type) {
	case []pair:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		for _, p := range v {
			n.Content = append(n.Content, node(p.key, flow), node(p.value, flow))
		}
	case []any:
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range v {
			n.Content = append(n.Content, node(item, flow || !entries(v)))
		}
		flow = flow || !entries(v)
	default:
		_ = n.Encode(v) // texts, numbers and booleans have a YAML
		if _, text := v.(string); text && strings.ContainsFunc(v.(string), special) {
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	if flow {
		n.Style |= yaml.FlowStyle
	}
	return n
}

// special reports whether a character may need quotes around its text in YAML.
func special(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// entries reports whether a list is one of mappings.
func entries(list []any) bool {
	_, mapping := list[0].([]pair)
	return mapping
}

// render writes a value as YAML without the last line end.
func render(value any, flow bool) string {
	var w strings.Builder
	e := yaml.NewEncoder(&w)
	e.SetIndent(2)
	_ = e.Encode(node(value, flow)) // into memory, of values that have a YAML
	return strings.TrimRight(w.String(), "\n")
}
