package autonomy

import (
	_ "embed" // tools.json
	"encoding/json"
	"net/url"
	"path"
	"slices"
	"strings"
)

// catalogue says what each tool does. It is data, so that a tool is added
// without code.
var catalogue = mustCatalogue()

type toolCatalogue struct {
	Unknown        []Capability        `json:"unknown"` // of tools that are not listed
	Tools          map[string]tool     `json:"tools"`
	DeployNames    []string            `json:"deploy_names"`    // words in the name of an unknown tool that deploys
	DeployCommands map[string][]string `json:"deploy_commands"` // programs, and the words that make them deploy; none: they always do
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
// deploy where a tool that executes is told to. What runs may hide what it
// does; this finds what is said openly.
func Capabilities(tool string, args map[string]any) []Capability {
	var found []Capability
	if known, ok := catalogue.Tools[tool]; ok {
		found = slices.Clone(known.Capabilities)
	} else {
		found = slices.Clone(catalogue.Unknown)
		if slices.ContainsFunc(nameWords(tool), func(w string) bool { return slices.Contains(catalogue.DeployNames, w) }) {
			found = append(found, Deploy)
		}
	}
	if slices.Contains(found, Execute) && !slices.Contains(found, Deploy) && deploys(args) {
		found = append(found, Deploy)
	}
	slices.SortFunc(found, func(a, b Capability) int { return gravity(a) - gravity(b) })
	return slices.Compact(found)
}

// nameWords are the words of a tool's name, such as mcp_cluster_rollout.
func nameWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
}

// deploys reports whether a command that deploys stands anywhere in v. A list
// of strings is a command of its own, a word in each.
func deploys(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(commands(v), deployCommand)
	case []any:
		var words []string
		for _, item := range v {
			if text, ok := item.(string); ok {
				words = append(words, strings.Fields(text)...)
			}
			if deploys(item) {
				return true
			}
		}
		return deployCommand(words)
	case map[string]any:
		for _, member := range v {
			if deploys(member) {
				return true
			}
		}
	}
	return false
}

// commands are the commands of a shell's text or of code, in words. Quotes and
// brackets stand between words, so that a command within another or in a
// program's list of arguments is seen too.
func commands(text string) [][]string {
	text = strings.ReplaceAll(text, "\\\n", " ")
	var out [][]string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|&\n", r) }) {
		out = append(out, strings.FieldsFunc(line, notInWord))
	}
	return out
}

func notInWord(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
}

// deployCommand reports whether a program of the catalogue stands among words,
// and after it one that makes it deploy.
func deployCommand(words []string) bool {
	for i, word := range words {
		deploying, ok := catalogue.DeployCommands[strings.ToLower(path.Base(word))]
		if ok && len(deploying) == 0 {
			return true
		}
		for _, d := range deploying {
			if slices.ContainsFunc(words[i+1:], func(w string) bool { return means(w, d) }) {
				return true
			}
		}
	}
	return false
}

// means reports whether a word of a command is d, or a name such as
// deploy-prod that has d in it where d says enough by itself.
func means(word, d string) bool {
	return strings.EqualFold(word, d) || slices.Contains(catalogue.DeployNames, d) && slices.Contains(nameWords(word), d)
}

// Target is what the catalogue takes for the target of a call: a host, a path
// or a recipient. It is "" where the tool has none, as a shell has none, or the
// arguments name none or several.
func Target(tool string, args map[string]any) string {
	known := catalogue.Tools[tool]
	switch {
	case known.Target != "":
		text, _ := args[known.Target].(string)
		return text
	case known.HostOf == "":
		return ""
	}
	v := args[known.HostOf]
	if list, ok := v.([]any); ok && len(list) == 1 {
		v = list[0]
	}
	text, _ := v.(string)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return strings.ToLower(u.Host)
}

// MatchOf is what a person can grant of a call for longer than once: its
// target, where the agent names the one that the catalogue sees too, and else
// just its arguments.
func MatchOf(tool string, args map[string]any, target, hash string) Match {
	if target != "" && target == Target(tool, args) {
		return Match{Tool: tool, Target: target}
	}
	return Match{Tool: tool, ArgsHash: hash}
}

// Known reports whether the catalogue has a tool.
func Known(tool string) bool {
	_, known := catalogue.Tools[tool]
	return known
}
