package autonomy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
)

// fromWebUI is an approval that a WebUI waits for in a session of its.
func fromWebUI(session, id, tool string, args map[string]any) autonomy.Foreign {
	return autonomy.Foreign{Session: conversation.Ref{System: "webui", ID: session}, ID: id, RunID: "run-" + session, Tool: tool, Args: args}
}

func (r *rig) take(f autonomy.Foreign) autonomy.Standing {
	r.t.Helper()
	st, err := r.service.Take(r.t.Context(), r.human.DB, alice, f)
	if err != nil {
		r.t.Fatal(err)
	}
	return st
}

// ofWebUI is the conversation of a WebUI's session.
func (r *rig) ofWebUI(session string) string {
	r.t.Helper()
	return r.do(r.human, "POST /conversations", fmt.Sprintf(`{"external_ref":{"system":"webui","id":%q}}`, session)).text("id")
}

// What nobody can be asked about is denied, and told once.
func TestUnfitForeigns(t *testing.T) {
	r := newRig(t)
	unfit := fromWebUI("unfit", "a", "terminal", nil)
	unfit.Unfit = "it is too large"
	long := strings.Repeat("x", 70<<10)
	for what, f := range map[string]autonomy.Foreign{
		"unfit":                unfit,
		"large":                fromWebUI("large", "a", "terminal", map[string]any{"command": long}),
		"a number":             fromWebUI("number", "a", "mcp_x", map[string]any{"n": json.Number("1e300000")}),
		"one that is inexact":  fromWebUI("inexact", "a", "mcp_x", map[string]any{"n": json.Number("1234567890123456789")}),
		"a tool like a secret": fromWebUI("secret", "a", "sk-abcdefgh12345678ABCDEFGH12345678", map[string]any{}),
	} {
		for range 3 {
			if st := r.take(f); st.Choice != autonomy.DenyChoice {
				t.Errorf("%s: %+v", what, st)
			}
		}
		id := r.ofWebUI(f.Session.ID)
		if got := r.events(id); !slices.Equal(got, []string{"approval.resolved failed"}) {
			t.Errorf("%s: %v", what, got)
		}
	}
	if items := r.do(r.human, "GET /approvals", "").object["items"].([]any); len(items) != 0 {
		t.Errorf("%d approvals", len(items))
	}
}

// A command that runs besides a tool counts with it, and what is granted then is
// just that call.
func TestForeignWithCommand(t *testing.T) {
	r := newRig(t)
	f := fromWebUI("both", "a", "write_file", map[string]any{"path": "a", "command": "kubectl apply -f x"})
	f.Command = "kubectl apply -f x"
	if st := r.take(f); st.Choice != "" {
		t.Fatalf("%+v", st)
	}
	a := r.do(r.human, "GET /approvals", "").object["items"].([]any)[0].(map[string]any)["request"].(map[string]any)
	want := autonomy.Capabilities("terminal", map[string]any{"command": f.Command})
	for _, c := range append(want, autonomy.Write) {
		if !slices.Contains(a["capabilities"].([]any), any(string(c))) {
			t.Errorf("%v lack %s", a["capabilities"], c)
		}
	}
	if match := a["grant_match"].(map[string]any); match["args_hash"] == nil || match["target"] != nil {
		t.Errorf("what is granted matches %v", match)
	}
	if args := a["args_redacted"].(map[string]any); args["path"] != "a" || args["command"] != f.Command {
		t.Errorf("shown is %v", args)
	}
}

// A tenant's WebUI has so many asked about at a time, and no more.
func TestForeignsAreBounded(t *testing.T) {
	r := newRig(t)
	const most = 100
	for i := range most {
		r.take(fromWebUI(fmt.Sprintf("s%d", i), "a", "terminal", map[string]any{"command": "ls"}))
	}
	more := fromWebUI("more", "a", "terminal", map[string]any{"command": "ls"})
	_, err := r.service.Take(t.Context(), r.human.DB, alice, more)
	if e := (*hux.Error)(nil); !errors.As(err, &e) || e.Code != hux.RateLimited {
		t.Fatalf("one more: %v", err)
	}
	if err := r.service.Withdraw(t.Context(), r.human.DB, conversation.Ref{System: "webui", ID: "s7"}, ""); err != nil {
		t.Fatal(err)
	}
	if st := r.take(more); st.Choice != "" {
		t.Errorf("where there is room: %+v", st)
	}
}
