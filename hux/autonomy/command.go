package autonomy

import (
	_ "embed" // commands.json
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
)

// programs says which commands deploy. It is data, so that a program is added
// without code.
var programs = mustPrograms()

type programCatalogue struct {
	Names    []string           `json:"names"`     // words in a name that deploys, of a script or of a task
	NotNames string             `json:"not_names"` // names that don't, though they have such a word
	Options  []string           `json:"options"`   // of programs that are not listed, and deploy
	Safe     []rule             `json:"safe"`      // rules for all programs that are listed
	Harmless []string           `json:"harmless"`  // words of commands that print what a shell may run
	Programs map[string]program `json:"programs"`
	notNames *regexp.Regexp
}

// program says what its commands do. The first word that begins a rule decides,
// by the longest rule; rules of options alone count where none does.
type program struct {
	As      []string `json:"as"`      // other names of it
	Values  []string `json:"values"`  // options that are followed by their value
	Deploys []rule   `json:"deploys"` // what deploys
	Away    []rule   `json:"away"`    // what deploys on another host
	Safe    []rule   `json:"safe"`    // what doesn't
	Runs    []rule   `json:"runs"`    // what stands before another command
	Texts   []string `json:"texts"`   // options before a shell's text
	Codes   []string `json:"codes"`   // options before code of a language
	Text    bool     `json:"text"`    // the other command is a shell's text
	Script  bool     `json:"script"`  // its first word names a script
	Shell   bool     `json:"shell"`   // it runs what it reads
	Reads   bool     `json:"reads"`   // it appends what it reads to the other command
	Remote  bool     `json:"remote"`  // the other command runs on another host
	Prints  string   `json:"prints"`  // its "words", or its "files"
}

// rule is of words: one with a hyphen is an option that stands anywhere, any
// other is compared with the words that are no options, one after the other. In
// a word * stands for anything; @ is any name that deploys.
type rule struct{ options, words []string }

// UnmarshalText reads a rule.
func (r *rule) UnmarshalText(text []byte) error {
	for word := range strings.FieldsSeq(string(text)) {
		if word[0] == '-' {
			r.options = append(r.options, word)
		} else {
			r.words = append(r.words, word)
		}
	}
	return nil
}

// isOption reports whether a rule is the one option, or has no words at all for "".
func (r rule) isOption(name string) bool {
	return len(r.words) == 0 && strings.Join(r.options, " ") == name
}

//go:embed commands.json
var programsFile []byte

func mustPrograms() programCatalogue {
	var c programCatalogue
	if err := json.Unmarshal(programsFile, &c); err != nil {
		panic("commands.json: " + err.Error())
	}
	c.notNames = regexp.MustCompile(c.NotNames)
	for _, p := range c.Programs {
		for _, name := range p.As {
			c.Programs[name] = p
		}
	}
	return c
}

// programOf finds a program however it is installed: at a path, as kubectl.exe,
// helm3 or kubectl-1.29.
func programOf(word string) (program, bool) {
	name := strings.ToLower(path.Base(word))
	if p, ok := programs.Programs[name]; ok {
		return p, true
	}
	for _, ending := range []string{".exe", ".cmd", ".bat"} {
		if bare, ok := strings.CutSuffix(name, ending); ok { // in C:\bin\kubectl.exe a shell takes the backslashes away
			for i := range bare {
				if p, ok := programs.Programs[bare[i:]]; ok {
					return p, true
				}
			}
		}
	}
	p, ok := programs.Programs[strings.TrimRight(strings.TrimRight(name, "0123456789."), "-_")]
	return p, ok
}

// deployer reports whether a word is a program that can deploy.
func deployer(word string) bool {
	p, _ := programOf(word)
	return len(p.Deploys) > 0
}

// command reads a command of those words.
func (r reader) command(words []string) bool {
	for len(words) > 0 && assignment.MatchString(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || words[0] == "" {
		return false
	}
	if *r.left--; *r.left < 0 {
		return true
	}
	if r.depth++; r.depth > maxShellDepth {
		return true
	}
	name := path.Base(words[0])
	if file, ok := strings.CutPrefix(name, fetched); ok {
		return strings.Contains(file, unknown) || named(file)
	}
	if hides(name) {
		return true
	}
	if r.own[words[0]] {
		return false
	}
	if p, ok := programOf(words[0]); ok {
		return r.listed(p, words[1:])
	}
	return r.unlisted(words)
}

var assignment = regexp.MustCompile(`^[A-Za-z_]\w*\+?=`)

func hides(word string) bool { return strings.ContainsAny(word, unknown+fetched) }

// argument is one of a program.
type argument struct {
	text   string
	option bool
	value  string // of an option, "" for none
	at     int    // where it stands among the words
	after  bool   // it may be the value of an option that is not listed
}

func (p program) arguments(words []string) (options, others []argument) {
	valued := func(name string) bool {
		return slices.Contains(p.Values, name) || slices.Contains(p.Texts, name) || slices.Contains(p.Codes, name)
	}
	after := false
	for i := 0; i < len(words); i++ {
		a := argument{text: words[i], at: i, after: after}
		after = false
		switch {
		case a.text == "--":
			for i++; i < len(words); i++ {
				others = append(others, argument{text: words[i], at: i})
			}
			return options, others
		case len(a.text) < 2 || a.text[0] != '-':
			others = append(others, a)
			continue
		}
		name, value, has := strings.Cut(a.text, "=")
		short := len(name) > 2 && name[1] != '-'
		switch {
		case has:
		case valued(name) && i+1 < len(words):
			i++
			value = words[i]
		case short && slices.Contains(append(p.Texts, p.Codes...), "-"+name[len(name)-1:]) && i+1 < len(words): // bash -lc
			i++
			name, value = "-"+name[len(name)-1:], words[i]
		case short && valued(name[:2]):
			name, value = name[:2], name[2:]
		default:
			after = true
		}
		a.text, a.option, a.value = name, true, value
		options = append(options, a)
	}
	return options, others
}

// listed reads the arguments of a program that is listed.
func (r reader) listed(p program, words []string) bool {
	options, others := p.arguments(words)
	for _, o := range options {
		switch {
		case slices.Contains(p.Texts, o.text):
			if r.text(o.value) {
				return true
			}
		case slices.Contains(p.Codes, o.text):
			if r.code(o.value) {
				return true
			}
		case slices.ContainsFunc(p.Runs, func(rule rule) bool { return rule.isOption(o.text) }):
			return r.behind(p, words[o.at+1:])
		}
	}
	deploys := p.Deploys
	if r.remote {
		deploys = append(slices.Clip(deploys), p.Away...)
	}
	for i := 0; i < len(others) && len(deploys)+len(p.Runs) > 0; i++ {
		if *r.left--; *r.left < 0 || i == window && len(deploys) > 0 {
			return true
		}
		rest := others[i:]
		d, safe, runs := longest(deploys, options, rest, true), longest(p.Safe, options, rest, false), longest(p.Runs, options, rest, false)
		switch {
		case d != nil && d.len() >= max(safe.len(), runs.len()):
			return !excused(p, options, words, d)
		case safe != nil && safe.len() >= runs.len():
			return false
		case runs != nil && len(rest) == len(runs.words):
			return p.Shell && r.runsInput(p)
		case runs != nil:
			return r.behind(p, words[rest[len(runs.words)].at:])
		}
	}
	switch {
	case len(others) == 0 && p.Reads:
		return false
	case len(others) > 0 && slices.ContainsFunc(p.Runs, func(rule rule) bool { return rule.isOption("") }):
		return r.behind(p, words[others[0].at:])
	case len(others) > 0 && p.Script && others[0].text != "-":
		before := slices.DeleteFunc(slices.Clone(options), func(o argument) bool { return o.at > others[0].at })
		return longest(p.Safe, before, nil, false) == nil && r.script(words[others[0].at:])
	case p.Shell && !slices.ContainsFunc(options, func(o argument) bool { return slices.Contains(slices.Concat(p.Texts, p.Codes), o.text) }):
		return r.runsInput(p)
	}
	d := longest(deploys, options, nil, false)
	return d != nil && !excused(p, options, words, d)
}

// runsInput reads what a program runs from its input.
func (r reader) runsInput(p program) bool {
	if r.input == nil {
		return false
	}
	input := *r.input
	r.input, r.remote = nil, r.remote || p.Remote
	if len(p.Codes) > 0 && !hides(input) {
		return r.code(input)
	}
	return r.text(input)
}

// script reads a command whose first word is a file of commands.
func (r reader) script(words []string) bool {
	if file, ok := strings.CutPrefix(words[0], fetched); ok {
		return strings.Contains(file, unknown) || named(file)
	}
	return r.command(words)
}

// behind reads the command that a program runs.
func (r reader) behind(p program, words []string) bool {
	r.remote = r.remote || p.Remote
	if p.Text || len(words) == 1 && strings.ContainsAny(words[0], " \n") {
		return r.text(strings.Join(words, " "))
	}
	if p.Reads {
		words = append(slices.Clone(words), unknown)
		for i, word := range words {
			words[i] = strings.ReplaceAll(word, "{}", unknown)
		}
	}
	return r.command(words)
}

// longest is the longest of the rules that the arguments begin with. A rule of
// options alone has no words to begin with, and is found where there are none.
func longest(rules []rule, options, others []argument, wary bool) (best *rule) {
	for i, rule := range rules {
		if len(rule.words) > len(others) || (len(rule.words) == 0) != (others == nil) || best != nil && rule.len() <= best.len() {
			continue
		}
		matches := true
		for i, word := range rule.words {
			matches = matches && means(word, others[i], wary)
		}
		for _, option := range rule.options {
			matches = matches && has(options, option)
		}
		if matches {
			best = &rules[i]
		}
	}
	return best
}

// len is that of a rule, 0 for none.
func (r *rule) len() int {
	if r == nil {
		return 0
	}
	return len(r.words) + len(r.options)
}

// has reports whether an option stands among others, with its value if the rule
// names one.
func has(options []argument, rule string) bool {
	name, value, valued := strings.Cut(rule, "=")
	return slices.ContainsFunc(options, func(o argument) bool {
		return o.text == name && (valued && (glob(value, o.value) || hides(o.value)) || !valued && !slices.Contains([]string{"false", "none", "no", "0"}, strings.ToLower(o.value)))
	})
}

// means reports whether a word is what a rule's word says; wary of a word that
// can't be told, it may be anything that fits.
func means(rule string, a argument, wary bool) bool {
	if rule == "@" && named(a.text) || rule != "@" && glob(rule, a.text) {
		return true
	}
	if !wary || !hides(a.text) || a.after {
		return false
	}
	could := strings.NewReplacer(unknown, "*", fetched, "*").Replace(a.text)
	return glob(could, rule) || rule == "@" && slices.ContainsFunc(programs.Names, func(n string) bool { return glob(could, n) })
}

// glob compares a word with a pattern, whose * stands for a slash too.
func glob(pattern, word string) bool {
	if !strings.Contains(pattern, "*") {
		return strings.EqualFold(pattern, word)
	}
	ok, err := path.Match(flat(pattern), flat(word))
	return ok || err != nil
}

func flat(text string) string { return strings.ToLower(strings.ReplaceAll(text, "/", "\x01")) }

// excused reports whether a command that would deploy only says what it would
// do, or how it is used. A task's own program may not know such options.
func excused(p program, options []argument, words []string, of *rule) bool {
	if longest(p.Safe, options, nil, false) != nil {
		return true
	}
	task := slices.ContainsFunc(of.words, func(word string) bool { return strings.Contains(word, "@") })
	return !task && (longest(programs.Safe, options, nil, false) != nil || len(words) > 0 && words[len(words)-1] == "-h")
}

// unlisted reads the words of a program that is not listed.
func (r reader) unlisted(words []string) bool {
	if named(words[0]) || slices.Contains(programs.Names, path.Base(path.Dir(words[0]))) {
		return true
	}
	first := true
	for _, word := range words[1:] {
		switch {
		case strings.HasPrefix(word, "-"):
			if slices.Contains(programs.Options, word) {
				return true
			}
			continue
		case first && !strings.ContainsAny(word, "/. ") && named(word):
			return true
		case strings.ContainsAny(word, " \n") && r.prose(word):
			return true
		}
		first = false
	}
	return r.anywhere(words[1:])
}

const window = 100 // words that are taken for a program's

// anywhere reads words among which there may be a command.
func (r reader) anywhere(words []string) bool {
	for i, word := range words {
		if deployer(word) && r.command(words[i:min(len(words), i+window)]) {
			return true
		}
	}
	return false
}

// named reports whether the name of a script or a task says that it deploys.
func named(name string) bool {
	name = path.Base(name)
	return slices.ContainsFunc(nameWords(name), func(w string) bool { return slices.Contains(programs.Names, w) }) && !programs.notNames.MatchString(name)
}

// nameWords are the words of a name, such as mcp_cluster_rollout or redeployAll.
func nameWords(name string) []string {
	words := lowerWords(name)
	if apart := capital.ReplaceAllString(name, "$1 $2"); apart != name {
		words = append(words, lowerWords(apart)...)
	}
	return words
}

var capital = regexp.MustCompile("([a-z])([A-Z])")

func lowerWords(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
}
