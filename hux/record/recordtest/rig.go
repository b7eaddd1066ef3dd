// Package recordtest serves the routes of cards over one tenant's database, for
// their tests.
package recordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// Who there is.
const (
	Alice  = hux.User("usr_0123456789abcdef0123")
	Bob    = hux.User("usr_fedcba98765432100123")
	Tenant = hux.Tenant("ten_0123456789abcdef0123456789abcdef")
)

// Rig is a tenant's database with what a card needs to be served over it.
type Rig struct {
	*record.Frame
	Schemas *schema.Set
	Cursors *api.Cursors
	Pool    *store.Pool
	DB      *store.Lease

	t      testing.TB
	rules  map[string]schema.Rule
	routes map[string]api.Route
	keys   atomic.Int64
}

// New makes a Rig that holds bodies and answers against the rules of a card.
func New(t testing.TB, rules map[string]schema.Rule) *Rig {
	t.Helper()
	schemas, err := schema.Load(contract.Schemas, rules)
	if err != nil {
		t.Fatal(err)
	}
	key := []byte(strings.Repeat("k", 32))
	r := &Rig{
		Frame: &record.Frame{Log: event.NewLog(10), Keys: record.NewKeys(key)}, Schemas: schemas, Cursors: api.NewCursors(key),
		t: t, rules: rules, routes: map[string]api.Route{},
	}
	r.Pool = store.NewPool(store.PoolOptions{Dir: t.TempDir(), Prepare: r.Prepare})
	r.DB = r.Pool.Lease(Tenant)
	t.Cleanup(func() { _ = r.Pool.Close() })
	return r
}

// Serve has routes answer Do.
func (r *Rig) Serve(routes []api.Route) {
	for _, rt := range routes {
		r.routes[rt.Method+" "+rt.Path] = rt
	}
}

// Person is a call by somebody who has signed in just now.
func (r *Rig) Person(who hux.User) *api.Call {
	return &api.Call{Actor: hux.Actor{Kind: hux.KindHuman, ID: string(who)}, User: who, Surface: hux.SurfaceChat, DB: r.DB, SignedInAt: time.Now()}
}

// Agent is a call by the agent of a slot whose member is alone, "" where there
// are several.
func (r *Rig) Agent(member hux.User) *api.Call {
	return &api.Call{Actor: hux.Actor{Kind: hux.KindAgent, ID: "agt_0123456789abcdef0123456789abcdef"}, User: member, Surface: hux.SurfaceChat, DB: r.DB}
}

// Answer is what a route said.
type Answer struct {
	Status int
	Code   hux.Code // "" of success
	Header http.Header
	Body   []byte
	Object map[string]any
}

// Text is a member of the answer that is a string.
func (a Answer) Text(member string) string { s, _ := a.Object[member].(string); return s }

// IDs are those of a page's items.
func (a Answer) IDs() (ids []string) {
	items, _ := a.Object["items"].([]any)
	for _, item := range items {
		id, _ := item.(map[string]any)["id"].(string)
		ids = append(ids, id)
	}
	return ids
}

// Do calls a route: "POST /approvals/{id} id=apr_… wait=3" with a body and lines
// of a header. Each request has a key of its own unless it brings one.
func (r *Rig) Do(call *api.Call, route, body string, header ...string) Answer {
	r.t.Helper()
	fields := strings.Fields(route)
	rt, ok := r.routes[fields[0]+" "+fields[1]]
	if !ok || rt.Handler == nil {
		r.t.Fatalf("no route %s", route)
	}
	values := map[string]string{}
	var query []string
	path := fields[1]
	for _, f := range fields[2:] {
		name, value, _ := strings.Cut(f, "=")
		if strings.Contains(fields[1], "{"+name+"}") {
			values[name] = value
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		} else {
			query = append(query, f)
		}
	}
	req := httptest.NewRequest(fields[0], path+"?"+strings.Join(query, "&"), strings.NewReader(body))
	for name, value := range values {
		req.SetPathValue(name, value)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", fmt.Sprintf("key-%d", r.keys.Add(1)))
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	own := *call // the door writes into it
	if err := rt.Serve(api.NewDoor(r.Schemas), w, req, &own); err != nil {
		var e *hux.Error
		if !errors.As(err, &e) {
			r.t.Fatalf("%s: %v", route, err)
		}
		return Answer{Status: e.Code.Status(), Code: e.Code, Object: e.Members}
	}
	a := Answer{Status: w.Code, Header: w.Header(), Body: w.Body.Bytes()}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(a.Body, &a.Object); err != nil {
			r.t.Fatalf("%s: %v: %s", route, err, a.Body)
		}
		if rt.Record != "" && rt.Answer == api.One {
			r.Valid(rt.Record, a.Body)
		}
	}
	return a
}

// Valid holds a record against its schema and its rule.
func (r *Rig) Valid(name string, body []byte) {
	r.t.Helper()
	var v any
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	err := decoder.Decode(&v)
	if err == nil {
		err = r.Schemas.Validate(name, v)
	}
	if err == nil && r.rules[name] != nil {
		var faults []schema.Fault
		if faults, err = r.rules[name](body); len(faults) > 0 {
			r.t.Errorf("%s breaks its rules: %v\n%.2000s", name, faults, body)
		}
	}
	if err != nil {
		var e *hux.Error
		errors.As(err, &e)
		r.t.Errorf("%s: %v %v\n%.2000s", name, err, e, body)
	}
}
