package autonomy

import (
	_ "embed" // tools.json
	"encoding/json"
	"path"
	"regexp"
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

// nameWords are the words of a tool's name, such as mcp_cluster_rollout or
// redeployAll.
func nameWords(name string) []string {
	return append(lowerWords(name), lowerWords(capital.ReplaceAllString(name, "$1 $2"))...)
}

var capital = regexp.MustCompile("([a-z])([A-Z])")

func lowerWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
}

// deploys reports whether a command that deploys stands anywhere in v. A list
// of strings is a command of its own, a word in each; a member that is a
// program alone is one together with the members beside it.
func deploys(v any) bool {
	switch v := v.(type) {
	case string:
		return slices.ContainsFunc(commands(v), deployCommand)
	case []any:
		return slices.ContainsFunc(v, deploys) || deployCommand(allWords(v))
	case map[string]any:
		for name, member := range v {
			if deploys(member) {
				return true
			}
			words := allWords(member)
			if len(words) != 1 || !deployProgram(words[0]) {
				continue
			}
			for other, beside := range v {
				if other != name && deployCommand(append(words[:1:1], allWords(beside)...)) {
					return true
				}
			}
		}
	}
	return false
}

// allWords are the words of a string, or of a list's strings.
func allWords(v any) (words []string) {
	switch v := v.(type) {
	case string:
		return strings.FieldsFunc(v, notInWord)
	case []any:
		for _, item := range v {
			if text, ok := item.(string); ok {
				words = append(words, strings.FieldsFunc(text, notInWord)...)
			}
		}
	}
	return words
}

var (
	redirection = regexp.MustCompile(`[0-9]*(?:&>>?|>[>|&]?|<[<&>]*)[ \t]*[^\s;|&<>]*`)
	quoted      = regexp.MustCompile(`'[^'\n]*'|"(?:[^"\\\n]|\\.)*"`)
)

// commands are the commands of a shell's text or of code, in words. Quotes and
// brackets stand between words, so that a command within another or in a
// program's list of arguments is seen too. It is read in several ways, since a
// quote may hold a command or be of a word, and a backslash may be in a path.
func commands(text string) (all [][]string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	whole := quoted.ReplaceAllStringFunc(text, func(q string) string { return strings.Map(blankOperator, q) })
	whole = redirection.ReplaceAllString(whole, " ")
	bare := strings.NewReplacer(`\`, "", `"`, "", "'", "").Replace(text)
	for _, reading := range []string{text, whole, bare} {
		for line := range strings.FieldsFuncSeq(reading, isOperator) {
			all = append(all, strings.FieldsFunc(line, notInWord))
		}
	}
	return all
}

func isOperator(r rune) bool { return strings.ContainsRune(";|&\n", r) }

func blankOperator(r rune) rune {
	if isOperator(r) || r == '<' || r == '>' {
		return ' '
	}
	return r
}

func notInWord(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
}

// deployCommand reports whether a program of the catalogue stands among words,
// and after it one that makes it deploy.
func deployCommand(words []string) bool {
	for i, word := range words {
		deploying, ok := deployWords(word)
		if ok && len(deploying) == 0 {
			return true
		}
		for _, d := range deploying {
			if meant(words[i+1:], strings.Fields(d)) {
				return true
			}
		}
	}
	return false
}

// meant reports whether all of d stand among words, in this order.
func meant(words, d []string) bool {
	for _, word := range words {
		if len(d) > 0 && means(word, d[0]) {
			d = d[1:]
		}
	}
	return len(d) == 0
}

// deployWords are those of the catalogue for a program, however it is installed:
// at a path, as kubectl.exe, helm3 or kubectl-1.29.
func deployWords(program string) ([]string, bool) {
	name := strings.ToLower(path.Base(program))
	if words, ok := catalogue.DeployCommands[name]; ok {
		return words, true
	}
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		name = strings.TrimSuffix(name, ending)
	}
	if words, ok := catalogue.DeployCommands[name]; ok {
		return words, true
	}
	words, ok := catalogue.DeployCommands[strings.TrimRight(strings.TrimRight(name, "0123456789."), "-_")]
	return words, ok
}

func deployProgram(word string) bool {
	_, ok := deployWords(word)
	return ok
}

// means reports whether a word of a command is d, or a name such as
// deploy-prod that has d in it where d says enough by itself.
func means(word, d string) bool {
	return strings.EqualFold(word, d) || slices.Contains(catalogue.DeployNames, d) && slices.Contains(nameWords(word), d)
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
