package autonomy

import (
	_ "embed" // tools.json
	"encoding/json"
	"slices"
	"strings"
)

// catalogue says what each tool does. It is data, so a tool is added without
// code.
var catalogue = mustCatalogue()

type toolCatalogue struct {
	Unknown     []Capability    `json:"unknown"` // capabilities of tools that are not listed
	Tools       map[string]tool `json:"tools"`
	Platforms   []string        `json:"platforms"`    // where messages go to
	DeployNames []string        `json:"deploy_names"` // words in the name of an unknown tool that deploys
	Shell       []string        `json:"shell"`        // arguments that are a shell's text, or a command's words
	Code        []string        `json:"code"`         // arguments that are code
	Runs        []string        `json:"runs"`         // what code calls to run a command
	Says        []string        `json:"says"`         // what code calls to print something
}

type tool struct {
	Capabilities []Capability `json:"capabilities"`
	Target       string       `json:"target"`  // the argument that a grant may be tied to
	HostOf       string       `json:"host_of"` // the argument whose URL's host a grant may be tied to
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

// Capabilities are what a call of a tool with these arguments needs, in the
// order of AllCapabilities: what the catalogue says of the tool, and deploy if
// a tool that executes is told to deploy or told something that can't be read.
// A program may hide what it does; this finds only what the arguments say
// openly.
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

// argument reports whether an argument of a tool that executes may deploy. A
// list of strings is a command with a word in each. A member that holds a
// program's name alone is a command together with the members beside it.
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

// beside reports whether a member that holds a program's name alone, together
// with the words in the members beside it, may deploy.
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

// MatchOf is what a person can grant for longer than one call: the call's target
// if the catalogue finds one, and else its exact arguments.
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
