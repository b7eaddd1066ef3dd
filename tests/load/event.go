package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"

	hux "bstein.dev/hux/hux/client"
)

// agent makes a credential for an agent of the person's slot.
func (r *rig) agent() *target {
	cmd := exec.CommandContext(r.ctx, r.hux, "agents", "create", "load", "load", "--config", filepath.Join(r.dir, "hux.yaml")) //nolint:gosec // the router under test
	cmd.Env, cmd.Dir = r.bearer.process.env, r.dir
	t := r.bearer.with("hux, agent credential and key", strings.TrimSpace(string(must(cmd.Output()))))
	t.agent = true
	return t
}

// conversation makes a conversation and returns its id.
func conversation(t *target) string {
	return must(t.api().OpenConversation(context.Background(), hux.ConversationCreate{})).ID
}

// calls numbers what must differ from request to request.
var calls atomic.Int64

// send is a POST of JSON with a key of its own.
func (t *target) send(path, body string) []byte {
	return t.request(http.MethodPost, path, body, "Content-Type: application/json", fmt.Sprintf("Idempotency-Key: load-%d", calls.Add(1)))
}

// post is a request that adds an event to a conversation, or that publishes to
// a hub, which has a topic of the same name. An agent's has what an agent
// sends: an idempotency key and the id of the tool call. More is as many bytes
// of further data.
func (t *target) post(conversation string, more int) []byte {
	path := "/hux/v1/conversations/" + conversation + "/events"
	if t.update != "" {
		return t.request(http.MethodPost, hubPath, t.update+"&topic="+conversation, "Content-Type: application/x-www-form-urlencoded")
	}
	n, data := calls.Add(1), ""
	if t.agent {
		data = fmt.Sprintf(`,"tool_call_id":"call-%d"`, n)
	}
	if more > 0 {
		data += `,"output":"` + strings.Repeat("all of it is well ", more/18) + `"`
	}
	body := fmt.Sprintf(`{"kind":"tool.finished","status":"completed","summary":"Ran the tests of the package, and all of them passed","run_id":"run-%d-%08x","data":{"tool":"shell","duration_ms":5230%s}}`,
		n/100, crc32.ChecksumIEEE([]byte(conversation)), data) // a run is of one conversation
	if t.agent {
		return t.send(path, body)
	}
	return t.request(http.MethodPost, path, body, "Content-Type: application/json")
}

// posted adds an event and returns it as the router gives it.
func posted(t *target, conversation string) []byte {
	c := dial(t.addr)
	defer c.close()
	return c.do(t.post(conversation, 0))
}

// write posts n events from so many connections, each with one at a time.
func write(t *target, conversation string, n, more, writers int) {
	share(n, writers, t.addr, func(_ int, c *client) { c.do(t.post(conversation, more)) })
}
