package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

func hello(epoch string) string {
	return "retry: 2000\n\nevent: hux.hello\ndata: {\"epoch\":\"" + epoch + "\",\"replay_after\":0,\"head_seq\":9}\n\n"
}

func frame(seq int) string {
	return fmt.Sprintf("id: %d\ndata: {\"seq\":%d,\"summary\":\"number %d\"}\n\n", seq, seq, seq)
}

func frames(from, to int) string {
	var b strings.Builder
	for seq := from; seq <= to; seq++ {
		b.WriteString(frame(seq))
	}
	return b.String()
}

// stream answers with frames, and then ends or does what then says.
func stream(text string, then ...io.Reader) answer {
	return func(r *http.Request) (*http.Response, error) {
		res, err := say(200, "", "Content-Type: text/event-stream")(r)
		res.Body = &body{io.MultiReader(append([]io.Reader{strings.NewReader(text)}, then...)...), r.Context()}
		return res, err
	}
}

// body is one that a request's end interrupts.
type body struct {
	io.Reader
	ctx context.Context
}

func (b *body) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	n, err := b.Reader.Read(p)
	if errors.Is(err, errSilent) {
		<-b.ctx.Done()
		err = b.ctx.Err()
	}
	return n, err
}

func (*body) Close() error { return nil }

var errSilent = errors.New("silent")

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, errSilent }

// Whatever happens to connections, each event comes once and in order.
func TestStreamGoesOn(t *testing.T) {
	whole := frame(7)
	for cut := range len(whole) {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answers: []answer{
				stream(hello("a") + frames(3, 6) + whole[:cut]),
				broken,
				say(503, ""),
				stream(hello("a")+": ping\n\n"+frames(5, 8), broke{}),
				stream(hello("a")+frames(9, 9), silent{}),
				stream(hello("a") + frames(10, 300) + "event: hux.closing\ndata: {\"reason\":\"shutdown\"}\n\n"),
				say(204, ""),
			}}
			var got []int64
			lost := 0
			begun := time.Now()
			for e, err := range w.client(t).Follow(t.Context(), "cnv_1", client.StreamOptions{After: 2, Epoch: "a", Lost: func(error) { lost++ }}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Summary != fmt.Sprintf("number %d", e.Seq) {
					t.Errorf("%+v", e)
				}
				got = append(got, e.Seq)
			}
			if len(got) != 298 || got[0] != 3 || got[297] != 300 || !slices.IsSorted(got) || lost != 6 {
				t.Errorf("cut at %d: got %v, lost %d connections", cut, got, lost)
			}
			if took := time.Since(begun); took < time.Minute || took > 2*time.Minute {
				t.Errorf("a silent connection was given up after %v", took)
			}
			ids := []string{}
			for _, a := range w.asked {
				if a.target != "/hux/v1/conversations/cnv_1/events/stream?epoch=a" || a.header.Get("Authorization") != "Bearer secret" || a.header.Get("Accept") != "text/event-stream" {
					t.Errorf("asked %+v", a)
				}
				ids = append(ids, a.header.Get("Last-Event-ID"))
			}
			if cut >= len(whole)-2 { // all that is missing is the end of its line
				if ids[1] != "7" {
					t.Errorf("cut at %d: %v", cut, ids)
				}
			} else if ids[1] != "6" {
				t.Errorf("cut at %d: %v", cut, ids)
			}
		})
	}
}

// Numbers that start over are told of; all comes again.
func TestStreamResets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answers: []answer{
			stream(hello("a") + frames(1, 3)),
			stream(hello("b") + "event: hux.reset\ndata: {\"reason\":\"epoch_changed\"}\n\n" + frames(1, 2)),
			refuse(410, "conversation_forgotten", false),
		}}
		var story []string
		o := client.StreamOptions{
			Hello: func(epoch string) { story = append(story, epoch) },
			Reset: func(reason string) { story = append(story, reason) },
		}
		var last error
		for e, err := range w.client(t).Follow(t.Context(), "cnv_1", o) {
			if last = err; err == nil {
				story = append(story, fmt.Sprint(e.Seq))
			}
		}
		if got := strings.Join(story, " "); got != "a 1 2 3 b epoch_changed 1 2" || client.CodeOf(last) != hux.ConversationForgotten {
			t.Errorf("%s, then %v", got, last)
		}
		if h := w.asked[2]; h.header.Get("Last-Event-ID") != "2" || !strings.HasSuffix(h.target, "?epoch=b") {
			t.Errorf("asked %+v", h)
		}
	})
}

// A connection that says nothing is given up after a minute, also before its
// answer; one that says anything is not.
func TestStreamWatchesForSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answers: []answer{
			func(r *http.Request) (*http.Response, error) {
				<-r.Context().Done()
				return nil, r.Context().Err()
			},
			stream(hello("a"), &pings{30}),
			refuse(429, "rate_limited", true, "Retry-After: 25"),
			say(204, ""),
		}}
		var lost []string
		o := client.StreamOptions{Lost: func(err error) { lost = append(lost, fmt.Sprint(err)) }}
		if _, err := client.Collect(w.client(t).Follow(t.Context(), "cnv_1", o)); err != nil || len(lost) != 3 || lost[0] != "the stream fell silent" || lost[1] != "<nil>" {
			t.Errorf("%v, %q", err, lost)
		}
		for i, want := range []time.Duration{time.Minute, 10 * time.Minute, 25 * time.Second} {
			if took := w.asked[i+1].at.Sub(w.asked[i].at); took < want || took > want+2*time.Second {
				t.Errorf("connection %d: the next one comes after %v", i, took)
			}
		}
	})
}

// pings are comments, one every 20 seconds.
type pings struct{ left int }

func (p *pings) Read(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, io.EOF
	}
	<-time.After(20 * time.Second)
	return copy(b, ": ping\n\n"), nil
}

// A refusal that waiting does not mend ends a stream, as do a caller that wants
// no more, its context, and a frame without end; none leaves anything running.
func TestStreamEnds(t *testing.T) {
	many := frames(1, 50)
	for name, c := range map[string]struct {
		answers []answer
		items   int
		is      func(error) bool
	}{
		"refused":         {[]answer{refuse(401, "unauthenticated", false)}, 0, func(err error) bool { return client.CodeOf(err) == hux.Unauthenticated }},
		"limited, then":   {[]answer{refuse(429, "rate_limited", true, "Retry-After: 5"), refuse(404, "not_found", false)}, 0, func(err error) bool { return client.CodeOf(err) == hux.NotFound }},
		"not hux":         {[]answer{say(200, "<html>", "Content-Type: text/html")}, 0, func(err error) bool { return err != nil && client.CodeOf(err) == "" }},
		"enough":          {[]answer{stream(many, silent{})}, 7, func(err error) bool { return err == nil }},
		"cancelled":       {[]answer{stream(many, silent{})}, 50, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"an endless line": {[]answer{stream(frame(1)+"data: ", spaces{})}, 1, func(err error) bool { return err != nil }},
		"another shape":   {[]answer{stream("id: 1\ndata: {\"seq\":\"x\"}\n\n", silent{})}, 0, func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				w := &wire{answers: c.answers}
				items := 0
				var last error
				for _, err := range w.client(t).Follow(ctx, "cnv_1", client.StreamOptions{}) {
					if last = err; err != nil {
						break
					}
					items++
					if name == "enough" && items == c.items {
						break
					}
					if name == "cancelled" && items == c.items {
						cancel()
					}
				}
				if items != c.items || !c.is(last) || len(w.answers) > 0 {
					t.Errorf("%d items, then %v", items, last)
				}
			})
		})
	}
}
