package blackbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

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
	begun := time.Now()
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
	if ended() && time.Since(begun) < 30*time.Second { // a busy machine takes longer for all that
		t.Error("the slow reader was closed at once")
	}
	eventually(t, 50*time.Second, "the slow reader is closed", ended)
	alice.post(t, id, note("after"))
	other.want(total+1, total+1)
}
