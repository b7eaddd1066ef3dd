package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// drainGrace is how long Drain waits for streams: half of it for each to come
// to the end of an event.
const drainGrace = 2 * time.Second

// flushAfter is how long what has come of an answer may wait for more of it.
const flushAfter = 100 * time.Millisecond

// closing is the last line of a stream that the router ends. A comment: no
// reader sees an event in it, and an EventSource connects again.
var closing = []byte(": closing\n\n")

// streams are those that are open: event streams and WebSockets.
type streams struct {
	mu       sync.Mutex
	open     map[ender]struct{}
	draining bool
	empty    chan struct{} // closed when none is open any more; nil when nobody waits
}

type ender interface{ end() }

// add counts a stream in. While draining it is ended at once.
func (s *streams) add(e ender) {
	s.mu.Lock()
	if s.open == nil {
		s.open = make(map[ender]struct{})
	}
	s.open[e] = struct{}{}
	draining := s.draining
	s.mu.Unlock()
	if draining {
		e.end()
	}
}

func (s *streams) remove(e ender) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[e]; !ok {
		return
	}
	delete(s.open, e)
	if s.empty != nil && len(s.open) == 0 {
		close(s.empty)
		s.empty = nil
	}
}

// Drain ends all open streams, each at the end of an event if one comes soon,
// and returns when they have ended or after two seconds. Streams that begin
// later end at once. It is for a router that stops.
func (p *Proxy) Drain() {
	s := &p.streams
	s.mu.Lock()
	s.draining = true
	if len(s.open) == 0 {
		s.mu.Unlock()
		return
	}
	if s.empty == nil {
		s.empty = make(chan struct{})
	}
	empty := s.empty
	all := make([]ender, 0, len(s.open))
	for e := range s.open {
		all = append(all, e)
	}
	s.mu.Unlock()
	for _, e := range all {
		e.end()
	}
	select {
	case <-empty:
	case <-time.After(drainGrace):
	}
}

// eventStream is the body of an event stream on its way to the client.
type eventStream struct {
	body   io.ReadCloser
	proxy  *Proxy
	slot   *slot
	cut    func() bool // stops the watch over the context
	closed sync.Once
	rest   io.Reader // what takes the body's place once the stream is over; for Read alone

	mu     sync.Mutex
	ending bool   // it is to end behind the event under way
	last   []byte // the last bytes that were passed on, to know the end of an event
	room   [4]byte
}

// passStream makes resp an event stream that can be ended from here.
func (x *exchange) passStream(resp *http.Response) {
	resp.Header["X-Accel-Buffering"] = unbuffered
	x.stream = true
	s := &eventStream{body: resp.Body, proxy: x.proxy, slot: x.slot}
	s.last = append(s.room[:0], "\n\n"...)
	w := x.w
	s.cut = context.AfterFunc(x.ctx, func() {
		// A client that does not read would keep a stream open whose session has ended.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now())
	})
	resp.Body = s
	x.slot.streams.Add(1)
	x.proxy.streams.add(s)
}

var unbuffered = []string{"no"}

func eventStreamType(contentType string) bool {
	mediaType, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(mediaType), "text/event-stream")
}

func (s *eventStream) Read(b []byte) (int, error) {
	if s.rest != nil {
		return s.rest.Read(b)
	}
	n, err := s.body.Read(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.remember(b[:n])
		return n, err
	}
	switch whole := s.whole(b[:n]); {
	case whole >= 0:
		n, s.rest = whole, bytes.NewReader(closing)
	case err != nil: // in the middle of an event, where a comment would become part of it
		s.rest = bytes.NewReader(nil)
	default:
		s.remember(b[:n])
		return n, nil
	}
	if n == 0 {
		return s.rest.Read(b)
	}
	return n, nil
}

// remember keeps the end of what was passed on.
func (s *eventStream) remember(b []byte) {
	if len(b) >= len(s.room) {
		s.last = append(s.room[:0], b[len(b)-len(s.room):]...)
		return
	}
	joined := append(append([]byte(nil), s.last...), b...)
	s.last = append(s.room[:0], joined[max(0, len(joined)-len(s.room)):]...)
}

func boundary(b []byte) bool {
	return bytes.HasSuffix(b, []byte("\n\n")) || bytes.HasSuffix(b, []byte("\r\n\r\n")) || bytes.HasSuffix(b, []byte("\r\r"))
}

// whole is how many bytes of b end an event, or -1.
func (s *eventStream) whole(b []byte) int {
	joined := append(append([]byte(nil), s.last...), b...)
	for i := len(s.last); i <= len(joined); i++ {
		if boundary(joined[:i]) {
			return i - len(s.last)
		}
	}
	return -1
}

// end ends the stream: now if it stands between two events, else when the
// event under way is whole or its time is up.
func (s *eventStream) end() {
	s.mu.Lock()
	between := boundary(s.last)
	first := !s.ending
	s.ending = true
	s.mu.Unlock()
	if between {
		_ = s.body.Close() // wakes the reader
	} else if first {
		time.AfterFunc(drainGrace/2, func() { _ = s.body.Close() })
	}
}

func (s *eventStream) Close() error {
	s.closed.Do(func() {
		s.cut()
		s.slot.streams.Add(-1)
		s.proxy.streams.remove(s)
	})
	return s.body.Close()
}

// bufferPool lends the buffers of copies: small ones to streams, which keep
// theirs as long as they are open.
type bufferPool struct{ pool *sync.Pool }

func (p bufferPool) Get() []byte  { return *p.pool.Get().(*[]byte) }
func (p bufferPool) Put(b []byte) { p.pool.Put(&b) }

func newBufferPool(size int) bufferPool {
	return bufferPool{&sync.Pool{New: func() any { b := make([]byte, size); return &b }}}
}

var (
	streamBuffers = newBufferPool(streamBuffer)
	copyBuffers   = newBufferPool(32 << 10)
)

// Get lends the buffer for the answer's copy, when it is known what it is.
func (x *exchange) Get() []byte {
	if x.stream {
		return streamBuffers.Get()
	}
	return copyBuffers.Get()
}

// Put takes a buffer back.
func (x *exchange) Put(b []byte) {
	if len(b) == streamBuffer {
		streamBuffers.Put(b)
		return
	}
	copyBuffers.Put(b)
}
