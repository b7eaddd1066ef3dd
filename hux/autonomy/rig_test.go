package autonomy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/hux/timeline"
)

const (
	alice  = hux.User("usr_0123456789abcdef0123")
	tenant = hux.Tenant("ten_0123456789abcdef0123456789abcdef")
)

// rig is the card with the log, over one tenant's database.
type rig struct {
	t       *testing.T
	dir     string
	schemas *schema.Set
	log     *event.Log
	pool    *store.Pool
	db      *store.DB
	routes  map[string]api.Route
	service *autonomy.Service
	frame   *record.Frame
	convs   *conversation.Service
	stopped func(ctx context.Context, runID string) error // Options.Stop
	end     func()

	alarmsOnly bool
	oversight  atomic.Pointer[autonomy.Oversight] // as Alarmed was told last
	keys       atomic.Int64
	human      *api.Call
	agent      *api.Call
	id         string // a conversation of alice's
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir()}
	var err error
	if r.schemas, err = schema.Load(contract.Schemas, autonomy.Rules); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(func() { r.close() })
	r.id = r.open("")
	r.there()
	return r
}

func (r *rig) start() {
	r.t.Helper()
	var err error
	if r.db, err = store.Open(filepath.Join(r.dir, "router.db"), 0); err != nil {
		r.t.Fatal(err)
	}
	r.log = event.NewLog(100)
	key := []byte(strings.Repeat("k", 32))
	frame := &record.Frame{Log: r.log, Keys: record.NewKeys(key)}
	r.pool = store.NewPool(store.PoolOptions{Dir: r.dir, Prepare: frame.Prepare})
	index, err := due.NewIndex(r.db, r.pool)
	if err != nil {
		r.t.Fatal(err)
	}
	frame.FallDue(index)
	cursors := api.NewCursors(key)
	conversations := conversation.New(frame, cursors, hux.Flags{})
	ctx, cancel := context.WithCancel(context.Background())
	s := autonomy.New(autonomy.Options{
		Frame: frame, Closing: ctx, Conversations: conversations, Schemas: r.schemas, Cursors: cursors,
		Stop: func(ctx context.Context, _ hux.Tenant, _ hux.User, runID, _ string) error {
			if r.stopped == nil {
				return errors.New("nothing to stop it with")
			}
			return r.stopped(ctx, runID)
		},
		StopBypassed: !r.alarmsOnly,
		Alarmed:      func(_ hux.Tenant, now autonomy.Oversight, _ []autonomy.Bypass) { r.oversight.Store(&now) },
	})
	r.service, r.frame, r.convs, r.routes = s, frame, conversations, map[string]api.Route{}
	line := timeline.New(frame, conversations)
	line.Tell(s)
	for _, list := range [][]api.Route{conversations.Routes(), line.Routes(), s.Routes()} {
		for _, rt := range list {
			r.routes[rt.Method+" "+rt.Path] = rt
		}
	}
	lease := r.pool.Lease(tenant)
	r.human = &api.Call{Actor: hux.Actor{Kind: hux.KindHuman, ID: string(alice)}, User: alice, Surface: hux.SurfaceChat, DB: lease, SignedInAt: time.Now()}
	r.agent = &api.Call{Actor: hux.Actor{Kind: hux.KindAgent, ID: "agt_0123456789abcdef0123456789abcdef"}, User: alice, Surface: hux.SurfaceChat, DB: lease}
	ended := make(chan struct{})
	go func() { frame.Due.Run(ctx); close(ended) }()
	r.end = func() { cancel(); <-ended }
}

func (r *rig) close() {
	r.end()
	if err := errors.Join(r.pool.Close(), r.db.Close()); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) restart() {
	r.close()
	r.start()
	r.there()
}

// there makes alice somebody who can decide.
func (r *rig) there() { r.log.Looked(string(alice)) }

// answer is what a route said.
type answer struct {
	status int
	code   hux.Code
	header http.Header
	body   []byte
	object map[string]any
}

func (a answer) text(member string) string { s, _ := a.object[member].(string); return s }

// do calls a route: "POST /approvals/{id} id=apr_… wait=3".
func (r *rig) do(call *api.Call, route, body string, header ...string) answer {
	r.t.Helper()
	fields := strings.Fields(route)
	line := fields[0] + " " + fields[1]
	rt, ok := r.routes[line]
	if !ok || rt.Handler == nil {
		r.t.Fatalf("no route %s", line)
	}
	values := map[string]string{}
	var query []string
	for _, f := range fields[2:] {
		name, value, _ := strings.Cut(f, "=")
		if strings.Contains(fields[1], "{"+name+"}") {
			values[name] = value
		} else {
			query = append(query, f)
		}
	}
	path := fields[1]
	for name, value := range values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	req := httptest.NewRequest(fields[0], path+"?"+strings.Join(query, "&"), strings.NewReader(body))
	for name, value := range values {
		req.SetPathValue(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("key-%d", r.keys.Add(1)))
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	a := answer{}
	asked := *call // a request has one of its own
	if err := rt.Serve(api.NewDoor(r.schemas), w, req, &asked); err != nil {
		var e *hux.Error
		if !errors.As(err, &e) {
			r.t.Fatalf("%s: %v", route, err)
		}
		return answer{status: e.Code.Status(), code: e.Code, object: e.Members}
	}
	a.status, a.header, a.body = w.Code, w.Header(), w.Body.Bytes()
	if len(a.body) > 0 {
		if err := json.Unmarshal(a.body, &a.object); err != nil {
			r.t.Fatalf("%s: %v: %s", route, err, a.body)
		}
		if rt.Record != "" && rt.Answer == api.One {
			r.valid(rt.Record, a.body)
		}
	}
	return a
}

// valid holds a record against its schema.
func (r *rig) valid(name string, body []byte) {
	r.t.Helper()
	v, err := schema.Parse(body)
	if err == nil {
		err = r.schemas.Validate(name, v)
	}
	if err == nil && autonomy.Rules[name] != nil {
		var faults []schema.Fault
		if faults, err = autonomy.Rules[name](body); len(faults) > 0 {
			r.t.Errorf("%s breaks its rules: %v\n%s", name, faults, body)
		}
	}
	if err != nil {
		var e *hux.Error
		errors.As(err, &e)
		r.t.Errorf("%s: %v %v\n%s", name, err, e, body)
	}
}

func (r *rig) open(title string) string {
	r.t.Helper()
	a := r.do(r.human, "POST /conversations", fmt.Sprintf(`{"title":%q}`, "c"+title))
	return a.text("id")
}

// ask is a decision about a call in a conversation.
func (r *rig) ask(conversationID, run, callID, tool, args string) answer {
	r.t.Helper()
	a := r.do(r.agent, "POST /decisions", fmt.Sprintf(`{"conversation_id":%q,"run_id":%q,"tool":%q,"args":%s,"tool_call_id":%q}`, conversationID, run, tool, args, callID))
	if a.status != http.StatusOK {
		r.t.Fatalf("asking about %s: %d %s", tool, a.status, a.code)
	}
	return a
}

func (r *rig) approval(id string) answer { return r.do(r.human, "GET /approvals/{id} id="+id, "") }

// choose decides an approval as a person who has seen it.
func (r *rig) choose(id, choice string) answer {
	r.t.Helper()
	return r.do(r.human, "POST /approvals/{id} id="+id, fmt.Sprintf(`{"choice":%q,"evidence_hash":%q}`, choice, r.hash(id)))
}

func (r *rig) hash(id string) string {
	r.t.Helper()
	var a autonomy.Approval
	if err := json.Unmarshal(r.approval(id).body, &a); err != nil {
		r.t.Fatal(err)
	}
	return *a.Request.Evidence[0].Hash
}

// events are the kinds and statuses of a conversation's log.
func (r *rig) events(conversationID string) (list []string) {
	r.t.Helper()
	a := r.do(r.human, "GET /conversations/{id}/events id="+conversationID+" limit=200", "")
	for _, item := range a.object["items"].([]any) {
		e := item.(map[string]any)
		text, err := json.Marshal(e)
		if err != nil {
			r.t.Fatal(err)
		}
		r.valid("hux.event.v1", text)
		line, _ := e["kind"].(string)
		if status, ok := e["status"].(string); ok {
			line += " " + status
		}
		list = append(list, line)
	}
	return list
}

func (r *rig) event(conversationID, kind, status, run, data string) answer {
	r.t.Helper()
	return r.do(r.agent, "POST /conversations/{id}/events id="+conversationID,
		fmt.Sprintf(`{"kind":%q,"status":%q,"summary":"x","run_id":%q,"data":%s}`, kind, status, run, data))
}
