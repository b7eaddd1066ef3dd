package conformance_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
)

// moving are the records of which members change while the revision stays;
// their GETs know no 304 (contracts 2.2).
var moving = map[string]bool{"hux.conversation.v1": true, "hux.policy.v1": true, "hux.grant.v1": true}

// A change names the revision that it is made from (contracts 2.2).
func TestPreconditions(t *testing.T) {
	for _, o := range server.operations {
		if !o.served() || !o.ifMatch {
			continue
		}
		t.Run(o.method+" "+strings.ReplaceAll(o.path, "/", ":"), func(t *testing.T) {
			t.Parallel()
			if o.method == "PUT" && slices.Contains(o.query, "scope") {
				first(t, o)
			} else if collection, _, ok := strings.Cut(o.path, "/{id}"); o.method == "PATCH" && ok && server.find("POST", collection) != nil {
				change{o, server.find("POST", collection)}.matrix(t)
			} else {
				lacking(t, "preconditions of "+o.name(), "the matrix is of PATCH of a record that POST makes, and of PUT of one with a scope")
				return
			}
			checked("preconditions of " + o.name())
		})
	}
}

// first is about a record that is there before anybody writes it, with the
// revision 0.
func first(t *testing.T, o *operation) {
	x, why := prepare(t, o)
	if why != "" {
		lacking(t, "preconditions of "+o.name(), why)
		return
	}
	body, n := encoded(x.body), 0
	send := func(header ...string) *answer {
		t.Helper()
		n++
		return x.send(t, otherwise(t, body, n), append(header, newKey())...)
	}
	send().want(t, "no If-Match", 428, "precondition_required")
	send("If-Match: foo").want(t, "malformed", 400, "bad_precondition")
	a := send("If-None-Match: *")
	if tag := a.header.Get("ETag"); a.status/100 != 2 || a.object(t)["revision"] != 1.0 {
		t.Fatalf("the first, with If-None-Match: *: %d %s %.300s", a.status, tag, a.body)
	}
	send("If-None-Match: *").want(t, "the second with If-None-Match: *", 412, "precondition_failed")
	send("If-Match: "+a.header.Get("ETag")).want(t, "the current tag", 200, "")
	send("If-Match: "+a.header.Get("ETag")).want(t, "a stale tag", 412, "precondition_failed")
	if a := send("If-Match: *"); a.status != 200 || a.object(t)["revision"] != 3.0 {
		t.Errorf("If-Match: * on what exists: %d %.300s", a.status, a.body)
	}
	another, why := prepare(t, o)
	if why != "" {
		t.Fatal(why)
	}
	if a := another.send(t, body, append(another.current(t), newKey())...); a.status/100 != 2 {
		t.Errorf("the first, with the tag of revision 0: %d %.300s", a.status, a.body)
	}
}

// change is an operation that changes the records that another makes.
type change struct{ o, create *operation }

// fresh is a record of the test's own.
func (c change) fresh(t *testing.T) (who caller, id, body string) {
	t.Helper()
	a, why := create(t, c.create)
	if why != "" {
		t.Fatal(why)
	}
	x, why := prepare(t, c.o)
	if why != "" {
		t.Fatal(why)
	}
	return x.who, a.text(t, "id"), encoded(x.body)
}

// otherwise is a body that changes what one before it has set, since what changes
// nothing makes no revision: by the title, or by the limits of a policy.
func otherwise(t testing.TB, body string, n int) string {
	t.Helper()
	var v object
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Fatal(err)
	}
	if title, ok := v["title"].(string); ok {
		v["title"] = fmt.Sprint(title, " ", n)
	}
	if budgets, _ := v["budgets"].([]any); len(budgets) > 0 {
		budgets[0].(object)["limit"] = 1000 - n // less each time, which asks for no recent sign-in
	}
	return encoded(v)
}

func (c change) matrix(t *testing.T) {
	who, id, body := c.fresh(t)
	revision := 1
	tag := func() string { return fmt.Sprintf(`"%s:%d"`, id, revision) }
	send := func(header ...string) *answer {
		t.Helper()
		return who.call(t, c.o.method, c.o.path, otherwise(t, body, revision), []string{id}, append(header, newKey())...)
	}
	read := func(header ...string) *answer {
		t.Helper()
		return who.call(t, "GET", c.o.path, "", []string{id}, header...)
	}
	a := read("Accept-Encoding: gzip")
	if a.header.Get("ETag") != tag() || a.header.Get("Content-Encoding") != "" {
		t.Errorf("%s: ETag %s, Content-Encoding %q; want %s and none", a.what, a.header.Get("ETag"), a.header.Get("Content-Encoding"), tag())
	}
	bare := strings.TrimSuffix
	for _, spell := range []func(string) string{
		func(s string) string { return s },
		func(s string) string { return "W/" + s },
		func(s string) string { return bare(s, `"`) + `-gzip"` },
		func(s string) string { return "W/" + bare(s, `"`) + `-br"` },
	} {
		spelling := spell(tag())
		a := send("If-Match: " + spelling)
		if revision++; a.status != 200 || a.header.Get("ETag") != tag() || a.object(t)["revision"] != float64(revision) {
			t.Fatalf("If-Match: %s: %d, ETag %s, want 200 and %s: only the opaque part counts\n%.300s", spelling, a.status, a.header.Get("ETag"), tag(), a.body)
		}
	}
	for _, stale := range []string{fmt.Sprintf(`"%s:1"`, id), fmt.Sprintf(`W/"%s:1"`, id), fmt.Sprintf(`"%s:%d"`, id, revision+1), fmt.Sprintf(`"%s_0123456789ab7def8123456789abcdef:1"`, id[:3])} {
		a := send("If-Match: " + stale)
		a.want(t, "stale: "+stale, 412, "precondition_failed")
		if a.header.Get("ETag") != tag() || a.object(t)["current_revision"] != float64(revision) {
			t.Errorf("stale: ETag %s, current_revision %v; want %s", a.header.Get("ETag"), a.object(t)["current_revision"], tag())
		}
	}
	send().want(t, "no If-Match", 428, "precondition_required")
	for _, malformed := range []string{"foo", `"foo"`, `"` + id + `"`, `"` + id + `:"`, `"` + id + `:x"`, `"` + id + `:-1"`, id + ":1", `""`, "*", tag() + ", " + tag(), bare(tag(), `"`)} {
		send("If-Match: "+malformed).want(t, "malformed: "+malformed, 400, "bad_precondition")
	}
	send("If-Match: "+tag(), "If-Match: "+tag()).want(t, "two of them", 400, "bad_precondition")
	if a := read(); a.header.Get("ETag") != tag() {
		t.Errorf("refused changes were made: %s, want %s", a.header.Get("ETag"), tag())
	}
	want := 304
	if moving[c.o.record] {
		want = 200
	}
	read("If-None-Match: "+tag()).want(t, "If-None-Match with the current tag", want, "")
	read("If-None-Match: "+fmt.Sprintf(`"%s:1"`, id)).want(t, "If-None-Match with an old tag", 200, "")

	var mu sync.Mutex
	var wg sync.WaitGroup
	statuses := map[int]int{}
	for range 8 {
		wg.Go(func() {
			a := send("If-Match: " + tag())
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	wg.Wait()
	if statuses[200] != 1 || statuses[412] != 7 {
		t.Errorf("eight changes of one revision at once: %v, want one 200 and seven 412", statuses)
	}
}
