package blackbox_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// What a person has forbidden the hook blocks, at whatever level, however the
// call spells it.
func TestHookBlocksWhatIsForbidden(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
	alice.call(t, "PUT", "/policy", `{"level":"autonomous","level_expires_at":null,"budgets":[]}`, "If-None-Match: *", newKey()).want(t, 201, "")
	for _, deny := range [][3]string{
		{"write", "write_file", "/etc/passwd"}, {"message", "send_message", "telegram:1"},
		{"network", "browser_navigate", "evil.example"}, {"network", "web_extract", "evil.example"},
	} {
		alice.call(t, "POST", "/grants", fmt.Sprintf(`{"capability":%q,"effect":"deny","duration":"always","match":{"tool":%q,"target":%q}}`, deny[0], deny[1], deny[2]), newKey()).want(t, 201, "")
	}
	env := agent.hookEnv(t)
	for i, c := range []struct {
		tool, args string
		runs       bool
	}{
		{"write_file", `{"path":"/etc/passwd","content":"x"}`, false},
		{"write_file", `{"path":"/etc/../etc/passwd","content":"x","target":"notes.txt"}`, false},
		{"write_file", `{"path":"/home/alice/notes.txt","content":"x"}`, true},
		{"send_message", `{"target":"telegram:1","message":"x"}`, false},
		{"send_message", `{"target":"telegram:2","message":"x"}`, true},
		{"browser_navigate", `{"url":"https://EVIL.example.:443/x"}`, false},
		{"browser_navigate", `{"url":"http://evil.example:8080"}`, false},
		{"browser_navigate", `{"url":"https://example.org/"}`, true},
		{"web_extract", `{"urls":["https://example.org/","https://evil.example/"]}`, false},
		{"web_extract", `{"urls":["https://example.org/","https://example.org/a"]}`, true},
	} {
		p := startHook(t, env, stdin("s.deny", "turn.deny", fmt.Sprintf("call.of.the.denials.%d", i), c.tool, c.args))
		said := p.says(t, 20*time.Second)
		if (said == "allow") != c.runs || !c.runs && !strings.Contains(said, "has forbidden this") {
			t.Errorf("%s %s: %s", c.tool, c.args, said)
		}
	}
}
