package event

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Times of a stream (contracts 2.6).
const (
	pingEvery  = 20 * time.Second
	writeLimit = 30 * time.Second // a reader that takes longer is closed and resumes by id
	writeBytes = 64 << 10         // that share one flush
	keptBytes  = 4 << 10          // of a buffer between two flushes
)

// Why a stream ends on purpose; its context's cause is one of these.
var (
	ErrExpired  = errors.New("token_expired")
	ErrFlagOff  = errors.New("flag_off")
	ErrShutdown = errors.New("shutdown")
)

// StreamOptions is what a stream is of.
type StreamOptions struct {
	DB           *store.Lease
	Conversation string
	After        uint64 // the reader has seen all up to here
	Epoch        string // of the conversation
	Reset        string // why the reader starts over ("cursor_ahead", "epoch_changed"), "" if it does not
	Head         uint64
}

// WriteHeader begins the answer, which is all of it for a HEAD request.
func (o StreamOptions) WriteHeader(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Set("HUX-Epoch", o.Epoch)
	h.Set("HUX-Replay-After", strconv.FormatUint(o.After, 10))
	h.Set("HUX-Head-Seq", strconv.FormatUint(o.Head, 10))
	w.WriteHeader(http.StatusOK)
}

// Stream writes events after o.After to w as they become durable, until ctx
// ends. Headers must not have been written. It returns when the reader is gone
// or the stream was ended on purpose.
func (l *Log) Stream(ctx context.Context, w http.ResponseWriter, o StreamOptions) {
	k := tailKey{o.DB.Tenant(), o.Conversation}
	tl := l.follow(k)
	defer l.leave(k, tl)

	o.WriteHeader(w)
	s := writer{w: w, control: http.NewResponseController(w)}
	s.add("retry: 2000\n\n")
	s.tell("hux.hello", map[string]any{"epoch": o.Epoch, "replay_after": o.After, "head_seq": o.Head})
	if o.Reset != "" {
		s.tell("hux.reset", map[string]any{"reason": o.Reset})
	}
	if s.flush() != nil {
		return
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	cursor := o.After
	for {
		more := tl.waiter()
		frames, err := tl.after(ctx, o.DB, o.Conversation, cursor)
		if err != nil && ctx.Err() == nil {
			if errors.Is(err, store.ErrCorrupt) {
				s.close(string(hux.StoreCorrupt))
			}
			return // the reader comes back, and is told by the status of its next request
		}
		if len(frames) > 0 {
			for _, f := range frames {
				s.buffer.Write(f)
				if s.buffer.Len() >= writeBytes && s.flush() != nil {
					return
				}
			}
			cursor += uint64(len(frames))
			if s.flush() != nil {
				return
			}
			ping.Reset(pingEvery)
			continue
		}
		select {
		case <-more:
		case <-ping.C:
			s.add(": ping\n\n")
			if s.flush() != nil {
				return
			}
		case <-ctx.Done():
			for _, reason := range []error{ErrExpired, ErrFlagOff, ErrShutdown} {
				if errors.Is(context.Cause(ctx), reason) {
					s.close(reason.Error())
				}
			}
			return
		}
	}
}

// writer gathers frames and sends them with a deadline of their own.
type writer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	buffer  bytes.Buffer
}

func (s *writer) add(text string) { s.buffer.WriteString(text) }

// tell adds a control frame, which has a name and no id.
func (s *writer) tell(name string, data map[string]any) {
	encoded, _ := json.Marshal(data) // strings and numbers
	s.add("event: " + name + "\ndata: " + string(encoded) + "\n\n")
}

// close says why the stream ends.
func (s *writer) close(reason string) {
	s.tell("hux.closing", map[string]any{"reason": reason})
	_ = s.flush()
}

func (s *writer) flush() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeLimit)) // a writer that has none blocks no other reader either
	_, err := s.w.Write(s.buffer.Bytes())
	if err == nil {
		err = s.control.Flush()
	}
	if s.buffer.Cap() > keptBytes {
		s.buffer = bytes.Buffer{} // an idle reader keeps no buffer
	}
	s.buffer.Reset()
	return err
}
