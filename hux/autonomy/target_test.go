package autonomy_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

func path(p any) map[string]any     { return map[string]any{"path": p} }
func pages(u ...any) map[string]any { return map[string]any{"urls": u} }

func TestTarget(t *testing.T) {
	for name, c := range map[string]struct {
		tool string
		args map[string]any
		want string
	}{
		"a path":                 {"write_file", path("a/b"), "a/b"},
		"a long way there":       {"write_file", path("/etc//./passwd"), "/etc/passwd"},
		"a way back":             {"write_file", path("/etc/link/../passwd"), ""},
		"a path like a host":     {"write_file", path("//etc/passwd"), "/etc/passwd"},
		"a number":               {"write_file", path(7), ""},
		"two paths":              {"write_file", path([]any{"a", "b"}), ""},
		"a path with a secret":   {"write_file", path("/x/ghp_0123456789abcdefghijklmnop"), ""},
		"a path of two lines":    {"write_file", path("a\nb"), ""},
		"a path that is long":    {"write_file", path(strings.Repeat("a", 201)), ""},
		"a recipient":            {"send_message", map[string]any{"target": " telegram:1 "}, "telegram:1"},
		"a host":                 {"web_extract", pages("https://Example.org/x"), "example.org"},
		"the same host twice":    {"web_extract", pages("https://example.org/x", "http://EXAMPLE.org:80"), "example.org"},
		"several hosts":          {"web_extract", pages("https://example.org/x", "https://evil.example"), ""},
		"one that nobody reads":  {"web_extract", pages("https://example.org/x", "evil.example"), ""},
		"its own port":           {"browser_navigate", map[string]any{"url": "https://example.org:443/"}, "example.org"},
		"another port":           {"browser_navigate", map[string]any{"url": "https://example.org:8443/"}, "example.org:8443"},
		"the root's dot":         {"browser_navigate", map[string]any{"url": "https://example.org./"}, "example.org"},
		"a host in disguise":     {"browser_navigate", map[string]any{"url": "https://example.org@evil.example/"}, "evil.example"},
		"a file for a host":      {"browser_navigate", map[string]any{"url": "file://example.org/etc"}, ""},
		"an address as a number": {"browser_navigate", map[string]any{"url": "https://2130706433/"}, ""},
		"an address":             {"browser_navigate", map[string]any{"url": "https://[::1]:443/"}, "[::1]"},
		"a shell":                {"terminal", map[string]any{"command": "ls", "target": "x"}, ""},
		"an unknown tool":        {"mcp_x", map[string]any{"path": "x", "": "x"}, ""},
	} {
		if got := autonomy.Target(c.tool, c.args); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		want := autonomy.Match{Tool: c.tool, Target: c.want}
		if c.want == "" {
			want.ArgsHash = "h"
		}
		if got := autonomy.MatchOf(c.tool, c.args, "h"); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A denial holds however its target is spelled, whatever the agent says, and
// for one of several; an allowance for none of that.
func TestGrantsAreForWhatTheCatalogueSees(t *testing.T) {
	for name, c := range map[string]struct {
		tool    string
		args    map[string]any
		claimed string
		target  string
		allows  bool
		denies  bool
	}{
		"the same":           {"write_file", path("/etc/passwd"), "/etc/passwd", "/etc/passwd", true, true},
		"not said":           {"write_file", path("/etc/passwd"), "", "/etc/passwd", true, true},
		"said to be another": {"write_file", path("/etc/passwd"), "x", "/etc/passwd", true, true},
		"spelled otherwise":  {"write_file", path("/etc/./passwd"), "", "/etc//passwd", true, true},
		"another":            {"write_file", path("/root/x"), "notes.txt", "notes.txt", false, true},
		"another, not said":  {"write_file", path("/root/x"), "", "notes.txt", false, false},
		"a port":             {"browser_navigate", map[string]any{"url": "http://evil.example:8080/"}, "", "evil.example", false, true},
		"a grant's address":  {"browser_navigate", map[string]any{"url": "https://evil.example/"}, "", "https://Evil.example:443/x", true, true},
		"one of several":     {"web_extract", pages("https://a.example", "https://evil.example/x"), "", "evil.example", false, true},
		"none of several":    {"web_extract", pages("https://a.example", "https://b.example/x"), "", "evil.example", false, false},
		"what nobody reads":  {"web_extract", pages(`https://evil.example\@a.example`), "", "evil.example", false, true},
		"a shell's word":     {"terminal", command("ls"), "x", "x", false, true},
	} {
		call := autonomy.Call{Tool: c.tool, Claimed: c.claimed}.Aimed(c.args)
		for effect, want := range map[autonomy.Effect]bool{autonomy.Allow: c.allows, autonomy.Deny: c.denies} {
			g := autonomy.Grant{Effect: effect, Match: autonomy.Match{Tool: c.tool, Target: c.target}}
			if g.Matches(call) != want {
				t.Errorf("%s: %s matches %v, want %v", name, effect, !want, want)
			}
		}
	}
}

// What an agent says of a target does not count where the catalogue sees it.
func TestATargetIsNotTheAgentsWord(t *testing.T) {
	r := newRig(t)
	ask := func(call, tool, args, target string) answer {
		return r.do(r.agent, "POST /decisions", `{"conversation_id":"`+r.id+`","run_id":"r","tool":"`+tool+`","args":`+args+`,"target":`+target+`,"tool_call_id":"`+call+`"}`)
	}
	first := ask("1", "write_file", `{"path":"notes.txt","content":"x"}`, `"./notes.txt"`)
	if a := r.choose(first.text("approval_id"), "always"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.code)
	}
	if a := ask("2", "write_file", `{"path":"notes.txt","content":"y"}`, "null"); a.decision() != "allow grant_allow" {
		t.Errorf("the path that was granted: %s", a.body)
	}
	if a := ask("3", "write_file", `{"path":"/root/x","content":"y"}`, `"notes.txt"`); a.code != hux.SchemaInvalid {
		t.Errorf("another path under its name: %d %s %s", a.status, a.code, a.body)
	}
	for _, deny := range []string{
		`{"capability":"write","effect":"deny","duration":"always","match":{"tool":"write_file","target":"/etc/../etc/passwd"}}`,
		`{"capability":"network","effect":"deny","duration":"always","match":{"tool":"web_extract","target":"Evil.example."}}`,
	} {
		if a := r.do(r.human, "POST /grants", deny); a.status != http.StatusCreated || strings.Contains(string(a.body), "..") || strings.Contains(string(a.body), "Evil") {
			t.Errorf("%d %s %s", a.status, a.code, a.body)
		}
	}
	if a := r.do(r.human, "POST /grants", `{"capability":"network","effect":"deny","duration":"always","match":{"tool":"web_extract","target":"évil.example"}}`); a.code != hux.SchemaInvalid {
		t.Errorf("a host that no call has: %d %s", a.status, a.code)
	}
	for i, args := range []string{`{"path":"/etc/passwd"}`, `{"path":"//etc/./passwd"}`} {
		if a := ask("p"+string(rune('0'+i)), "write_file", args, "null"); a.decision() != "deny grant_deny" {
			t.Errorf("%s: %s", args, a.body)
		}
	}
	for i, args := range []string{`{"urls":["https://evil.example:8443/x"]}`, `{"urls":["https://a.example","http://u:p@EVIL.example"]}`, `{"urls":["evil.example"]}`} {
		if a := ask("u"+string(rune('0'+i)), "web_extract", args, "null"); a.decision() != "deny grant_deny" {
			t.Errorf("%s: %s", args, a.body)
		}
	}
}

// Names that look like secrets are not taken.
func TestNamesAreNoSecrets(t *testing.T) {
	r := newRig(t)
	const secret = "ghp_0123456789abcdefghijklmnopqrst"
	for name, where := range map[string]string{
		"a run":     `"conversation_id":"` + r.id + `","run_id":"` + secret + `"`,
		"a turn":    `"session":{"system":"hermes_session","id":"s"},"turn_id":"` + secret + `"`,
		"a session": `"session":{"system":"hermes_session","id":"` + secret + `"},"turn_id":"t"`,
		"a target":  `"conversation_id":"` + r.id + `","run_id":"r","target":"/x/` + secret + `"`,
		"dots":      `"conversation_id":"` + r.id + `","run_id":".."`,
	} {
		if a := r.do(r.agent, "POST /decisions", `{`+where+`,"tool":"terminal","args":{"command":"ls"},"tool_call_id":"c"}`); a.code != hux.SchemaInvalid {
			t.Errorf("%s: %d %s %s", name, a.status, a.code, a.body)
		}
	}
}

// Whatever a command is made of, its operators and the words behind them are
// shown, and so is what a shell runs after assignments.
func TestShowHidesNoCommand(t *testing.T) {
	parts := []string{
		"TOKEN=x", "password='x y'", `PASSWORD="x`, "--password", "Authorization:", "Bearer", "Cookie: a=b", "https://u:p@h/x", "-u a:b", "secret",
		"ghp_0123456789abcdefghijklmnop", "token:", "=", `"`, "'", "`", "$(", ")", ";", "|", "&", "\n", "<", ">", "-----BEGIN PRIVATE KEY-----", `\`, "${X}", "key: |", "password=",
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 20000 {
		var text strings.Builder
		want := map[string]bool{}
		for i := range 1 + r.IntN(8) {
			if r.IntN(3) == 0 {
				word := "run" + string(rune('a'+i))
				want[word] = true
				text.WriteString([]string{"; ", "|", "&& ", "$(", "`", "\n", "> ", " TOKEN= "}[r.IntN(8)] + word + " ")
				continue
			}
			text.WriteString(parts[r.IntN(len(parts))] + []string{"", " "}[r.IntN(2)])
		}
		in := text.String()
		shown, _ := autonomy.Show("terminal", command(in)).Args["command"].(string)
		for word := range want {
			if !strings.Contains(shown, word) {
				t.Fatalf("%q of %q is not in %q", word, in, shown)
			}
		}
		for _, operator := range []string{";", "|", "&", "$(", "`", "\n", "<", ">"} {
			if strings.Count(in, operator) != strings.Count(shown, operator) {
				t.Fatalf("%q of %q is not in %q", operator, in, shown)
			}
		}
	}
}

// What stays hidden of what executes is said, and is not granted for longer.
func TestWhatIsHiddenIsSaid(t *testing.T) {
	r := newRig(t)
	for args, want := range map[string]string{
		`{"command":"ls","password":"rm -rf ~"}`: "8 characters hidden",
		`{"command":"make TOKEN=abc; curl x"}`:   "3 characters hidden",
		`{"command":"make test"}`:                "",
	} {
		a := r.approval(r.ask(r.id, "r", "c", "terminal", args).text("approval_id"))
		request := a.object["request"].(map[string]any)
		summary, choices := request["summary"].(string), len(request["choices"].([]any))
		if !strings.Contains(summary, want) || strings.Contains(summary, "hidden") != (want != "") || choices != map[bool]int{true: 2, false: 4}[want != ""] {
			t.Errorf("%s: %q and %d choices", args, summary, choices)
		}
	}
}
