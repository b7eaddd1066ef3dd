package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// frame is one server-sent event, or a comment.
type frame struct{ id, event, data, retry, comment string }

// follower reads a conversation's stream.
type follower struct {
	t     testing.TB
	res   *http.Response
	in    *bufio.Reader
	close func()
}

var patient = &http.Client{} // a stream takes as long as it takes

func (c *conversation) open(query string, header ...string) *follower {
	c.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", *baseURL+prefix+fill(events, c.values)+"/stream"+query, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.who.token)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := patient.Do(req)
	if err != nil {
		cancel()
		c.t.Fatal(err)
	}
	f := &follower{c.t, res, bufio.NewReader(res.Body), sync.OnceFunc(func() { cancel(); _ = res.Body.Close() })}
	c.t.Cleanup(f.close)
	return f
}

// follow opens a stream that must be given.
func (c *conversation) follow(query string, header ...string) *follower {
	c.t.Helper()
	f := c.open(query, header...)
	if f.res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(f.res.Body)
		c.t.Fatalf("a stream%s %v: %s %.300s", query, header, f.res.Status, text)
	}
	return f
}

// frame is the next one, for which the server has half a minute.
func (f *follower) frame() frame {
	f.t.Helper()
	defer time.AfterFunc(30*time.Second, f.close).Stop()
	var fr frame
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			f.t.Fatalf("the stream ends, or says nothing for 30 s: %v", err)
		}
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if line == "" {
			return fr
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			fr.comment = value
		case "id":
			fr.id = value
		case "event":
			fr.event = value
		case "data":
			fr.data += value
		case "retry":
			fr.retry = value
		default:
			f.t.Errorf("a line of a stream: %q", line)
		}
	}
}

// hello reads what a stream begins with (contracts 2.6).
func (f *follower) hello() (o struct {
	Epoch       string
	ReplayAfter int64 `json:"replay_after"`
	HeadSeq     int64 `json:"head_seq"`
}) {
	f.t.Helper()
	fr := f.frame()
	for fr.event == "" && fr.data == "" { // retry may stand in a frame of its own
		if fr.retry != "" && fr.retry != "2000" {
			f.t.Errorf("retry: %s, want 2000", fr.retry)
		}
		fr = f.frame()
	}
	if fr.event != "hux.hello" || fr.id != "" {
		f.t.Errorf("the first frame is %+v, want hux.hello without an id", fr)
	}
	if err := json.Unmarshal([]byte(fr.data), &o); err != nil {
		f.t.Errorf("hux.hello: %v: %s", err, fr.data)
	}
	for name, want := range map[string]string{"HUX-Epoch": o.Epoch, "HUX-Replay-After": strconv.FormatInt(o.ReplayAfter, 10), "HUX-Head-Seq": strconv.FormatInt(o.HeadSeq, 10)} {
		if got := f.res.Header.Get(name); got != want {
			f.t.Errorf("the header %s is %q, hux.hello says %q", name, got, want)
		}
	}
	return o
}

// reset reads hux.reset with a reason.
func (f *follower) reset(reason string) {
	f.t.Helper()
	fr := f.frame()
	var o struct{ Reason string }
	if fr.event != "hux.reset" || fr.id != "" || json.Unmarshal([]byte(fr.data), &o) != nil || o.Reason != reason {
		f.t.Errorf("a frame %+v, want hux.reset, %s, without an id", fr, reason)
	}
}

// want reads the events from..to, each once and in order.
func (f *follower) want(from, to int64) {
	f.t.Helper()
	for seq := from; seq <= to; {
		fr := f.frame()
		if fr.comment != "" && fr.data == "" {
			continue
		}
		var e struct{ Seq int64 }
		if err := validate("hux.event.v1", []byte(fr.data)); err != nil {
			f.t.Errorf("a frame's data is no hux.event.v1: %v\n%.300s", err, fr.data)
		}
		if err := json.Unmarshal([]byte(fr.data), &e); err != nil || e.Seq != seq || fr.id != strconv.FormatInt(seq, 10) || fr.event != "" {
			f.t.Fatalf("a frame with id %q, event %q, seq %d; want %d, which is its id too, and no name", fr.id, fr.event, e.Seq, seq)
		}
		seq++
	}
}

// A stream begins with hux.hello, goes on where its reader says, and says so
// where it can't (contracts 2.6).
func TestStream(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "streams", why)
		return
	}
	c.post(5)
	epoch := c.list("").Epoch
	for name, s := range map[string]struct {
		query, header string
		after         int64
		reset         string
	}{
		"no cursor": {"", "", 0, ""}, "zero": {"?after_seq=0", "", 0, ""}, "query": {"?after_seq=3", "", 3, ""}, "header": {"", "3", 3, ""},
		"header before query": {"?after_seq=1", "4", 4, ""}, "head": {"", "5", 5, ""}, "ahead": {"", "6", 0, "cursor_ahead"},
		"far ahead": {"?after_seq=" + strings.Repeat("9", 30), "", 0, "cursor_ahead"}, "its epoch": {"?epoch=" + epoch, "2", 2, ""},
		"another epoch": {"?epoch=another&after_seq=2", "", 0, "epoch_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &conversation{t, c.who, c.values}
			var header []string
			if s.header != "" {
				header = append(header, "Last-Event-ID: "+s.header)
			}
			f := c.follow(s.query, header...)
			defer f.close()
			if h := f.hello(); h.Epoch != epoch || h.ReplayAfter != s.after || h.HeadSeq != 5 {
				t.Errorf("hux.hello is %+v, want epoch %s, replay_after %d, head_seq 5", h, epoch, s.after)
			}
			if s.reset != "" {
				f.reset(s.reset)
			}
			f.want(s.after+1, 5)
		})
	}
	for _, bad := range []string{"-1", "abc", "007", "1.0", "1e3"} {
		c.who.call(t, "GET", events+"/stream?after_seq="+bad, "", c.values).want(t, "after_seq", 400, "invalid_cursor")
		c.who.call(t, "GET", events+"/stream", "", c.values, "Last-Event-ID: "+bad).want(t, "Last-Event-ID: "+bad, 400, "invalid_cursor")
	}
	f := c.follow("", "Accept-Encoding: gzip, br")
	head := f.res.Header
	if !strings.HasPrefix(head.Get("Content-Type"), "text/event-stream") || head.Get("Cache-Control") != "no-store, no-transform" || head.Get("Content-Encoding") != "" || head.Get("HUX-Contract") != "1.1.0" {
		t.Errorf("the head of a stream: %v", head)
	}
	f.hello()
	f.want(1, 5)
	c.post(1)
	f.want(6, 6)
	checked("streams: hello, ids, cursors, reset, new events")
}

// A reader that breaks off misses nothing and gets nothing twice while others
// write.
func TestStreamResumes(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "resuming a stream", why)
		return
	}
	const writers, each = 4, 25
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() { c.post(each) })
	}
	steady := c.follow("")
	steady.hello()
	for after := int64(0); after < writers*each; {
		f := c.follow("", "Last-Event-ID: "+strconv.FormatInt(after, 10))
		if h := f.hello(); h.ReplayAfter != after {
			t.Errorf("a stream goes on after %d, want %d", h.ReplayAfter, after)
		}
		until := min(after+17, writers*each)
		f.want(after+1, until)
		f.close()
		after = until
	}
	steady.want(1, writers*each)
	wg.Wait()
	checked("streams: resuming under concurrent writes")
}

// An idle stream says at least every 25 seconds that it is there.
func TestStreamPings(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "pings", why)
		return
	}
	f := c.follow("")
	f.hello()
	began := time.Now()
	if fr := f.frame(); fr.comment == "" || fr.id != "" || fr.data != "" || time.Since(began) > 25*time.Second {
		t.Errorf("an idle stream says %+v after %v, want a comment within 25 s", fr, time.Since(began))
	}
	checked("streams: pings")
}

// One person may have so many streams, and is told when to come back. It runs
// before the tests that need streams themselves.
func TestStreamsPerUser(t *testing.T) {
	limit := server.capabilities.Limits["streams_per_user"]
	c, why := newConversation(t)
	if why == "" && (limit < 1 || limit > 64) {
		why = "limits.streams_per_user is " + strconv.FormatInt(limit, 10)
	}
	if why != "" {
		off(t, "streams per user", why)
		return
	}
	var open []*follower
	defer func() {
		for _, f := range open {
			f.close()
		}
	}()
	for range limit { // others of the same person's count too
		f := c.open("")
		open = append(open, f)
		if f.res.StatusCode != http.StatusOK {
			break
		}
	}
	c.who.call(t, "GET", events+"/stream", "", c.values).want(t, "more streams than limits.streams_per_user", 429, "rate_limited")
	checked("streams per user")
}
