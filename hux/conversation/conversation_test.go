package conversation_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

type rig struct {
	service *conversation.Service
	routes  map[string]api.Route
	call    api.Call
	frame   *record.Frame
	door    *api.Door
}

func newRig(t *testing.T, flags ...string) *rig {
	t.Helper()
	schemas, err := schema.Load(contract.Schemas, conversation.Rules)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(strings.Repeat("k", 32))
	frame := &record.Frame{Log: event.NewLog(10), Keys: record.NewKeys(key)}
	pool := store.NewPool(store.PoolOptions{Dir: t.TempDir(), Prepare: frame.Prepare})
	t.Cleanup(func() { _ = pool.Close() })
	s := conversation.New(frame, api.NewCursors(key), hux.ResolveFlags(registry, flags))
	r := &rig{service: s, frame: frame, door: api.NewDoor(schemas), routes: map[string]api.Route{}, call: api.Call{
		Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_a"}, User: "usr_a", Surface: hux.SurfaceChat, DB: pool.Lease("ten_0123456789abcdef0123456789abcdef"),
	}}
	for _, rt := range s.Routes() {
		r.routes[rt.Method+" "+rt.Path] = rt
	}
	return r
}

// do calls a route as somebody and gives the conversation, or the error's code.
func (r *rig) do(t *testing.T, call api.Call, method, id, body string, header ...string) (status int, c conversation.Conversation, code hux.Code) {
	t.Helper()
	path := "/conversations"
	if id != "" {
		path += "/{id}"
	}
	req := httptest.NewRequest(method, "/", strings.NewReader(body))
	req.SetPathValue("id", id)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", hux.NewID("key"))
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	if err := r.routes[method+" "+path].Serve(r.door, w, req, &call); err != nil {
		var e *hux.Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e.Code.Status(), c, e.Code
	}
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
		t.Fatal(err)
	}
	return w.Code, c, ""
}

// A title is kept in NFC, without secrets, and no longer than a name may be,
// even where a mask is longer than what it hides.
func TestTitles(t *testing.T) {
	r := newRig(t)
	for name, c := range map[string]struct{ title, want string }{
		"plain":      {"Plans for May", "Plans for May"},
		"decomposed": {strings.Repeat("e\u0301", 100), strings.Repeat("é", 100)},
		"secret":     {"password=hunter22 and more", "password=[redacted] and more"},
	} {
		body, _ := json.Marshal(map[string]string{"title": c.title}) // strings
		status, made, _ := r.do(t, r.call, "POST", "", string(body))
		if status != http.StatusCreated || made.Title != c.want {
			t.Errorf("%s: %d %q", name, status, made.Title)
		}
		status, changed, _ := r.do(t, r.call, "PATCH", made.ID, string(body), "If-Match: "+api.ETag(made.ID, 1))
		if status != http.StatusOK || changed.Title != c.want {
			t.Errorf("%s, changed: %d %q", name, status, changed.Title)
		}
	}
	long := `{"title":"` + strings.Repeat("pwd=x1 ", 28) + `"}`
	_, made, _ := r.do(t, r.call, "POST", "", long)
	_, changed, _ := r.do(t, r.call, "PATCH", made.ID, long, "If-Match: "+api.ETag(made.ID, 1))
	if a, b := utf8.RuneCountInString(made.Title), utf8.RuneCountInString(changed.Title); a == 0 || a > 200 || b == 0 || b > 200 || strings.Contains(made.Title+changed.Title, "x1") {
		t.Errorf("titles of %d and %d characters: %q", a, b, changed.Title)
	}
}

// One external id has one conversation, which the agent of a shared slot finds
// and can't open.
func TestExternalReference(t *testing.T) {
	r := newRig(t)
	agent := r.call
	agent.Actor, agent.User = hux.Actor{Kind: hux.KindAgent, ID: "agt_x"}, ""
	const body = `{"external_ref":{"system":"hermes_session","id":"s1"}}`
	if status, _, code := r.do(t, agent, "POST", "", body); code != hux.HumanRequired {
		t.Errorf("an agent of several members opens a conversation: %d %s", status, code)
	}
	status, first, _ := r.do(t, r.call, "POST", "", body)
	if status != http.StatusCreated || len(first.ExternalRefs) != 2 || strings.Contains(first.ExternalRefs[0].IDHash, "s1") {
		t.Errorf("%d %+v", status, first)
	}
	for _, who := range []api.Call{r.call, agent} {
		if status, again, _ := r.do(t, who, "POST", "", body); status != http.StatusOK || again.ID != first.ID {
			t.Errorf("again as %v: %d %s", who.Actor, status, again.ID)
		}
	}
	in := func(system string) string { return strings.Replace(body, "hermes_session", system, 1) }
	if status, other, _ := r.do(t, r.call, "POST", "", in("telegram")); status != http.StatusCreated || other.ID == first.ID || len(other.ExternalRefs) != 1 {
		t.Errorf("the same id of another system: %d", status)
	}
	// The WebUI's session is the agent's, whoever of the two is first.
	for _, first := range []string{"webui", "hermes_session"} {
		other := map[string]string{"webui": "hermes_session", "hermes_session": "webui"}[first]
		named := func(system string) string { return strings.Replace(in(system), "s1", "of-"+first, 1) }
		_, one, _ := r.do(t, r.call, "POST", "", named(first))
		if status, two, _ := r.do(t, agent, "POST", "", named(other)); status != http.StatusOK || two.ID != one.ID || two.Revision != 1 {
			t.Errorf("%s, then %s: %d %s", first, other, status, two.ID)
		}
	}
}

// Projects need their flag, and must exist.
func TestProjects(t *testing.T) {
	const body = `{"project_id":"prj_0123456789abcdef0123456789abcdef"}`
	off, on := newRig(t), newRig(t, "hux.foundation", "hux.projects")
	if _, _, code := off.do(t, off.call, "POST", "", body); code != hux.FeatureDisabled {
		t.Errorf("without the flag: %s", code)
	}
	if _, _, code := on.do(t, on.call, "POST", "", body); code != hux.UnknownReference {
		t.Errorf("a project that is none: %s", code)
	}
	_, made, _ := on.do(t, on.call, "POST", "", `{"tags":["a","b"]}`)
	tag := "If-Match: " + api.ETag(made.ID, 1)
	if _, _, code := on.do(t, on.call, "PATCH", made.ID, body, tag); code != hux.UnknownReference {
		t.Errorf("a change to a project that is none: %s", code)
	}
	status, changed, _ := on.do(t, on.call, "PATCH", made.ID, `{"project_id":null,"tags":[],"state":"archived"}`, tag)
	if status != http.StatusOK || len(changed.Tags) != 0 || changed.State != conversation.Archived || changed.Revision != 2 {
		t.Errorf("%d %+v", status, changed)
	}
}
