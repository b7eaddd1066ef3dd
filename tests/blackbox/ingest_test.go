package blackbox_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// hooked is an agent with the secret of its webhooks.
type hooked struct {
	*caller
	h      *router
	id     string
	secret string
}

func (h *router) hooked(t *testing.T, proto, slot string) *hooked {
	t.Helper()
	a := &hooked{h: h}
	a.caller = h.caller(t, proto, a.learn(t, "create", slot, "an assistant"))
	return a
}

// learn makes the agent, or its secrets anew, and gives its credential.
func (a *hooked) learn(t *testing.T, command ...string) (credential string) {
	t.Helper()
	env := a.h.command(t, "", append([]string{"agents"}, append(command, "--env")...)...)
	for line := range strings.Lines(env) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name {
		case "HUX_AGENT_CREDENTIAL":
			credential = value
		case "HUX_HOOK_SECRET":
			a.secret = value
		}
	}
	if credential == "" || a.secret == "" {
		t.Fatalf("agents %v prints %q", command, env)
	}
	a.h.secrets.add("agent credential", credential)
	a.h.secrets.add("secret of webhooks", a.secret)
	a.id = strings.TrimPrefix(credential[:strings.LastIndex(credential, "_")], "hux_")
	return credential
}

func sign(secret, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	return "X-Hermes-Signature-256: sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// deliver sends a webhook's body, well signed, without any credential.
func (a *hooked) deliver(t testing.TB, body string, header ...string) *answer {
	t.Helper()
	return a.unsigned(t, a.id, body, append(header, sign(a.secret, body))...)
}

func (a *hooked) unsigned(t testing.TB, id, body string, header ...string) *answer {
	t.Helper()
	return a.b.do(t, "POST", apiURL+"/hux/v1/ingest/hermes/"+id, strings.NewReader(body), append(header, "Content-Type: application/json")...)
}

// webhook is a body as Hermes sends it; over what is given.
func webhook(over map[string]any, extra map[string]any) string {
	body := map[string]any{
		"hook_event_name": "post_tool_call", "delivery_id": "d-" + newKey()[len("Idempotency-Key: "):], "timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
		"session_id": "20260302_091455_a1b2c3", "tool_name": "terminal", "tool_input": map[string]any{"command": "make test PASSWORD=hunter2-sentinel"},
		"cwd": "/home/agent", "profile": "default", "user": "somebody", "id": 7, "owner": "usr_x",
	}
	facts := map[string]any{"tool_call_id": "call_0123456789abcdef", "turn_id": "turn-1", "status": "ok", "duration_ms": 41.6, "result": "sentinel-of-a-result", "api_request_id": "x", "user": 1}
	for k, v := range extra {
		facts[k] = v
	}
	body["extra"] = facts
	for k, v := range over {
		body[k] = v
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ofSession is the conversation that a session of Hermes has.
func (c *caller) ofSession(t testing.TB, session string) string {
	t.Helper()
	a := c.call(t, "POST", "/conversations", fmt.Sprintf(`{"external_ref":{"system":"hermes_session","id":%q}}`, session), newKey())
	a.want(t, 200, "")
	return a.object(t)["id"].(string)
}

// A webhook tells of a tool, once, without what went in or came out.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, agent := h.person(t, proto, "alice"), h.hooked(t, proto, "a")
		session, turn := "s."+proto, "turn."+proto
		of := map[string]any{"session_id": session}
		with := func(over map[string]any) map[string]any { over["session_id"] = session; return over }
		started := webhook(with(map[string]any{"hook_event_name": "pre_tool_call"}), map[string]any{"turn_id": turn})
		a := agent.deliver(t, started, "HUX-Surface: voice", "HUX-Session: forged", "HUX-Run: forged", "Authorization: Bearer nonsense", "Idempotency-Key: x", "Origin: https://evil.example")
		if a.StatusCode != 204 || a.body != "" || a.Header.Get("HUX-Contract") != "1.1.0" {
			t.Fatalf("%d %v %s", a.StatusCode, a.Header, a.body)
		}
		finished := webhook(of, map[string]any{"turn_id": turn})
		for range 3 { // the second is a retry after an answer that was lost
			agent.deliver(t, finished).want(t, 204, "")
		}
		agent.deliver(t, webhook(of, nil)).want(t, 204, "") // told anew under another id
		for _, name := range []string{"on_session_start", "on_session_end", "pre_approval_request", "post_approval_response", "subagent_stop", "something_new"} {
			agent.deliver(t, webhook(with(map[string]any{"hook_event_name": name}), nil)).want(t, 204, "")
		}
		agent.deliver(t, webhook(map[string]any{"session_id": nil}, nil)).want(t, 204, "")
		agent.deliver(t, webhook(with(map[string]any{"tool_name": nil, "tool_input": nil}), nil)).want(t, 204, "")

		path := "/conversations/" + alice.ofSession(t, session) + "/events"
		l := alice.told(t, path)
		if len(l.Items) != 2 {
			t.Fatalf("%d events, want 2: %v", len(l.Items), l.Items)
		}
		for i, want := range []string{
			`{"kind":"tool.started","status":"started","run":"` + turn + `","data":{"tool":"terminal","tool_call_id":"call_0123456789abcdef"}}`,
			`{"kind":"tool.finished","status":"completed","run":"` + turn + `","data":{"duration_ms":42,"tool":"terminal","tool_call_id":"call_0123456789abcdef"}}`,
		} {
			e := l.Items[i]
			p := e["provenance"].(map[string]any)
			got, _ := json.Marshal(struct {
				Kind   any `json:"kind"`
				Status any `json:"status"`
				Run    any `json:"run"`
				Data   any `json:"data"`
			}{e["kind"], e["status"], e["run_id"], e["data"]})
			if string(got) != want {
				t.Errorf("event %d is %s", i, got)
			}
			if actor := p["actor"].(map[string]any); actor["kind"] != "agent" || actor["id"] != agent.id || p["surface"] != "chat" || p["session_id"] != session || p["run_id"] != turn {
				t.Errorf("event %d is of %v", i, p)
			}
			if s := e["summary"].(string); !strings.HasPrefix(s, "terminal: make test") || strings.Contains(s, "hunter2") {
				t.Errorf("event %d says %q", i, s)
			}
		}
		whole, _ := json.Marshal(l.Items)
		if strings.Contains(string(whole), "sentinel") {
			t.Errorf("a result or a secret is in the log: %s", whole)
		}

		// The page's session and the hook's are one, whoever comes first.
		page := alice.call(t, "POST", "/conversations", fmt.Sprintf(`{"external_ref":{"system":"webui","id":%q}}`, session))
		page.want(t, 200, "")
		if "/conversations/"+page.object(t)["id"].(string)+"/events" != path {
			t.Error("the page has another conversation than the hook")
		}

		// What the page has reported is the same call, in the page's run.
		other := "page." + proto
		id := alice.call(t, "POST", "/conversations", fmt.Sprintf(`{"external_ref":{"system":"webui","id":%q}}`, other)).object(t)["id"].(string)
		path = "/conversations/" + id + "/events"
		alice.post(t, id, `{"kind":"run.started","status":"started","summary":"x","run_id":"stream-`+proto+`"}`)
		alice.post(t, id, `{"kind":"tool.started","status":"started","summary":"x","run_id":"stream-`+proto+`","data":{"tool_call_id":"call_of_the_page_1"}}`)
		facts := map[string]any{"tool_call_id": "call_of_the_page_1", "turn_id": "turn-of-the-page"}
		agent.deliver(t, webhook(map[string]any{"session_id": other, "hook_event_name": "pre_tool_call"}, facts)).want(t, 204, "")
		agent.deliver(t, webhook(map[string]any{"session_id": other}, facts)).want(t, 204, "")
		if l := alice.told(t, path); len(l.Items) != 3 || l.Items[2]["run_id"] != "stream-"+proto || l.Items[2]["kind"] != "tool.finished" {
			t.Errorf("with the page's reports: %v", l.Items)
		}

		for status, want := range map[string]string{"ok": "completed", "error": "failed", "interrupted": "cancelled", "whatever": "completed"} {
			call := "call.that.ends." + status
			agent.deliver(t, webhook(of, map[string]any{"status": status, "tool_call_id": call, "duration_ms": -1})).want(t, 204, "")
			l := alice.told(t, "/conversations/"+alice.ofSession(t, session)+"/events?limit=200")
			last := l.Items[len(l.Items)-1]
			if last["status"] != want || fmt.Sprint(last["data"]) != fmt.Sprint(map[string]any{"tool": "terminal", "tool_call_id": call}) {
				t.Errorf("%s: %v", status, last)
			}
		}

		// A session or a call whose id has another form is known by its hash.
		long := strings.Repeat("agent:main/", 30) + proto
		sum := sha256.Sum256([]byte(long))
		agent.deliver(t, webhook(map[string]any{"session_id": long}, map[string]any{"tool_call_id": "a b", "turn_id": "t t"})).want(t, 204, "")
		if l := alice.told(t, "/conversations/"+alice.ofSession(t, "sha256:"+hex.EncodeToString(sum[:]))+"/events"); len(l.Items) != 1 {
			t.Errorf("of a long session: %v", l.Items)
		}
	})
}

// Who has not signed, or not this, learns nothing and does nothing.
func TestWebhooksOfOthers(t *testing.T) {
	t.Parallel()
	metrics := freeAddr(t)
	h := house(t, map[string]any{"metrics_listen": metrics})
	protocols(t, func(t *testing.T, proto string) {
		agent, other := h.hooked(t, proto, "a"), h.hooked(t, proto, "b")
		session := "others." + proto
		body := webhook(map[string]any{"session_id": session}, nil)
		good := sign(agent.secret, body)
		nobody := agent.unsigned(t, "agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6", body, sign(agent.secret, body))
		nobody.want(t, 404, "not_found")
		for name, header := range map[string][]string{
			"none":              nil,
			"empty":             {"X-Hermes-Signature-256: "},
			"of another agent":  {sign(other.secret, body)},
			"of another body":   {sign(agent.secret, body+" ")},
			"of no secret":      {sign("", body)},
			"by the credential": {sign(strings.TrimPrefix(agent.auth, "Authorization: Bearer "), body)},
			"cut off":           {good[:len(good)-2]},
			"cut off by half":   {good[:len(good)-1]},
			"longer":            {good + "00"},
			"without its name":  {strings.Replace(good, "sha256=", "", 1)},
			"of another name":   {strings.Replace(good, "sha256=", "sha1=", 1)},
			"twice":             {good, good},
			"with the bearer":   {agent.auth},
			"of one digit less": {strings.Replace(good, "sha256=", "sha256=0", 1)},
		} {
			a := agent.unsigned(t, agent.id, body, header...)
			if a.StatusCode != nobody.StatusCode || a.plainBody() != nobody.plainBody() {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.body)
			}
		}
		for _, id := range []string{other.id, "agt_x", "a", strings.ToUpper(agent.id), agent.id + "0", "%2e%2e"} {
			if a := agent.unsigned(t, id, body, good); a.StatusCode != 404 && a.StatusCode != 400 {
				t.Errorf("at %s: %d %s", id, a.StatusCode, a.body)
			}
		}
		agent.b.do(t, "GET", apiURL+"/hux/v1/ingest/hermes/"+agent.id, nil).want(t, 405, "method_not_allowed")
		if a := h.person(t, proto, "alice").call(t, "POST", "/conversations", fmt.Sprintf(`{"external_ref":{"system":"hermes_session","id":%q}}`, session)); a.StatusCode != 201 {
			t.Error("what was refused has opened a conversation")
		}

		for name, c := range map[string]struct {
			body   string
			status int
			code   string
		}{
			"none":                 {"", 400, "invalid_json"},
			"garbage":              {"\x00\xff{", 400, "invalid_json"},
			"cut off":              {body[:len(body)-1], 400, "invalid_json"},
			"a list":               {"[" + body + "]", 400, "invalid_json"},
			"null":                 {"null", 400, "invalid_json"},
			"nested":               {strings.Repeat("[", 1<<19), 400, "invalid_json"},
			"no members":           {"{}", 422, "schema_invalid"},
			"a number for an id":   {webhook(map[string]any{"session_id": 7}, nil), 422, "schema_invalid"},
			"no delivery":          {webhook(map[string]any{"delivery_id": nil}, nil), 422, "schema_invalid"},
			"a delivery of spaces": {webhook(map[string]any{"delivery_id": "a b"}, nil), 422, "schema_invalid"},
			"in another case":      {strings.Replace(body, `"delivery_id"`, `"Delivery_ID"`, 1), 422, "schema_invalid"},
			"too old":              {webhook(map[string]any{"timestamp": time.Now().Add(-6 * time.Minute).UTC().Format(time.RFC3339)}, nil), 400, "bad_request"},
			"of the future":        {webhook(map[string]any{"timestamp": time.Now().Add(6 * time.Minute).UTC().Format(time.RFC3339)}, nil), 400, "bad_request"},
			"of no time":           {webhook(map[string]any{"timestamp": "now"}, nil), 422, "schema_invalid"},
			"of a number":          {webhook(map[string]any{"timestamp": 1e9}, nil), 422, "schema_invalid"},
			"too large":            {webhook(nil, map[string]any{"result": strings.Repeat("x", 1<<20)}), 413, "too_large"},
			"large":                {webhook(map[string]any{"tool_input": map[string]any{"content": strings.Repeat("y", 200<<10)}}, map[string]any{"result": strings.Repeat("x", 800<<10)}), 204, ""},
			"of an hour elsewhere": {webhook(map[string]any{"timestamp": time.Now().In(time.FixedZone("", 7200)).Format("2006-01-02T15:04:05.999-07:00")}, nil), 204, ""},
			"of odd facts":         {webhook(map[string]any{"extra": []int{1}, "tool_input": "x"}, nil), 422, "schema_invalid"},
			"with hostile numbers": {strings.Replace(webhook(nil, nil), "41.6", "1e999999", 1), 204, ""},
		} {
			a := agent.deliver(t, c.body)
			if a.StatusCode != c.status || c.code != "" && a.code(t) != c.code {
				t.Errorf("%s: %d %.300s", name, a.StatusCode, a.body)
			}
			if strings.Contains(a.body, "sentinel") || strings.Contains(a.body, "hunter2") {
				t.Errorf("%s: the answer repeats what was sent: %.300s", name, a.body)
			}
		}

		// Many at once under one id are one.
		var wg sync.WaitGroup
		burst := webhook(map[string]any{"session_id": "burst." + proto}, map[string]any{"tool_call_id": nil})
		for range 20 {
			wg.Go(func() { agent.deliver(t, burst).want(t, 204, "") })
		}
		wg.Wait()
		alice := h.person(t, proto, "alice")
		if l := alice.told(t, "/conversations/"+alice.ofSession(t, "burst."+proto)+"/events"); len(l.Items) != 1 {
			t.Errorf("one delivery is %d events", len(l.Items))
		}

		old := agent.secret
		agent.learn(t, "rotate", agent.id)
		if agent.secret == old {
			t.Error("rotation has kept the secret")
		}
		rotated := agent.secret
		agent.secret = old
		agent.deliver(t, webhook(nil, nil)).want(t, 404, "not_found")
		agent.secret = rotated
		agent.deliver(t, webhook(nil, nil)).want(t, 204, "")
		h.command(t, "", "agents", "revoke", agent.id)
		if a := agent.deliver(t, webhook(nil, nil)); a.StatusCode != 404 || a.plainBody() != nobody.plainBody() {
			t.Errorf("revoked: %d %s", a.StatusCode, a.body)
		}
		h.command(t, "no such agent", "agents", "rotate", agent.id, "--env")
	})
	if n := metric(t, metrics, "hux_webhooks_total", `outcome="ok"`); n < 40 {
		t.Errorf("%v webhooks were counted", n)
	}
	if n := metric(t, metrics, "hux_webhooks_total", `outcome="refused"`); n < 30 {
		t.Errorf("%v refusals were counted", n)
	}
}

// Neither a restart nor a stop lets a webhook do twice what it does once.
func TestWebhooksAreDeduplicatedForGood(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h1", "alice"), h.hooked(t, "h1", "a")
	body := webhook(nil, map[string]any{"tool_call_id": nil})
	agent.deliver(t, body).want(t, 204, "")
	session := "20260302_091455_a1b2c3"
	path := "/conversations/" + alice.ofSession(t, session)
	h.crash(t)
	h.relaunch(t)
	alice = h.person(t, "h1", "alice")
	agent.b = h.browser(t, "h1")
	agent.deliver(t, body).want(t, 204, "")
	if l := alice.told(t, path+"/events"); len(l.Items) != 1 {
		t.Errorf("after a restart: %d events", len(l.Items))
	}
	// A run that has its receipt takes nothing more, a webhook neither.
	alice.post(t, strings.TrimPrefix(path, "/conversations/"), `{"kind":"run.started","status":"started","summary":"x","run_id":"r9"}`)
	alice.call(t, "POST", path+"/runs/r9/cancel", "").want(t, 202, "")
	agent.call(t, "POST", path+"/events", `{"kind":"run.finished","status":"cancelled","summary":"x","run_id":"r9"}`, newKey()).want(t, 201, "")
	if a := agent.deliver(t, webhook(nil, map[string]any{"turn_id": "r9", "tool_call_id": "late"})); a.StatusCode != 409 || a.code(t) != "run_ended" {
		t.Errorf("of a run that has ended: %d %s", a.StatusCode, a.body)
	}
}

// A call that Hermes tells of and that is then not let through has had no
// effect; one that it says has run nevertheless has.
func TestReceiptsOfBlockedCalls(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
	for _, runs := range []bool{false, true} {
		session := fmt.Sprintf("blocked.%v", runs)
		id := cnvOf(alice, t, session)
		alice.here(t)
		alice.post(t, id, fmt.Sprintf(`{"kind":"run.started","status":"started","summary":"x","run_id":%q}`, session))
		tell := func(event string) {
			t.Helper()
			agent.deliver(t, webhook(map[string]any{"session_id": session, "hook_event_name": event}, map[string]any{"turn_id": session, "tool_call_id": "call.that.is.blocked"})).want(t, 204, "")
		}
		page := func(kind, status string) {
			t.Helper()
			alice.post(t, id, fmt.Sprintf(`{"kind":"tool.%s","status":%q,"summary":"x","run_id":%q,"data":{"tool":"terminal","tool_call_id":"%s.terminal.1"}}`, kind, status, session, session))
		}
		tell("pre_tool_call")
		page("started", "started") // behind a gateway the page has another name for the call
		asked := agent.asks(t, id, session, "call.that.is.blocked", "terminal", makeTest)
		alice.decides(t, asked.ApprovalID, "deny").want(t, 200, "")
		if runs {
			tell("post_tool_call")
		}
		page("finished", "failed")
		alice.call(t, "POST", "/conversations/"+id+"/runs/"+session+"/cancel", "").want(t, 202, "")
		agent.call(t, "POST", "/conversations/"+id+"/events", fmt.Sprintf(`{"kind":"run.finished","status":"cancelled","summary":"x","run_id":%q}`, session), newKey()).want(t, 201, "")
		l := alice.list(t, "/receipts?run_id="+session)
		if len(l.Items) != 1 {
			t.Fatalf("receipts: %v", l.Items)
		}
		if effects := l.Items[0]["side_effects"].([]any); (len(effects) == 1) != runs || len(effects) > 1 || l.Items[0]["outcome"] != "stopped" {
			t.Errorf("it runs is %v: %v", runs, l.Items[0])
		}
	}
}

// With the card off the door is shut, and a slot of several members has nobody
// for whom a webhook could open a conversation.
func TestWebhooksNeedTheirCard(t *testing.T) {
	t.Parallel()
	h := house(t, map[string]any{"flags": "hux.foundation,hux.activity_timeline"})
	agent := h.hooked(t, "h2", "a")
	agent.deliver(t, webhook(nil, nil)).want(t, http.StatusNotFound, "feature_disabled")
	agent.unsigned(t, agent.id, webhook(nil, nil)).want(t, http.StatusNotFound, "not_found")

	shared := start(t, setup{slots: []slot{{id: "both", up: newUpstream(t), members: []string{"alice", "bob"}}}})
	of := shared.hooked(t, "h2", "both")
	of.deliver(t, webhook(nil, nil)).want(t, http.StatusForbidden, "human_required")
	alice := shared.person(t, "h2", "alice")
	a := alice.call(t, "POST", "/conversations", `{"external_ref":{"system":"webui","id":"20260302_091455_a1b2c3"}}`)
	a.want(t, 201, "")
	of.deliver(t, webhook(nil, nil)).want(t, http.StatusNoContent, "")
	if l := alice.told(t, "/conversations/"+a.object(t)["id"].(string)+"/events"); len(l.Items) != 1 {
		t.Errorf("alice sees %v", l.Items)
	}
	for at, want := range map[string]string{"": chatURL, "http://router:8080/": "http://router:8080"} {
		args := []string{"agents", "rotate", of.id, "--env"}
		if at != "" {
			args = append(args, "--url", at)
		}
		if env := shared.command(t, "", args...); !strings.HasPrefix(env, "HUX_URL="+want+"\n") {
			t.Errorf("--url %s: %q", at, env)
		}
	}
	shared.command(t, "--url", "agents", "rotate", of.id, "--env", "--url", "router")
}
