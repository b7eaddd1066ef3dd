package autonomy

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Bounds of what is read. What lies beyond them is not read, and so counts as
// a deployment, as does a shell's text that can't be parsed.
const (
	maxShellText  = 64 << 10 // bytes of one text
	maxShellDepth = 50       // of commands within commands
	maxVariable   = 1 << 10  // bytes of one variable's value
	maxWords      = 20_000   // that are compared with rules, of one call
)

// What stands in a word for what nobody can tell before it runs. Both are no
// characters of a text.
const (
	unknown = "\uffff" // anything
	fetched = "\ufffe" // what is in the file of the name that follows
)

// reader reads commands. It reports true for one that deploys, and for one
// that hides what it does.
type reader struct {
	left   *int // words that may still be read
	depth  int
	remote bool              // they run on another host
	input  *string           // what they read, as far as it can be told; nil where nothing is said of it
	vars   map[string]string // what is assigned to a variable or an alias of the text
	own    map[string]bool   // the functions of the text
}

func newReader() reader {
	left := maxWords
	return reader{left: &left}
}

// text reads a shell's text.
func (r reader) text(text string) (deploys bool) {
	r.depth++
	*r.left -= len(text) / 16 // it is read to its end
	if r.depth > maxShellDepth || *r.left < 0 || len(text) > maxShellText || nested(text) > maxShellDepth {
		return true
	}
	defer func() {
		if recover() != nil { // the parser's
			deploys = true
		}
	}()
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return true
	}
	r.vars, r.own = map[string]string{}, map[string]bool{}
	piped := map[*syntax.Stmt]*syntax.Stmt{} // from where to where
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.FuncDecl:
			r.own[n.Name.Value] = true
		case *syntax.WordIter:
			r.vars[n.Name.Value] = unknown
		case *syntax.Assign:
			r.assign(n)
		case *syntax.CallExpr:
			r.alias(n)
		case *syntax.BinaryCmd:
			if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
				piped[n.Y] = n.X
			}
		}
		return true
	})
	depth, within := 0, []int{}
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			depth -= within[len(within)-1]
			within = within[:len(within)-1]
			return true
		}
		within = append(within, deeper(n))
		depth += deeper(n)
		if s, ok := n.(*syntax.Stmt); ok && !deploys {
			deploys = r.statement(s, piped[s])
		}
		deploys = deploys || depth > maxShellDepth
		return true
	})
	return deploys
}

// nested is how deep the brackets of a text stand, whatever they mean. The
// parser takes the longer the deeper they are.
func nested(text string) (deepest int) {
	depth := 0
	for _, c := range []byte(text) {
		switch c {
		case '(', '{', '[':
			depth++
			deepest = max(deepest, depth)
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
	}
	return deepest
}

func deeper(n syntax.Node) int {
	switch n.(type) {
	case *syntax.Subshell, *syntax.Block, *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.FuncDecl, *syntax.CmdSubst:
		return 1
	}
	return 0
}

// assign notes what a variable is; one that is assigned twice may be either.
func (r reader) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked && a.Value == nil {
		return
	}
	value := unknown
	if _, twice := r.vars[a.Name.Value]; !twice && !a.Append && a.Array == nil && a.Index == nil {
		if value = r.word(a.Value); len(value) > maxVariable {
			value = unknown
		}
	}
	r.vars[a.Name.Value] = value
}

const aliasOf = "alias " // before an alias's name among the variables

func (r reader) alias(c *syntax.CallExpr) {
	if len(c.Args) < 2 || c.Args[0].Lit() != "alias" {
		return
	}
	for _, w := range c.Args[1:] {
		if name, value, ok := strings.Cut(r.word(w), "="); ok {
			r.vars[aliasOf+name] = value
		}
	}
}

// statement reads one command, which a pipe may feed.
func (r reader) statement(s *syntax.Stmt, from *syntax.Stmt) bool {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return false
	}
	if from != nil {
		text := r.output(from)
		r.input = &text
	}
	for _, redirect := range s.Redirs {
		switch text := r.word(redirect.Word); redirect.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			text = source(redirect.Hdoc)
			r.input = &text
		case syntax.WordHdoc:
			r.input = &text
		case syntax.RdrIn:
			text = inFile(text)
			r.input = &text
		}
	}
	return r.command(r.words(c))
}

// words are those of a command, with what stands behind a variable or an alias.
func (r reader) words(c *syntax.CallExpr) (words []string) {
	for i, w := range c.Args {
		word := r.word(w)
		if p, ok := w.Parts[0].(*syntax.ParamExp); ok && len(w.Parts) == 1 && p.Param != nil && strings.Contains(word, " ") {
			words = append(words, strings.Fields(word)...)
			continue
		}
		if name, ok := r.vars[aliasOf+word]; ok && i == 0 {
			words = append(words, strings.Fields(name)...)
			continue
		}
		if i == 0 && wild(w) {
			word = unknown
		}
		words = append(words, word)
	}
	return words
}

// wild reports whether a shell makes other words of this one.
func wild(w *syntax.Word) bool {
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok && lit.Value != "[" && strings.ContainsAny(escaped.ReplaceAllString(lit.Value, ""), "*?[{") {
			return true
		}
	}
	return false
}

var (
	escaped = regexp.MustCompile(`(?s)\\.`)
	braces  = regexp.MustCompile(`\{[^{}]*(?:,|\.\.)[^{}]*\}`)
)

// word is a word as the program gets it.
func (r reader) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	return r.parts(w.Parts, false)
}

func (r reader) parts(parts []syntax.WordPart, inQuotes bool) string {
	var out strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text := part.Value
			if inQuotes {
				text = unescape(text, "$`\"\\")
			} else {
				text = unescape(braces.ReplaceAllString(text, unknown), "")
			}
			out.WriteString(text)
		case *syntax.SglQuoted:
			if part.Dollar && strings.Contains(part.Value, `\`) {
				out.WriteString(unknown)
			} else {
				out.WriteString(part.Value)
			}
		case *syntax.DblQuoted:
			out.WriteString(r.parts(part.Parts, true))
		case *syntax.ParamExp:
			value, ok := "", false
			if part.Param != nil {
				value, ok = r.vars[part.Param.Value]
			}
			if plain := *part; !ok || plain.Excl || plain.Length || plain.Slice != nil || plain.Repl != nil || plain.Exp != nil || plain.Index != nil {
				value = unknown
			}
			out.WriteString(value)
		case *syntax.CmdSubst:
			out.WriteString(r.outputs(part.Stmts))
		case *syntax.ProcSubst:
			out.WriteString(r.outputs(part.Stmts))
		default:
			out.WriteString(unknown)
		}
	}
	return out.String()
}

// unescape takes away the backslashes before those characters, or before any.
func unescape(text, before string) string {
	return escaped.ReplaceAllStringFunc(text, func(pair string) string {
		switch {
		case pair[1:] == "\n":
			return ""
		case before == "" || strings.Contains(before, pair[1:]):
			return pair[1:]
		}
		return pair
	})
}

// source is the text of a here-document, to be read as a text of its own.
func source(w *syntax.Word) string {
	var out strings.Builder
	if w != nil {
		_ = syntax.NewPrinter().Print(&out, w) // into memory
	}
	return out.String()
}

func (r reader) outputs(all []*syntax.Stmt) string {
	if len(all) != 1 {
		return unknown
	}
	return r.output(all[0])
}

// output is what a command prints, as far as it can be told.
func (r reader) output(s *syntax.Stmt) string {
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 {
		return unknown
	}
	words := r.words(c)
	p, _ := programOf(path.Base(words[0]))
	switch p.Prints {
	case "words":
		return strings.Join(notOptions(words[1:]), " ")
	case "files":
		var files []string
		for _, redirect := range s.Redirs {
			if redirect.Hdoc != nil {
				files = append(files, source(redirect.Hdoc))
			}
		}
		for _, word := range notOptions(words[1:]) {
			files = append(files, inFile(word))
		}
		return strings.Join(files, "\n")
	}
	for _, word := range words {
		if slices.Contains(programs.Harmless, path.Base(word)) {
			return ""
		}
	}
	return unknown
}

// inFile stands for what is in a file, or at an address, of which the name alone
// is known.
func inFile(name string) string {
	return fetched + notInName.ReplaceAllString(path.Base(name), "_")
}

var notInName = regexp.MustCompile(`[^\w.\-` + unknown + `]`)

func notOptions(words []string) (kept []string) {
	for _, word := range words {
		if !strings.HasPrefix(word, "-") {
			kept = append(kept, word)
		}
	}
	return kept
}
