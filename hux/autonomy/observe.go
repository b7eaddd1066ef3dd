package autonomy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/store"
)

// Observe takes up what an event that a client posts says about calls and runs,
// in the change that posts it. The time that a tool ran is taken from the
// budget. When a run is reported as finished its pending approvals are
// cancelled, and if its agent reports it the run has ended: a stop of it gets
// its receipt. A page's report is no proof of the end, and the run may go on.
func (s *Service) Observe(ch *record.Change, conv *conversation.Conversation, e *event.Event) error {
	switch {
	case e.Kind == toolStarted, e.Kind == toolFinished:
		if err := s.toolTold(ch, e); err != nil || e.Kind == toolStarted || e.RunID == "" || e.Reporter != "" {
			return err
		}
		return s.spendTime(ch, conv, e)
	case e.RunID == "":
	case e.Kind == "run.finished":
		if err := s.cancelPending(s.bySystem(ch), conv, e.RunID, "the run has ended"); err != nil || e.Reporter != "" {
			return err
		}
		return s.runFinished(ch, conv, e)
	}
	return nil
}

const mostDuration = 24 * 60 * 60 * 1000 // ms that one call is believed to have run

func (s *Service) spendTime(ch *record.Change, conv *conversation.Conversation, e *event.Event) error {
	var data struct {
		DurationMS int64 `json:"duration_ms"`
	}
	if _ = json.Unmarshal(e.Data, &data); data.DurationMS <= 0 { // data is free, and may be absent
		return nil
	}
	now := time.Now()
	p, err := s.applying(ch, conv, e.RunID, now)
	if err != nil || p.Revision == 0 {
		return err
	}
	s.writeBudgets(ch, p, SpendTime(p.Budgets, time.Duration(min(data.DurationMS, mostDuration))*time.Millisecond), e.RunID, now)
	return nil
}

func (s *Service) runFinished(ch *record.Change, conv *conversation.Conversation, e *event.Event) error {
	s.Conversations.MarkFinished(ch, e.ConversationID, e.RunID)
	p, err := s.applying(ch, conv, e.RunID, time.Now())
	if err != nil {
		return err
	}
	s.forgetRun(ch, p, e.RunID)
	st, err := s.readStop(ch, e.ConversationID, e.RunID)
	if err != nil || st == nil || st.ReceiptID != "" {
		return err
	}
	seen, err := s.observed(ch, conv.ID, e.RunID)
	if err != nil {
		return err
	}
	return s.writeReceipt(s.bySystem(ch), conv, st, seen.outcome(st), seen.effects, "partial")
}

// observation is what a conversation's log says of a run.
type observation struct {
	finished   bool   // its agent has reported so
	status     string // of run.finished
	effects    []SideEffect
	unfinished int // tools that began and are not known to have ended
}

// endOf says how a tool ended, to stand after the tool's name.
func endOf(e *event.Event) string {
	if e.Status != nil && *e.Status == "cancelled" {
		return " was stopped"
	}
	return " has ended"
}

// observed reads a run's own events back to its start, and lists the effects
// that its calls may have had. A call that ended may have had one, unless its
// agent says that it was blocked. So may a call that nobody saw end, and one
// that only a page saw. Nothing is taken as reverted.
func (s *Service) observed(tx store.Reader, conversationID, runID string) (o observation, err error) {
	events, err := event.OfRun(tx, conversationID, runID)
	if err != nil {
		return o, err
	}
	ended, refused := map[string]bool{}, map[string]bool{}
	for _, e := range events {
		if _, callID := toolOf(&e); e.Kind == "approval.resolved" && e.Status != nil && *e.Status != "completed" {
			refused[callID] = true
		}
	}
	for _, e := range slices.Backward(withoutTwins(events)) {
		tool, callID := toolOf(&e)
		switch e.Kind {
		case "run.finished":
			if e.Reporter != "" {
				continue
			}
			o.finished = true
			if e.Status != nil {
				o.status = *e.Status
			}
		case "tool.finished":
			ended[callID] = true
			if e.Reporter == "" && blocked(&e) {
				continue
			}
			if kind, has := effectOf(tool); has && e.Reporter == "" {
				o.effects = append(o.effects, effect(&e, callID, kind, oneLine(tool+endOf(&e))))
			} else if has {
				o.unfinished++
				o.effects = append(o.effects, effect(&e, callID, kind, oneLine(tool+endOf(&e)+", as a page saw it")))
			}
		case "tool.started":
			if callID != "" && (ended[callID] || refused[callID]) { // a gateway reports a call before its hook asks about it
				continue
			}
			if kind, has := effectOf(tool); has {
				o.unfinished++
				o.effects = append(o.effects, effect(&e, callID, kind, oneLine(tool+" had begun; nobody saw it end")))
			}
		}
	}
	slices.Reverse(o.effects) // as they happened
	return o, nil
}

// withoutTwins leaves out a page's reports of a tool if the agent has reported
// at least as many calls of it: they are the same calls. The page of a gateway
// does not know the calls' ids.
func withoutTwins(events []event.Event) []event.Event {
	calls := map[string]map[bool]map[string]bool{} // tool → reported by a page → ids
	for _, e := range events {
		if tool, callID := toolOf(&e); tool != "" && strings.HasPrefix(e.Kind, "tool.") {
			if calls[tool] == nil {
				calls[tool] = map[bool]map[string]bool{false: {}, true: {}}
			}
			calls[tool][e.Reporter == "page"][callID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(e event.Event) bool {
		tool, _ := toolOf(&e)
		seen := calls[tool]
		return strings.HasPrefix(e.Kind, "tool.") && e.Reporter == "page" && len(seen[false]) > 0 && len(seen[false]) >= len(seen[true])
	})
}

func toolOf(e *event.Event) (tool, callID string) {
	var data struct {
		Tool       string `json:"tool"`
		ToolCallID string `json:"tool_call_id"`
	}
	_ = json.Unmarshal(e.Data, &data) // data is free
	return data.Tool, data.ToolCallID
}

func effect(e *event.Event, callID, kind, summary string) SideEffect {
	ref := hux.EvidenceRef{Kind: "tool_call", ID: callID, Owner: "gateway"}
	if callID == "" {
		ref = hux.EvidenceRef{Kind: "event", ID: e.ID, Owner: "hux"}
	}
	return SideEffect{EvidenceRef: ref, Kind: kind, Summary: summary}
}

// effects are the kinds of effect that capabilities may have, the gravest first.
// A tool that executes something counts as a process, whatever else it may do.
var effects = []struct {
	of   Capability
	kind string
}{{Deploy, "deploy"}, {Execute, "process"}, {Message, "message"}, {MemoryWrite, "memory"}, {Network, "network"}, {Write, "file"}}

// effectOf is the kind of effect that a tool may have. A tool that only reads
// has none; a tool that the catalogue does not know has an "other" one.
func effectOf(tool string) (kind string, has bool) {
	capabilities := Capabilities(tool, nil)
	if !Known(tool) && !slices.Contains(capabilities, Deploy) {
		return "other", true
	}
	for _, e := range effects {
		if slices.Contains(capabilities, e.of) {
			return e.kind, true
		}
	}
	return "", false
}

// outcome is what came of a stop, as far as the log tells.
func (o observation) outcome(st *stop) string {
	switch {
	case o.finished && o.status == "completed":
		return CompletedBeforeStop
	case (o.finished || st.Confirmed) && o.unfinished > 0:
		return PartiallyStopped
	case o.finished || st.Confirmed:
		return Stopped
	case st.Refused:
		return FailedToStop
	}
	return Unknown
}

// gravestEffects are n of a run's effects, in their order. Lesser kinds are left
// out before graver ones, and within a kind the last come out first.
func gravestEffects(all []SideEffect, n int) []SideEffect {
	rank := func(e SideEffect) int {
		for i, known := range effects {
			if known.kind == e.Kind {
				return i
			}
		}
		return len(effects)
	}
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank(all[i]) - rank(all[j]) })
	kept := order[:n]
	slices.Sort(kept)
	list := make([]SideEffect, n)
	for i, of := range kept {
		list[i] = all[of]
	}
	return list
}

func outcomeText(outcome string, effects int) string {
	text := map[string]string{
		Stopped: "Stopped", CompletedBeforeStop: "It had finished before it was stopped", PartiallyStopped: "Stopped in part",
		FailedToStop: "It could not be stopped", Unknown: "Nobody knows whether it stopped",
	}[outcome]
	if effects == 1 {
		return text + "; one thing was done"
	}
	if effects > 1 {
		return fmt.Sprintf("%s; %d things were done", text, effects)
	}
	return text
}

// mask takes secrets out of an agent's summaries of its effects.
func mask(effects []SideEffect) {
	for i := range effects {
		effects[i].Summary, _ = redact.MaskText(effects[i].Summary)
	}
}

// runOf finds the conversation and the run that an agent names, both of which
// must be known.
func (s *Service) runOf(ch *record.Change, in Run) (*conversation.Conversation, string, error) {
	q := question{}
	err := s.place(ch, in, &q)
	if known := (*hux.Error)(nil); errors.As(err, &known) && known.Code == hux.RunEnded {
		err = nil // a receipt may be written of an ended run too
	}
	return q.conversation, q.runID, err
}
