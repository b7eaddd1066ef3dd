package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// writeLimit is how long one write to a stream may take.
const writeLimit = 10 * time.Second

// event is one event of a run's stream; its number is its place, from 1.
type event struct {
	name string
	data []byte
}

// changes is what happened to conversations lately.
type changes struct {
	version int // of the last entry
	recent  []change
	wake    chan struct{} // closed at the next one
}

type change struct {
	version         int
	session, reason string
}

// changesKept is how far a follower may fall behind without missing one.
const changesKept = 64

func (c *changes) add(session, reason string) {
	c.version++
	c.recent = append(c.recent, change{c.version, session, reason})
	if len(c.recent) > changesKept {
		c.recent = append([]change(nil), c.recent[1:]...)
	}
	close(c.wake)
	c.wake = make(chan struct{})
}

// sse writes a text/event-stream whose end is the connection's end, without
// length or chunks, as the real WebUI does.
type sse struct {
	w    http.ResponseWriter
	ctl  *http.ResponseController
	sent error
}

func openStream(w http.ResponseWriter) *sse {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	h.Set("Content-Security-Policy-Report-Only", reportOnly)
	h.Set("Connection", "close")
	h.Set("Transfer-Encoding", "identity") // net/http then sends the body unframed
	w.WriteHeader(http.StatusOK)
	s := &sse{w: w, ctl: http.NewResponseController(w)}
	s.write("")
	return s
}

func (s *sse) write(frame string) {
	if s.sent != nil {
		return
	}
	_ = s.ctl.SetWriteDeadline(time.Now().Add(writeLimit)) // not every writer has one
	if _, s.sent = s.w.Write([]byte(frame)); s.sent == nil {
		s.sent = s.ctl.Flush()
	}
}

func (s *sse) event(id, name string, data []byte) {
	frame := "event: " + name + "\ndata: " + string(data) + "\n\n"
	if id != "" {
		frame = "id: " + id + "\n" + frame
	}
	s.write(frame)
}

// pause waits for news, with a comment on the stream at each heartbeat. It
// answers false when the stream is over.
func (u *WebUI) pause(ctx context.Context, s *sse, news <-chan struct{}, comment string) bool {
	beat := time.NewTicker(u.options.Heartbeat)
	defer beat.Stop()
	for s.sent == nil {
		select {
		case <-news:
			return true
		case <-ctx.Done():
			return false
		case <-u.ctx.Done():
			return false
		case <-beat.C:
			s.write(": " + comment + "\n\n")
		}
	}
	return false
}

// serveStream follows a run from where the client left off to its end.
func (u *WebUI) serveStream(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id := q.Get("stream_id")
	u.mu.Lock()
	run, ok := u.runs.Get(id)
	u.mu.Unlock()
	if !ok {
		u.fail(w, r, http.StatusNotFound, "stream not found")
		return
	}
	next := resumeAfter(r.Header.Get("Last-Event-ID"), q.Get("after_event_id"), q.Get("after_seq"), id)
	s := openStream(w)
	for first := true; ; first = false {
		u.mu.Lock()
		if first && next > len(run.events) {
			next = 0 // ahead of us: it is another run's place
		}
		events, news, done := run.events[next:], run.wake, run.done
		u.mu.Unlock()
		for _, e := range events {
			next++
			s.event(id+":"+strconv.Itoa(next), e.name, e.data)
		}
		if done || !u.pause(r.Context(), s, news, "heartbeat") {
			return
		}
	}
}

// resumeAfter is the number of the last event that the client has: from the
// header or the query, 0 where it names another stream or nothing.
func resumeAfter(header, eventID, seq, stream string) int {
	for _, cursor := range []string{header, eventID} {
		if cursor == "" {
			continue
		}
		of, number, _ := strings.Cut(cursor, ":")
		if of != stream {
			return 0
		}
		seq = number
		break
	}
	n, err := strconv.Atoi(seq)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// mark is a place among the changes. A stream takes it before its headers are
// sent, so that nothing which happens once it is open is missed.
type mark struct {
	version int
	wake    <-chan struct{}
}

func (u *WebUI) now() mark {
	u.mu.Lock()
	defer u.mu.Unlock()
	return mark{u.changes.version, u.changes.wake}
}

// follow calls f for each change after from until the stream is over.
func (u *WebUI) follow(r *http.Request, s *sse, from mark, f func(change)) {
	seen, news := from.version, from.wake
	for u.pause(r.Context(), s, news, "keepalive") {
		u.mu.Lock()
		fresh := u.changes.recent
		news = u.changes.wake
		u.mu.Unlock()
		for _, c := range fresh {
			if c.version > seen {
				seen = c.version
				f(c)
			}
		}
	}
}

func (u *WebUI) serveSessionsEvents(w http.ResponseWriter, r *http.Request) {
	from := u.now()
	s := openStream(w)
	u.follow(r, s, from, func(c change) {
		s.event("", "sessions_changed", encode(map[string]any{
			"version": c.version, "reason": c.reason, "session_id": c.session, "profile": "default",
		}))
	})
}

func (u *WebUI) serveSessionStream(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("session_id")
	state := func() (map[string]any, string, bool) {
		u.mu.Lock()
		defer u.mu.Unlock()
		c, ok := u.conversations.Get(id)
		if !ok {
			return nil, "", false
		}
		stream := ""
		if c.run != nil {
			stream = c.run.id
		}
		return map[string]any{"session_id": id, "message_count": len(c.messages), "active_stream_id": stream}, stream, true
	}
	from := u.now()
	initial, stream, ok := state()
	if !ok {
		u.fail(w, r, http.StatusNotFound, "Session not found")
		return
	}
	s := openStream(w)
	s.event("", "initial", encode(initial))
	u.follow(r, s, from, func(c change) {
		now, current, ok := state()
		if c.session != id || !ok {
			return
		}
		if current != stream && current != "" {
			s.event("", "server_turn_started", encode(map[string]any{"session_id": id, "stream_id": current, "recovered": false}))
		}
		stream = current
		s.event("", "session-updated", encode(now))
	})
}

func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("demo: %v", err)) // maps of strings and numbers encode
	}
	return data
}
