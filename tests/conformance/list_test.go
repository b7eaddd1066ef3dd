package conformance_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// page is a list's answer.
type page struct {
	Items   []object
	Next    *string
	HeadSeq int64 `json:"head_seq"`
	Epoch   string
}

func list(t testing.TB, who caller, path string, values []string) page {
	t.Helper()
	a := who.call(t, "GET", path, "", values)
	a.want(t, "a list", 200, "")
	var p page
	into(t, a, &p)
	return p
}

// Lists are newest first and go on where a cursor says; a cursor is of its list
// and filters alone (contracts 2.4).
func TestLists(t *testing.T) {
	for _, o := range server.operations {
		if !o.served() || !o.page || !slices.Contains(o.query, "cursor") {
			continue
		}
		t.Run(strings.ReplaceAll(o.path, "/", ":"), func(t *testing.T) {
			t.Parallel()
			who, why := may(o)
			values, none := pathValues(t, o)
			post := server.find("POST", o.path)
			if why+none != "" || post == nil {
				lacking(t, "pages of "+o.name(), why+none+"the records are not made by POST "+o.path)
				return
			}
			var ids []string
			for range 5 {
				a, why := create(t, post)
				if why != "" {
					lacking(t, "pages of "+o.name(), why)
					return
				}
				ids = append(ids, a.text(t, "id"))
			}
			l := lister{t, o, who, values}
			l.pages(ids)
			l.limits()
			l.cursors()
			checked("pages of " + o.name())
		})
	}
}

// lister asks for a list.
type lister struct {
	t      *testing.T
	o      *operation
	who    caller
	values []string
}

func (l lister) get(query string) page {
	l.t.Helper()
	return list(l.t, l.who, l.o.path+"?"+query, l.values)
}

// pages goes on until all of ids have come; others may have been made since.
func (l lister) pages(ids []string) {
	missing := map[string]bool{}
	for _, id := range ids {
		missing[id] = true
	}
	query, last := "limit=2", "~"
	for range 500 {
		p := l.get(query)
		if len(p.Items) > 2 || p.Next != nil && len(p.Items) < 2 {
			l.t.Errorf("limit=2 gives %d items, next %v", len(p.Items), p.Next != nil)
		}
		for _, item := range p.Items {
			id, _ := item["id"].(string)
			if id >= last {
				l.t.Errorf("%s comes after %s: a list is newest first, and nothing comes twice", id, last)
			}
			last = id
			delete(missing, id)
		}
		if len(missing) == 0 {
			return
		}
		if p.Next == nil {
			break
		}
		query = "limit=2&cursor=" + url.QueryEscape(*p.Next)
	}
	l.t.Errorf("the pages do not have %v", sorted(missing))
}

func (l lister) limits() {
	for _, limit := range []string{"200", "201", "99999", "1000000000000000000000000000000"} {
		if n := len(l.get("limit=" + limit).Items); n > 200 {
			l.t.Errorf("limit=%s gives %d items, want at most 200", limit, n)
		}
	}
	if n := len(l.get("").Items); n > 50 {
		l.t.Errorf("without limit %d items, want at most 50", n)
	}
	for _, bad := range []string{"limit=0", "limit=-1", "limit=x", "limit=1.5", "limit=", "limit=1&limit=1", "colour=red", "tenant=x", "limit=%zz", "Limit=1"} {
		l.who.call(l.t, "GET", l.o.path+"?"+bad, "", l.values).want(l.t, "an unknown, repeated or malformed name", 400, "bad_request")
	}
	for _, name := range l.o.query {
		if name != "limit" && name != "cursor" {
			l.who.call(l.t, "GET", l.o.path+"?"+name+"=x&"+name+"=x", "", l.values).want(l.t, "a filter twice", 400, "bad_request")
		}
	}
}

func (l lister) cursors() {
	next := l.get("limit=1").Next
	if next == nil {
		l.t.Fatal("five records, and limit=1 has no next")
	}
	good := *next
	bad := map[string]string{"cut": good[:len(good)-1], "longer": good + "A", "empty": "", "a number": "5", "not base64": "!!!!", "long": strings.Repeat("A", 4000)}
	for i := 0; i < len(good); i += 5 {
		flipped := []byte(good)
		if flipped[i] = 'A'; good[i] == 'A' {
			flipped[i] = 'B'
		}
		bad[fmt.Sprint("changed at ", i)] = string(flipped)
	}
	refuse := func(what string, who caller, query string) {
		l.t.Helper()
		who.call(l.t, "GET", l.o.path+"?"+query, "", l.values).want(l.t, "a cursor "+what, 400, "invalid_cursor")
	}
	for _, what := range sorted(bad) {
		refuse(what, l.who, "cursor="+url.QueryEscape(bad[what]))
	}
	if slices.Contains(l.o.query, "state") {
		refuse("with another filter", l.who, "cursor="+url.QueryEscape(good)+"&state=active")
	}
	if other().token != "" && l.who.kind == "human" && len(l.values) == 0 {
		refuse("of another tenant", other(), "cursor="+url.QueryEscape(good))
	}
}

// The list of events goes by their numbers (contracts 2.4).
func TestListOfEvents(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "the list of events", why)
		return
	}
	if p := c.list(""); len(p.Items) != 0 || p.Next != nil || p.HeadSeq != 0 || p.Epoch == "" {
		t.Errorf("a new log: %+v", p)
	}
	c.post(7)
	after, seq := "0", 0
	for range 4 {
		p := c.list("?limit=2&after_seq=" + after)
		for _, item := range p.Items {
			if seq++; item["seq"] != float64(seq) {
				t.Errorf("seq %v, want %d: events come oldest first, without gap or repeat", item["seq"], seq)
			}
		}
		if p.HeadSeq != 7 {
			t.Errorf("head_seq is %d, want 7", p.HeadSeq)
		}
		if p.Next == nil {
			break
		}
		if after = *p.Next; after != fmt.Sprint(seq) {
			t.Errorf("next is %q, want the last seq, %d", after, seq)
		}
	}
	if seq != 7 {
		t.Errorf("the pages have %d events, want 7", seq)
	}
	for _, after := range []string{"7", "8", "9223372036854775808"} {
		if p := c.list("?after_seq=" + after); len(p.Items) != 0 || p.Next != nil || p.HeadSeq != 7 {
			t.Errorf("after_seq=%s: %d items, next %v, head_seq %d; want none, null, 7", after, len(p.Items), p.Next, p.HeadSeq)
		}
	}
	for _, bad := range []string{"-1", "abc", "007", "1.0", "1e3"} {
		c.who.call(t, "GET", events+"?after_seq="+bad, "", c.values).want(t, "after_seq", 400, "invalid_cursor")
	}
	for _, bad := range []string{"after_seq=1&after_seq=2", "cursor=x", "tenant=x", "limit=0"} {
		c.who.call(t, "GET", events+"?"+bad, "", c.values).want(t, "an unknown or repeated name", 400, "bad_request")
	}
	checked("the list of events")
}

const events = "/conversations/{id}/events"

// conversation is one of the test's own.
type conversation struct {
	t      testing.TB
	who    caller
	values []string
}

func newConversation(t *testing.T) (c *conversation, why string) {
	t.Helper()
	if server.find("POST", events) == nil {
		return nil, "hux.activity_timeline is off"
	}
	return &conversation{t, human(), []string{openConversation(t)}}, ""
}

func (c *conversation) list(query string) page {
	c.t.Helper()
	return list(c.t, c.who, events+query, c.values)
}

// post appends n events.
func (c *conversation) post(n int) {
	c.t.Helper()
	for range n {
		c.append(`{"kind":"tool.started","status":"started","summary":"` + mark + `"}`)
	}
}

func (c *conversation) append(body string, header ...string) *answer {
	c.t.Helper()
	a := c.who.call(c.t, "POST", events, body, c.values, append(header, newKey())...)
	a.want(c.t, "an event", 201, "")
	return a
}

// provenance is what a record says of where it comes from.
func provenance(t testing.TB, a *answer) (p struct {
	Surface   string
	Actor     struct{ Kind, ID string }
	SessionID *string `json:"session_id"`
	RunID     *string `json:"run_id"`
}) {
	t.Helper()
	var record struct{ Provenance json.RawMessage }
	into(t, a, &record)
	if err := json.Unmarshal(record.Provenance, &p); err != nil {
		t.Errorf("%s: provenance: %v", a.what, err)
	}
	return p
}
