package autonomy

import (
	_ "embed" // tools.json
	"encoding/json"
	"slices"
	"strings"
)

// catalogue says what each tool does. It is data, so that a tool is added
// without code.
var catalogue = mustCatalogue()

type toolCatalogue struct {
	Unknown     []Capability    `json:"unknown"` // of tools that are not listed
	Tools       map[string]tool `json:"tools"`
	Platforms   []string        `json:"platforms"`    // where messages go to
	DeployNames []string        `json:"deploy_names"` // words in the name of an unknown tool that deploys
	Shell       []string        `json:"shell"`        // arguments that are a shell's text, or a command's words
	Code        []string        `json:"code"`         // arguments that are code
	Runs        []string        `json:"runs"`         // what code calls to run a command
	Says        []string        `json:"says"`         // what code calls to say something
}

type tool struct {
	Capabilities []Capability `json:"capabilities"`
	Target       string       `json:"target"`  // the argument that a grant may be tied to
	HostOf       string       `json:"host_of"` // the argument whose URL's host it may be tied to
}

//go:embed tools.json
var toolsFile []byte

func mustCatalogue() toolCatalogue {
	var c toolCatalogue
	if err := json.Unmarshal(toolsFile, &c); err != nil {
		panic("tools.json: " + err.Error())
	}
	return c
}

// Capabilities are what a call of a tool with its effective arguments needs, in
// the order of AllCapabilities: what the catalogue says of the tool, and
// deploy where a tool that executes is told to, or what it is told can't be
// read. A program may hide what it does; this finds what is said openly.
func Capabilities(tool string, args map[string]any) []Capability {
	var found []Capability
	if known, ok := catalogue.Tools[tool]; ok {
		found = slices.Clone(known.Capabilities)
	} else {
		found = slices.Clone(catalogue.Unknown)
		words := nameWords(tool)
		if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(catalogue.DeployNames, w) }) || newReader().anywhere(words) {
			found = append(found, Deploy)
		}
	}
	if slices.Contains(found, Execute) && !slices.Contains(found, Deploy) && newReader().argument("", args) {
		found = append(found, Deploy)
	}
	slices.SortFunc(found, func(a, b Capability) int { return gravity(a) - gravity(b) })
	return slices.Compact(found)
}

// argument reads an argument of a tool that executes. A list of strings is a
// command of its own, a word in each; a member that is a program alone is one
// together with the members beside it.
func (r reader) argument(name string, v any) bool {
	switch v := v.(type) {
	case string:
		switch {
		case slices.Contains(catalogue.Shell, name):
			return r.text(v)
		case slices.Contains(catalogue.Code, name):
			return r.code(v)
		}
		return r.prose(v)
	case []any:
		words := stringsOf(v)
		return slices.Contains(catalogue.Shell, name) && len(words) > 1 && r.command(words) || r.anywhere(words) ||
			slices.ContainsFunc(v, func(item any) bool { return r.argument("", item) })
	case map[string]any:
		for name, member := range v {
			if r.argument(name, member) || r.beside(v, name) {
				return true
			}
		}
	}
	return false
}

// beside reads a member that is a program alone, with the words beside it.
func (r reader) beside(all map[string]any, name string) bool {
	program := stringsOf(all[name])
	if len(program) != 1 || !slices.Contains(catalogue.Shell, name) && !deployer(program[0]) {
		return false
	}
	for other, words := range all {
		_, list := words.([]any)
		if other != name && (list || strings.HasPrefix(other, "arg")) && r.command(append(program[:1:1], stringsOf(words)...)) {
			return true
		}
	}
	return false
}

// stringsOf are the words of a string, or a list's strings.
func stringsOf(v any) (words []string) {
	switch v := v.(type) {
	case string:
		return strings.Fields(v)
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				words = append(words, text)
			}
		}
	}
	return words
}

// MatchOf is what a person can grant of a call for longer than once: its
// target, where the catalogue sees one, and else just its arguments.
func MatchOf(tool string, args map[string]any, hash string) Match {
	if target := Target(tool, args); target != "" {
		return Match{Tool: tool, Target: target}
	}
	return Match{Tool: tool, ArgsHash: hash}
}

// Known reports whether the catalogue has a tool.
func Known(tool string) bool {
	_, known := catalogue.Tools[tool]
	return known
}

// hasTarget reports whether the catalogue says what a tool is aimed at.
func hasTarget(tool string) bool {
	known := catalogue.Tools[tool]
	return known.Target != "" || known.HostOf != ""
}
