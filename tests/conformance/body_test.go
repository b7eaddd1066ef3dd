package conformance_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// writers gives each served operation with a JSON body that can be called.
func writers(t *testing.T, test func(t *testing.T, w writer)) {
	t.Helper()
	for _, o := range server.operations {
		if !o.served() || o.request == "" || o.signed {
			continue
		}
		t.Run(o.method+" "+strings.ReplaceAll(o.path, "/", ":"), func(t *testing.T) {
			t.Parallel()
			x, why := prepare(t, o)
			if why != "" {
				lacking(t, "bodies of "+o.name(), why)
				return
			}
			test(t, writer{x, t, strings.TrimSuffix(encoded(x.body), "}")})
		})
	}
}

type writer struct {
	*exchange
	t     *testing.T
	plain string // a valid body without its last brace
}

// with is the body with more members.
func (w writer) with(members string) string {
	if w.plain == "{" {
		return w.plain + members + "}"
	}
	return w.plain + "," + members + "}"
}

func (w writer) send(body string, header ...string) *answer {
	w.t.Helper()
	return w.exchange.send(w.t, body, append(append(header, newKey()), w.current(w.t)...)...)
}

// fresh is another of the kind, about a record that was not written yet.
func (w writer) fresh() writer {
	w.t.Helper()
	x, why := prepare(w.t, w.o)
	if why != "" {
		w.t.Fatal(why)
	}
	return writer{x, w.t, strings.TrimSuffix(encoded(x.body), "}")}
}

// Bodies are JSON in the strict sense and of a bounded size; hostile ones are
// refused soon (contracts 1, 2.5, 2.7).
func TestBodies(t *testing.T) {
	writers(t, func(t *testing.T, w writer) {
		refuse := func(what, body string, status int, code string, header ...string) {
			t.Helper()
			began := time.Now()
			w.send(body, header...).want(t, what, status, code)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("%s: refused after %v", what, took)
			}
		}
		for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "none"} {
			refuse("Content-Type: "+media, w.with(""), 415, "unsupported_media_type", "Content-Type: "+media)
		}
		for what, body := range map[string]string{
			"cut off": w.plain, "two bodies": w.plain + "}{}", "a trailing comma": w.plain + ",}", "a name twice": w.with(`"x":1,"x":1`),
			"not UTF-8": w.with("\"x\":\"\xff\""), "half a surrogate pair": w.with(`"x":"\ud800"`), "NaN": w.with(`"x":NaN`), "a leading zero": w.with(`"x":01`),
			"10,000 deep": w.with(`"x":` + strings.Repeat("[", 10000) + strings.Repeat("]", 10000)),
			"1e999999":    w.with(`"x":1e999999`), "60,000 digits": w.with(`"x":` + strings.Repeat("9", 60000)),
		} {
			refuse(what, body, 400, "invalid_json")
		}
		for what, body := range map[string]string{"a list": "[]", "null": "null", "a text": `"x"`, "a number": "1"} {
			refuse(what, body, 422, "schema_invalid")
		}
		limit := int(server.capabilities.Limits["json_body_bytes"])
		if limit <= 0 || limit > 1<<20 {
			off(t, "the size of bodies", "limits.json_body_bytes is "+fmt.Sprint(limit))
			return
		}
		refuse("a byte too large", w.plain+strings.Repeat(" ", limit-len(w.plain))+"}", 413, "too_large")
		refuse("far too large", w.with(`"x":"`+strings.Repeat("x", 4*limit)+`"`), 413, "too_large")
		w = w.fresh()
		if a := w.send(w.plain + strings.Repeat(" ", limit-len(w.plain)-1) + "}"); a.status/100 != 2 {
			t.Errorf("a body of exactly %d bytes: %d %.300s", limit, a.status, a.body)
		}
		checked("bodies of " + w.o.name())
	})
}

// Members that nobody knows are not stored and are named; those that only the
// server sets are refused (contracts 1, JSON).
func TestMembers(t *testing.T) {
	writers(t, func(t *testing.T, w writer) {
		for _, member := range []string{
			`"id":"cnv_0123456789ab7def8123456789abcdef"`, `"seq":1`, `"revision":7`, `"created_at":"2026-01-01T00:00:00.000Z"`, `"updated_at":null`,
			`"owner":"usr_0123456789abcdef0123"`, `"tenant":"x"`, `"tenant_id":"x"`, `"user":"x"`, `"user_id":"x"`, `"schema":"x"`,
		} {
			w.send(w.with(member)).want(t, member, 422, "read_only_field")
		}
		a := w.send(w.with(`"nobody_knows":{"deep":1},"UPPER":1,"` + strings.Repeat("y", 65) + `":2,"z z":3`))
		if a.status/100 != 2 || a.header.Get("HUX-Ignored-Fields") != "nobody_knows" {
			t.Errorf("with members that nobody knows: %d, HUX-Ignored-Fields %q, want nobody_knows\n%.300s", a.status, a.header.Get("HUX-Ignored-Fields"), a.body)
		}
		if strings.Contains(string(a.body), "nobody_knows") {
			t.Errorf("a member that nobody knows was kept: %.600s", a.body)
		}
		many := make([]string, 30)
		for i := range many {
			many[i] = fmt.Sprintf(`"z%s":1`, strings.Repeat("z", i))
		}
		w = w.fresh()
		a = w.send(w.with(strings.Join(many, ",")))
		if names := strings.Split(a.header.Get("HUX-Ignored-Fields"), ", "); len(names) != 20 {
			t.Errorf("of 30 such members HUX-Ignored-Fields names %d, want 20", len(names))
		}
		checked("members of " + w.o.name())
	})
}

// What is written may be as long as the limits say, and no longer (contracts
// 2.7). Lengths are in characters.
func TestLimitsOfEvents(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "limits of events", why)
		return
	}
	limits := server.capabilities.Limits
	event := func(summary, more string) string {
		return `{"kind":"tool.started","summary":"` + summary + `"` + more + `}`
	}
	long := strings.Repeat("é", int(limits["event_summary_chars"]))
	refs := strings.Repeat(`{"kind":"event","id":"x","owner":"hux"},`, int(limits["evidence_refs"]))
	data := strings.Repeat("x", int(limits["event_data_bytes"]))
	c.append(event(long, ""))
	c.append(event(mark, `,"evidence":[`+strings.TrimSuffix(refs, ",")+`]`))
	c.append(event(mark, `,"data":{"x":"`+data[:len(data)-20]+`"}`))
	for what, r := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"summary":               {event(long+"é", ""), 422, "schema_invalid"},
		"evidence":              {event(mark, `,"evidence":[`+refs+`{"kind":"event","id":"x","owner":"hux"}]`), 422, "schema_invalid"},
		"data":                  {event(mark, `,"data":{"x":"`+data+`"}`), 413, "too_large"},
		"a cause that is later": {event(mark, `,"causes":[1000]`), 422, "unknown_reference"},
	} {
		c.who.call(t, "POST", events, r.body, c.values, newKey()).want(t, what, r.status, r.code)
	}
	if head := c.list("?limit=1").HeadSeq; head != 3 {
		t.Errorf("after three events and some refused ones head_seq is %d", head)
	}
	checked("limits of events")
}

// Only some kinds of event are a client's to post (contracts 3).
func TestEventKinds(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "kinds of events", why)
		return
	}
	clients := map[string]bool{"run.started": true, "run.finished": true, "message.committed": true, "message.corrected": true, "tool.started": true, "tool.finished": true, "attachment.added": true}
	for _, kind := range server.capabilities.EventKinds {
		status, code := 422, "read_only_field"
		if clients[kind] {
			status, code = 201, ""
		}
		body := `{"kind":"` + kind + `","summary":"` + mark + `"}`
		c.who.call(t, "POST", events, body, c.values, newKey()).want(t, kind, status, code)
	}
	c.who.call(t, "POST", events, `{"kind":"nobody.knows","summary":"x"}`, c.values, newKey()).want(t, "a kind that nobody knows", 422, "")
	checked("kinds of events")
}
