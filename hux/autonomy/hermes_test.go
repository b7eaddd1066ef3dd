package autonomy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

const hookInput = `{"hook_event_name":"pre_tool_call","tool_name":"terminal","tool_input":{"command":"make test"},"session_id":"20260302_091455_a1b2c3","cwd":"/home/agent","profile":"default","extra":{"task_id":"t","tool_call_id":"call_0123456789abcdef","turn_id":"turn-1"}}`

func TestReadHook(t *testing.T) {
	for name, c := range map[string]struct {
		input string
		code  hux.Code // "" where it is read
		args  string
	}{
		"a call":              {hookInput, "", `{"command":"make test"}`},
		"no arguments":        {strings.Replace(hookInput, `{"command":"make test"}`, "null", 1), "", "null"},
		"members of others":   {strings.Replace(hookInput, `"cwd"`, `"id":1,"user":{"a":[]},"cwd"`, 1), "", `{"command":"make test"}`},
		"in another case":     {strings.Replace(hookInput, `"tool_name"`, `"Tool_Name"`, 1), hux.InvalidJSON, ""},
		"with another's name": {strings.Replace(hookInput, `"cwd"`, `"TOOL_INPUT":{"command":"true"},"cwd"`, 1), "", `{"command":"make test"}`},
		"numbers":             {strings.Replace(hookInput, `{"command":"make test"}`, `{"n":1.0,"m":12345678901234567890}`, 1), "", `{"m":12345678901234567890,"n":1}`},
		"a huge number":       {strings.Replace(hookInput, `{"command":"make test"}`, `{"n":1e999999}`, 1), hux.InvalidJSON, ""},
		"an argument twice":   {strings.Replace(hookInput, `{"command"`, `{"command":"true","command"`, 1), hux.InvalidJSON, ""},
		"arguments as text":   {strings.Replace(hookInput, `{"command":"make test"}`, `"make test"`, 1), hux.InvalidJSON, ""},
		"arguments too large": {strings.Replace(hookInput, "make test", strings.Repeat("x", 70<<10), 1), hux.TooLarge, ""},
		"no tool":             {strings.Replace(hookInput, `"terminal"`, `null`, 1), hux.InvalidJSON, ""},
		"a tool of numbers":   {strings.Replace(hookInput, `"terminal"`, `7`, 1), hux.InvalidJSON, ""},
		"nothing":             {"", hux.InvalidJSON, ""},
		"null":                {"null", hux.InvalidJSON, ""},
		"more than one":       {hookInput + hookInput, hux.InvalidJSON, ""},
	} {
		e, err := autonomy.ReadHook([]byte(c.input))
		if code := codeOf(err); code != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		if args, _ := json.Marshal(e.ToolInput); string(args) != c.args || e.HookEventName != "pre_tool_call" || *e.ToolName != "terminal" || e.Detail("turn_id") != "turn-1" || e.Detail("task_id") != "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Two calls of a model that counts its calls anew are two calls.
func TestShortCallIDs(t *testing.T) {
	for extra, want := range map[string]string{
		`{"tool_call_id":"call_1","api_request_id":"a7","turn_id":"t"}`:            "a7.call_1",
		`{"tool_call_id":"call_1","turn_id":"t"}`:                                  "t.call_1",
		`{"tool_call_id":"call_1"}`:                                                "call_1",
		`{"tool_call_id":"call_1","api_request_id":"a 7"}`:                         hux.ForeignID("a 7.call_1"),
		`{"tool_call_id":"call_0123456789ab","api_request_id":"a7","turn_id":"t"}`: "call_0123456789ab",
		`{"tool_call_id":"","api_request_id":"a7","turn_id":"t"}`:                  "",
		`{"tool_call_id":7,"api_request_id":7,"turn_id":"t"}`:                      "",
		`{"tool_call_id":"1","api_request_id":"` + strings.Repeat("a", 130) + `"}`: hux.ForeignID(strings.Repeat("a", 130) + ".1"),
	} {
		before, _, _ := strings.Cut(hookInput, `{"task_id"`)
		e, err := autonomy.ReadHook([]byte(before + extra + "}"))
		if err != nil || e.Detail("tool_call_id") != want {
			t.Errorf("%s: %+v, %v", extra, e, err)
			continue
		}
		text, _ := json.Marshal(e) // as hux hook event sends it on
		if again, err := autonomy.ReadTold(text); err != nil || again.Detail("tool_call_id") != want {
			t.Errorf("%s, read twice: %+v, %v", extra, again, err)
		}
	}
}

// What Hermes calls by names of another form has one name here.
func TestIDsOfHermes(t *testing.T) {
	for _, id := range []string{"a", "a b", "agent:main:telegram:dm:1", strings.Repeat("x", 129)} {
		text, _ := json.Marshal(id)
		e, err := autonomy.ReadHook([]byte(strings.Replace(hookInput, `"20260302_091455_a1b2c3"`, string(text), 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := *e.SessionID; got != hux.ForeignID(id) {
			t.Errorf("%q is %q", id, got)
		}
	}
}

func TestTold(t *testing.T) {
	post := strings.Replace(hookInput, "pre_tool_call", "post_tool_call", 1)
	with := func(input, extra string) string {
		return strings.Replace(input, `"turn_id":"turn-1"`, `"turn_id":"turn-1",`+extra, 1)
	}
	for name, c := range map[string]struct{ input, want string }{
		"started":         {hookInput, `tool.started started "terminal: make test" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"finished":        {post, `tool.finished completed "terminal: make test" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"failed":          {with(post, `"status":"error"`), `tool.finished failed "terminal: make test" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"no arguments":    {with(post, `"status":"error","error_type":"invalid_tool_arguments"`), `tool.finished failed "terminal: make test" {"blocked":true,"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"failed, by type": {with(post, `"error_type":"ValueError"`), `tool.finished failed "terminal: make test" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"of a while":      {with(post, `"duration_ms":1.5e3,"result":"`+strings.Repeat("x", 1<<20)+`"`), `tool.finished completed "terminal: make test" {"duration_ms":1500,"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"of no while":     {with(post, `"duration_ms":-1`), `tool.finished completed "terminal: make test" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"of ages":         {with(post, `"duration_ms":1e300`), `tool.finished completed "terminal: make test" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"of large things": {strings.Replace(post, "make test", strings.Repeat("x", 70<<10), 1), `tool.finished completed "terminal" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"with a secret":   {strings.Replace(post, "make test", "PASSWORD=hunter2 make", 1), `tool.finished completed "terminal: PASSWORD=[redacted] make" {"tool":"terminal","tool_call_id":"call_0123456789abcdef"}`},
		"of a session":    {strings.Replace(post, "post_tool_call", "on_session_end", 1), "nothing"},
		"of no tool":      {strings.Replace(post, `"terminal"`, "null", 1), "nothing"},
	} {
		e, err := autonomy.ReadTold([]byte(c.input))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := "nothing"
		if told, ok := e.Told("r"); ok {
			got = fmt.Sprintf("%s %s %q %s", told.Kind, *told.Status, told.Summary, told.Data)
		}
		if got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Whatever a hook is given it answers, and what it would ask about is a
// question that has a hash.
func FuzzReadHook(f *testing.F) {
	f.Add([]byte(hookInput))
	f.Add([]byte(`{"tool_name":"a b","tool_input":{"n":1.5},"extra":{"tool_call_id":7,"duration_ms":1e400},"session_id":"\ud800"}`))
	f.Add([]byte(`{"extra":[],"tool_input":[]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if e, err := autonomy.ReadHook(body); err == nil {
			if *e.ToolName == "" || hux.ForeignID(*e.ToolName) != *e.ToolName {
				t.Errorf("the tool is %q", *e.ToolName)
			}
			if _, err := autonomy.EvidenceHash(*e.ToolName, e.ToolInput, ""); err != nil && codeOf(err) == "" {
				t.Errorf("%v", err)
			}
		} else if code := codeOf(err); code != hux.InvalidJSON && code != hux.TooLarge {
			t.Errorf("%v", err)
		}
		e, err := autonomy.ReadTold(body)
		if err != nil {
			return
		}
		if told, ok := e.Told("r"); ok {
			var data map[string]any
			if err := json.Unmarshal(told.Data, &data); err != nil || len([]rune(told.Summary)) > 280 || told.Summary == "" {
				t.Errorf("%q %s", told.Summary, told.Data)
			}
		}
	})
}

func codeOf(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
