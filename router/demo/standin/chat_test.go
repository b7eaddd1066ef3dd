package standin_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/demo/standin"
)

// frame is one event of a stream, or a comment.
type frame struct{ id, event, data, comment string }

type stream struct {
	t   *testing.T
	res *http.Response
	r   *bufio.Reader
}

func (g *guest) stream(path string, headers ...string) *stream {
	g.t.Helper()
	res := g.do(http.MethodGet, path, "", headers...)
	if res.StatusCode != http.StatusOK {
		g.t.Fatalf("%s answered %d", path, res.StatusCode)
	}
	return &stream{g.t, res, bufio.NewReader(res.Body)}
}

// next reads a frame; it answers false at the end of the stream.
func (s *stream) next() (f frame, ok bool) {
	s.t.Helper()
	for {
		line, err := s.r.ReadString('\n')
		if err == io.EOF {
			return f, false
		}
		if err != nil {
			s.t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			f.data = value
		case "":
			if strings.HasPrefix(line, ": ") {
				f.comment = value
			} else {
				return f, true
			}
		}
	}
}

// until reads frames up to the event named, and gives all of them.
func (s *stream) until(event string) (all []frame) {
	s.t.Helper()
	for {
		f, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before %s: %v", event, all)
		}
		all = append(all, f)
		if f.event == event {
			return all
		}
	}
}

func TestTurn(t *testing.T) {
	g := newWebUI(t, standin.Options{})
	sid := g.newSession()
	id := g.start(sid, "hello")
	s := g.stream("/api/chat/stream?stream_id=" + id)
	if len(s.res.TransferEncoding) != 0 || s.res.ContentLength != -1 || !s.res.Close || s.res.Header.Get("Content-Encoding") != "" {
		t.Errorf("the stream is framed: %v, length %d, close %t", s.res.TransferEncoding, s.res.ContentLength, s.res.Close)
	}
	all := s.until("stream_end")
	if _, more := s.next(); more {
		t.Error("something follows stream_end")
	}
	seen, text := map[string]int{}, ""
	for i, f := range all {
		seen[f.event]++
		if f.id != fmt.Sprintf("%s:%d", id, i+1) {
			t.Errorf("event %d has the id %s", i+1, f.id)
		}
		if f.event == "token" {
			var d struct{ Text string }
			_ = json.Unmarshal([]byte(f.data), &d)
			text += d.Text
		}
	}
	for _, want := range []string{"reasoning", "token", "tool", "tool_complete", "done"} {
		if seen[want] == 0 {
			t.Errorf("no event %s", want)
		}
	}
	session := g.json(200, http.MethodGet, "/api/session?session_id="+sid, nil)["session"].(map[string]any)
	messages := session["messages"].([]any)
	if last := messages[1].(map[string]any); len(messages) != 2 || last["content"] != text || last["id"] != 2.0 {
		t.Errorf("the conversation has %v", messages)
	}
	if len(session["tool_calls"].([]any)) != 1 || session["title"] != "hello" || session["active_stream_id"] != nil {
		t.Errorf("the conversation is %v", session)
	}

	// A finished run plays again from where the client says.
	for name, c := range map[string]struct {
		query   string
		headers []string
		first   int
	}{
		"header":         {"", []string{"Last-Event-ID", id + ":3"}, 4},
		"event id":       {"&after_event_id=" + id + ":5", nil, 6},
		"number":         {"&after_seq=7&replay=1", nil, 8},
		"foreign header": {"", []string{"Last-Event-ID", "other:3"}, 1},
		"ahead":          {"&after_seq=99999", nil, 1},
		"nonsense":       {"&after_seq=-1", nil, 1},
		"nothing":        {"", nil, 1},
	} {
		f, _ := g.stream("/api/chat/stream?stream_id="+id+c.query, c.headers...).next()
		if f.id != fmt.Sprintf("%s:%d", id, c.first) {
			t.Errorf("%s: starts at %s, want %d", name, f.id, c.first)
		}
	}
	if res := g.do(http.MethodGet, "/api/chat/stream?stream_id=none", ""); res.StatusCode != 404 {
		t.Errorf("an unknown stream was answered %d", res.StatusCode)
	}
	fail := g.start(sid, "please FAIL")
	g.stream("/api/chat/stream?stream_id=" + fail).until("apperror")
	if got := g.json(200, http.MethodGet, "/api/chat/cancel?stream_id="+fail, nil); got["cancelled"] != false {
		t.Errorf("cancelling what is over: %v", got)
	}
}

// gate lets the script go on one step for each value sent.
type gate chan struct{}

func (g gate) wait(ctx context.Context, _ time.Duration) error {
	select {
	case <-g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestBusyHeartbeatAndCancel(t *testing.T) {
	steps := make(gate)
	g := newWebUI(t, standin.Options{Wait: steps.wait, Heartbeat: time.Millisecond})
	sid := g.newSession()
	events := g.stream("/api/sessions/events")
	own := g.stream("/api/session/stream?session_id=" + sid)
	own.until("initial")

	id := g.start(sid, "hello")
	if f := events.until("sessions_changed"); !strings.Contains(f[len(f)-1].data, "turn_started") {
		t.Errorf("the list was told %v", f)
	}
	if f := own.until("server_turn_started"); !strings.Contains(f[len(f)-1].data, id) {
		t.Errorf("the conversation was told %v", f)
	}
	busy := g.json(409, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": "more"})
	if busy["active_stream_id"] != id {
		t.Errorf("busy: %v", busy)
	}
	s := g.stream("/api/chat/stream?stream_id=" + id)
	for range 4 { // three thoughts and a word
		steps <- struct{}{}
	}
	s.until("token")
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ": heartbeat\n" {
			break
		}
	}
	if got := g.json(200, http.MethodGet, "/api/chat/cancel?stream_id="+id, nil); got["cancelled"] != true {
		t.Errorf("cancel: %v", got)
	}
	s.until("cancel")
	if _, more := s.next(); more {
		t.Error("something follows cancel")
	}
	session := g.json(200, http.MethodGet, "/api/session?session_id="+sid, nil)["session"].(map[string]any)
	if m := session["messages"].([]any); len(m) != 2 || m[1].(map[string]any)["content"] != "You " {
		t.Errorf("what was said is not kept: %v", m)
	}
	id = g.start(sid, "again")
	g.json(200, http.MethodPost, "/api/session/delete", map[string]any{"session_id": sid})
	g.stream("/api/chat/stream?stream_id=" + id).until("cancel")
	g.json(404, http.MethodGet, "/api/session?session_id="+sid, nil)
}

func TestApproval(t *testing.T) {
	for choice, want := range map[string]string{"once": "You allowed it", "deny": "You said no"} {
		t.Run(choice, func(t *testing.T) {
			g := newWebUI(t, standin.Options{})
			sid := g.newSession()
			id := g.start(sid, "I will approve")
			s := g.stream("/api/chat/stream?stream_id=" + id)
			s.until("approval")
			waiting := g.json(200, http.MethodGet, "/api/approval/pending?session_id="+sid, nil)["pending"].(map[string]any)
			answer := map[string]any{"session_id": sid, "approval_id": waiting["approval_id"], "choice": "perhaps"}
			g.json(400, http.MethodPost, "/api/approval/respond", answer)
			answer["choice"] = choice
			other := map[string]any{"session_id": sid, "approval_id": "another", "choice": choice}
			if got := g.json(200, http.MethodPost, "/api/approval/respond", other); got["ok"] != false {
				t.Errorf("another's approval is answered: %v", got)
			}
			g.json(200, http.MethodPost, "/api/approval/respond", answer)
			if got := g.json(200, http.MethodPost, "/api/approval/respond", answer); got["stale_cleared"] != true {
				t.Errorf("an approval is answered twice: %v", got)
			}
			done := s.until("done")
			if !strings.Contains(done[len(done)-1].data, want) {
				t.Errorf("the answer lacks %q", want)
			}
			if got := g.json(200, http.MethodGet, "/api/approval/pending?session_id="+sid, nil); got["pending"] != nil {
				t.Errorf("still pending: %v", got)
			}
		})
	}
}

func TestConversations(t *testing.T) {
	g := newWebUI(t, standin.Options{})
	sid := g.newSession()
	g.json(200, http.MethodPost, "/api/session/rename", map[string]any{"session_id": sid, "title": "Renamed"})
	g.json(200, http.MethodPost, "/api/session/draft", map[string]any{"session_id": sid, "draft": map[string]any{"text": "half"}})
	session := g.json(200, http.MethodGet, "/api/session?session_id="+sid, nil)["session"].(map[string]any)
	if session["title"] != "Renamed" || session["composer_draft"].(map[string]any)["text"] != "half" {
		t.Errorf("the conversation is %v", session)
	}
	for range 205 {
		g.newSession()
	}
	if list := g.json(200, http.MethodGet, "/api/sessions", nil)["sessions"].([]any); len(list) != 200 {
		t.Errorf("%d conversations are kept", len(list))
	}
	g.json(404, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": "x"})
	g.json(400, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": " "})
	if res := g.do(http.MethodPost, "/api/session/new", "{"); res.StatusCode != 400 {
		t.Errorf("half a body was answered %d", res.StatusCode)
	}
}

func TestUpload(t *testing.T) {
	g := newWebUI(t, standin.Options{})
	upload := func(size int) *http.Response {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		_ = form.WriteField("session_id", "x")
		part, _ := form.CreateFormFile("file", "notes.txt")
		_, _ = part.Write(make([]byte, size))
		_ = form.Close()
		return g.do(http.MethodPost, "/api/upload", b.String(), "Content-Type", form.FormDataContentType())
	}
	res := upload(1000)
	if body := g.body(res); res.StatusCode != 200 || !strings.Contains(body, `"size":1000`) || !strings.Contains(body, "notes.txt") {
		t.Errorf("an upload was answered %d %s", res.StatusCode, body)
	}
	if res := upload(21 << 20); res.StatusCode != 413 {
		t.Errorf("a large upload was answered %d", res.StatusCode)
	}
	if res := g.do(http.MethodPost, "/api/upload", "x"); res.StatusCode != 400 {
		t.Errorf("no form was answered %d", res.StatusCode)
	}
}
