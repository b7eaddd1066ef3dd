// Package timeline is the card HUX-01: what happens in a conversation, as a
// list and as a stream.
package timeline

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// Flag is the card's flag.
const Flag = "hux.activity_timeline"

// Service serves the card.
type Service struct {
	frame         *record.Frame
	conversations *conversation.Service
	observers     []Observer
}

// Observer is told of the events that clients post.
type Observer interface {
	// Earliest is the earliest time at which what Observe schedules for an
	// event of this kind may fall due; zero if it schedules nothing.
	Earliest(kind string) time.Time
	// Observe is told of an event once it has its number, in the change that
	// posts it. It must not change the conversation. It may tell events of its
	// own.
	Observe(ch *record.Change, c *conversation.Conversation, e *event.Event) error
}

// New makes the card's Service.
func New(frame *record.Frame, conversations *conversation.Service) *Service {
	frame.OfConversation(reportsBucket)
	return &Service{frame: frame, conversations: conversations}
}

// Tell has an observer told of events, after those that are told already. It is
// called before the service is used.
func (s *Service) Tell(o Observer) { s.observers = append(s.observers, o) }

// Routes are the card's lines of /hux/v1.
func (s *Service) Routes() []api.Route {
	flags := []string{Flag}
	const path = "/conversations/{id}/events"
	return []api.Route{
		{
			Method: "GET", Path: path, Summary: "A conversation's events, oldest first; next is the after_seq of the next page, null when caught up",
			Flags: flags, Query: listQuery, Record: event.Schema, Answer: api.Page,
			Besides: map[string]any{"head_seq": api.Component("count"), "replay_after": api.Component("count"), "epoch": map[string]any{"type": "string"}},
			Headers: streamHeaders, Handler: s.list,
		},
		{
			Method: "POST", Path: path, Summary: "Adds an event to the log; answers once it is durable",
			Flags: flags, Request: "hux.event.create.v1", Status: []int{http.StatusCreated}, Record: event.Schema, Handler: s.append,
		},
		{
			Method: "GET", Path: path + "/stream", Summary: "Follows a conversation: all events after a number, then each as it becomes durable",
			Flags: flags, Query: streamQuery, Record: event.Schema, Answer: api.Stream, Headers: streamHeaders, Handler: s.stream,
		},
	}
}

// What the list and the stream take in the query, and say in headers.
var (
	listQuery     = []string{"after_seq", "limit", "epoch"}
	streamQuery   = []string{"after_seq", "epoch"}
	streamHeaders = []string{"HUX-Epoch", "HUX-Replay-After", "HUX-Head-Seq"}
)

// list answers a page of events after a number.
func (s *Service) list(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	q, err := query(r, listQuery...)
	if err != nil {
		return err
	}
	s.looked(call)
	after, err := seqOf(q.Get("after_seq"))
	if err != nil {
		return err
	}
	limit := 50
	if q.Has("limit") {
		if limit, err = api.ParseLimit(q.Get("limit")); err != nil {
			return err
		}
	}
	body := struct {
		Items       []json.RawMessage `json:"items"`
		Next        *string           `json:"next"`
		HeadSeq     uint64            `json:"head_seq"`
		ReplayAfter uint64            `json:"replay_after"`
		Epoch       string            `json:"epoch"`
	}{Items: []json.RawMessage{}}
	err = call.DB.View(r.Context(), func(tx *store.Tx) error {
		c, err := s.conversations.Peek(tx, call, r.PathValue("id"))
		if err != nil {
			return err
		}
		if body.Epoch, err = event.Epoch(tx, c.ID); err != nil {
			return err
		}
		body.Items, body.HeadSeq, err = event.Read(tx, c.ID, after, limit)
		return err
	})
	if err != nil {
		return err
	}
	if last := after + uint64(len(body.Items)); last < body.HeadSeq {
		next := strconv.FormatUint(last, 10)
		body.Next = &next
	}
	body.ReplayAfter = min(after, body.HeadSeq) // a number that nothing has yet may be past what JSON's readers hold
	w.Header().Set("HUX-Epoch", body.Epoch)
	w.Header().Set("HUX-Replay-After", strconv.FormatUint(body.ReplayAfter, 10))
	w.Header().Set("HUX-Head-Seq", strconv.FormatUint(body.HeadSeq, 10))
	return api.JSON(w, http.StatusOK, body)
}

// looked notes that a person looks at what is new.
func (s *Service) looked(call *api.Call) {
	if call.Actor.Kind == hux.KindHuman {
		s.frame.Log.Looked(call.Actor.ID)
	}
}

// stream follows a conversation (contracts 2.6).
func (s *Service) stream(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	q, err := query(r, streamQuery...)
	if err != nil {
		return err
	}
	cursor := q.Get("after_seq")
	if header := r.Header["Last-Event-Id"]; len(header) > 0 {
		cursor = header[0] // the browser's own, newer than what stands in the URL
	}
	o := event.StreamOptions{DB: call.DB, Conversation: r.PathValue("id")}
	if o.After, err = seqOf(cursor); err != nil {
		return err
	}
	err = call.DB.View(r.Context(), func(tx *store.Tx) error {
		c, err := s.conversations.Peek(tx, call, o.Conversation)
		if err != nil {
			return err
		}
		if o.Epoch, err = event.Epoch(tx, c.ID); err != nil {
			return err
		}
		o.Head, err = event.Head(tx, c.ID)
		return err
	})
	if err != nil {
		return err
	}
	switch {
	case q.Get("epoch") != "" && q.Get("epoch") != o.Epoch:
		o.After, o.Reset = 0, "epoch_changed"
	case o.After > o.Head:
		o.After, o.Reset = 0, "cursor_ahead"
	}
	if r.Method == http.MethodHead {
		o.WriteHeader(w)
		return nil
	}
	leave, err := s.frame.Log.Admit(call.Actor.ID)
	if err != nil {
		return err
	}
	defer leave()
	s.frame.Log.Stream(r.Context(), w, o)
	return nil
}

func query(r *http.Request, names ...string) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, hux.Errorf(hux.BadRequest, "The query can't be read.")
	}
	for name, values := range q {
		if !slices.Contains(names, name) || len(values) != 1 {
			return nil, hux.Errorf(hux.BadRequest, "The query has a name that this route does not know, or one twice.")
		}
	}
	return q, nil
}

// seqOf reads a cursor: a whole number from 0 on without leading zeros, "" for
// 0. One beyond what fits is ahead of every log.
func seqOf(cursor string) (uint64, error) {
	if cursor == "" {
		return 0, nil
	}
	invalid := hux.Errorf(hux.InvalidCursor, "The cursor must be an event's number.")
	for _, c := range cursor {
		if c < '0' || c > '9' {
			return 0, invalid
		}
	}
	if len(cursor) > 1 && cursor[0] == '0' || len(cursor) > 40 {
		return 0, invalid
	}
	n, err := strconv.ParseUint(cursor, 10, 63)
	if err != nil {
		n = 1<<63 - 1
	}
	return n, nil
}
