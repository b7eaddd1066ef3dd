package blackbox_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// house is a router where alice has a slot to herself and bob another.
func house(t *testing.T, config map[string]any) *router {
	t.Helper()
	return start(t, setup{
		slots:  []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}, {id: "b", up: newUpstream(t), members: []string{"bob"}}},
		config: config,
	})
}

// Sixteen writers, readers that come at any time: numbers without gap
// or repeat, each event to each reader once and in order, and what a POST
// answered can be read.
func TestContiguousUnderConcurrency(t *testing.T) {
	t.Parallel()
	const writers, each, readers = 16, 100, 4
	h := house(t, map[string]any{"access_log": false})
	protocols(t, func(t *testing.T, proto string) {
		alice, agent := h.person(t, proto, "alice"), h.agent(t, proto, "a")
		id := alice.conversation(t)
		var wg sync.WaitGroup
		var mu sync.Mutex
		posted := map[uint64]string{}
		var written atomic.Int64
		starts := make([]chan struct{}, readers)
		for i := range readers {
			starts[i] = make(chan struct{})
			at, begin := rand.Int64N(writers*each), starts[i]
			wg.Go(func() { // opens it when so many are written
				eventually(t, time.Minute, "writers write", func() bool { return written.Load() >= at })
				close(begin)
			})
			wg.Go(func() {
				<-begin
				alice.follow(t, id, "").want(1, writers*each)
			})
		}
		for w := range writers {
			c := alice
			if w%2 == 1 {
				c = agent
			}
			wg.Go(func() {
				for n := range each {
					e := c.post(t, id, note(fmt.Sprint(w, ".", n)))
					written.Add(1)
					if n%5 == 0 {
						if l := c.list(t, fmt.Sprintf("/conversations/%s/events?after_seq=%d&limit=1", id, e.Seq-1)); len(l.Items) != 1 || l.Items[0]["id"] != e.ID || l.HeadSeq < e.Seq {
							t.Errorf("what was posted as %d can't be read: %+v", e.Seq, l)
						}
					}
					mu.Lock()
					if posted[e.Seq] != "" {
						t.Errorf("%d was given out twice", e.Seq)
					}
					posted[e.Seq] = e.ID
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		seq := uint64(0)
		for path := "/conversations/" + id + "/events?limit=200"; path != ""; {
			l := alice.list(t, path)
			for _, item := range l.Items {
				if seq++; item["seq"] != float64(seq) || item["id"] != posted[seq] {
					t.Fatalf("the list has %v at %d, posted %s", item, seq, posted[seq])
				}
			}
			if path = ""; l.Next != nil {
				path = "/conversations/" + id + "/events?limit=200&after_seq=" + *l.Next
			}
		}
		if seq != writers*each || len(posted) != writers*each {
			t.Errorf("%d listed, %d posted", seq, len(posted))
		}
		if c := alice.call(t, "GET", "/conversations/"+id, "").object(t); c["head_seq"] != float64(seq) || c["revision"] != 1.0 {
			t.Errorf("the conversation: %v", c)
		}
	})
}

// A reader that breaks off goes on where it was, while others write.
func TestResume(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		id := alice.conversation(t)
		const total = 300
		var wg sync.WaitGroup
		other := alice.follow(t, id, "")
		wg.Go(func() { other.want(1, total) })
		wg.Go(func() {
			for n := range total {
				alice.post(t, id, note(strconv.Itoa(n)))
			}
		})
		wg.Go(func() {
			last := uint64(0)
			for last < total {
				var header []string
				if last > 0 {
					header = []string{"Last-Event-ID: " + strconv.FormatUint(last, 10)}
				}
				f := alice.follow(t, id, "?after_seq=0", header...)
				if after := f.control("hux.hello")["replay_after"]; after != float64(last) {
					t.Errorf("the stream goes on after %v, want %d", after, last)
				}
				until := min(total, last+1+rand.Uint64N(60))
				f.want(last+1, until)
				last = until
				f.close()
			}
		})
		wg.Wait()
	})
}

// Every odd cursor, in the header and in the query.
func TestOddCursors(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	type place struct{ id, epoch string }
	places := map[string]place{}
	check := func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		p, head := places[proto], uint64(5)
		follow := func(what, query string, header string, after uint64, reset string) {
			t.Helper()
			var lines []string
			if header != "-" {
				lines = []string{"Last-Event-ID: " + header}
			}
			f := alice.follow(t, p.id, query, lines...)
			defer f.close()
			if f.res.Header.Get("HUX-Epoch") != p.epoch || f.res.Header.Get("HUX-Replay-After") != strconv.FormatUint(after, 10) || f.res.Header.Get("HUX-Head-Seq") != "5" {
				t.Errorf("%s: %v", what, f.res.Header)
			}
			first, _ := f.frame()
			hello, _ := f.frame()
			if first.retry != "2000" || hello.event != "hux.hello" || hello.id != "" {
				t.Errorf("%s: the stream begins %+v %+v", what, first, hello)
			}
			var o struct {
				Epoch       string `json:"epoch"`
				ReplayAfter uint64 `json:"replay_after"`
				HeadSeq     uint64 `json:"head_seq"`
			}
			if err := json.Unmarshal([]byte(hello.data), &o); err != nil || o.Epoch != p.epoch || o.ReplayAfter != after || o.HeadSeq != head {
				t.Errorf("%s: hello is %s", what, hello.data)
			}
			if reset != "" {
				if fr, _ := f.frame(); fr.event != "hux.reset" || fr.id != "" || fr.data != `{"reason":"`+reset+`"}` {
					t.Errorf("%s: %+v, want a reset for %s", what, fr, reset)
				}
			}
			f.want(after+1, head)
		}
		ahead := strings.Repeat("9", 30)
		for _, c := range []struct {
			cursor string
			after  uint64
			reset  string
		}{{"0", 0, ""}, {"1", 1, ""}, {"4", 4, ""}, {"5", 5, ""}, {"6", 0, "cursor_ahead"}, {"10", 0, "cursor_ahead"}, {ahead, 0, "cursor_ahead"}, {"9223372036854775807", 0, "cursor_ahead"}, {"9223372036854775808", 0, "cursor_ahead"}, {"18446744073709551615", 0, "cursor_ahead"}, {"18446744073709551616", 0, "cursor_ahead"}} {
			follow("header "+c.cursor, "", c.cursor, c.after, c.reset)
			follow("query "+c.cursor, "?after_seq="+c.cursor, "-", c.after, c.reset)
			follow("header "+c.cursor+" wins", "?after_seq=2", c.cursor, c.after, c.reset)
			l := alice.list(t, "/conversations/"+p.id+"/events?after_seq="+c.cursor)
			if want := int(head - min(head, c.after)); c.reset == "" && len(l.Items) != want || c.reset != "" && len(l.Items) != 0 || l.Next != nil || l.HeadSeq != head || l.Epoch != p.epoch {
				t.Errorf("a list after %s: %+v", c.cursor, l)
			}
		}
		follow("nothing", "", "-", 0, "")
		follow("its epoch", "?epoch="+p.epoch+"&after_seq=3", "-", 3, "")
		follow("its epoch, header", "?epoch="+p.epoch, "3", 3, "")
		follow("another epoch", "?epoch=other.0", "3", 0, "epoch_changed")
		follow("another epoch, ahead", "?epoch=other.0&after_seq=99", "-", 0, "epoch_changed")
		if l := alice.list(t, "/conversations/"+p.id+"/events"); len(l.Items) != int(head) {
			t.Errorf("a list without cursor: %+v", l)
		}
		path := "/conversations/" + p.id + "/events"
		for _, bad := range []string{"-1", "abc", "007", "00", "1.0", "1e3", "+1", " 1", "0x1", "١", "1,2", "null", strings.Repeat("9", 41)} {
			if strings.Trim(bad, " ") == bad && bad != "١" {
				alice.call(t, "GET", path+"/stream", "", "Last-Event-ID: "+bad).want(t, 400, "invalid_cursor")
			}
			for _, below := range []string{"", "/stream"} {
				alice.call(t, "GET", path+below+"?after_seq="+url.QueryEscape(bad), "").want(t, 400, "invalid_cursor")
			}
		}
		for _, bad := range []string{"after_seq=1&after_seq=2", "cursor=x", "tenant=x"} {
			for _, below := range []string{"", "/stream"} {
				alice.call(t, "GET", path+below+"?"+bad, "").want(t, 400, "bad_request")
			}
		}
		if a := alice.call(t, "HEAD", path+"/stream", ""); a.StatusCode != 200 || a.Header.Get("HUX-Head-Seq") != "5" {
			t.Errorf("HEAD of a stream: %d %v", a.StatusCode, a.Header)
		}
	}
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		id := alice.conversation(t)
		if l := alice.list(t, "/conversations/"+id+"/events"); l.HeadSeq != 0 || len(l.Items) != 0 || l.Epoch == "" {
			t.Errorf("a new log: %+v", l)
		}
		for n := range 5 {
			alice.post(t, id, note(strconv.Itoa(n)))
		}
		places[proto] = place{id, alice.list(t, "/conversations/"+id+"/events").Epoch}
		check(t, proto)
	})
	h.stop(t)
	h.relaunch(t)
	protocols(t, check) // a restart changes nothing
	h.crash(t)
	h.relaunch(t)
	protocols(t, check)
}

// A run that failed or was cancelled, and kinds and states of every
// sort, do not end a replay.
func TestFailureDoesNotEndAReplay(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		id := alice.conversation(t)
		posted := uint64(0)
		for _, kind := range []string{"run.started", "run.finished", "message.committed", "message.corrected", "tool.started", "tool.finished", "attachment.added"} {
			for _, status := range []string{`"started"`, `"progress"`, `"completed"`, `"failed"`, `"cancelled"`, "null"} {
				body := fmt.Sprintf(`{"kind":%q,"status":%s,"summary":"one\u2028line \\ \" < é 漢 🙂","run_id":"r.%s.%d","sensitivity":"restricted","data":{"n":9007199254740993,"x":null}}`, kind, status, proto, posted)
				a := alice.call(t, "POST", "/conversations/"+id+"/events", body)
				a.want(t, 201, "")
				posted++
				o := a.object(t)
				if o["seq"] != float64(posted) || o["kind"] != kind || o["tombstone"] != nil || o["redaction"].(map[string]any)["level"] != "full" {
					t.Errorf("an event: %s", a.body)
				}
				if !strings.Contains(a.body, "9007199254740993") {
					t.Errorf("a large number loses digits: %s", a.body)
				}
			}
		}
		f := alice.follow(t, id, "")
		l := alice.list(t, "/conversations/"+id+"/events")
		for seq := uint64(1); seq <= posted; seq++ {
			e, ok := f.next()
			if !ok || e.Seq != seq || e.ID != l.Items[seq-1]["id"] || e.Summary != "one\u2028line \\ \" < é 漢 🙂" {
				t.Fatalf("event %d: %+v, the stream goes on: %v", seq, e, ok)
			}
		}
		for _, kind := range []string{"approval.requested", "memory.forgotten", "conversation.forgotten", "policy.changed", "run.receipt"} {
			alice.call(t, "POST", "/conversations/"+id+"/events", `{"kind":"`+kind+`","summary":"x"}`).want(t, 422, "read_only_field")
		}
		for _, bad := range []string{`{"summary":"x"}`, `{"kind":"tool.started"}`, `{"kind":"nonsense","summary":"x"}`, `{"kind":"tool.started","summary":""}`, `{"kind":"tool.started","summary":"` + strings.Repeat("é", 281) + `"}`,
			`{"kind":"tool.started","summary":"x","status":"done"}`, `{"kind":"tool.started","summary":"x","data":[]}`, `{"kind":"tool.started","summary":"x","causes":[0]}`, `{"kind":"tool.started","summary":"x","causes":[1,1]}`,
			`{"kind":"tool.started","summary":"x","causes":[1.5]}`, `{"kind":"tool.started","summary":"x","evidence":[{"kind":"event","id":"x"}]}`, `{"kind":"tool.started","summary":"x","run_id":"a b"}`,
			`{"kind":"tool.started","summary":"x","evidence":[` + strings.Repeat(`{"kind":"event","id":"x","owner":"hux"},`, 20) + `{"kind":"event","id":"x","owner":"hux"}]}`} {
			alice.call(t, "POST", "/conversations/"+id+"/events", bad).want(t, 422, "schema_invalid")
		}
		for _, bad := range []string{`"seq":7`, `"id":"x"`, `"tenant":"x"`, `"reported_by":"page"`, `"tombstone":null`, `"created_at":"x"`, `"conversation_id":"x"`, `"provenance":{"actor":{"kind":"agent","id":"x"}}`} {
			alice.call(t, "POST", "/conversations/"+id+"/events", `{"kind":"tool.started","summary":"x",`+bad+`}`).want(t, 422, "read_only_field")
		}
		alice.call(t, "POST", "/conversations/"+id+"/events", `{"kind":"tool.started","summary":"x","data":{"x":"`+strings.Repeat("x", 8<<10)+`"}}`).want(t, 413, "too_large")
		e := alice.post(t, id, `{"kind":"tool.started","summary":"`+strings.Repeat("é", 280)+`","causes":[1,`+strconv.FormatUint(posted, 10)+`],"data":{"x":"`+strings.Repeat("x", 8<<10-20)+`"},"provenance":{"route":{"requested":"fast","locality":"local"}}}`)
		if e.Seq != posted+1 {
			t.Errorf("refused events left a gap: %d after %d", e.Seq, posted)
		}
	})
}

// The head of a stream, what an idle one says, and that nothing
// compresses it.
func TestStreamHygiene(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	for _, proto := range []string{"h1", "h2"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			alice := h.person(t, proto, "alice")
			id := alice.conversation(t)
			alice.post(t, id, note("x"))
			f := alice.follow(t, id, "?after_seq=1", "Accept-Encoding: gzip, br, zstd")
			head := f.res.Header
			if !strings.HasPrefix(head.Get("Content-Type"), "text/event-stream") || head.Get("Cache-Control") != "no-store, no-transform" || head.Get("X-Accel-Buffering") != "no" ||
				head.Get("Content-Encoding") != "" || head.Get("Content-Length") != "" || head.Get("HUX-Contract") != "1.1.0" || head.Get("HUX-Request-Id") == "" {
				t.Errorf("the head: %v", head)
			}
			f.control("hux.hello")
			for range 2 {
				took := within(t, 25*time.Second, "a ping", func() {
					fr, ok := f.frame()
					if !ok || fr.comment == "" || fr.id != "" || fr.event != "" || fr.data != "" {
						t.Errorf("an idle stream says %+v (goes on: %v)", fr, ok)
					}
				})
				if took < 10*time.Second {
					t.Errorf("a ping after %v", took)
				}
			}
			alice.post(t, id, note("y"))
			f.want(2, 2)
		})
	}
}

// One person may follow so many streams, and no more; others are not touched.
func TestEventStreamsPerUser(t *testing.T) {
	t.Parallel()
	h := house(t, map[string]any{"streams_per_user": "3"})
	protocols(t, func(t *testing.T, proto string) {
		alice, bob, agent := h.person(t, proto, "alice"), h.person(t, proto, "bob"), h.agent(t, proto, "a")
		id := alice.conversation(t)
		var open []*follower
		for range 3 {
			open = append(open, alice.follow(t, id, ""))
		}
		path := "/conversations/" + id + "/events/stream"
		a := alice.call(t, "GET", path, "")
		a.want(t, 429, "rate_limited")
		if a.Header.Get("Retry-After") == "" || a.object(t)["retryable"] != true {
			t.Errorf("too many streams: %v %s", a.Header, a.body)
		}
		alice.call(t, "HEAD", path, "").want(t, 200, "")
		bob.follow(t, bob.conversation(t), "").close()
		agent.follow(t, id, "").close()
		open[0].close()
		eventually(t, 5*time.Second, "a closed stream makes room", func() bool {
			res := alice.streamFrom(t, context.Background(), id, "")
			_ = res.Body.Close()
			return res.StatusCode == http.StatusOK
		})
		for _, f := range open {
			f.close()
		}
	})
}

// Records that were put back from an older backup begin a new epoch, and
// whoever comes with a number of the old one starts over.
func TestRestoredBackup(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice := h.person(t, "h1", "alice")
	id := alice.conversation(t)
	alice.post(t, id, note("before the backup"))
	h.stop(t)
	files, err := filepath.Glob(filepath.Join(h.data, "tenants", "*", "tenant.db"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %v", files, err)
	}
	backup, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	h.relaunch(t)
	alice = h.person(t, "h1", "alice")
	alice.post(t, id, note("after it"))
	old := alice.list(t, "/conversations/"+id+"/events")
	h.stop(t)
	if err := os.WriteFile(files[0], backup, 0o600); err != nil {
		t.Fatal(err)
	}
	h.command(t, "", "slots", "restored", "a")
	h.command(t, "There is no slot", "slots", "restored", "none")
	h.relaunch(t)
	alice = h.person(t, "h1", "alice")
	if now := alice.list(t, "/conversations/"+id+"/events"); now.Epoch == old.Epoch || now.HeadSeq != 1 || old.HeadSeq != 2 {
		t.Errorf("before %+v, restored %+v", old, now)
	}
	alice.post(t, id, note("another second event"))
	f := alice.follow(t, id, "?epoch="+old.Epoch, "Last-Event-ID: 2")
	f.control("hux.hello")
	f.control("hux.reset")
	f.want(1, 2)
}
