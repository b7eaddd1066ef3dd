package blackbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/router/demo/standin"
)

// slotUI is a slot's WebUI, the stand-in of the demo, whose own approvals it
// waits for. A test can look at what the router tells it and stand in the way.
type slotUI struct {
	t      testing.TB
	server *httptest.Server

	mu      sync.Mutex
	answers []answered                                        // of POST /api/approval/respond, as they came
	before  func(w http.ResponseWriter, r *http.Request) bool // answers true where the request goes no further
}

// answered is an answer to an approval that reached the WebUI.
type answered struct {
	Session  string `json:"session_id"`
	Approval string `json:"approval_id"`
	Choice   string `json:"choice"`
	origin   string
	as       string
}

func newSlotUI(t testing.TB) *slotUI {
	t.Helper()
	u := &slotUI{t: t}
	webUI := standin.New(standin.Options{})
	u.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.mu.Lock()
		before := u.before
		u.mu.Unlock()
		if before != nil && before(w, r) {
			return
		}
		if r.URL.Path == "/api/approval/respond" {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			var a answered
			_ = json.Unmarshal(body, &a)
			a.origin, a.as = r.Header.Get("Origin"), r.Header.Get("X-Hux-User")
			u.mu.Lock()
			u.answers = append(u.answers, a)
			u.mu.Unlock()
		}
		webUI.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { u.server.CloseClientConnections(); webUI.Close(); u.server.Close() })
	return u
}

// start starts a router in front of the WebUI.
func (u *slotUI) start(t testing.TB, flags string, members ...string) *router {
	t.Helper()
	return start(t, setup{
		slots:  []slot{{id: "a", url: u.server.URL, members: members}},
		config: map[string]any{"flags": flags, "slot_health_path": "/health"},
	})
}

// intercept puts before in the way of all requests from now on; nil takes it
// away.
func (u *slotUI) intercept(before func(http.ResponseWriter, *http.Request) bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.before = before
}

// told is what the router answered so far.
func (u *slotUI) told() []answered {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]answered(nil), u.answers...)
}

// ask sends a request to the WebUI itself, past the router.
func (u *slotUI) ask(method, path string, body any) object {
	u.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		u.t.Fatal(err)
	}
	req, err := http.NewRequest(method, u.server.URL+path, bytes.NewReader(text))
	if err != nil {
		u.t.Fatal(err)
	}
	req.Header.Set("X-Hux-User", "usr_00000000000000000000")
	res, err := u.server.Client().Do(req)
	if err != nil {
		u.t.Fatal(err)
	}
	defer res.Body.Close()
	var o object
	if err := json.NewDecoder(res.Body).Decode(&o); err != nil {
		u.t.Fatalf("%s %s: %v", method, path, err)
	}
	return o
}

// chat sends a message in a new session of the WebUI.
func (u *slotUI) chat(message string) (session, stream string) {
	u.t.Helper()
	o, _ := u.ask("POST", "/api/session/new", object{})["session"].(map[string]any)
	session, _ = o["session_id"].(string)
	return session, u.say(session, message)
}

func (u *slotUI) say(session, message string) (stream string) {
	u.t.Helper()
	stream, _ = u.ask("POST", "/api/chat/start", object{"session_id": session, "message": message})["stream_id"].(string)
	if stream == "" {
		u.t.Fatal("no turn has begun")
	}
	return stream
}

// saw waits until the session's last message has a text in it.
func (u *slotUI) saw(session, text string) {
	u.t.Helper()
	eventually(u.t, 30*time.Second, "the agent says "+text, func() bool {
		o, _ := u.ask("GET", "/api/session?session_id="+session, nil)["session"].(map[string]any)
		messages, _ := o["messages"].([]any)
		last, _ := messages[len(messages)-1].(map[string]any)
		content, _ := last["content"].(string)
		return strings.Contains(content, text)
	})
}

func (u *slotUI) pending(session string) (id string) {
	u.t.Helper()
	eventually(u.t, 20*time.Second, "the agent waits for a decision", func() bool {
		p, _ := u.ask("GET", "/api/approval/pending?session_id="+session, nil)["pending"].(map[string]any)
		id, _ = p["approval_id"].(string)
		return id != ""
	})
	return id
}

// approvals of the caller with a status, who counts as there by asking.
func (c *caller) approvals(t testing.TB, status string) []object {
	t.Helper()
	return c.list(t, "/approvals?status="+status).Items
}

// asked waits until the caller is asked something.
func (c *caller) asked(t testing.TB) (a object) {
	t.Helper()
	eventually(t, 20*time.Second, "an approval", func() bool {
		items := c.approvals(t, "pending")
		if len(items) > 1 {
			t.Fatalf("%d approvals of one", len(items))
		}
		if len(items) == 1 {
			a = items[0]
		}
		return len(items) == 1
	})
	return a
}

func (o object) at(path string) any {
	var v any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			v = nil
			if name == "0" && len(in) > 0 {
				v = in[0]
			}
		}
	}
	return v
}

func idOf(a object) string {
	id, _ := a["id"].(string)
	return id
}

// conversationOf opens the conversation of a session as the bridge does.
func (c *caller) conversationOf(t testing.TB, session string) string {
	t.Helper()
	a := c.call(t, "POST", "/conversations", `{"external_ref":{"system":"webui","id":"`+session+`"}}`, newKey())
	id, _ := a.object(t)["id"].(string)
	return id
}

// The WebUI waits, its person decides here, and it hears once or deny.
func TestWebUIApprovalsAreDecidedHere(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	alice.here(t)
	session, stream := u.chat("please approve")
	a := alice.asked(t)
	for path, want := range map[string]any{
		"run_id": stream, "request.tool": "terminal", "request.args_redacted.command": "rm -r build/",
		"request.evidence.0.kind": "tool_call", "request.evidence.0.id": u.pending(session), "request.evidence.0.owner": "gateway",
		"conversation_id": alice.conversationOf(t, session), "owner": h.user("alice"), "request.grant_match.tool": "terminal",
		"request.summary": "terminal: rm -r build/ (the agent's own check asks this, whatever its hook has asked: deletes a directory with everything in it)",
	} {
		if got := a.at(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	alice.decides(t, idOf(a), "session").want(t, http.StatusOK, "")
	u.saw(session, "You allowed it (once)")
	// What was granted for the session is not asked again.
	u.say(session, "approve it once more")
	eventually(t, 20*time.Second, "the grant answers", func() bool { return len(u.told()) == 2 })
	if open := alice.approvals(t, "pending"); len(open) != 0 {
		t.Errorf("what was granted is asked: %v", open)
	}
	// In another session it is.
	other, _ := u.chat("approve")
	b := alice.asked(t)
	alice.decides(t, idOf(b), "deny").want(t, http.StatusOK, "")
	u.saw(other, "You said no")
	for i, want := range []answered{{Session: session, Choice: "once"}, {Session: session, Choice: "once"}, {Session: other, Choice: "deny"}} {
		got := u.told()[i]
		if got.Session != want.Session || got.Choice != want.Choice || got.origin != "" || got.as != h.user("alice") {
			t.Errorf("the WebUI was told %+v, want %+v", got, want)
		}
	}
}

// A policy answers without a person, and where nobody is there it is no.
func TestWebUIApprovalsFollowThePolicy(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	unseen, _ := u.chat("approve") // nobody has ever looked
	u.saw(unseen, "You said no")
	if gone := alice.approvals(t, "expired"); len(gone) != 1 {
		t.Errorf("nobody was there, and %d approvals have expired", len(gone))
	}
	alice.call(t, "PUT", "/policy?scope=user", `{"level":"safe"}`, `If-None-Match: *`, newKey()).want(t, http.StatusCreated, "")
	denied, _ := u.chat("approve") // a shell reaches the network
	u.saw(denied, "You said no")
	if open := alice.approvals(t, "pending"); len(open) != 0 {
		t.Errorf("what the level denies is asked: %v", open)
	}
}

// The page's own ways to decide are closed, and say where to decide.
func TestWebUIDecidesNothingItself(t *testing.T) {
	t.Parallel()
	for name, flags := range map[string]string{"on": "all", "off": "hux.foundation,hux.activity_timeline"} {
		t.Run(name, func(t *testing.T) {
			u := newSlotUI(t)
			h := u.start(t, flags, "alice")
			alice := h.signIn(t, "h2", "alice")
			alice.visit(t, chatURL+"/")
			session, _ := u.chat("approve")
			id := u.pending(session)
			pending := alice.fetch(t, "GET", chatURL+"/api/approval/pending?session_id="+session, "")
			respond := alice.fetch(t, "POST", chatURL+"/api/approval/respond", `{"session_id":"`+session+`","approval_id":"`+id+`","choice":"once"}`)
			yolo := alice.fetch(t, "POST", chatURL+"/api/session/yolo", `{"session_id":"`+session+`","enabled":true}`)
			if name == "off" {
				if pending.object(t).at("pending.approval_id") != id {
					t.Errorf("the page is not shown what waits: %s", pending.body)
				}
				yolo.want(t, http.StatusForbidden, "path_denied")
				if respond.StatusCode == http.StatusForbidden && strings.Contains(respond.body, "policy_denied") {
					t.Errorf("the page may not decide: %s", respond.body)
				}
				return
			}
			if pending.StatusCode != http.StatusOK || pending.object(t)["pending"] != nil {
				t.Errorf("the page is shown what waits: %d %s", pending.StatusCode, pending.body)
			}
			for what, a := range map[string]*answer{
				"respond": respond, "yolo": yolo,
				"in another spelling": alice.fetch(t, "POST", chatURL+"/api/Session/yol%6F", `{}`),
				"the stream":          alice.fetch(t, "GET", chatURL+"/api/approval/stream?session_id="+session, ""),
			} {
				a.want(t, http.StatusForbidden, "policy_denied")
				if told, _ := a.object(t)["error"].(string); !strings.Contains(told, "HUX") {
					t.Errorf("%s does not say where to decide: %s", what, a.body)
				}
			}
			for _, a := range u.told() {
				if a.origin != "" {
					t.Errorf("a page's answer reached the WebUI: %+v", a)
				}
			}
		})
	}
}

// What waits is found again after a restart, not asked twice, and what was
// decided before the WebUI could be told is told.
func TestWebUIApprovalsOutliveTheRouter(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	alice.here(t)
	session, _ := u.chat("approve")
	before := alice.asked(t)
	h.crash(t)
	h.relaunch(t)
	after := alice.asked(t)
	if after["id"] != before["id"] {
		t.Errorf("it is asked again: %v, %v", before["id"], after["id"])
	}
	// The WebUI can't be told while the router runs.
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/approval/respond" {
			panic(http.ErrAbortHandler)
		}
		return false
	})
	alice.decides(t, idOf(after), "once").want(t, http.StatusOK, "")
	h.crash(t)
	u.intercept(nil)
	if n := len(u.told()); n != 0 {
		t.Fatalf("the WebUI was told %d times", n)
	}
	h.relaunch(t)
	u.saw(session, "You allowed it (once)")
	if n := len(u.told()); n != 1 {
		t.Errorf("the WebUI was told %d times", n)
	}
	// What is over by the time the router is back is cancelled.
	alice.approvals(t, "pending")
	_, stream := u.chat("approve")
	gone := alice.asked(t)
	h.crash(t)
	u.ask("GET", "/api/chat/cancel?stream_id="+stream, nil)
	h.relaunch(t)
	eventually(t, 20*time.Second, "it is cancelled", func() bool {
		return alice.call(t, "GET", "/approvals/"+gone["id"].(string), "").object(t)["status"] == "cancelled"
	})
}

// Of a slot with two members the session's own is asked, and nobody until it is
// known whose it is.
func TestWebUIApprovalsOfTwoMembers(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice", "bob")
	alice, bob := h.person(t, "h1", "alice"), h.person(t, "h1", "bob")
	alice.approvals(t, "pending")
	bob.approvals(t, "pending")
	session, _ := u.chat("approve")
	u.pending(session)
	conversation := bob.conversationOf(t, session)
	a := bob.asked(t)
	if a["owner"] != h.user("bob") || a["conversation_id"] != conversation {
		t.Errorf("%v is asked in %v", a["owner"], a["conversation_id"])
	}
	if theirs := alice.approvals(t, "pending"); len(theirs) != 0 {
		t.Errorf("alice is asked what is bob's: %v", theirs)
	}
	alice.call(t, "POST", "/approvals/"+idOf(a), `{"choice":"once","evidence_hash":"`+a.at("request.evidence.0.hash").(string)+`"}`).want(t, http.StatusNotFound, "not_found")
	bob.decides(t, idOf(a), "once").want(t, http.StatusOK, "")
	u.saw(session, "You allowed it (once)")
}

// A WebUI that is away, that is slow or that no longer waits loses no decision
// and doubles none.
func TestWebUIApprovalsOverABadConnection(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	alice.approvals(t, "pending")

	session, _ := u.chat("approve")
	a := alice.asked(t)
	u.intercept(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }) // away
	u.server.CloseClientConnections()
	alice.decides(t, idOf(a), "once").want(t, http.StatusOK, "")
	h.slotState(t, "down")
	u.intercept(nil)
	u.saw(session, "You allowed it (once)")

	session, _ = u.chat("approve")
	a = alice.asked(t)
	release := make(chan struct{})
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool { // slow
		if r.URL.Path == "/api/approval/respond" {
			<-release
		}
		return false
	})
	alice.decides(t, idOf(a), "deny").want(t, http.StatusOK, "")
	if more := alice.approvals(t, "pending"); len(more) != 0 {
		t.Errorf("what was decided is asked again: %v", more)
	}
	close(release)
	u.saw(session, "You said no")
	u.intercept(nil)

	session, _ = u.chat("approve")
	a = alice.asked(t)
	refused := 0
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool { // does not take it at first
		if r.URL.Path != "/api/approval/respond" || refused == 2 {
			return false
		}
		refused++
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"ok":false,"code":"gateway_run_unavailable"}`)
		return true
	})
	alice.decides(t, idOf(a), "once").want(t, http.StatusOK, "")
	u.saw(session, "You allowed it (once)") // it was tried again
	u.intercept(nil)

	_, stream := u.chat("approve")
	a = alice.asked(t)
	u.ask("GET", "/api/chat/cancel?stream_id="+stream, nil)
	eventually(t, 20*time.Second, "what nobody waits for is cancelled", func() bool {
		return alice.call(t, "GET", "/approvals/"+a["id"].(string), "").object(t)["status"] == "cancelled"
	})
	alice.decides(t, idOf(a), "once").want(t, http.StatusConflict, "invalid_transition")
	want := []string{"once", "deny", "once"}
	for i, got := range u.told() {
		if i >= len(want) || got.Choice != want[i] {
			t.Errorf("the WebUI was told %v, want %v", u.told(), want)
			break
		}
	}
}

// slotState waits until an operator sees the one slot in a state.
func (h *router) slotState(t testing.TB, state string) {
	t.Helper()
	olga := h.person(t, "h1", "olga")
	eventually(t, 20*time.Second, "the slot is "+state, func() bool {
		a := olga.b.do(t, "GET", apiURL+"/hux/api/status", nil, olga.auth)
		return strings.Contains(a.body, `"state":"`+state+`"`)
	})
}

// A stop is not done until the WebUI says that the turn is over.
func TestStoppedAtTheWebUI(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	session, stream := u.chat("a long answer")
	conversation := alice.conversationOf(t, session)
	alice.post(t, conversation, `{"kind":"run.started","status":"started","summary":"x","run_id":"`+stream+`"}`)
	cancel := "/conversations/" + conversation + "/runs/" + stream + "/cancel"

	var once sync.Once
	slow := make(chan struct{})
	u.intercept(func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/chat/stream/status" {
			once.Do(func() { <-slow })
		}
		return false
	})
	alice.call(t, "POST", cancel, "", newKey()).want(t, http.StatusAccepted, "")
	eventually(t, 20*time.Second, "the turn ends there", func() bool {
		return u.ask("GET", "/api/session/status?session_id="+session, nil)["active_stream_id"] == nil
	})
	if got := alice.call(t, "GET", cancel, "").object(t); got["state"] != "stopping" {
		t.Errorf("it is %v before the WebUI has said so", got["state"])
	}
	close(slow)
	eventually(t, 20*time.Second, "the receipt", func() bool {
		return alice.call(t, "GET", cancel, "").object(t)["state"] == "stopped"
	})

	// A run that the WebUI has never heard of may go on: nobody says that it stopped.
	alice.post(t, conversation, `{"kind":"run.started","status":"started","summary":"x","run_id":"elsewhere"}`)
	// Nor of one whose WebUI is away.
	_, lost := u.chat("a long answer")
	alice.post(t, conversation, `{"kind":"run.started","status":"started","summary":"x","run_id":"`+lost+`"}`)
	for _, run := range []string{"elsewhere", lost} {
		if run == lost {
			u.intercept(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
		}
		alice.call(t, "POST", "/conversations/"+conversation+"/runs/"+run+"/cancel", "", newKey()).want(t, http.StatusAccepted, "")
	}
	for _, run := range []string{"elsewhere", lost} {
		eventually(t, time.Minute, "a receipt of "+run, func() bool {
			got := alice.call(t, "GET", "/conversations/"+conversation+"/runs/"+run+"/cancel", "").object(t)["state"]
			if got != "stopping" && got != "failed_to_stop" {
				t.Fatalf("%s: %v", run, got)
			}
			return got == "failed_to_stop"
		})
	}
}
