package hermes_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bstein.dev/hux/router/hermes"
)

var setup = hermes.Setup{
	Program: "/usr/local/bin/hux", URL: "https://hux.example.org", Agent: "agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6",
	CredentialFile: "/home/agent/.hermes/hux/credential", SecretFile: "/home/agent/.hermes/hux/hook-secret",
}

// whole is what an empty file becomes.
const whole = `hooks:
  pre_tool_call:
    - matcher: ".*"
      command: "/usr/local/bin/hux hook --url https://hux.example.org --credential-file /home/agent/.hermes/hux/credential"
      timeout: 300
      fail_closed: true
  post_tool_call:
    - matcher: ".*"
      command: "/usr/local/bin/hux hook event --url https://hux.example.org --credential-file /home/agent/.hermes/hux/credential --secret-file /home/agent/.hermes/hux/hook-secret"
      timeout: 10
  outbound:
    - name: hux
      url: "https://hux.example.org/hux/v1/ingest/hermes/agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6"
      events: [pre_tool_call, post_tool_call]
      matcher: ".*"
      secret_env: HUX_HOOK_SECRET
      timeout: 10
hooks_auto_accept: true
plugins:
  hook_callback_timeout: 310
`

type config struct {
	Hooks   map[string][]map[string]any
	Accept  any `yaml:"hooks_auto_accept"`
	Plugins map[string]any
}

func read(t testing.TB, text []byte) (c config) {
	t.Helper()
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return c
}

// installed fails where a configuration has not each of our entries once, as
// an empty file gets them.
func installed(t testing.TB, text []byte) {
	t.Helper()
	got, want := read(t, text), read(t, []byte(whole))
	for event, entries := range want.Hooks {
		n := 0
		for _, e := range got.Hooks[event] {
			if reflect.DeepEqual(e, entries[0]) {
				n++
			} else if strings.Contains(strings.Join(strings.Fields(text2(e)), " "), "hux") {
				t.Errorf("%s has another entry of hux: %v", event, e)
			}
		}
		if n != 1 {
			t.Errorf("%s has our entry %d times in\n%s", event, n, text)
		}
	}
	if got.Accept != true && got.Accept != "yes" {
		t.Errorf("hooks_auto_accept is %v", got.Accept)
	}
	if limit := got.Plugins["hook_callback_timeout"]; limit != 310 && limit != 600 && limit != 0 {
		t.Errorf("hook_callback_timeout is %v", limit)
	}
}

func text2(v any) string {
	b, _ := yaml.Marshal(v)
	return string(b)
}

// kept fails where a line of the operator's is gone; lines that were changed on
// purpose are named.
func kept(t testing.TB, before, after string, but ...string) {
	t.Helper()
	lines := strings.Split(after, "\n")
	at := 0
	for line := range strings.Lines(before) {
		if line = strings.TrimRight(line, "\n"); slices.ContainsFunc(but, func(b string) bool { return strings.Contains(line, b) }) {
			continue
		}
		i := slices.Index(lines[at:], line)
		if i < 0 {
			t.Errorf("the line %q is gone, or has moved, in\n%s", line, after)
			return
		}
		at += i + 1
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	const own = "# mine\nmodel: x # the small one\n\nhooks:\n  # tells the room\n  pre_llm_call:\n  - command: \"~/tell.sh\"   # quick\n    timeout: 5\n\n  pre_tool_call:\n  # guards\n  - matcher: terminal\n    command: 'guard \"a b\"'\n  - command: audit\nlast: |\n  # text\n  end\n"
	for name, c := range map[string]struct {
		before string
		but    []string // what changes in it
	}{
		"empty":                        {"", nil},
		"comments alone":               {"# nothing yet\n", nil},
		"a marker alone":               {"---\n", nil},
		"no last line end":             {"model: x", nil},
		"the operator's own hooks":     {own, nil},
		"CRLF":                         {strings.ReplaceAll(own, "\n", "\r\n"), nil},
		"a byte order mark":            {"\ufeffhooks: {} # none\nmodel: x\n", []string{"hooks:"}},
		"a mark before brackets":       {"\ufeff{hooks: {}, hooks_auto_accept: no}\n", []string{"{"}},
		"a mark, CRLF, no last end":    {"\ufeffhooks_auto_accept: false\r\nhooks:", []string{"hooks_auto_accept", "hooks:"}},
		"hooks without anything":       {"hooks:\nmodel: x\n", nil},
		"hooks at the end":             {"model: x\nhooks:", nil},
		"hooks null":                   {"hooks: null # none\nmodel: x\n", []string{"hooks:"}},
		"hooks {}":                     {"hooks: {}  # none yet\nmodel: x\n", []string{"hooks:"}},
		"hooks { }":                    {"hooks: { }\n", []string{"hooks:"}},
		"an empty list":                {"hooks:\n  pre_tool_call: []\n  outbound:\n", []string{"pre_tool_call"}},
		"in brackets":                  {"hooks: {pre_tool_call: [{command: guard}], post_tool_call: []}\nplugins: {enabled: [a]}\n", []string{"hooks:", "plugins:"}},
		"all in brackets":              {"{model: x, hooks: {}}\n", []string{"{"}},
		"accept false":                 {"hooks_auto_accept: false # ask me\n", []string{"hooks_auto_accept"}},
		"accept no":                    {"hooks_auto_accept: \"no\"\n", []string{"hooks_auto_accept"}},
		"accept null":                  {"hooks_auto_accept:\nmodel: x\n", []string{"hooks_auto_accept"}},
		"accept yes":                   {"hooks_auto_accept: yes\n", nil},
		"plugins":                      {"plugins:\n  # two\n  enabled:\n  - a\n  - b\nmodel: x\n", nil},
		"plugins with a short limit":   {"plugins:\n  enabled: [a]\n  hook_callback_timeout: 30 # short\n", []string{"hook_callback"}},
		"plugins with a long limit":    {"plugins:\n  hook_callback_timeout: 600\n", nil},
		"plugins without a limit":      {"plugins:\n  hook_callback_timeout: 0\n", nil},
		"deep indentation":             {"hooks:\n        pre_tool_call:\n            -   command: guard\n                timeout: 7\nplugins:\n        enabled: []\n", nil},
		"a text that looks like hooks": {"system_prompt: |\n  hooks:\n    pre_tool_call: []\n  hooks_auto_accept: false\nnote: \"hooks: {}\"\n", nil},
		"anchors elsewhere":            {"base: &b {a: 1}\nmore:\n  <<: *b\nlist: [*b]\n", nil},
		"an end marker before":         {"%YAML 1.1\n---\nmodel: x\n", nil},
		"other letters":                {"name: \"Zoë 🦉\"\nhooks: {}\nüber: {\"ä\": 1}\n", []string{"hooks:"}},
		"an older one, printed":        {"hooks:\n  pre_tool_call: # asks\n    - matcher: \".*\"\n      command: \"hux hook\"\n      timeout: 300\n      fail_closed: true\n  post_tool_call:\n    - matcher: \".*\"\n      command: \"hux hook event\"\n      timeout: 10\n  outbound:\n    - name: hux\n      url: \"http://old:8080/hux/v1/ingest/hermes/agt_x\"\n      events: [pre_tool_call, post_tool_call]\n      matcher: \".*\"\n      secret_env: HUX_HOOK_SECRET\n      timeout: 10\nhooks_auto_accept: true\n", []string{"command:", "url:"}},
		"an older one, changed":        {"hooks:\n  pre_tool_call:\n    - command: 'hux hook'\n      timeout: 60 # short\n      fail_closed: false\n  outbound:\n    - url: http://old/hux/v1/ingest/hermes/agt_x\n      events: [post_tool_call]\n", []string{"command:", "timeout:", "fail_closed:", "url:", "events:"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, changes, err := hermes.Merge([]byte(c.before), setup)
			if err != nil {
				t.Fatal(err)
			}
			installed(t, after)
			kept(t, c.before, string(after), c.but...)
			if strings.Contains(c.before, "\r\n") != strings.Contains(string(after), "\r\n") || strings.Contains(c.before, "\r\n") && strings.Count(string(after), "\n") != strings.Count(string(after), "\r\n") {
				t.Errorf("line ends are mixed: %q", after)
			}
			if len(changes) == 0 {
				t.Error("it says nothing of what it changes")
			}
			if strings.HasPrefix(c.before, "\ufeff") != strings.HasPrefix(string(after), "\ufeff") || strings.Count(string(after), "\ufeff") > 1 {
				t.Errorf("its byte order mark: %q", after)
			}
			again, changes, err := hermes.Merge(after, setup)
			if err != nil || string(again) != string(after) || len(changes) > 0 {
				t.Errorf("the second time: %v %v\n%s", err, changes, again)
			}
			if command, _, err := hermes.Commands(after); err != nil || !strings.HasPrefix(command, "/usr/local/bin/hux hook --url") {
				t.Errorf("the command is %q, %v", command, err)
			}
		})
	}
	if after, _, err := hermes.Merge([]byte("hooks: {}\n"), setup); err != nil || string(after) != whole {
		t.Errorf("%v\n%s", err, after)
	}
	if after, _, err := hermes.Merge(nil, setup); err != nil || string(after) != whole {
		t.Errorf("%v\n%s", err, after)
	}
}

// What moves is brought up to date, not put beside.
func TestMergeMoved(t *testing.T) {
	t.Parallel()
	before, _, err := hermes.Merge([]byte("hooks:\n  pre_tool_call:\n    - command: guard\n"), setup)
	if err != nil {
		t.Fatal(err)
	}
	moved := setup
	moved.URL, moved.CredentialFile = "https://elsewhere.example.org", "/srv/it's here/credential"
	after, changes, err := hermes.Merge(before, moved)
	if err != nil || len(changes) != 3 || strings.Contains(string(after), "hux.example.org") || strings.Count(string(after), "hux hook") != 2 || !strings.Contains(string(after), "guard") {
		t.Errorf("%v %v\n%s", err, changes, after)
	}
	_, command, err := hermes.Commands(after)
	if words, ok := hermes.Split(command); err != nil || !ok || words[6] != moved.CredentialFile {
		t.Errorf("%q %v", command, err)
	}
}

// A form that can't be changed without risk is refused, and the line is named.
func TestMergeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, says string }{
		"a key twice":                   {"model: x\nhooks: {}\nmodel: y\n", "line 3"},
		"a key twice, deep":             {"a:\n  - b: 1\n    b: 2\n", "line 3"},
		"a tab":                         {"hooks:\n\tpre_tool_call: []\n", "line 2 is indented with a tab"},
		"no YAML":                       {"a: [1\nb: 2\n", "no valid YAML, at about line"},
		"two documents":                 {"a: 1\n---\nb: 2\n", "more than one"},
		"a list":                        {"- a\n", "line 1"},
		"a text":                        {"hello\n", "line 1"},
		"no text":                       {"a: \"\xff\"\n", "UTF-8"},
		"hooks that are a list":         {"hooks:\n  - a\n", "line 2"},
		"hooks that are a text":         {"hooks: none\n", "line 1"},
		"pre_tool_call that is no list": {"hooks:\n  pre_tool_call:\n    command: guard\n", "line 3"},
		"hooks from an alias":           {"a: &a\n  post_tool_call: []\nhooks: *a\n", "line 3"},
		"hooks that take over":          {"a: &a\n  post_tool_call: []\nhooks:\n  <<: *a\n", "line 4"},
		"a root that takes over":        {"a: &a {hooks: {pre_llm_call: []}}\n<<: *a\n", "line 1"},
		"an entry that is shared":       {"x: &x\n  command: hux hook\nhooks:\n  pre_tool_call:\n    - *x\n", "line 5"},
		"an entry that shares":          {"hooks:\n  pre_tool_call:\n    - &x\n      command: hux hook\nother: *x\n", "by hand"},
		"plugins that are a list":       {"plugins: [a]\n", "line 1"},
		"a command of several lines":    {"hooks:\n  pre_tool_call:\n    - command: >\n        hux hook\n", "by hand"},
		"an end marker":                 {"a: 1\n...\n", "by hand"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, _, err := hermes.Merge([]byte(c.before), setup)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("it says %v\n%s", err, after)
			}
		})
	}
}

func TestSplitJoins(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"hux", "hook"}, {"a b", "it's", `"`, `\`, "", "ü", "$x", "a\tb"}} {
		if got, ok := hermes.Split(hermes.Join(words...)); !ok || !slices.Equal(got, words) {
			t.Errorf("%q became %q", words, got)
		}
	}
	for command, ok := range map[string]bool{`a 'b`: false, `a "b`: false, `a \`: false, ``: true, `a\ b "c\"d"`: true} {
		if _, got := hermes.Split(command); got != ok {
			t.Errorf("%q: %v", command, got)
		}
	}
}

// FuzzMerge: whatever the file, it is refused, or has our hooks afterwards and
// all that it had.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{"", whole, "hooks: {}\n", "a: &a [1]\nhooks:\n  x: *a\n", "hooks: {pre_tool_call: [{command: hux hook, timeout: 1}]}", "? hooks\n: a: b\n", "plugins: \"\"\n", "hooks:\n- a\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, before []byte) {
		after, _, err := hermes.Merge(before, setup)
		if err != nil {
			return
		}
		again, changes, err := hermes.Merge(after, setup)
		if err != nil || len(changes) > 0 || string(again) != string(after) {
			t.Fatalf("the second time: %v %v\n%s", err, changes, again)
		}
		var doc map[string]any
		if err := yaml.Unmarshal(after, &doc); err != nil {
			t.Fatal(err)
		}
		hooks, _ := doc["hooks"].(map[string]any)
		gates, _ := hooks["pre_tool_call"].([]any)
		if !slices.ContainsFunc(gates, func(e any) bool {
			entry, _ := e.(map[string]any)
			command, _ := entry["command"].(string)
			return entry["fail_closed"] == true && strings.Contains(command, "hux hook")
		}) {
			t.Fatalf("there is no hook in\n%s", after)
		}
	})
}
