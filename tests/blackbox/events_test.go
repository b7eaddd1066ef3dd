package blackbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
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

// EVT-1: sixteen writers, readers that come at any time: numbers without gap
// or repeat, each event to each reader once and in order, and what a POST
// answered can be read.
func TestEVT1_ContiguousUnderConcurrency(t *testing.T) {
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

// EVT-2: a reader that breaks off goes on where it was, while others write.
func TestEVT2_Resume(t *testing.T) {
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

// EVT-3: every odd cursor, in the header and in the query.
func TestEVT3_OddCursors(t *testing.T) {
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

// EVT-5: a run that failed or was cancelled, and kinds and states of every
// sort, do not end a replay.
func TestEVT5_FailureDoesNotEndAReplay(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		id := alice.conversation(t)
		posted := uint64(0)
		for _, kind := range []string{"run.started", "run.finished", "message.committed", "message.corrected", "tool.started", "tool.finished", "attachment.added"} {
			for _, status := range []string{`"started"`, `"progress"`, `"completed"`, `"failed"`, `"cancelled"`, "null"} {
				body := fmt.Sprintf(`{"kind":%q,"status":%s,"summary":"one\u2028line \\ \" < é 漢 🙂","run_id":"r.%d","sensitivity":"restricted","data":{"n":9007199254740993,"x":null}}`, kind, status, posted)
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

// EVT-7: the head of a stream, what an idle one says, and that nothing
// compresses it.
func TestEVT7_StreamHygiene(t *testing.T) {
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

// A stream ends with the right to read it, and says so.
func TestEventStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, access: 4 * time.Second, config: map[string]any{"clock_skew": "1s"}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.person(t, proto, "alice")
		id := alice.conversation(t)
		f := alice.follow(t, id, "")
		alice.post(t, id, note("x"))
		f.want(1, 1)
		if reason := f.ends(15 * time.Second); reason != "token_expired" {
			t.Errorf("the stream of an expired token ends with %q", reason)
		}
		h.person(t, proto, "alice").follow(t, id, "").want(1, 1)
	})
}

func TestEventStreamsEndAtSignOut(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		browser := h.signIn(t, proto, "alice")
		a := browser.fetch(t, "POST", chatURL+"/hux/v1/conversations", "{}")
		a.want(t, 201, "")
		id := a.object(t)["id"].(string)
		browser.fetch(t, "POST", chatURL+"/hux/v1/conversations/"+id+"/events", note("x")).want(t, 201, "")
		stream := func(site string) *follower {
			t.Helper()
			ctx, stop := context.WithCancel(context.Background())
			res := browser.open(t, ctx, "GET", site+"/hux/v1/conversations/"+id+"/events/stream", nil, "Accept: text/event-stream", "Sec-Fetch-Mode: cors", "Sec-Fetch-Site: same-origin")
			if res.StatusCode != 200 {
				t.Fatalf("a stream: %s", res.Status)
			}
			f := newFollower(t, res, stop)
			f.want(1, 1)
			return f
		}
		streams := []*follower{stream(chatURL), stream(consoleURL)}
		token := h.person(t, proto, "alice").follow(t, id, "")
		token.want(1, 1)
		browser.fetch(t, "POST", consoleURL+"/hux/api/sessions/end", "{}").want(t, 204, "")
		for i, f := range streams {
			if reason := f.ends(5 * time.Second); reason != "token_expired" {
				t.Errorf("stream %d ends with %q", i, reason)
			}
		}
		browser.fetch(t, "GET", chatURL+"/hux/v1/conversations/"+id+"/events", "").want(t, 401, "unauthenticated")
		for _, refused := range [][]string{{"Origin: https://evil.test", "Sec-Fetch-Site: cross-site"}, {"Origin: " + consoleURL, "Sec-Fetch-Site: same-site"}, {"Origin: " + chatURL}, {"Sec-Fetch-Site: same-origin"}} {
			again := h.signIn(t, proto, "alice")
			again.do(t, "POST", chatURL+"/hux/v1/conversations/"+id+"/events", strings.NewReader(note("forged")), append(refused, "Content-Type: application/json")...).want(t, 403, "cross_origin")
		}
	})
}

// At SIGTERM a stream says that it ends, requests under way are answered, and
// a reader goes on by id with the next process.
func TestEventStreamsEndAtShutdown(t *testing.T) {
	t.Parallel()
	for _, proto := range []string{"h1", "h2"} {
		t.Run(proto, func(t *testing.T) {
			t.Parallel()
			h := house(t, map[string]any{"grace": "10s"})
			alice := h.person(t, proto, "alice")
			id := alice.conversation(t)
			f := alice.follow(t, id, "")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var wg sync.WaitGroup
			var mu sync.Mutex
			acknowledged := map[uint64]string{}
			for w := range 4 {
				wg.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						a, err := alice.try(t, ctx, "POST", "/conversations/"+id+"/events", note(fmt.Sprint(w, ".", n)))
						if err != nil {
							return // it takes no more connections
						}
						if a.StatusCode != 201 {
							t.Errorf("while it shuts down: %d %s", a.StatusCode, a.body)
							return
						}
						var e event
						a.into(t, &e)
						mu.Lock()
						acknowledged[e.Seq] = e.ID
						mu.Unlock()
					}
				})
			}
			f.want(1, 100)
			if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			last, reason := uint64(100), ""
			for {
				fr, ok := f.frame()
				if !ok {
					break
				}
				if fr.event == "hux.closing" {
					reason = fr.data
				}
				if fr.id != "" {
					if last++; fr.id != strconv.FormatUint(last, 10) {
						t.Fatalf("got %s, want %d", fr.id, last)
					}
				}
			}
			if reason != `{"reason":"shutdown"}` {
				t.Errorf("the stream ends with %q", reason)
			}
			h.waitExit(t, 15*time.Second)
			cancel()
			wg.Wait()
			h.relaunch(t)
			again := alice.follow(t, id, "", "Last-Event-ID: "+strconv.FormatUint(last, 10))
			head, _ := strconv.ParseUint(again.res.Header.Get("HUX-Head-Seq"), 10, 64)
			again.want(last+1, head)
			for path := "/conversations/" + id + "/events?limit=200"; path != ""; {
				l := alice.list(t, path)
				for _, item := range l.Items {
					seq := uint64(item["seq"].(float64))
					if want, ok := acknowledged[seq]; ok && want != item["id"] {
						t.Errorf("%d is %v, was acknowledged as %s", seq, item["id"], want)
					}
					delete(acknowledged, seq)
				}
				if path = ""; l.Next != nil {
					path = "/conversations/" + id + "/events?limit=200&after_seq=" + *l.Next
				}
			}
			if len(acknowledged) > 0 {
				t.Errorf("%d acknowledged events are gone", len(acknowledged))
			}
		})
	}
}

// A reader that does not read is closed; the others, and the writers, do not
// notice it.
func TestSlowReaderIsClosedAlone(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice := h.person(t, "h1", "alice")
	id := alice.conversation(t)
	slow := h.dialTLS(t, "h1")
	if c, ok := slow.NetConn().(*net.TCPConn); ok {
		_ = c.SetReadBuffer(4 << 10)
	}
	path := "/hux/v1/conversations/" + id + "/events/stream"
	if _, err := fmt.Fprintf(slow, "GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\nHUX-Request-Id: the-slow-one\r\n%s\r\n\r\n", path, alice.auth); err != nil {
		t.Fatal(err)
	}
	head := make([]byte, 64)
	if _, err := io.ReadFull(slow, head); err != nil || !bytes.HasPrefix(head, []byte("HTTP/1.1 200")) {
		t.Fatalf("the slow reader's stream: %q %v", head, err)
	}
	other := alice.follow(t, id, "")
	const total = 1600 // 12 MiB, more than the sockets hold
	body := `{"kind":"tool.started","summary":"x","data":{"x":"` + strings.Repeat("x", 8000) + `"}}`
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range total / 8 {
				alice.post(t, id, body)
			}
		})
	}
	took := within(t, time.Minute, "the other reader gets all", func() { other.want(1, total) })
	wg.Wait()
	t.Logf("%d events of 8 KB past a reader that does not read: %v", total, took)
	ended := func() bool {
		for line := range strings.Lines(h.log.String()) {
			if strings.Contains(line, `"the-slow-one"`) && strings.Contains(line, `"status":200`) {
				return true
			}
		}
		return false
	}
	if ended() {
		t.Error("the slow reader was closed at once")
	}
	eventually(t, 50*time.Second, "the slow reader is closed", ended)
	alice.post(t, id, note("after"))
	other.want(total+1, total+1)
}

// What an agent says, and where: a key on every write, a surface of its own,
// its own tenant, and no second report of what is known.
func TestAgents(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	protocols(t, func(t *testing.T, proto string) {
		alice, agent, other := h.person(t, proto, "alice"), h.agent(t, proto, "a"), h.agent(t, proto, "b")
		id := alice.conversation(t)
		path := "/conversations/" + id + "/events"
		agent.call(t, "POST", path, note("x")).want(t, 400, "idempotency_key_required")
		agent.call(t, "PATCH", "/conversations/"+id, `{"title":"x"}`, `If-Match: "`+id+`:1"`).want(t, 400, "idempotency_key_required")
		for surface, status := range map[string]int{"chat": 201, "worker": 201, "telegram": 201, "voice": 201, "": 403, "console": 403, "Chat": 403} {
			a := agent.call(t, "POST", path, note("x"), newKey(), "HUX-Surface: "+surface, "HUX-Session: s:1", "HUX-Run: r.1")
			if a.StatusCode != status {
				t.Errorf("an agent on %q: %d %s", surface, a.StatusCode, a.body)
			}
			if status != 201 {
				a.want(t, 403, "surface_forbidden")
				continue
			}
			var e struct {
				Provenance struct {
					Surface   string
					Actor     struct{ Kind, ID string }
					SessionID string `json:"session_id"`
					RunID     string `json:"run_id"`
				}
				By string `json:"reported_by"`
			}
			a.into(t, &e)
			p := e.Provenance
			if p.Surface != surface || p.Actor.Kind != "agent" || !strings.HasPrefix(p.Actor.ID, "agt_") || p.SessionID != "s:1" || p.RunID != "r.1" || e.By != "" {
				t.Errorf("on %s: %s", surface, a.body)
			}
		}
		for _, surface := range []string{"worker", "telegram", "voice", "x"} {
			alice.call(t, "POST", path, note("x"), "HUX-Surface: "+surface).want(t, 403, "surface_forbidden")
		}
		agent.call(t, "POST", path, note("x"), newKey(), "HUX-Surface: chat", "HUX-Surface: voice").want(t, 403, "surface_forbidden")
		for _, bad := range []string{"HUX-Run: a b", "HUX-Session: ", "HUX-Run: " + strings.Repeat("r", 129), "HUX-Session: <x>"} {
			agent.call(t, "POST", path, note("x"), newKey(), bad).want(t, 400, "bad_identity")
		}

		report := func(kind, call string) string {
			return `{"kind":"` + kind + `","summary":"x","data":{"tool_call_id":"` + call + `"}}`
		}
		for i, order := range [][]*caller{{agent, alice}, {alice, agent}, {alice, alice}, {agent, agent}} {
			call := "call." + strconv.Itoa(i)
			before := alice.list(t, path+"?limit=1").HeadSeq
			first, second := newKey(), newKey()
			one := order[0].call(t, "POST", path, report("tool.started", call), first)
			one.want(t, 201, "")
			two := order[1].call(t, "POST", path, report("tool.started", call), second)
			two.want(t, 201, "")
			if one.body != two.body || one.Header.Get("Idempotency-Replayed") != "" || two.Header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("order %d: %s\n%s", i, one.body, two.body)
			}
			order[1].call(t, "POST", path, note("another"), second).want(t, 422, "idempotency_key_reused")
			third := order[1].call(t, "POST", path, report("tool.finished", call), newKey())
			third.want(t, 201, "")
			if head := alice.list(t, path+"?limit=1").HeadSeq; head != before+2 {
				t.Errorf("order %d: %d events, want 2", i, head-before)
			}
			if by, _ := one.object(t)["reported_by"].(string); (by == "page") != (order[0] == alice) {
				t.Errorf("order %d: reported by %q", i, by)
			}
		}
		var wg sync.WaitGroup
		before := alice.list(t, path+"?limit=1").HeadSeq
		for i := range 20 {
			wg.Go(func() {
				[]*caller{alice, agent}[i%2].call(t, "POST", path, report("tool.started", "at once"), newKey()).want(t, 201, "")
			})
		}
		wg.Wait()
		if head := alice.list(t, path+"?limit=1").HeadSeq; head != before+1 {
			t.Errorf("twenty reports of one call at once: %d events", head-before)
		}

		theirs, own := other.call(t, "GET", path, ""), other.call(t, "GET", "/conversations/cnv_0123456789ab7def8123456789abcdef/events", "")
		if theirs.StatusCode != 404 || theirs.plainBody() != own.plainBody() {
			t.Errorf("another tenant's agent: %d %s", theirs.StatusCode, theirs.body)
		}
		other.call(t, "POST", path, note("x"), newKey()).want(t, 404, "not_found")
		a := agent.call(t, "POST", "/conversations", `{"external_ref":{"system":"hermes_session","id":"s1"}}`, newKey())
		a.want(t, map[string]int{"h1": 201, "h2": 200}[proto], "")
		if o := a.object(t); o["owner"] != h.user("alice") {
			t.Errorf("an agent's conversation is %v's", o["owner"])
		}
		again := alice.call(t, "POST", "/conversations", `{"external_ref":{"system":"hermes_session","id":"s1"}}`)
		again.want(t, 200, "")
		if a.object(t)["id"] != again.object(t)["id"] || strings.Contains(again.body, `"s1"`) {
			t.Errorf("one session has two conversations: %s", again.body)
		}
		if b := other.call(t, "POST", "/conversations", `{"external_ref":{"system":"hermes_session","id":"s1"}}`, newKey()); b.object(t)["id"] == a.object(t)["id"] {
			t.Error("two tenants share a conversation")
		}
	})
	worker := h.person(t, "h1", "worker")
	worker.call(t, "GET", "/conversations", "").want(t, 404, "not_found")
}

// EVT-3: records that were put back from an older backup begin a new epoch, and
// whoever comes with a number of the old one starts over.
func TestEVT3_RestoredBackup(t *testing.T) {
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
