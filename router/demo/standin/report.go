package standin

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

// reporter speaks for one turn with the router, in order and apart from the
// turn itself, so that a router that is slow or away never holds up what the
// agent says. It uses the router's public API as any agent does. What it tells
// has no content: kinds, names, states and ids; the arguments of a tool are
// sent where it asks whether the tool may run, and nowhere else.
type reporter struct {
	api          *client.Client
	session, run string
	stop         func()                     // ends the turn
	queue        chan func(context.Context) // each does one thing
	told         chan struct{}              // closed once all of it is done

	conversation *client.Conversation // that the session belongs to, once it is known
	failed       error
}

// maxReports is what a turn can tell of; no script comes near it.
const maxReports = 256

// settling is how long a turn that was stopped waits for the router to take
// what it tells.
const settling = 3 * time.Second

// report starts a turn's reporter; nil where there is no router. It ends when
// its queue is closed.
func (u *WebUI) report(r *run) *reporter {
	if u.options.Router == nil {
		return nil
	}
	p := &reporter{api: u.options.Router.During(r.session, r.id), session: r.session, run: r.id, stop: r.cancel,
		queue: make(chan func(context.Context), maxReports), told: make(chan struct{})}
	u.running.Go(func() {
		defer close(p.told)
		for next := range p.queue {
			next(u.ctx)
		}
	})
	return p
}

func (p *reporter) tell(kind, status, summary string, data map[string]any, evidence ...hux.EvidenceRef) {
	if p == nil {
		return
	}
	event := client.EventCreate{Kind: kind, Status: &status, Summary: summary, Evidence: evidence, Data: data, RunID: &p.run}
	select {
	case p.queue <- func(ctx context.Context) { p.post(ctx, event) }:
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
	p.tell("message.committed", "completed", summary, map[string]any{"message_id": name, "role": role}, hux.EvidenceRef{Kind: "message", ID: name, Owner: "gateway"})
}

func (p *reporter) end() {
	if p != nil {
		close(p.queue)
	}
}

// settle waits, after the end, until the router knows all, or has had the time.
func (p *reporter) settle() {
	if p == nil {
		return
	}
	late := time.NewTimer(settling)
	defer late.Stop()
	select {
	case <-p.told:
	case <-late.C:
	}
}

// post adds an event to the conversation of the turn. The first failure is
// logged and ends the reports of this turn: a log with a hole in it would tell
// a wrong story. A run that the router says is over is over here too.
func (p *reporter) post(ctx context.Context, event client.EventCreate) {
	if p.failed != nil {
		return
	}
	if p.failed = p.open(ctx); p.failed == nil {
		_, p.failed = p.api.PostEvent(ctx, p.conversation.ID, event)
	}
	p.failure(ctx)
}

// open finds the conversation that the WebUI's session belongs to; whoever
// speaks of the session first makes it.
func (p *reporter) open(ctx context.Context) (err error) {
	if p.conversation == nil {
		p.conversation, err = p.api.OpenConversation(ctx, client.ConversationCreate{
			ExternalRef: &client.ConversationCreateExternalRef{System: "webui", ID: p.session},
		})
	}
	return err
}

func (p *reporter) failure(ctx context.Context) {
	switch {
	case p.failed == nil || ctx.Err() != nil:
	case client.CodeOf(p.failed) == hux.RunEnded:
		p.stop()
	default:
		slog.Warn("the scripted agent can't report to the timeline", "cause", p.failed)
	}
}

// decide asks what applies to a tool call, after all that was told before.
func (p *reporter) decide(ctx context.Context, call client.DecisionCreate) (*client.Decision, error) {
	type answer struct {
		decision *client.Decision
		err      error
	}
	answered := make(chan answer, 1)
	ask := func(context.Context) {
		var a answer
		if a.err = p.open(ctx); a.err == nil {
			call.ConversationID, call.RunID = &p.conversation.ID, &p.run
			a.decision, a.err = p.api.Decide(ctx, call)
		}
		answered <- a
	}
	select {
	case p.queue <- ask:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case a := <-answered:
		return a.decision, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
