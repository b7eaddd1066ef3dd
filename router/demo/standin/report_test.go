package standin_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux/client"
	"bstein.dev/hux/router/demo/standin"
)

// told is a router's API that writes down what an agent tells it.
type told struct {
	mu     sync.Mutex
	events []client.EventCreate
	keys   []string
	open   []string // bodies that opened a conversation
	status int      // what it answers to events; 0 for 201
	wrong  []string
}

func (a *told) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer secret" || r.Header.Get("Content-Type") != "application/json" || r.Header.Get("HUX-Session") == "" || r.Header.Get("HUX-Run") == "" {
		a.wrong = append(a.wrong, r.URL.Path)
	}
	a.keys = append(a.keys, r.URL.Path+" "+r.Header.Get("Idempotency-Key"))
	switch r.URL.Path {
	case "/hux/v1/conversations":
		var body json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&body)
		a.open = append(a.open, string(body))
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{"id":"cnv_1"}`))
	case "/hux/v1/conversations/cnv_1/events":
		if a.status != 0 {
			w.WriteHeader(a.status)
			return
		}
		var h client.EventCreate
		if err := json.NewDecoder(r.Body).Decode(&h); err != nil {
			a.wrong = append(a.wrong, err.Error())
		}
		a.events = append(a.events, h)
		w.WriteHeader(http.StatusCreated)
	case "/hux/v1/decisions":
		_, _ = w.Write([]byte(`{"effect":"allow","reason":"matrix"}`))
	default:
		a.wrong = append(a.wrong, r.URL.Path)
	}
}

// turn sends a message and reads the agent's stream to its end.
func turn(t *testing.T, a *told, message, last string) (session string, stream []frame) {
	t.Helper()
	api, err := client.New(client.Options{BaseURL: serve(t, a), Token: client.Static("secret")})
	if err != nil {
		t.Fatal(err)
	}
	g := newWebUI(t, standin.Options{Router: api})
	session = g.newSession()
	return session, g.stream("/api/chat/stream?stream_id=" + g.start(session, message)).until(last)
}

func TestAgentReportsItsTurn(t *testing.T) {
	a := &told{}
	session, stream := turn(t, a, "a secret wish", "stream_end")
	want := []string{
		"message.committed completed", "run.started started", "tool.started started", "tool.finished completed",
		"message.committed completed", "run.finished completed",
	}
	var got []string
	eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		got = nil
		for _, h := range a.events {
			got = append(got, h.Kind+" "+*h.Status)
		}
		return len(got) >= len(want)
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Equal(got, want) || len(a.wrong) > 0 {
		t.Errorf("told %v, want %v; wrong %v", got, want, a.wrong)
	}
	if len(a.open) != 1 || a.open[0] != `{"external_ref":{"system":"webui","id":"`+session+`"}}` {
		t.Errorf("opened %v", a.open)
	}
	if keys := slices.Clone(a.keys); len(slices.Compact(slices.Sorted(slices.Values(keys)))) != len(a.keys) {
		t.Errorf("a key came twice: %v", a.keys)
	}
	if all, _ := json.Marshal(a.events); strings.Contains(string(all), "wish") || strings.Contains(string(all), "README") {
		t.Errorf("content is told: %s", all)
	}
	tid := ""
	for _, f := range stream {
		var data struct {
			Tid string `json:"tid"`
		}
		if f.event == "tool" && json.Unmarshal([]byte(f.data), &data) == nil {
			tid = data.Tid
		}
	}
	for _, i := range []int{2, 3} {
		if a.events[i].Data["tool_call_id"] != tid || tid == "" || *a.events[i].RunID != *a.events[1].RunID {
			t.Errorf("tool call %q: %+v", tid, a.events[i])
		}
	}
	if id := a.events[4].Data["message_id"]; id != session+".2" {
		t.Errorf("the answer's id is %v", id)
	}
}

func TestAgentReportsHowATurnEnded(t *testing.T) {
	a := &told{}
	turn(t, a, "please fail", "apperror")
	eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		last := len(a.events) - 1
		return last >= 0 && a.events[last].Kind == "run.finished" && *a.events[last].Status == "failed"
	})
}

// A router that takes no reports changes nothing in the chat.
func TestChatWithoutATimeline(t *testing.T) {
	a := &told{status: http.StatusForbidden}
	turn(t, a, "hello", "stream_end")
	a.mu.Lock()
	defer a.mu.Unlock()
	if reports := slices.DeleteFunc(a.keys, func(k string) bool { return strings.HasPrefix(k, "/hux/v1/decisions ") }); len(reports) > 2 {
		t.Errorf("it goes on after a refusal: %v", reports)
	}
}

func eventually(t *testing.T, is func() bool) {
	t.Helper()
	tick, deadline := time.NewTicker(5*time.Millisecond), time.NewTimer(10*time.Second)
	defer tick.Stop()
	defer deadline.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("not within 10 seconds")
		}
	}
}
