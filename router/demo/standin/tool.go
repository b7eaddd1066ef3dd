package standin

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

// call is a tool that the agent wants to use.
type call struct {
	tool, preview string
	args          map[string]any
	target        string        // what of the arguments a grant may be tied to, "" for nothing
	lives         time.Duration // how long the agent can wait for an answer; 0 for what is usual
	result        string

	id      string // given when the agent comes to it
	allowed bool
}

func (c *call) evidence() hux.EvidenceRef {
	return hux.EvidenceRef{Kind: "tool_call", ID: c.id, Owner: "gateway"}
}

// verdict is what became of the question whether a tool may run.
type verdict struct {
	runs bool
	why  string // told in the chat
}

// reasons tell why a call was allowed or denied without anybody being asked.
var reasons = map[string]string{
	"matrix":       "your level says so",
	"grant_allow":  "you have granted it",
	"grant_deny":   "you have forbidden it",
	"mode_private": "this chat is private",
}

// mayRun asks the router whether a tool may run, and where it says so waits for
// a person. Whatever goes wrong is a no. An agent of a router that has no
// autonomy, or of none, has nobody to ask. The error is the end of the turn.
func (t *turn) mayRun(c *call) (verdict, error) {
	c.id = "call_" + newID(24)
	p := t.run.report
	if p == nil {
		return verdict{runs: true}, nil
	}
	question := client.DecisionCreate{ToolCallID: c.id, Tool: c.tool, Args: c.args}
	if c.target != "" {
		question.Target = &c.target
	}
	if ms := c.lives.Milliseconds(); ms > 0 {
		question.ExpiresInMS = &ms
	}
	d, err := p.decide(t.ctx, question)
	switch {
	case client.CodeOf(err) == hux.FeatureDisabled:
		return verdict{runs: true}, nil
	case err != nil:
		return t.unasked(err)
	case d.Effect == "allow":
		return verdict{true, "I need not ask: " + reasons[d.Reason] + "."}, nil
	case d.Effect == "ask" && d.ApprovalID != nil:
		a, err := p.api.AwaitApproval(t.ctx, *d.ApprovalID)
		if err != nil {
			return t.unasked(err)
		}
		return t.decided(d, a)
	}
	return verdict{false, "That is not allowed: " + reasons[d.Reason] + ". I do not do it."}, nil
}

// unasked is the answer where none could be had.
func (t *turn) unasked(err error) (verdict, error) {
	if client.CodeOf(err) == hux.RunEnded {
		t.run.cancel()
	}
	if t.ctx.Err() == nil {
		slog.Warn("the scripted agent can't ask whether a tool may run", "cause", err)
	}
	return verdict{false, "I could not ask you, so I do not do it."}, t.ctx.Err()
}

// decided reads what a person has said, or that nobody has.
func (t *turn) decided(d *client.Decision, a *client.Approval) (verdict, error) {
	budget := ""
	if d.Reason == "budget_exhausted" {
		budget = "The budget is spent, so I asked. "
	}
	switch {
	case a.Passes(d.EvidenceHash) && a.Decision != nil:
		return verdict{true, budget + "You allowed it: " + a.Decision.Choice + "."}, nil
	case a.Status == "denied":
		return verdict{false, budget + "You said no, so I do not do it."}, nil
	case a.Status == "cancelled":
		t.run.cancel() // somebody has stopped the run
		return verdict{}, t.ctx.Err()
	}
	return verdict{false, budget + "Nobody decided in time, so I do not do it."}, nil
}

// use asks whether a tool may run, runs it if so, and says what came of it.
func (t *turn) use(c call) error {
	v, err := t.mayRun(&c)
	if err != nil {
		return err
	}
	if !v.runs {
		t.begun(&c)
		t.ended(&c, v.why, true)
	} else if err := t.work(&c); err != nil {
		return err
	}
	if v.why == "" {
		return nil
	}
	return t.say(v.why + "\n\n")
}

// work pretends that a tool runs.
func (t *turn) work(c *call) error {
	t.start(c)
	if err := t.u.options.Wait(t.ctx, perStep); err != nil {
		t.report("cancelled", c)
		return err
	}
	t.finishTool(c)
	return nil
}

// start and finishTool are the two ends of a tool that runs.
func (t *turn) start(c *call) {
	t.run.report.tell("tool.started", "started", c.tool+" started", map[string]any{"tool": c.tool, "tool_call_id": c.id}, c.evidence())
	t.begun(c)
}

func (t *turn) finishTool(c *call) {
	t.report("completed", c)
	t.ended(c, c.result, false)
}

// report tells how a tool ended.
func (t *turn) report(status string, c *call) {
	data := map[string]any{"tool": c.tool, "tool_call_id": c.id}
	summary := c.tool + " was stopped"
	if status == "completed" {
		data["duration_ms"], summary = perStep.Milliseconds(), c.tool+" finished"
	}
	t.run.report.tell("tool.finished", status, summary, data, c.evidence())
}

// begun and ended show a tool in the chat.
func (t *turn) begun(c *call) {
	t.emit("tool", map[string]any{"event_type": "tool.started", "name": c.tool, "preview": c.preview, "args": c.args, "tid": c.id})
}

func (t *turn) ended(c *call, result string, refused bool) {
	t.tools = append(t.tools, toolCall{Name: c.tool, Args: c.args, Preview: c.preview, Result: result, IsError: refused, ID: c.id})
	t.emit("tool_complete", map[string]any{
		"event_type": "tool.completed", "name": c.tool, "preview": result, "args": c.args,
		"is_error": refused, "duration": perStep.Seconds(), "tid": c.id,
	})
}

// mayRunAll asks about several calls at once, and notes which may run.
func (t *turn) mayRunAll(calls ...*call) error {
	errs := make([]error, len(calls))
	verdicts := make([]verdict, len(calls))
	var asking sync.WaitGroup
	for i, c := range calls {
		asking.Go(func() { verdicts[i], errs[i] = t.mayRun(c) })
	}
	asking.Wait()
	for i, c := range calls {
		if c.allowed = verdicts[i].runs; !c.allowed && errs[i] == nil {
			t.begun(c)
			t.ended(c, verdicts[i].why, true)
		}
	}
	return errors.Join(errs...)
}
