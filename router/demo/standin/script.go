package standin

import (
	"context"
	"errors"
	"strings"
	"time"
)

// run is one turn of the agent: what it said so far, and who waits for it.
type run struct {
	id, turn, session string
	events            []event // only ever appended to
	wake              chan struct{}
	done              bool
	cancel            context.CancelFunc
	report            *reporter

	pending  map[string]any // the approval it waits for, or nil
	decision chan string    // holds one
}

// The pace of the agent, in the script's own time.
const (
	perWord = 45 * time.Millisecond
	perStep = 700 * time.Millisecond
)

// begin starts a turn on a message; the caller holds mu.
func (u *WebUI) begin(c *conversation, text string, message int, now time.Time) *run {
	ctx, cancel := context.WithCancel(u.ctx)
	r := &run{
		id:      newID(32),
		turn:    now.UTC().Format("20060102T150405Z") + "-" + newID(12),
		session: c.id,
		wake:    make(chan struct{}), cancel: cancel, decision: make(chan string, 1),
	}
	for _, old := range u.runs.Put(r.id, r) {
		old.cancel()
	}
	c.run = r
	r.report = u.report(r)
	r.report.message(message, "user")
	r.report.tell("run.started", "started", "The agent began to work", nil)
	u.changes.add(c.id, "turn_started")
	t := &turn{u: u, run: r, conversation: c, ctx: ctx}
	u.running.Go(func() {
		defer cancel()
		t.finish(t.play(text))
	})
	return r
}

// turn is the agent at work on one message.
type turn struct {
	u            *WebUI
	run          *run
	conversation *conversation
	ctx          context.Context // ends when the turn is cancelled
	answer       strings.Builder
	tools        []toolCall
}

// appError is a failure that the script is asked for.
type appError struct{ label, message, hint string }

func (e *appError) Error() string { return e.label + ": " + e.message }

// quote shortens what somebody wrote.
func quote(text string) string {
	if r := []rune(text); len(r) > 200 {
		return string(r[:199]) + "…"
	}
	return text
}

// emit puts an event on the stream, and end the last one.
func (t *turn) emit(name string, data map[string]any) { t.put(name, data, false) }
func (t *turn) end(name string, data map[string]any)  { t.put(name, data, true) }

func (t *turn) put(name string, data map[string]any, last bool) {
	encoded := encode(data)
	t.u.mu.Lock()
	defer t.u.mu.Unlock()
	t.run.events = append(t.run.events, event{name, encoded})
	t.run.done = last
	close(t.run.wake)
	t.run.wake = make(chan struct{})
}

func (t *turn) think(parts ...string) error {
	for _, part := range parts {
		if err := t.u.options.Wait(t.ctx, perStep/4); err != nil {
			return err
		}
		t.emit("reasoning", map[string]any{"text": part})
	}
	return nil
}

// say streams text word by word.
func (t *turn) say(text string) error {
	for _, word := range strings.SplitAfter(text, " ") {
		if err := t.u.options.Wait(t.ctx, perWord); err != nil {
			return err
		}
		t.answer.WriteString(word)
		t.emit("token", map[string]any{"text": word})
	}
	return nil
}

// ask waits for a decision about a command, which the person gives on the
// WebUI's own card.
func (t *turn) ask(command, description string) (string, error) {
	pending := map[string]any{
		"tool": "terminal", "command": command, "description": description, "pattern_key": "rm -r", "pattern_keys": []string{"rm -r"},
		"args": map[string]any{"command": command}, "risk_level": "high", "run_id": t.run.id, "approval_id": newID(32),
		"choices": []string{"once", "session", "always", "deny"}, "allow_permanent": true,
	}
	t.u.mu.Lock()
	t.run.pending = pending
	t.u.changes.add(t.run.session, "attention_pending")
	t.u.mu.Unlock()
	t.emit("approval", map[string]any{"session_id": t.run.session, "pending": pending, "pending_count": 1})
	select {
	case choice := <-t.run.decision:
		t.emit("approval", map[string]any{"session_id": t.run.session, "pending": nil, "pending_count": 0})
		return choice, nil
	case <-t.ctx.Done():
		return "", t.ctx.Err()
	}
}

// finish keeps what was said and ends the stream in the way err asks for.
func (t *turn) finish(err error) {
	u, c := t.u, t.conversation
	u.mu.Lock()
	if t.answer.Len() > 0 || len(t.tools) > 0 {
		id := c.add("assistant", t.answer.String(), time.Now())
		t.run.report.message(id, "assistant")
		for _, tool := range t.tools {
			tool.Message = id
			c.tools = append(c.tools, tool)
		}
	}
	c.run = nil
	t.run.pending = nil
	session := c.whole()
	u.changes.add(c.id, "turn_ended")
	u.mu.Unlock()

	var failed *appError
	isApp := errors.As(err, &failed)
	switch {
	case err == nil:
		t.run.report.tell("run.finished", "completed", "The agent finished", nil)
	case isApp:
		t.run.report.tell("run.finished", "failed", "The agent failed", nil)
	default:
		t.run.report.tell("run.finished", "cancelled", "The agent was stopped", nil)
	}
	t.run.report.end()
	switch {
	case err == nil:
		t.emit("title", map[string]any{"session_id": c.id, "title": session["title"]})
		t.emit("done", map[string]any{"session": session, "usage": map[string]any{"output_tokens": t.answer.Len() / 4}})
		t.end("stream_end", map[string]any{"session_id": c.id})
	case isApp:
		t.end("apperror", map[string]any{"type": "agent_error", "label": failed.label, "message": failed.message, "hint": failed.hint})
	default:
		t.run.report.settle() // whoever has stopped it reads the log once it is over
		t.end("cancel", map[string]any{"message": "Stopped.", "session": session})
	}
}
