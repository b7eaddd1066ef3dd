package conformance_test

import (
	"strings"
	"sync"
	"testing"
)

// A request that is sent again under its key does nothing again (contracts
// 2.3).
func TestIdempotency(t *testing.T) {
	for _, o := range server.operations {
		if !o.served() || o.method == "GET" || o.request == "" || o.signed {
			continue
		}
		t.Run(o.method+" "+strings.ReplaceAll(o.path, "/", ":"), func(t *testing.T) {
			t.Parallel()
			x, why := prepare(t, o)
			if why != "" {
				lacking(t, "idempotency of "+o.name(), why)
				return
			}
			s := &sender{exchange: x, t: t, body: encoded(x.body), header: x.current(t)}
			s.again()
			s.badKeys()
			if !o.ifMatch && !action(o) {
				s.refusalIsNotKept()
				s.atOnce()
			}
			checked("idempotency of " + o.name())
		})
	}
}

// action reports whether an operation moves a record that is there, which it
// does once.
func action(o *operation) bool {
	return strings.Contains(o.path, "{id}") && !strings.Contains(o.path, "/conversations/")
}

// natural are what replays by what it is about rather than by its key: one call
// of a run, one stop (contracts 2.3).
var natural = map[string]bool{"/decisions": true, "/approvals": true, "/receipts": true}

// sender sends one request again and again.
type sender struct {
	*exchange
	t      *testing.T
	body   string
	header []string
}

func (s *sender) send(body string, header ...string) *answer {
	s.t.Helper()
	return s.exchange.send(s.t, body, append(header, s.header...)...)
}

// other is a body that is valid and says something else.
func (s *sender) other() string {
	s.t.Helper()
	x, why := prepare(s.t, s.o)
	if why != "" {
		s.t.Fatal(why)
	}
	for _, member := range []string{"title", "summary", "name", "reason", "question"} {
		if text, ok := x.body[member].(string); ok {
			x.body[member] = text + ", another"
			break
		}
	}
	return encoded(x.body) // differs by ids made anew, where it has no such member
}

func (s *sender) again() {
	key := unique()
	first := s.send(s.body, "Idempotency-Key: "+key)
	if first.status/100 != 2 || first.replayed() {
		s.t.Fatalf("the first: %d, Idempotency-Replayed %q, %.300s", first.status, first.header.Get("Idempotency-Replayed"), first.body)
	}
	status := first.status
	if natural[s.o.path] {
		status = 200
	}
	for what, again := range map[string][2]string{
		"the same": {s.body, key}, "with other spaces": {" " + s.body + "\n", key}, "with the key in quotes": {s.body, `"` + key + `"`},
	} {
		a := s.send(again[0], "Idempotency-Key: "+again[1])
		if a.status != status || !a.replayed() || a.text(s.t, "id") != first.text(s.t, "id") {
			s.t.Errorf("again, %s: %d %s, Idempotency-Replayed %q; want %d, %s and true", what, a.status, a.text(s.t, "id"), a.header.Get("Idempotency-Replayed"), status, first.text(s.t, "id"))
		}
	}
	if other := s.other(); other != s.body && !natural[s.o.path] {
		s.send(other, "Idempotency-Key: "+key).want(s.t, "another body under a used key", 422, "idempotency_key_reused")
	}
}

func (s *sender) badKeys() {
	for _, bad := range []string{"", `""`, strings.Repeat("k", 256), "a b", "schlüssel"} {
		s.send(s.body, "Idempotency-Key: "+bad).want(s.t, "a malformed key", 400, "bad_request")
	}
	s.send(s.body, newKey(), newKey()).want(s.t, "two keys", 400, "bad_request")
	if s.who.kind == "agent" || agent().token != "" && s.o.actors == nil {
		agent().call(s.t, s.o.method, s.o.path+s.query, s.body, s.values, s.header...).want(s.t, "an agent without a key", 400, "idempotency_key_required")
	} else if agent().token == "" {
		off(s.t, s.o.name()+" by an agent without a key", "no -agent-token was given")
	}
}

func (s *sender) refusalIsNotKept() {
	key := newKey()
	s.send(`{"schema":"x"}`, key).want(s.t, "a server's member", 422, "read_only_field")
	if a := s.send(s.other(), key); a.status/100 != 2 || a.replayed() {
		s.t.Errorf("a corrected request under the key of a refused one: %d, Idempotency-Replayed %q; refusals are not kept", a.status, a.header.Get("Idempotency-Replayed"))
	}
}

// atOnce sends one request many times at the same time.
func (s *sender) atOnce() {
	body, key := s.other(), newKey()
	var mu sync.Mutex
	var wg sync.WaitGroup
	ids, firsts := map[string]int{}, 0
	for range 12 {
		wg.Go(func() {
			a := s.send(body, key)
			mu.Lock()
			defer mu.Unlock()
			ids[a.text(s.t, "id")]++
			if !a.replayed() {
				firsts++
			}
		})
	}
	wg.Wait()
	if len(ids) != 1 || firsts != 1 {
		s.t.Errorf("twelve at once under one key: %d records, %d answers that are no replay; want one of each", len(ids), firsts)
	}
}
