package config

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bstein.dev/hux/hux"
)

// Source is where settings come from: Args win over Environ, which wins over
// the file that Args or Environ name, which wins over Defaults, which win over
// the table's own.
type Source struct {
	Args     []string          // command line after the command's name
	Environ  []string          // as os.Environ gives it
	Defaults map[string]string // by key
	// Only names the settings that matter, for a command that needs no more: of
	// the others nothing is required and no problem is told. Nil: all.
	Only []string
}

// Load reads and validates the configuration. It reports every problem it
// finds, not the first alone; warnings are about what works but costs
// something. The flag package's ErrHelp means that help was asked for.
func Load(src Source) (c *Config, warnings []string, problems []Problem, err error) {
	l := loader{config: &Config{}, where: map[string]string{}}
	args := flag.NewFlagSet("hux", flag.ContinueOnError)
	args.SetOutput(io.Discard)
	file := args.String("config", "", "configuration file, YAML")
	values := map[string]*string{}
	for _, o := range Options {
		if !o.Secret { // a command line is no place for a secret: everybody on the machine can read it
			values[o.Key] = args.String(o.FlagName(), "", o.Usage)
		}
	}
	if err := args.Parse(src.Args); err != nil {
		return nil, nil, nil, err
	}
	if args.NArg() > 0 {
		return nil, nil, nil, fmt.Errorf("unexpected argument %q", args.Arg(0))
	}
	env := map[string]string{}
	for _, kv := range src.Environ {
		k, v, _ := strings.Cut(kv, "=")
		if strings.HasPrefix(k, "HUX_") {
			env[k] = v
		}
		// Kubernetes sets the one; our image, like podman and systemd, the other.
		// What other programs heed; hux says that it does not.
		if up := strings.ToUpper(k); v != "" && (up == "HTTP_PROXY" || up == "HTTPS_PROXY" || up == "ALL_PROXY") {
			l.proxy = k
		}
		l.container = l.container || k == "KUBERNETES_SERVICE_HOST" || k == "container"
	}
	if *file == "" {
		*file = env["HUX_CONFIG"]
	}

	for _, o := range Options {
		v := o.Default
		if d, ok := src.Defaults[o.Key]; ok {
			v = d
		}
		l.set(o, "", v)
	}
	if *file != "" {
		l.readFile(*file)
	}
	l.readEnv(env)
	given := map[string]bool{}
	args.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, o := range Options {
		if given[o.FlagName()] {
			l.set(o, "--"+o.FlagName(), *values[o.Key])
		}
	}
	if src.Only != nil {
		l.problems = slices.DeleteFunc(l.problems, func(p Problem) bool { return !slices.Contains(src.Only, p.Key) && p.Key != "config" })
		return l.config, l.warnings, l.problems, nil
	}
	l.validate()
	slices.SortStableFunc(l.problems, Problem.compare)
	return l.config, l.warnings, l.problems, nil
}

type loader struct {
	config    *Config
	container bool
	proxy     string            // a variable of the environment that names one
	where     map[string]string // by key: what set it last
	warnings  []string
	problems  []Problem
}

func (l *loader) set(o Option, where, value string) {
	if where != "" {
		l.where[o.Key] = where
	}
	if err := o.set(l.config, value); err != nil {
		l.problem(where, o.Key, err.Error())
	}
}

func (l *loader) problem(where, key, reason string) {
	l.problems = append(l.problems, Problem{Where: where, Key: key, Reason: reason})
}

func (l *loader) readEnv(env map[string]string) {
	known := map[string]bool{"HUX_CONFIG": true}
	for _, o := range Options {
		name := o.Env()
		known[name] = true
		v, ok := env[name]
		if o.Secret {
			known[name+"_FILE"] = true
			if path, fromFile := env[name+"_FILE"]; fromFile {
				if ok {
					l.problem(name, o.Key, "is set beside "+name+"_FILE; keep one")
				}
				content, err := os.ReadFile(path)
				if err != nil {
					l.problem(name+"_FILE", o.Key, "can't be read: "+reason(err))
					continue
				}
				if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 && !l.container { // an orchestrator mounts secrets readable
					l.warnings = append(l.warnings, name+"_FILE: others on this machine can read the file; chmod 600 it")
				}
				name, v, ok = name+"_FILE", strings.TrimRight(string(content), "\r\n"), true
			}
		}
		if ok {
			l.set(o, name, v)
		}
	}
	for name := range env {
		if !known[name] {
			l.warnings = append(l.warnings, name+" is no setting of hux and is ignored")
		}
	}
	slices.Sort(l.warnings)
}

// reason is an I/O error without the path, which the setting names already.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}

func (l *loader) readFile(path string) {
	name := filepath.Base(path)
	content, err := os.ReadFile(path)
	if err != nil {
		l.problem(name, "config", "can't be read: "+reason(err))
		return
	}
	root, ok := l.document(name, content)
	if !ok || root == nil {
		return
	}
	if root.Kind != yaml.MappingNode {
		l.problem(fmt.Sprintf("%s:%d", name, root.Line), "config", "must be a list of key: value lines")
		return
	}
	l.eachKey(name, "", root, func(where, key string, value *yaml.Node) {
		j := slices.IndexFunc(Options, func(o Option) bool { return o.Key == key })
		switch {
		case j < 0:
			l.problem(where, key, "is no setting of hux"+nearest(key))
		case key == "slots" && value.Kind == yaml.SequenceNode:
			l.where["slots"] = where
			l.readSlots(name, value)
		case value.Kind == yaml.SequenceNode && Options[j].Many:
			if parts, ok := l.texts(name, key, value); ok {
				l.set(Options[j], where, strings.Join(parts, ","))
			}
		default:
			if v, ok := l.text(name, key, value); ok {
				l.set(Options[j], where, v)
			}
		}
	})
}

// document is the one document of a YAML file, nil for an empty one.
func (l *loader) document(name string, content []byte) (root *yaml.Node, ok bool) {
	var doc, more yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil, true
	}
	if err == nil {
		if err = decoder.Decode(&more); errors.Is(err, io.EOF) {
			return doc.Content[0], true
		}
	}
	if err == nil {
		l.problem(fmt.Sprintf("%s:%d", name, more.Line), "config", "begins a second document; hux reads one")
		return nil, false
	}
	l.problem(fmt.Sprintf("%s:%d", name, faultyLine(content, err)), "config", "is no valid YAML")
	return nil, false
}

var lineInError = regexp.MustCompile(`line (\d+)`)

// faultyLine is the line that the parser names in err, or, since it names none
// of an unknown anchor or of a byte that may not be there, the one by which
// what stands above it becomes as faulty.
func faultyLine(content []byte, err error) int {
	if m := lineInError.FindStringSubmatch(err.Error()); m != nil {
		n, _ := strconv.Atoi(m[1])
		return n
	}
	n, end := 0, 0
	for line := range bytes.Lines(content) {
		n++
		end += len(line)
		var doc yaml.Node
		if again := yaml.Unmarshal(content[:end], &doc); again != nil && again.Error() == err.Error() {
			break
		}
	}
	return n
}

// eachKey walks through a mapping. A key that stands twice is a problem: YAML
// leaves open which of the two counts.
func (l *loader) eachKey(name, setting string, mapping *yaml.Node, do func(where, key string, value *yaml.Node)) {
	seen := map[string]bool{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		where := fmt.Sprintf("%s:%d", name, key.Line)
		if seen[key.Value] {
			if setting == "" {
				l.problem(where, key.Value, "stands twice")
			} else {
				l.problem(where, setting, key.Value+" stands twice")
			}
			continue
		}
		seen[key.Value] = true
		do(where, key.Value, value)
	}
}

// text is the one value that stands at node as it is written. What YAML itself
// would turn into something else is refused.
func (l *loader) text(name, setting string, node *yaml.Node) (string, bool) {
	reason := ""
	switch {
	case node.Kind == yaml.AliasNode:
		reason = "is an alias, which hux does not follow; write the value out"
	case node.Kind != yaml.ScalarNode:
		reason = "must be a single value, or a list where it is one"
	case node.Style&yaml.TaggedStyle != 0:
		reason = "has a tag, which hux does not follow; write the value alone"
	case node.Tag == "!!null":
		reason = `has no value; leave it out, or write "" for none`
	}
	if reason != "" {
		l.problem(fmt.Sprintf("%s:%d", name, node.Line), setting, reason)
	}
	return node.Value, reason == ""
}

// texts are the values of a list.
func (l *loader) texts(name, setting string, list *yaml.Node) (values []string, ok bool) {
	ok = true
	for _, n := range list.Content {
		v, one := l.text(name, setting, n)
		values, ok = append(values, v), ok && one
	}
	return values, ok
}

// nearest suggests the setting that a misspelt one most likely means.
func nearest(key string) string {
	for _, o := range Options {
		if strings.ReplaceAll(o.Key, "_", "") == strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key)) {
			return "; do you mean " + o.Key + "?"
		}
	}
	return ""
}

func (l *loader) readSlots(name string, list *yaml.Node) {
	l.config.Slots = nil
	for _, item := range list.Content {
		where := fmt.Sprintf("%s:%d", name, item.Line)
		if item.Kind != yaml.MappingNode {
			l.problem(where, "slots", "each slot must be {id, url, members}")
			continue
		}
		var id, base string
		var members []hux.User
		before := len(l.problems)
		l.eachKey(name, "slots", item, func(at, key string, value *yaml.Node) {
			switch key {
			case "id":
				id, _ = l.text(name, "slots", value)
			case "url":
				base, _ = l.text(name, "slots", value)
			case "members":
				if value.Kind != yaml.SequenceNode {
					l.problem(at, "slots", "members must be a list of user ids")
					return
				}
				users, _ := l.texts(name, "slots", value)
				for _, u := range users {
					members = append(members, hux.User(u))
				}
			default:
				l.problem(at, "slots", key+" is no setting of a slot")
			}
		})
		if len(l.problems) > before {
			continue // what follows from it need not be told too
		}
		s, err := newSlot(id, base, members)
		if err != nil {
			l.problem(where, "slots", err.Error())
			continue
		}
		l.config.Slots = append(l.config.Slots, s)
	}
}
