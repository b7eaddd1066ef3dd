package demo

import (
	"context"
	"fmt"
	"log/slog"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

// reporter tells of one turn, in order and apart from the turn itself, so that
// a router that is slow or away never holds up the chat. It uses the router's
// public API as any agent does, and tells no content: kinds, names, states and
// ids.
type reporter struct {
	api          *client.Client
	session, run string
	queue        chan client.EventCreate
}

// maxReports is what a turn can tell of; no script comes near it.
const maxReports = 256

// report starts a turn's reporter; nil where there is no timeline. It ends
// when its queue is closed.
func (u *WebUI) report(r *run) *reporter {
	if u.options.Timeline == nil {
		return nil
	}
	p := &reporter{u.options.Timeline.During(r.session, r.id), r.session, r.id, make(chan client.EventCreate, maxReports)}
	u.running.Go(func() { p.send(u.ctx) })
	return p
}

func (p *reporter) tell(kind, status, summary string, data map[string]any, evidence ...hux.EvidenceRef) {
	if p == nil {
		return
	}
	select {
	case p.queue <- client.EventCreate{Kind: kind, Status: &status, Summary: summary, Evidence: evidence, Data: data, RunID: &p.run}:
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

// send posts what is told, into the conversation that the WebUI's session
// belongs to; whoever speaks of the session first makes it. The first failure
// is logged and ends the reports of this turn: a log with a hole in it would
// tell a wrong story.
func (p *reporter) send(ctx context.Context) {
	var conversation *client.Conversation
	var failed error
	for event := range p.queue {
		if failed != nil {
			continue
		}
		if conversation == nil {
			conversation, failed = p.api.OpenConversation(ctx, client.ConversationCreate{
				ExternalRef: &client.ConversationCreateExternalRef{System: "webui", ID: p.session},
			})
		}
		if failed == nil {
			_, failed = p.api.PostEvent(ctx, conversation.ID, event)
		}
		if failed != nil && ctx.Err() == nil {
			slog.Warn("the scripted agent can't report to the timeline", "cause", failed)
		}
	}
}
