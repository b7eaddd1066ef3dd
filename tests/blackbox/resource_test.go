package blackbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// resource is a mutable record of /hux/v1. All that records have in common is
// tested by its URL, with the same table for each.
type resource struct {
	path     string   // of the list
	prefix   string   // of ids
	create   string   // a body that creates one; %d is a number
	patch    string   // a body that changes one; %d is a number
	filters  []string // name=value, each of which one that was just created passes
	readOnly []string // members that only the server sets, as JSON, besides those of every record
}

var resources = []resource{
	{
		path: "/conversations", prefix: "cnv",
		create: `{"title":"number %d"}`, patch: `{"title":"changed to %d"}`,
		filters:  []string{"state=active"},
		readOnly: []string{`"head_seq":1`, `"last_activity_at":"2026-01-01T00:00:00.000Z"`, `"private":true`, `"ephemeral":true`, `"external_refs":[]`, `"branch":{}`},
	},
}

// unknown is a well-formed id that nobody has.
func (r resource) unknown() string {
	return r.path + "/" + r.prefix + "_0123456789ab7def8123456789abcdef"
}

func (r resource) body(n int) string   { return fmt.Sprintf(r.create, n) }
func (r resource) change(n int) string { return fmt.Sprintf(r.patch, n) }

// make makes one and gives its path and ETag.
func (r resource) make(t testing.TB, c *caller) (path, etag string) {
	t.Helper()
	a := c.call(t, "POST", r.path, r.body(0), newKey())
	a.want(t, http.StatusCreated, "")
	id, _ := a.object(t)["id"].(string)
	return r.path + "/" + id, a.Header.Get("ETag")
}

// count is how many records a caller's list has.
func (r resource) count(t testing.TB, c *caller) int {
	t.Helper()
	n := 0
	for path := r.path + "?limit=200"; ; {
		l := c.list(t, path)
		n += len(l.Items)
		if l.Next == nil {
			return n
		}
		path = r.path + "?limit=200&cursor=" + url.QueryEscape(*l.Next)
	}
}

// conformance is the house that the table's tests share: alice and carol have
// one slot together, bob has one of his own.
func conformance(t *testing.T, config map[string]any) *router {
	t.Helper()
	return start(t, setup{
		slots:  []slot{{id: "a", up: newUpstream(t), members: []string{"alice", "carol"}}, {id: "b", up: newUpstream(t), members: []string{"bob"}}},
		config: config,
	})
}

// eachResource runs a test for each resource over both protocols.
func eachResource(t *testing.T, test func(t *testing.T, r resource, proto string)) {
	t.Helper()
	for _, r := range resources {
		t.Run(strings.TrimPrefix(r.path, "/"), func(t *testing.T) {
			protocols(t, func(t *testing.T, proto string) { test(t, r, proto) })
		})
	}
}

// What belongs to another tenant, or to another member of a shared
// slot, is what does not exist.
func TestForeignRecordsAreUnknown(t *testing.T) {
	t.Parallel()
	h := conformance(t, nil)
	eachResource(t, func(t *testing.T, r resource, proto string) {
		alice, bob, carol := h.person(t, proto, "alice"), h.person(t, proto, "bob"), h.person(t, proto, "carol")
		agent := h.agent(t, proto, "b")
		path, etag := r.make(t, alice)
		type request struct{ method, below, body string }
		requests := []request{{"GET", "", ""}, {"HEAD", "", ""}, {"PATCH", "", r.change(1)}}
		if r.prefix == "cnv" {
			requests = append(requests, request{"GET", "/events", ""}, request{"POST", "/events", note("x")}, request{"GET", "/events/stream", ""})
		}
		for who, c := range map[string]*caller{"bob": bob, "carol": carol, "bob's agent": agent} {
			for _, q := range requests {
				header := []string{newKey(), "If-Match: " + etag}
				foreign := c.call(t, q.method, path+q.below, q.body, header...)
				for _, other := range []string{r.unknown(), r.path + "/" + r.prefix + "_x", r.path + "/x"} {
					header[0] = newKey()
					unknown := c.call(t, q.method, other+q.below, q.body, header...)
					if foreign.StatusCode != http.StatusNotFound || unknown.StatusCode != foreign.StatusCode || unknown.plainBody() != foreign.plainBody() {
						t.Errorf("%s, %s %s: %d %s; unknown %d %s", who, q.method, q.below, foreign.StatusCode, foreign.body, unknown.StatusCode, unknown.body)
					}
					if len(unknown.Header) != len(foreign.Header) {
						t.Errorf("%s, %s %s: headers %v and %v", who, q.method, q.below, foreign.Header, unknown.Header)
					}
				}
			}
			for _, item := range c.list(t, r.path+"?limit=200").Items {
				if r.path+"/"+item["id"].(string) == path {
					t.Errorf("%s finds alice's in a list", who)
				}
			}
		}
		if a := alice.call(t, "GET", path, ""); a.Header.Get("ETag") != etag {
			t.Errorf("the record was changed: %s, was %s", a.Header.Get("ETag"), etag)
		}
	})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		body := `{"project_id":"prj_0123456789ab7def8123456789abcdef"}`
		alice.call(t, "POST", "/conversations", body).want(t, 422, "unknown_reference")
		path, etag := resources[0].make(t, alice)
		alice.call(t, "PATCH", path, body, "If-Match: "+etag).want(t, 422, "unknown_reference")
		alice.call(t, "POST", path+"/events", `{"kind":"tool.started","summary":"x","causes":[1]}`).want(t, 422, "unknown_reference")
		alice.call(t, "PATCH", path, `{"project_id":null}`, "If-Match: "+etag).want(t, 200, "")
	})
}

func TestMethods(t *testing.T) {
	t.Parallel()
	h := conformance(t, nil)
	eachResource(t, func(t *testing.T, r resource, proto string) {
		alice := h.person(t, proto, "alice")
		path, etag := r.make(t, alice)
		for at, want := range map[string]struct{ allow, refused string }{
			r.path: {"GET, HEAD, POST", "DELETE PUT PATCH OPTIONS"},
			path:   {"GET, HEAD, PATCH", "DELETE PUT POST OPTIONS"},
		} {
			for _, method := range strings.Fields(want.refused) {
				a := alice.call(t, method, at, r.body(1), newKey(), "If-Match: "+etag)
				a.want(t, 405, "method_not_allowed")
				if a.Header.Get("Allow") != want.allow {
					t.Errorf("%s %s: Allow %q", method, at, a.Header.Get("Allow"))
				}
			}
			get, head := alice.call(t, "GET", at, ""), alice.call(t, "HEAD", at, "")
			if head.StatusCode != 200 || head.body != "" || head.Header.Get("ETag") != get.Header.Get("ETag") || head.Header.Get("Content-Type") != get.Header.Get("Content-Type") || head.Header.Get("Content-Length") != get.Header.Get("Content-Length") {
				t.Errorf("HEAD %s: %d %v, GET %v", at, head.StatusCode, head.Header, get.Header)
			}
		}
		alice.call(t, "GET", r.path+"/", "").want(t, 404, "not_found")
		if a := alice.call(t, "GET", path, ""); a.Header.Get("ETag") != etag {
			t.Errorf("the record was changed: %s", a.body)
		}
	})
}

// Bodies are JSON in the strict sense, of a bounded size, and hold what the
// client may set.
func TestBodies(t *testing.T) {
	t.Parallel()
	h := conformance(t, nil)
	eachResource(t, func(t *testing.T, r resource, proto string) {
		alice := h.person(t, proto, "alice")
		path, etag := r.make(t, alice)
		before := r.count(t, alice)
		plain := strings.TrimSuffix(r.body(1), "}")
		with := func(members string) string { return plain + "," + members + "}" }
		refused := func(what, body string, status int, code string, header ...string) {
			t.Helper()
			for _, q := range []struct{ method, at string }{{"POST", r.path}, {"PATCH", path}} {
				began := time.Now()
				a := alice.call(t, q.method, q.at, body, append([]string{newKey(), "If-Match: " + etag}, header...)...)
				if a.StatusCode != status || a.code(t) != code {
					t.Errorf("%s: %s %d %s, want %d %s", what, q.method, a.StatusCode, a.body, status, code)
				}
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("%s: refusing takes %v", what, took)
				}
			}
		}
		for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "application/jsonx", "none", "a b"} {
			refused(ct, r.body(1), 415, "unsupported_media_type", "Content-Type: "+ct)
		}
		refused("too large", with(`"x":"`+strings.Repeat("x", 64<<10)+`"`), 413, "too_large")
		refused("far too large", with(`"x":"`+strings.Repeat("x", 1<<20)+`"`), 413, "too_large")
		for what, body := range map[string]string{
			"cut off": plain, "two": r.body(1) + r.body(2), "trailing comma": plain + ",}", "a name twice": with(`"x":1,"x":1`),
			"a known name twice": strings.TrimSuffix(r.body(1), "}") + "," + strings.TrimPrefix(r.body(2), "{"),
			"not UTF-8":          with("\"x\":\"\xff\""), "a BOM": "\ufeff" + r.body(1), "half a surrogate pair": with(`"x":"\ud800"`),
			"deep": with(`"x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)), "NaN": with(`"x":NaN`), "a control character": with("\"x\":\"\x01\""),
			"a huge exponent": with(`"x":1e999999999`), "a huge number": with(`"x":` + strings.Repeat("9", 60000)), "leading zero": with(`"x":01`),
		} {
			refused(what, body, 400, "invalid_json")
		}
		refused("many values", with(`"x":[`+strings.Repeat("1,", 30000)+`1]`), 413, "too_large")
		for what, body := range map[string]string{"a list": "[" + r.body(1) + "]", "null": "null", "a text": `"x"`, "a number": "1", "true": "true"} {
			refused(what, body, 422, "schema_invalid")
		}
		for _, member := range append([]string{
			`"id":"` + r.prefix + `_0123456789ab7def8123456789abcdef"`, `"revision":7`, `"created_at":"2026-01-01T00:00:00.000Z"`, `"updated_at":null`, `"owner":"` + h.user("bob") + `"`,
			`"tenant":"x"`, `"tenant_id":"x"`, `"user":"x"`, `"user_id":"x"`, `"slot":"b"`, `"seq":1`, `"schema":"x"`,
			`"provenance":{"actor":{"kind":"agent","id":"x"}}`, `"provenance":{"build":{"commit":null,"image_digest":null}}`, `"provenance":{"time":"2026-01-01T00:00:00.000Z"}`,
		}, r.readOnly...) {
			refused(member, with(member), 422, "read_only_field")
		}
		if n := r.count(t, alice); n != before {
			t.Errorf("refused bodies wrote %d records", n-before)
		}
		if a := alice.call(t, "GET", path, ""); a.Header.Get("ETag") != etag {
			t.Errorf("a refused body changed the record: %s", a.body)
		}

		many := `"x_a":1,"X":2,"` + strings.Repeat("y", 65) + `":3,"z z":4`
		for i := range 30 {
			many += fmt.Sprintf(`,"z%s":{"deep":1e0}`, strings.Repeat("z", i))
		}
		for _, q := range []struct{ method, at, body string }{{"POST", r.path, r.body(1)}, {"PATCH", path, r.change(1)}} {
			a := alice.call(t, q.method, q.at, strings.TrimSuffix(q.body, "}")+","+many+"}", newKey(), "If-Match: "+etag)
			if a.StatusCode/100 != 2 {
				t.Fatalf("unknown members: %d %s", a.StatusCode, a.body)
			}
			names := strings.Split(a.Header.Get("HUX-Ignored-Fields"), ", ")
			if len(names) != 20 || strings.Contains(a.Header.Get("HUX-Ignored-Fields"), "yyyy") || slices.ContainsFunc(names, func(n string) bool { return strings.Trim(n, "xz_a") != "" }) {
				t.Errorf("HUX-Ignored-Fields: %v", names)
			}
			if strings.Contains(a.body, "deep") || strings.Contains(a.body, "x_a") {
				t.Errorf("an unknown member is kept: %s", a.body)
			}
		}
		padded := plain + strings.Repeat(" ", 64<<10-len(plain)-1) + "}"
		alice.call(t, "POST", r.path, padded).want(t, 201, "")
		alice.call(t, "POST", r.path, r.body(1), "Content-Type: Application/JSON; charset=utf-8").want(t, 201, "")
	})
}

// A change names the revision that it is made from.
func TestPreconditions(t *testing.T) {
	t.Parallel()
	h := conformance(t, nil)
	eachResource(t, func(t *testing.T, r resource, proto string) {
		alice := h.person(t, proto, "alice")
		path, etag := r.make(t, alice)
		id := path[strings.LastIndex(path, "/")+1:]
		a := alice.call(t, "GET", path, "", "Accept-Encoding: gzip")
		if a.Header.Get("Content-Encoding") != "" || a.Header.Get("ETag") != etag || etag != `"`+id+`:1"` {
			t.Errorf("a record: %v", a.Header)
		}
		revision := 1
		patch := func(status int, code string, header ...string) *answer {
			t.Helper()
			a := alice.call(t, "PATCH", path, r.change(1+revision), header...)
			a.want(t, status, code)
			return a
		}
		tag := func() string { return fmt.Sprintf(`"%s:%d"`, id, revision) }
		for _, spelling := range []string{tag(), "W/" + tag(), strings.TrimSuffix(tag(), `"`) + `-gzip"`, "W/" + strings.TrimSuffix(tag(), `"`) + `-br"`} {
			spelling = strings.Replace(spelling, ":1", fmt.Sprintf(":%d", revision), 1)
			a := patch(200, "", "If-Match: "+spelling)
			if revision++; a.Header.Get("ETag") != tag() || a.object(t)["revision"] != float64(revision) {
				t.Fatalf("after %s: %s %s", spelling, a.Header.Get("ETag"), a.body)
			}
		}
		for _, stale := range []string{etag, "W/" + etag, fmt.Sprintf(`"%s:%d"`, id, revision+1), `"` + r.prefix + `_0123456789ab7def8123456789abcdef:1"`} {
			a := patch(412, "precondition_failed", "If-Match: "+stale)
			if a.Header.Get("ETag") != tag() || a.object(t)["current_revision"] != float64(revision) {
				t.Errorf("stale %s: %s %s", stale, a.Header.Get("ETag"), a.body)
			}
		}
		patch(428, "precondition_required")
		for _, malformed := range []string{"foo", `"foo"`, `"` + id + `"`, `"` + id + `:"`, `"` + id + `:x"`, `"` + id + `:-1"`, `"` + id + `:+5"`, `"` + id + `:1.0"`, id + ":1", `W/`, `""`, "*", tag() + "," + tag(), strings.TrimSuffix(tag(), `"`)} {
			patch(400, "bad_precondition", "If-Match: "+malformed)
		}
		patch(400, "bad_precondition", "If-Match: "+tag(), "If-Match: "+tag())
		if a := alice.call(t, "GET", path, ""); a.Header.Get("ETag") != tag() {
			t.Errorf("refused changes were made: %s", a.body)
		}

		var wg sync.WaitGroup
		var mu sync.Mutex
		answers := map[int]int{}
		for range 10 {
			wg.Go(func() {
				a := alice.call(t, "PATCH", path, r.change(3), "If-Match: "+tag())
				mu.Lock()
				defer mu.Unlock()
				answers[a.StatusCode]++
			})
		}
		wg.Wait()
		if answers[200] != 1 || answers[412] != 9 {
			t.Errorf("ten changes of one revision: %v", answers)
		}
	})
}

// A request that is sent again does nothing again.
func TestIdempotency(t *testing.T) {
	t.Parallel()
	h := conformance(t, nil)
	agents := map[string]*caller{}
	type before struct {
		r                resource
		c                *caller
		proto, key, body string
		id               string
	}
	var done []before
	eachResource(t, func(t *testing.T, r resource, proto string) {
		alice, carol := h.person(t, proto, "alice"), h.person(t, proto, "carol")
		if agents[proto] == nil {
			agents[proto] = h.agent(t, proto, "b")
		}
		post := func(c *caller, body string, header ...string) (*answer, string, bool) {
			t.Helper()
			a := c.call(t, "POST", r.path, body, header...)
			id, _ := a.object(t)["id"].(string)
			return a, id, a.Header.Get("Idempotency-Replayed") == "true"
		}
		count := r.count(t, alice)
		grown := func(by int, what string) {
			t.Helper()
			if n := r.count(t, alice); n != count+by {
				t.Errorf("%s: %d records more, want %d", what, n-count, by)
			}
			count += by
		}
		key := "key-" + proto
		header := "Idempotency-Key: " + key
		first, id, replayed := post(alice, r.body(1), header)
		if first.StatusCode != 201 || replayed {
			t.Fatalf("the first: %d %v", first.StatusCode, first.Header)
		}
		alice.call(t, "PATCH", r.path+"/"+id, r.change(9), "If-Match: "+first.Header.Get("ETag"), header).want(t, 200, "") // another method runs
		for _, again := range []struct{ body, header string }{
			{r.body(1), header}, {" " + r.body(1) + "\n", header}, {r.body(1), `Idempotency-Key: "` + key + `"`},
		} {
			a, same, replayed := post(alice, again.body, again.header)
			if a.StatusCode != 201 || same != id || !replayed {
				t.Errorf("again: %d, %s, replayed %v", a.StatusCode, a.body, replayed)
			}
			if a.Header.Get("ETag") != fmt.Sprintf(`"%s:2"`, id) {
				t.Errorf("a replay tells of an old revision: %s", a.Header.Get("ETag"))
			}
		}
		grown(1, "the same again")
		a, _, _ := post(alice, r.body(2), header)
		a.want(t, 422, "idempotency_key_reused")
		a = alice.call(t, "POST", r.path+"?x=1", r.body(1), header)
		if a.StatusCode != 422 && a.StatusCode != 400 {
			t.Errorf("another query: %d", a.StatusCode)
		}
		grown(0, "another body")
		if a, other, _ := post(carol, r.body(1), header); a.StatusCode != 201 || other == id {
			t.Errorf("another person's: %d %s", a.StatusCode, a.body)
		}
		for _, bad := range []string{"", `""`, strings.Repeat("k", 256), "a b", "schlüssel"} {
			a, _, _ := post(alice, r.body(1), "Idempotency-Key: "+bad)
			a.want(t, 400, "bad_request")
		}
		a, _, _ = post(alice, r.body(1), header, header)
		a.want(t, 400, "bad_request")
		a, _, _ = post(agents[proto], r.body(1))
		a.want(t, 400, "idempotency_key_required")
		grown(0, "bad keys")

		corrected := newKey()
		a, _, _ = post(alice, `{"id":"x"}`, corrected)
		a.want(t, 422, "")
		if a, _, replayed := post(alice, r.body(1), corrected); a.StatusCode != 201 || replayed {
			t.Errorf("a refusal is kept under its key: %d", a.StatusCode)
		}
		grown(1, "a corrected request")

		parallel := newKey()
		var mu sync.Mutex
		var wg sync.WaitGroup
		ids, firsts := map[string]int{}, 0
		for range 20 {
			wg.Go(func() {
				a, id, replayed := post(alice, r.body(1), parallel)
				mu.Lock()
				defer mu.Unlock()
				if ids[id]++; a.StatusCode != 201 {
					t.Errorf("one of twenty: %d %s", a.StatusCode, a.body)
				}
				if !replayed {
					firsts++
				}
			})
		}
		wg.Wait()
		if len(ids) != 1 || firsts != 1 {
			t.Errorf("twenty at once: %v, %d of them first", ids, firsts)
		}
		grown(1, "twenty at once")

		path, etag := r.make(t, alice)
		change := newKey()
		for i := range 2 {
			a := alice.call(t, "PATCH", path, r.change(4), "If-Match: "+etag, change)
			a.want(t, 200, "")
			if a.object(t)["revision"] != 2.0 || (a.Header.Get("Idempotency-Replayed") == "true") != (i == 1) {
				t.Errorf("change %d: %v %s", i, a.Header, a.body)
			}
		}
		alice.call(t, "PATCH", path, r.change(4), `If-Match: "`+path[len(r.path)+1:]+`:2"`, change).want(t, 422, "idempotency_key_reused")
		done = append(done, before{r, alice, proto, header, r.body(1), id})
	})
	h.crash(t)
	h.relaunch(t)
	for _, d := range done {
		a := d.c.call(t, "POST", d.r.path, d.body, d.key)
		a.want(t, 201, "")
		if a.object(t)["id"] != d.id || a.Header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("after a restart, %s: %s", d.proto, a.body)
		}
		d.c.call(t, "POST", d.r.path, d.r.body(2), d.key).want(t, 422, "idempotency_key_reused")
	}
}

// Lists are whole, newest first, and go on where a cursor says.
func TestLists(t *testing.T) {
	t.Parallel()
	h := conformance(t, nil)
	eachResource(t, func(t *testing.T, r resource, proto string) {
		alice, bob := h.person(t, proto, "alice"), h.person(t, proto, "bob")
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				for n := range 27 {
					alice.call(t, "POST", r.path, r.body(100*i+n)).want(t, 201, "")
				}
			})
		}
		wg.Wait()
		total := r.count(t, alice)
		for _, c := range []struct {
			limit string
			items int
		}{{"", 50}, {"?limit=1", 1}, {"?limit=200", 200}, {"?limit=201", 200}, {"?limit=99999", 200}, {"?limit=1000000000000000000000000000000", 200}} {
			if l := alice.list(t, r.path+c.limit); len(l.Items) != c.items || l.Next == nil {
				t.Errorf("%s: %d items, next %v", c.limit, len(l.Items), l.Next)
			}
		}
		for _, bad := range []string{"limit=0", "limit=-1", "limit=x", "limit=1.5", "limit=", "limit=1&limit=1", "colour=red", "after_seq=1", "tenant=x", "state=active&state=active", "limit=%zz", "Limit=1"} {
			alice.call(t, "GET", r.path+"?"+bad, "").want(t, 400, "bad_request")
		}

		filters := append([]string{""}, r.filters...)
		cursors := map[string]string{}
		for _, filter := range filters {
			seen, last := map[string]bool{}, "~"
			query := "?limit=19&" + filter
			for query != "" {
				l := alice.list(t, r.path+strings.TrimSuffix(query, "&"))
				if len(l.Items) == 0 {
					t.Error("an empty page")
				}
				for _, item := range l.Items {
					id := item["id"].(string)
					if seen[id] || id >= last {
						t.Fatalf("%s comes after %s (seen: %v)", id, last, seen[id])
					}
					seen[id], last = true, id
				}
				query = ""
				if l.Next != nil {
					query = "?limit=19&cursor=" + url.QueryEscape(*l.Next) + "&" + filter
					cursors[filter] = *l.Next
				}
				if len(seen) == 19 { // one that comes meanwhile disturbs nothing
					alice.call(t, "POST", r.path, r.body(1)).want(t, 201, "")
				}
			}
			if len(seen) != total {
				t.Errorf("the pages of %q have %d records of %d", filter, len(seen), total)
			}
			total++
		}

		good := cursors[""]
		invalid := func(what string, c *caller, query string) {
			t.Helper()
			if a := c.call(t, "GET", r.path+"?"+query, ""); a.StatusCode != 400 || a.code(t) != "invalid_cursor" {
				t.Errorf("a cursor %s: %d %s", what, a.StatusCode, a.body)
			}
		}
		for i := range good {
			flipped := []byte(good)
			if flipped[i] = 'A'; good[i] == 'A' {
				flipped[i] = 'B'
			}
			invalid(fmt.Sprint("changed at ", i), alice, "cursor="+string(flipped))
		}
		for what, c := range map[string]string{"cut": good[:len(good)-1], "longer": good + "A", "padded": good + "==", "empty": "", "no cursor": "x", "a number": "5", "not base64": "!!!!", "long": strings.Repeat("A", 4000)} {
			invalid(what, alice, "cursor="+url.QueryEscape(c))
		}
		invalid("of another tenant", bob, "cursor="+good)
		for _, filter := range r.filters {
			invalid("without filter", alice, "cursor="+good+"&"+filter)
			invalid("with filter", alice, "cursor="+cursors[filter])
		}
	})
}

// The names that a gateway gives to runs and messages are each member's own: who
// shares a slot neither learns of another's nor takes it away.
func TestMembersNamesAreTheirOwn(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "shared", up: newUpstream(t), members: []string{"alice", "bob"}}}})
	alice, bob := h.person(t, "h2", "alice"), h.person(t, "h2", "bob")
	of := map[*caller][2]string{alice: {alice.conversation(t), alice.conversation(t)}, bob: {bob.conversation(t), bob.conversation(t)}}
	events := []string{
		`{"kind":"run.started","status":"started","summary":"x","run_id":"same"}`,
		`{"kind":"message.committed","status":"completed","summary":"x","data":{"message_id":"same"}}`,
	}
	for _, c := range []*caller{alice, bob} { // the second as the first
		for _, e := range events {
			c.post(t, of[c][0], e)
			c.call(t, "POST", "/conversations/"+of[c][1]+"/events", e, newKey()).want(t, 422, "unknown_reference")
		}
	}
	used := bob.call(t, "POST", "/conversations/"+of[bob][1]+"/runs/same/cancel", "", newKey())
	unused := bob.call(t, "POST", "/conversations/"+of[bob][1]+"/runs/none/cancel", "", newKey())
	if used.StatusCode != unused.StatusCode || used.plainBody() != unused.plainBody() {
		t.Errorf("%d %s, and of no run %d %s", used.StatusCode, used.body, unused.StatusCode, unused.body)
	}
}
