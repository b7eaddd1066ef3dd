package timeline_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/hux/timeline"
)

// rig is the card over one tenant's database, with one conversation.
type rig struct {
	schemas *schema.Set
	routes  map[string]api.Route
	call    *api.Call
	id      string
}

func newRig(t testing.TB) *rig {
	t.Helper()
	schemas, err := schema.Load(contract.Schemas, timeline.Rules)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(strings.Repeat("k", 32))
	frame := &record.Frame{Log: event.NewLog(10), Keys: record.NewKeys(key)}
	pool := store.NewPool(store.PoolOptions{Dir: t.TempDir(), Prepare: frame.Prepare})
	t.Cleanup(func() { _ = pool.Close() })
	conversations := conversation.New(frame, api.NewCursors(key), hux.Flags{})
	r := &rig{schemas: schemas, routes: map[string]api.Route{}, call: &api.Call{
		Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_0123456789abcdef0123"}, User: "usr_0123456789abcdef0123",
		Surface: hux.SurfaceChat, DB: pool.Lease("ten_0123456789abcdef0123456789abcdef"),
	}}
	for _, rt := range append(conversations.Routes(), timeline.New(frame, conversations).Routes()...) {
		r.routes[rt.Method+" "+rt.Path] = rt
	}
	w, err := r.do("POST", "/conversations", "{}")
	var c struct{ ID string }
	if err != nil || w.Code != http.StatusCreated || json.Unmarshal(w.Body.Bytes(), &c) != nil {
		t.Fatalf("a conversation: %v %s", err, w.Body)
	}
	r.id = c.ID
	return r
}

// do calls the handler of a route; header lines are "Name: value".
func (r *rig) do(method, path, body string, header ...string) (*httptest.ResponseRecorder, error) {
	req := httptest.NewRequest(method, "/", strings.NewReader(body))
	req.SetPathValue("id", r.id)
	req.Header.Set("Content-Type", "application/json")
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header[http.CanonicalHeaderKey(name)] = []string{value}
	}
	if method == http.MethodHead {
		method = http.MethodGet
	}
	w := httptest.NewRecorder()
	call := *r.call
	return w, r.routes[method+" "+path].Serve(api.NewDoor(r.schemas), w, req, &call)
}

const (
	events = "/conversations/{id}/events"
	stream = events + "/stream"
)

// refused says whether err is one that may be shown and is the client's fault.
func refused(err error) bool {
	var e *hux.Error
	return errors.As(err, &e) && e.Code.Status() < 500
}

// Whatever a client says it has seen, it gets a place to begin, or is told that
// this is no place.
func FuzzLastEventID(f *testing.F) {
	r := newRig(f)
	for range 3 {
		if _, err := r.do("POST", events, `{"kind":"tool.started","summary":"x"}`); err != nil {
			f.Fatal(err)
		}
	}
	for _, seed := range []string{"", "0", "1", "3", "4", "007", "-1", "+1", "1.0", "abc", strings.Repeat("9", 30), strings.Repeat("9", 41), "9223372036854775808", "١", "1 ", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		w, err := r.do("HEAD", stream, "", "Last-Event-ID: "+cursor)
		number := strings.Trim(cursor, "0123456789") == "" && len(cursor) <= 40 && (len(cursor) < 2 || cursor[0] != '0')
		var e *hux.Error
		if !number {
			if !errors.As(err, &e) || e.Code != hux.InvalidCursor {
				t.Errorf("%q: %v", cursor, err)
			}
			return
		}
		want := "0"
		if n, parseErr := strconv.Atoi(cursor); parseErr == nil && n <= 3 {
			want = strconv.Itoa(n)
		}
		if err != nil || w.Header().Get("HUX-Replay-After") != want || w.Header().Get("HUX-Head-Seq") != "3" {
			t.Errorf("%q: %v %v", cursor, err, w.Header())
		}
	})
}

// Whatever a client posts, it is refused in our words, or it is an event that
// keeps to its schema under the next number.
func FuzzAppend(f *testing.F) {
	r := newRig(f)
	for _, seed := range []string{
		`{"kind":"tool.started","summary":"x"}`, `{"kind":"run.finished","status":"failed","summary":"é\u2028","run_id":"r.1","causes":[1],"sensitivity":"restricted","data":{"a":{"token":"x"},"n":1e308}}`,
		`{"kind":"tool.finished","summary":"sk-abcdefgh12345678","data":{"tool_call_id":"c","x":[1,-0,1.0,12345678901234567890]},"evidence":[{"kind":"event","id":"password=x","owner":"hux","version":2}]}`,
		`{"kind":"tool.started","summary":"x","provenance":{"route":{"requested":"fast","locality":"local"}}}`, `{"kind":"tool.started","summary":"x","redaction":{"level":"partial"},"run_id":null,"status":null}`,
		`{"kind":"memory.used","summary":"x"}`, `{"seq":1}`, `[]`, `1e999999999`, "\xff", `{"kind":"tool.started","summary":"x","causes":[1e999]}`, `{"a":1,"a":2}`,
		`{"kind":"tool.started","summary":"` + strings.Repeat("password=x ", 25) + `"}`,
	} {
		f.Add(seed)
	}
	head := uint64(0)
	f.Fuzz(func(t *testing.T, body string) {
		w, err := r.do("POST", events, body)
		if err != nil {
			if !refused(err) {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if w.Header().Get("Idempotency-Replayed") == "" {
			head++
		}
		v, err := schema.Parse(w.Body.Bytes())
		if err == nil {
			err = r.schemas.Validate(event.Schema, v)
		}
		if err != nil {
			var e *hux.Error
			if errors.As(err, &e) {
				err = fmt.Errorf("%w: %v", err, e.Members)
			}
			t.Errorf("%q made what breaks its schema: %v: %s", body, err, w.Body)
		}
		var e event.Event
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil || e.Seq > head || w.Header().Get("Idempotency-Replayed") == "" && e.Seq != head {
			t.Errorf("%q is %d, want %d (%v)", body, e.Seq, head, err)
		}
	})
}

// A conversation's log is as whole as it was when a request is refused after
// it had begun.
func TestRefusedEventsLeaveNoGap(t *testing.T) {
	r := newRig(t)
	for i, c := range []struct {
		body    string
		refused bool
	}{
		{`{"kind":"tool.started","summary":"x","data":{"tool_call_id":"a"}}`, false},
		{`{"kind":"tool.started","summary":"x","data":{"tool_call_id":"b"},"causes":[7]}`, true}, // after its report was noted
		{`{"kind":"tool.started","summary":"x","data":{"tool_call_id":"b"},"causes":[1]}`, false},
	} {
		w, err := r.do("POST", events, c.body)
		if c.refused != (err != nil) || err != nil && !refused(err) || w.Header().Get("Idempotency-Replayed") != "" {
			t.Errorf("%d: %v %s", i, err, w.Body)
		}
	}
	w, err := r.do("GET", events, "")
	if err != nil || !strings.Contains(w.Body.String(), `"head_seq":2`) {
		t.Errorf("%v %s", err, w.Body)
	}
}
