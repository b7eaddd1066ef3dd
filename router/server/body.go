package server

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// patience is how long a client may take over a request's body. Without a
// limit it could hold connections here for as long as it likes.
type patience struct {
	read   time.Duration // for more of a body that goes to the WebUI
	own    time.Duration // for the whole of a body that is read here
	linger time.Duration // for the rest of a body that the answer did not wait for
}

var usualPatience = patience{read: 30 * time.Second, own: 10 * time.Second, linger: 5 * time.Second}

// clientBody is a request's body with deadlines. They are on only while it is
// read: behind its end the server itself waits on an HTTP/1 connection, to
// notice a client that leaves, and would take a deadline for that.
type clientBody struct {
	io.ReadCloser // the server closes it
	control       *http.ResponseController
	patience      patience
	http1         bool

	reading sync.Mutex // held by a Read

	mu       sync.Mutex // guards the following, and the deadline
	until    time.Time  // for all of the body; zero for none
	answered bool       // HTTP/1: the answer has begun, and with it the last deadline
	ended    bool       // read to its end
	closed   bool       // nothing more is to be read
	over     bool       // the deadline is the server's again
}

// hold gives a request's body its deadlines, until release. A request without
// a body is left alone.
func (rec *recorder) hold(r *http.Request, p patience) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	rec.body = &clientBody{ReadCloser: r.Body, control: http.NewResponseController(rec.ResponseWriter), patience: p, http1: r.ProtoMajor == 1}
	r.Body = rec.body
}

// within sets how long all of the body may take.
func (rec *recorder) within(d time.Duration) {
	if b := rec.body; b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.until = time.Now().Add(d)
	}
}

// release ends the hold: what is unread of the body is the server's to drain,
// within the deadline that the answer began. Until now another goroutine may
// have read, which has to be over before the connection is used again.
func (rec *recorder) release() {
	b := rec.body
	if b == nil {
		return
	}
	b.mu.Lock()
	b.closed = true
	b.over = !b.http1 // in HTTP/2 what is unread ends with the stream
	unread := !b.ended
	b.mu.Unlock()
	if !b.http1 {
		return
	}
	b.answer(rec.Header(), http.StatusOK)
	if unread && rec.status >= http.StatusOK {
		_ = b.control.Flush() // the client need not wait
	}
	b.reading.Lock()
	defer b.reading.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
}

// answer is told when an answer begins. In HTTP/1 what is still unread of the
// body stands before the next request; an error is not worth to wait for that.
func (b *clientBody) answer(h http.Header, status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.http1 || b.ended || b.answered {
		return
	}
	b.answered = true
	b.setDeadline(time.Now().Add(b.patience.linger))
	if status >= http.StatusBadRequest {
		h.Set("Connection", "close")
	}
}

// setDeadline sets the deadline for reading; mu is held.
func (b *clientBody) setDeadline(t time.Time) {
	if !b.over {
		_ = b.control.SetReadDeadline(t) // if it can't be set the connection is gone
	}
}

func (b *clientBody) Read(p []byte) (int, error) {
	b.reading.Lock()
	defer b.reading.Unlock()
	if err := b.begin(); err != nil {
		return 0, err
	}
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, io.EOF):
		b.ended = true
		b.setDeadline(time.Time{}) // an answer may have begun while this read was under way
	case err == nil && !b.answered:
		b.setDeadline(time.Time{})
	}
	return n, err
}

// begin sets the deadline of a Read.
func (b *clientBody) begin() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return io.EOF
	case b.closed:
		return http.ErrBodyReadAfterClose
	case b.answered:
		return nil
	}
	t := time.Now().Add(b.patience.read)
	if !b.until.IsZero() && b.until.Before(t) {
		t = b.until
	}
	b.setDeadline(t)
	return nil
}

// Close ends the reading. It does not drain, which could take as long as the
// client likes; the server does, within the deadline.
func (b *clientBody) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}
