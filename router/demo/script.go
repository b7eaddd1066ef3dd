package demo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"bstein.dev/hux/hux"
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
	for _, old := range u.runs.put(r.id, r) {
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

// play is the script: what the agent does with a message.
func (t *turn) play(text string) error {
	wants := func(word string) bool { return strings.Contains(strings.ToLower(text), word) }
	if err := t.think("The message has ", "to be read first, ", "then the script decides."); err != nil {
		return err
	}
	switch {
	case wants("fail"):
		if err := t.say("I start as usual, and then "); err != nil {
			return err
		}
		return &appError{"Model unavailable", "The scripted agent failed, as you asked.", "Send anything else to go on."}
	case wants("approve"):
		return t.playApproval()
	case wants("long"):
		return t.playLong()
	}
	if err := t.say("You said: “" + quote(text) + "” Let me look at the workspace.\n\n"); err != nil {
		return err
	}
	if err := t.tool("terminal", "ls -la", map[string]any{"command": "ls -la"}, "README.md\nnotes.txt\nreport.csv"); err != nil {
		return err
	}
	return t.say("There are three files: README.md, notes.txt and report.csv. I am a script, so this is all that I know. " +
		"A message with the word approve asks for your decision, long gives an answer of half a minute, and fail fails.\n\n" +
		"What an agent writes is shown as plain text: <b>this is not bold</b>.")
}

func (t *turn) playApproval() error {
	if err := t.say("That needs a command which I may not run without you.\n\n"); err != nil {
		return err
	}
	const command = "rm -r build/"
	choice, err := t.ask(command, "deletes a directory with everything in it")
	if err != nil {
		return err
	}
	if choice == "deny" {
		return t.say("You said no, so nothing was deleted.")
	}
	if err := t.tool("terminal", command, map[string]any{"command": command}, "build/ is gone"); err != nil {
		return err
	}
	return t.say("You allowed it (" + choice + "), and the directory is gone. Only in the script, of course.")
}

func (t *turn) playLong() error {
	if err := t.tool("read_file", "notes.txt", map[string]any{"path": "notes.txt"}, "12 paragraphs"); err != nil {
		return err
	}
	for i := 1; i <= 12; i++ {
		paragraph := fmt.Sprintf("Paragraph %d of 12. ", i) +
			"This goes on for about half a minute, long enough to stop it with the button, to reload the page in the middle, " +
			"or to cut the connection and see the rest arrive without a gap. Each word is an event of its own, with a number, " +
			"and the browser asks for what comes after the last one it saw.\n\n"
		if err := t.say(paragraph); err != nil {
			return err
		}
	}
	return nil
}

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

// tool pretends to use a tool.
func (t *turn) tool(name, preview string, args map[string]any, result string) error {
	id := "call_" + newID(24)
	evidence := hux.EvidenceRef{Kind: "tool_call", ID: id, Owner: "gateway"}
	t.run.report.tell("tool.started", "started", name+" started", map[string]any{"tool": name, "tool_call_id": id}, evidence)
	t.emit("tool", map[string]any{"event_type": "tool.started", "name": name, "preview": preview, "args": args, "tid": id})
	if err := t.u.options.Wait(t.ctx, perStep); err != nil {
		t.run.report.tell("tool.finished", "cancelled", name+" was stopped", map[string]any{"tool": name, "tool_call_id": id}, evidence)
		return err
	}
	t.run.report.tell("tool.finished", "completed", name+" finished",
		map[string]any{"tool": name, "tool_call_id": id, "duration_ms": perStep.Milliseconds()}, evidence)
	t.tools = append(t.tools, toolCall{Name: name, Args: args, Preview: preview, Result: result, ID: id})
	t.emit("tool_complete", map[string]any{
		"event_type": "tool.completed", "name": name, "preview": result, "args": args,
		"is_error": false, "duration": perStep.Seconds(), "tid": id,
	})
	return nil
}

// ask waits for a decision about a command.
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
		t.end("cancel", map[string]any{"message": "Stopped.", "session": session})
	}
}
