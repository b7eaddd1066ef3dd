package webui

import (
	"reflect"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
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
		"a command of no tool":     {pending{Command: "rm x"}, "terminal", map[string]any{"command": "rm x"}},
		"a known tool's arguments": {pending{Tool: "write_file", Args: map[string]any{"path": "a"}}, "write_file", map[string]any{"path": "a"}},
		"a command besides a known tool's arguments": {
			pending{Tool: "execute_code", Command: "x", Args: map[string]any{"code": "1"}}, "execute_code", map[string]any{"code": "1", "command": "x"},
		},
		"the same command twice":        {pending{Tool: "terminal", Command: "x", Args: map[string]any{"command": "x"}}, "terminal", map[string]any{"command": "x"}},
		"arguments that are a list":     {pending{Tool: "kubectl", Args: []any{"apply"}, Description: "harmless"}, "kubectl", map[string]any{"args": []any{"apply"}, "description": "harmless"}},
		"a list and a command":          {pending{Tool: "x", Command: "y", Args: []any{"z"}}, "terminal", map[string]any{"command": "y", "args": []any{"z"}}},
		"a command and an unknown tool": {pending{Tool: "x", Command: "y", Args: map[string]any{"z": "1"}}, "terminal", map[string]any{"command": "y", "args": map[string]any{"z": "1"}}},
		"a tool that nobody knows":      {pending{Tool: "mcp_thing", Description: "does it"}, "mcp_thing", map[string]any{"description": "does it"}},
		"no name":                       {pending{Tool: "a thing", Args: map[string]any{"x": "y"}}, "unknown", map[string]any{"x": "y"}},
		"nothing":                       {pending{}, "unknown", map[string]any{}},
	} {
		c.pending.ID = "0123456789abcdef0123456789abcdef"
		got := asked("0123456789ab", &c.pending)
		if got.Tool != c.tool || !reflect.DeepEqual(got.Args, c.args) || got.ID != c.pending.ID || got.Session.System != "webui" || got.Session.ID != "0123456789ab" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTwoCommandsAreUnfit(t *testing.T) {
	f := asked("s", &pending{ID: "a", Tool: "terminal", Command: "x", Args: map[string]any{"command": "y"}})
	if f.Unfit == "" {
		t.Errorf("%+v", f)
	}
	if f := asked("s", &pending{ID: "a", Tool: "todo", Command: "kubectl apply", Args: map[string]any{"x": "1"}}); f.Command != "kubectl apply" || f.Unfit != "" {
		t.Errorf("%+v", f)
	}
}

func TestNamesFitProvenance(t *testing.T) {
	for _, id := range []string{"a", "../../x", "a&b", strings.Repeat("s", 5000), "<img>", "sk-abcdefgh12345678ABCDEFGH12345678", "\u202egnp"} {
		got := idOf(id)
		if !hux.ValidForeignID(got) || (got == id) != (id == "a") {
			t.Errorf("%.20q is %q", id, got)
		}
	}
}
