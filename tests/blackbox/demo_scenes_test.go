package blackbox_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// scene is a message to the demo's agent, what alice chooses about what it
// then asks, and what the log has of it besides messages.
type scene struct {
	message string
	choices []string // in turn; "" to let one expire
	offered string   // the choices of the last
	log     string
}

const (
	asked3 = "approval.requested started"
	ranIt  = "tool.started started, tool.finished completed"
	said   = "approval.resolved completed"
	saidNo = "approval.resolved failed"
	grant  = "grant.created <nil>"
	any4   = "once session always deny"
)

var demoScenes = map[string]scene{
	"hello":   {"Hello, what can you do?", nil, "", join(ranIt)},
	"ask":     {"Run the tests, but ask", []string{"once", "once"}, any4, join(asked3, said, ranIt, asked3, said, ranIt)},
	"session": {"Run the tests all session", []string{"session", "deny"}, any4, join(asked3, grant, said, ranIt, ranIt, asked3, saidNo)},
	"always":  {"Keep my notes, always", []string{"always", "once"}, any4, join(asked3, grant, said, ranIt, ranIt, asked3, said, ranIt)},
	"deny":    {"Delete the build, which I deny", []string{"deny"}, any4, join(asked3, saidNo)},
	"expire":  {"Wait for me, and let it expire", []string{""}, any4, join(asked3, saidNo)},
	"deploy":  {"Deploy it, and I refuse", []string{"deny"}, "once deny", join(asked3, saidNo)},
	"budget":  {"Fill the report within a budget", []string{"session", "deny"}, any4, join(asked3, grant, said, ranIt, ranIt, ranIt, asked3, saidNo)},
}

func join(parts ...string) string { return strings.Join(parts, ", ") }

// Each scene of the demo's agent goes as alice chooses.
func TestDemoScenes(t *testing.T) {
	t.Parallel()
	addr, stop := startDemo(t, filepath.Join(t.TempDir(), "data"))
	defer stop()
	p := player{t, addr}
	p.send("PUT", "/hux/v1/policy", `{"level":"ask_first","level_expires_at":null,"budgets":[{"kind":"tool_calls","limit":2,"window":"run"}]}`, "If-None-Match: *")
	t.Run("scenes", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(demoScenes)) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				player{t, addr}.play(demoScenes[name])
			})
		}
		t.Run("stop", func(t *testing.T) {
			t.Parallel()
			player{t, addr}.stop()
		})
	})
	// What was granted always is granted in another chat too.
	again := demoScenes["always"]
	again.choices, again.log = []string{"deny"}, join(ranIt, ranIt, asked3, saidNo)
	p.play(again)
}

// player is alice, who writes to the agent and decides.
type player struct {
	t    *testing.T
	addr string
}

func (p player) send(method, path, body string, header ...string) object {
	p.t.Helper()
	return askDemo(p.t, p.addr, "alice", method, path, body, header...)
}

func (p player) items(path string) (items []object) {
	p.t.Helper()
	list, _ := p.send("GET", path, "")["items"].([]any)
	for _, item := range list {
		items = append(items, item.(map[string]any))
	}
	return items
}

// begins sends a message in a new chat, and gives the conversation and the run.
func (p player) begins(message string) (conversation, run string) {
	p.t.Helper()
	p.items("/hux/v1/approvals?status=pending") // somebody is there to decide
	session, _ := p.send("POST", "/api/session/new", "{}")["session"].(map[string]any)["session_id"].(string)
	run, _ = p.send("POST", "/api/chat/start", fmt.Sprintf(`{"session_id":%q,"message":%q}`, session, message))["stream_id"].(string)
	conversation, _ = p.send("POST", "/hux/v1/conversations", fmt.Sprintf(`{"external_ref":{"system":"webui","id":%q}}`, session))["id"].(string)
	return conversation, run
}

// pending waits until n approvals of a conversation are.
func (p player) pending(conversation string, n int) (items []object) {
	p.t.Helper()
	eventually(p.t, 30*time.Second, "something to decide", func() bool {
		items = p.items("/hux/v1/approvals?status=pending&conversation_id=" + conversation)
		return len(items) >= n
	})
	return items
}

func (p player) decides(a object, choice string) {
	p.t.Helper()
	request, _ := a["request"].(map[string]any)
	hash := request["evidence"].([]any)[0].(map[string]any)["hash"]
	p.send("POST", fmt.Sprintf("/hux/v1/approvals/%s", a["id"]), fmt.Sprintf(`{"choice":%q,"evidence_hash":%q}`, choice, hash))
}

// log is the kind and status of a conversation's events but the messages, once
// the run has ended.
func (p player) log(conversation string) (kinds []string) {
	p.t.Helper()
	eventually(p.t, 60*time.Second, "the end of the run", func() bool {
		kinds = nil
		ended := false
		for _, e := range p.items("/hux/v1/conversations/" + conversation + "/events") {
			switch e["kind"] {
			case "message.committed", "run.started":
			case "run.finished":
				ended = true
			default:
				kinds = append(kinds, fmt.Sprint(e["kind"], " ", e["status"]))
			}
		}
		return ended
	})
	return kinds
}

func (p player) play(s scene) {
	p.t.Helper()
	conversation, _ := p.begins(s.message)
	for i, choice := range s.choices {
		a := p.pending(conversation, 1)[0]
		if offered := strings.Trim(fmt.Sprint(a["request"].(map[string]any)["choices"]), "[]"); i == len(s.choices)-1 && offered != s.offered {
			p.t.Errorf("%s is offered, want %s", offered, s.offered)
		}
		if choice != "" {
			p.decides(a, choice)
		}
	}
	if got := join(p.log(conversation)...); got != s.log {
		p.t.Errorf("the log has\n%s, want\n%s", got, s.log)
	}
}

// stop allows all three things and stops the run, whose receipt then tells what
// had been done and what nobody knows.
func (p player) stop() {
	p.t.Helper()
	conversation, run := p.begins("Begin three things, and I stop you")
	for _, a := range p.pending(conversation, 3) {
		p.decides(a, "once")
	}
	eventually(p.t, 30*time.Second, "three tools", func() bool {
		n := 0
		for _, e := range p.items("/hux/v1/conversations/" + conversation + "/events") {
			if e["kind"] == "tool.started" {
				n++
			}
		}
		return n == 3
	})
	path := "/hux/v1/conversations/" + conversation + "/runs/" + run + "/cancel"
	if state := p.send("POST", path, "")["state"]; state != "stopping" {
		p.t.Errorf("at once it is %v", state)
	}
	var receipt object
	eventually(p.t, 20*time.Second, "a receipt", func() bool {
		if id, ok := p.send("GET", path, "")["receipt_id"].(string); ok {
			receipt = p.send("GET", "/hux/v1/receipts/"+id, "")
		}
		return receipt != nil
	})
	var effects []string
	for _, e := range receipt["side_effects"].([]any) {
		e := e.(map[string]any)
		effects = append(effects, fmt.Sprint(e["kind"], ": ", e["summary"]))
	}
	want := []string{"file: write_file has ended", "network: web_extract had begun; nobody saw it end", "process: terminal was stopped"}
	if receipt["outcome"] != "partially_stopped" || !slices.Equal(effects, want) {
		text, _ := json.Marshal(receipt)
		p.t.Errorf("the receipt is %s", text)
	}
	if active := p.send("GET", "/api/chat/stream/status?stream_id="+run, "")["active"]; active != false {
		p.t.Error("the agent goes on")
	}
}
