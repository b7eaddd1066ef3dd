package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Timeline is where the scripted agent tells what it does: the router's public
// API, which it uses as any agent does, with a credential of its own.
type Timeline struct {
	URL        string // such as http://127.0.0.1:8080
	Credential string
	Client     *http.Client // nil for one that waits 5 seconds at most
}

// Happening is one event that an agent reports (hux.event.create.v1). It has
// no content: kinds, names, states and ids.
type Happening struct {
	Kind     string         `json:"kind"`
	Status   string         `json:"status"`
	Summary  string         `json:"summary"`
	Evidence []Evidence     `json:"evidence,omitempty"`
	Data     map[string]any `json:"data,omitempty"`
	RunID    string         `json:"run_id"`
}

// Evidence names what an event can be checked by.
type Evidence struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Owner string `json:"owner"`
}

// reporter tells of one turn, in order and apart from the turn itself, so that
// a router that is slow or away never holds up the chat.
type reporter struct {
	timeline     *Timeline
	session, run string
	queue        chan Happening
	said         int
}

// maxReports is what a turn can tell of; no script comes near it.
const maxReports = 256

// report starts a turn's reporter; nil where there is no timeline. It ends
// when its queue is closed.
func (u *WebUI) report(r *run) *reporter {
	if u.options.Timeline == nil {
		return nil
	}
	p := &reporter{timeline: u.options.Timeline, session: r.session, run: r.id, queue: make(chan Happening, maxReports)}
	u.running.Go(func() { p.send(u.ctx) })
	return p
}

func (p *reporter) tell(kind, status, summary string, data map[string]any, evidence ...Evidence) {
	if p == nil {
		return
	}
	select {
	case p.queue <- Happening{kind, status, summary, evidence, data, p.run}:
	default: // full: the turn goes on
	}
}

// message tells that a message stands in the conversation.
func (p *reporter) message(id int, role string) {
	if p == nil {
		return
	}
	name := fmt.Sprintf("%s.%d", p.session, id)
	summary := "The agent answered"
	if role == "user" {
		summary = "A message was sent"
	}
	p.tell("message.committed", "completed", summary, map[string]any{"message_id": name, "role": role}, Evidence{"message", name, "gateway"})
}

func (p *reporter) end() {
	if p != nil {
		close(p.queue)
	}
}

// send posts what is told. The first failure is logged and ends the reports of
// this turn: a log with a hole in it would tell a wrong story.
func (p *reporter) send(ctx context.Context) {
	conversation := ""
	var failed error
	for h := range p.queue {
		if failed != nil {
			continue
		}
		if conversation == "" {
			conversation, failed = p.conversation(ctx)
		}
		if failed == nil {
			p.said++
			failed = p.post(ctx, "/hux/v1/conversations/"+conversation+"/events", fmt.Sprintf("%s.%d", p.run, p.said), h, nil)
		}
		if failed != nil && ctx.Err() == nil {
			slog.Warn("the scripted agent can't report to the timeline", "cause", failed)
		}
	}
}

// conversation is the one that the WebUI's session belongs to; whoever speaks
// of the session first makes it.
func (p *reporter) conversation(ctx context.Context) (string, error) {
	var c struct {
		ID string `json:"id"`
	}
	body := map[string]any{"external_ref": map[string]string{"system": "webui", "id": p.session}}
	err := p.post(ctx, "/hux/v1/conversations", "open."+p.session, body, &c)
	return c.ID, err
}

// post sends one request, again while the router says that this may help: the
// key makes of two tries one event.
func (p *reporter) post(ctx context.Context, path, key string, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := p.once(ctx, path, key, encoded, answer)
		if err == nil || try == 3 || ctx.Err() != nil || refused(err) {
			return err
		}
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
}

// refusal is an answer that is the same at every try.
type refusal struct{ status int }

func (r refusal) Error() string { return fmt.Sprintf("status %d", r.status) }

func refused(err error) bool { return errors.As(err, new(refusal)) }

var defaultClient = sync.OnceValue(func() *http.Client { return &http.Client{Timeout: 5 * time.Second} })

func (p *reporter) once(ctx context.Context, path, key string, body []byte, answer any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(p.timeline.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+p.timeline.Credential)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	req.Header.Set("HUX-Session", p.session)
	req.Header.Set("HUX-Run", p.run)
	client := p.timeline.Client
	if client == nil {
		client = defaultClient()
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	switch {
	case err != nil:
		return err
	case res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests:
		return fmt.Errorf("status %d", res.StatusCode)
	case res.StatusCode >= 300:
		return refusal{res.StatusCode}
	case answer == nil:
		return nil
	}
	return json.Unmarshal(content, answer)
}
