package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/r3labs/sse/v2"
	"gopkg.in/cenkalti/backoff.v1"

	"bstein.dev/hux/hux"
)

// StreamOptions say where a stream begins, and who hears what happens to it.
type StreamOptions struct {
	After int64  // the number of the last event that the caller has; 0 from the start
	Epoch string // of the log that After is of, as Hello told it; "" where it is not known

	// Hello is told the log's epoch at the begin of each connection. A caller
	// that keeps its place keeps it together with that.
	Hello func(epoch string)
	// Reset hears that the log's numbers start over ("cursor_ahead" or
	// "epoch_changed"): what came before is void, and all comes again from 1.
	Reset func(reason string)
	// Lost hears why a connection ended that is about to be taken up again; nil
	// where the router ended it in good order.
	Lost func(error)
}

// Times of a stream.
const (
	streamRetry    = 2 * time.Second // between two connections, until the router names another
	streamRetryMax = 30 * time.Second
	silence        = time.Minute // the router sends something every 20 s
)

// maxFrame bounds one frame of a stream; the largest record is far smaller.
const maxFrame = 1 << 20

// Stream follows a route that answers with server-sent events (contracts 2.6)
// over as many connections as it takes: each record once and in order, also
// when connections break or the router is restarted. T is the record's type, or
// json.RawMessage for what the router sent.
//
// It ends without an error where there will never be more, and else with the
// last thing that it gives: an *Error that waiting does not mend, or the
// context's error.
func Stream[T any](ctx context.Context, c *Client, path string, o StreamOptions) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		s := &stream{client: c, path: path, StreamOptions: o, retry: streamRetry}
		err := s.follow(ctx, func(data []byte) (more bool, err error) {
			v := new(T)
			if err := json.Unmarshal(data, v); err != nil {
				return false, err
			}
			return yield(v, nil), nil
		})
		if err != nil {
			yield(nil, err)
		}
	}
}

// stream is what is known over all connections of one.
type stream struct {
	StreamOptions
	client *Client
	path   string
	retry  time.Duration // what the router asks for between two connections
	heard  bool          // anything on this connection
}

// errOver ends a stream in good order.
var errOver = errors.New("over")

// follow hands out records until take wants no more.
func (s *stream) follow(ctx context.Context, take func(data []byte) (more bool, err error)) error {
	for failures := 1; ; failures++ {
		s.heard = false
		err := s.connect(ctx, take)
		var refused *Error
		switch {
		case errors.Is(err, errOver):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &refused) && !refused.Retryable && (refused.Status < http.StatusInternalServerError || refused.Code == hux.StoreCorrupt):
			return err
		case !passing(err):
			return err
		}
		if s.heard {
			failures = 1
		}
		if s.Lost != nil {
			s.Lost(err)
		}
		wait := backOff(s.retry, streamRetryMax, failures)
		if refused != nil {
			wait = max(wait, min(refused.RetryAfter, streamRetryMax))
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
	}
}

// connect reads one connection to its end; the error is nil where the router
// ended it in good order.
//
// The library is used for one connection at a time, with an id that is ours: it
// hands on a frame that was cut off and takes its id for seen, its own waiting
// heeds neither a context nor what the router asks for, and it takes an end for
// the end of all. It runs apart, since it can't be stopped from its handler.
func (s *stream) connect(ctx context.Context, take func(data []byte) (more bool, err error)) error {
	ctx, cut := context.WithCancel(ctx)
	defer cut()
	header := http.Header{}
	if err := s.client.authorize(ctx, header); err != nil {
		return err
	}
	at := s.client.base + s.path
	if s.Epoch != "" {
		at += "?" + url.Values{"epoch": {s.Epoch}}.Encode()
	}
	library := sse.NewClient(at, sse.ClientMaxBufferSize(maxFrame))
	library.ReconnectStrategy = &backoff.StopBackOff{}
	library.Headers["User-Agent"] = s.client.userAgent
	for _, h := range []http.Header{header, s.client.run} {
		for name := range h {
			library.Headers[name] = h.Get(name)
		}
	}
	if s.After > 0 {
		library.Headers["Last-Event-ID"] = strconv.FormatInt(s.After, 10)
	}
	dead := time.AfterFunc(silence, cut)
	defer dead.Stop()
	library.Connection = &http.Client{
		Transport: listening{s.client.http.Transport, dead}, Jar: s.client.http.Jar, CheckRedirect: s.client.http.CheckRedirect,
	}
	library.ResponseValidator = func(_ *sse.Client, res *http.Response) error { return opened(res) }

	frames, ended := make(chan *sse.Event), make(chan error, 1)
	go func() {
		ended <- library.SubscribeWithContext(ctx, "", func(e *sse.Event) {
			select {
			case frames <- e:
			case <-ctx.Done():
			}
		})
		close(frames)
	}()
	for e := range frames {
		if err := s.frame(e, take); err != nil {
			return err
		}
	}
	err := <-ended
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return final{errors.New("the stream has a frame that is longer than any of hux's")}
	case ctx.Err() != nil && !errors.As(err, new(*Error)) && !errors.Is(err, errOver):
		return errors.New("the stream fell silent")
	}
	return err
}

// opened looks at a stream's answer: nil where records follow.
func opened(res *http.Response) error {
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	switch {
	case res.StatusCode == http.StatusOK && media == "text/event-stream":
		return nil
	case res.StatusCode == http.StatusNoContent:
		_ = res.Body.Close()
		return errOver
	}
	return refusalOf(res)
}

// frame handles one frame. What is not whole comes again.
func (s *stream) frame(e *sse.Event, take func(data []byte) (more bool, err error)) error {
	if ms, err := strconv.Atoi(string(e.Retry)); err == nil && ms > 0 {
		s.retry = min(time.Duration(min(ms, math.MaxInt32))*time.Millisecond, streamRetryMax)
	}
	if !json.Valid(e.Data) {
		return nil
	}
	switch string(e.Event) {
	case "":
		seq, _ := strconv.ParseInt(string(e.ID), 10, 64) // 0 for what is none of ours
		if seq <= s.After {
			return nil
		}
		more, err := take(e.Data)
		switch {
		case err != nil:
			return final{err}
		case !more:
			return errOver
		}
		s.After, s.heard = seq, true
	case "hux.hello":
		var hello struct {
			Epoch string `json:"epoch"`
		}
		if json.Unmarshal(e.Data, &hello) == nil {
			s.Epoch, s.heard = hello.Epoch, true
			if s.Hello != nil {
				s.Hello(hello.Epoch)
			}
		}
	case "hux.closing":
		var closing struct {
			Reason hux.Code `json:"reason"`
		}
		if json.Unmarshal(e.Data, &closing) == nil && closing.Reason == hux.StoreCorrupt {
			return &Error{Status: http.StatusInternalServerError, Code: hux.StoreCorrupt, Detail: "An event can't be read; the router's operator must restore it."}
		}
	case "hux.reset":
		var reset struct {
			Reason string `json:"reason"`
		}
		_ = json.Unmarshal(e.Data, &reset) // without a reason it is one all the same
		s.After = 0
		if s.Reset != nil {
			s.Reset(reset.Reason)
		}
	}
	return nil
}

// listening is a transport whose answers put off the end of a connection that
// says nothing.
type listening struct {
	http.RoundTripper
	dead *time.Timer
}

// RoundTrip is http.RoundTripper's.
func (l listening) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := l.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Body = heard{res.Body, l.dead}
	}
	return res, err
}

// heard is a body that tells when there is something in it.
type heard struct {
	io.ReadCloser
	dead *time.Timer
}

func (h heard) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	if n > 0 {
		h.dead.Reset(silence)
	}
	return n, err
}
