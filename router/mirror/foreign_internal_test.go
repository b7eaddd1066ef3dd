package mirror

import (
	"reflect"
	"testing"
)

func TestWhatIsAskedIsTheCall(t *testing.T) {
	for name, c := range map[string]struct {
		pending pending
		tool    string
		args    map[string]any
	}{
		"a command that a pattern was found in": {
			pending{Tool: "recursive delete", Command: "rm -rf build", Description: "deletes files", Args: []any{}},
			"terminal", map[string]any{"command": "rm -rf build"},
		},
		"a command of no tool":         {pending{Command: "rm x"}, "terminal", map[string]any{"command": "rm x"}},
		"a known tool's arguments":     {pending{Tool: "write_file", Args: map[string]any{"path": "a"}}, "write_file", map[string]any{"path": "a"}},
		"arguments win over a command": {pending{Tool: "execute_code", Command: "x", Args: map[string]any{"code": "1"}}, "execute_code", map[string]any{"code": "1"}},
		"a tool that nobody knows":     {pending{Tool: "mcp_thing", Description: "does it"}, "mcp_thing", map[string]any{"description": "does it"}},
		"no name":                      {pending{Tool: "a thing", Args: map[string]any{"x": "y"}}, "unknown", map[string]any{"x": "y"}},
		"nothing":                      {pending{}, "unknown", map[string]any{}},
	} {
		c.pending.ID = "0123456789abcdef0123456789abcdef"
		got := asked("0123456789ab", &c.pending)
		if got.Tool != c.tool || !reflect.DeepEqual(got.Args, c.args) || got.ID != c.pending.ID || got.Session.System != "webui" || got.Session.ID != "0123456789ab" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
