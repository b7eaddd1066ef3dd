package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	hux "bstein.dev/hux/hux/client"
)

// activeGrants is how many grants a person has where a case says that there
// are many.
const activeGrants = 100

// judged is a tool call that agents ask about, and what they must hear.
type judged struct {
	name, tool, args string // args has a verb for a number that differs from call to call
	target           string // likewise, "" for none
	want             string // effect and reason
	granted          bool   // measured with the grants
}

var judgedCalls = []judged{
	{"allow, by the level", "read_file", `{"path":"a-%d"}`, "", "allow matrix", false},
	{"ask, an approval each", "terminal", `{"command":"make test-%d"}`, "", "ask matrix", false},
	{"allow, by the level, with 100 grants", "read_file", `{"path":"b-%d"}`, "", "allow matrix", true},
	{"allow, by one of 100 grants", "write_file", `{"path":"granted-7","content":"%d"}`, "granted-7", "allow grant_allow", true},
	{"ask, with 100 grants", "terminal", `{"command":"make check-%d"}`, "", "ask matrix", true},
}

// question is what an agent asks about a call in a run of its own.
func (j judged) question(conversationID string, n int64) string {
	target := ""
	if j.target != "" {
		target = fmt.Sprintf(`,"target":%q`, j.target)
	}
	return fmt.Sprintf(`{"conversation_id":%q,"run_id":"run-%s","tool_call_id":"call-%d","tool":%q,"args":%s%s,"expires_in_ms":86400000}`,
		conversationID, strings.TrimPrefix(conversationID, "cnv_"), n, j.tool, fmt.Sprintf(j.args, n), target)
}

// send is a POST with a key of its own.
func (t *target) send(path, body string) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\n%s\r\nUser-Agent: hux-load\r\nAccept: */*\r\nContent-Type: application/json\r\nIdempotency-Key: load-%d\r\nContent-Length: %d\r\n\r\n%s",
		path, strings.Join(t.headers, "\r\n"), calls.Add(1), len(body), body)
}

// speaks is the router to a program with the target's token.
func (t *target) speaks() (*hux.Client, error) {
	return hux.New(hux.Options{BaseURL: "http://" + t.addr, Token: hux.Static(strings.TrimPrefix(t.headers[1], "Authorization: Bearer "))})
}

// measureDecisions prints how long it takes to hear whether a tool may run,
// beside what it takes to add an event to the log, which is one durable write
// too, and beside the disk.
func (r *rig) measureDecisions(ctx context.Context, o options) error {
	agent, err := r.agent(ctx, o)
	if err != nil {
		return err
	}
	sizes := o.orSizes(1, 64)
	var conversations, paths []string
	for range slices.Max(sizes) {
		path, err := conversation(ctx, r.bearer())
		if err != nil {
			return err
		}
		paths = append(paths, path)
		conversations = append(conversations, strings.TrimSuffix(strings.TrimPrefix(path, "/hux/v1/conversations/"), "/events"))
	}
	disk, err := newRawDisk(filepath.Join(r.dir, "raw"))
	if err != nil {
		return err
	}
	defer disk.close()
	over := func(request func(i int) []byte) writer {
		return func(i int) (func() error, func(), error) {
			c, err := dial(ctx, agent.addr)
			if err != nil {
				return nil, nil, err
			}
			return func() error { _, err := c.get(request(i)); return err }, c.close, nil
		}
	}
	event := &series{name: "an event of the agent's", writer: over(func(i int) []byte { return agent.post(paths[i], 0) })}

	rows := [][]string{{"agents", "call", "a second", "min to max", "raw disk/s", "ratio to disk", "ratio to events", "p50 ms", "p99 ms"}}
	var disturbed []string
	for _, granted := range []bool{false, true} {
		grants := ""
		if granted {
			grants = fmt.Sprintf(" and %d grants", activeGrants)
			if err := r.grantMany(ctx); err != nil {
				return err
			}
		}
		subjects := []*series{event}
		for _, j := range judgedCalls {
			if j.granted != granted {
				continue
			}
			if err := r.hear(ctx, agent, conversations[0], j); err != nil {
				return err
			}
			subjects = append(subjects, &series{name: j.name, writer: over(func(i int) []byte {
				return agent.send("/hux/v1/decisions", j.question(conversations[i], calls.Add(1)))
			})})
		}
		for _, agents := range sizes {
			raw, foreign, err := r.sideBySide(o.plan, agents, disk, subjects, func() error { return r.attend(ctx) })
			if err != nil {
				return err
			}
			for _, s := range subjects {
				rows = append(rows, s.row(agents, raw, event))
			}
			disturbed = append(disturbed, fmt.Sprintf("%s with %d%s", foreign, agents, grants))
		}
	}
	printRows(rows)
	fmt.Printf("\nRounds of %v, all agents in one tenant, each in a conversation of its own; of the CPUs other programs took, by the number of agents, %s.\n",
		o.plan.duration, strings.Join(disturbed, ", "))
	return nil
}

// attend makes the person somebody who is there to decide.
func (r *rig) attend(ctx context.Context) error {
	person, err := r.bearer().speaks()
	if err != nil {
		return err
	}
	_, err = person.Do(ctx, hux.Request{Path: "/approvals", Query: map[string][]string{"limit": {"1"}}}, nil)
	return err
}

// grantMany gives the person that many grants, one of which the calls use.
func (r *rig) grantMany(ctx context.Context) error {
	token, err := r.provider.Token(person) // fresh, as for a sign-in just now
	if err != nil {
		return err
	}
	t := *r.bearer()
	t.headers = []string{t.headers[0], "Authorization: Bearer " + token}
	c, err := t.speaks()
	if err != nil {
		return err
	}
	for n := range activeGrants {
		path := fmt.Sprintf("granted-%d", n)
		grant := hux.GrantCreate{Capability: "write", Effect: "allow", Duration: "always", Match: hux.GrantMatch{Tool: "write_file", Target: &path}}
		if _, err := c.Do(ctx, hux.Request{Method: http.MethodPost, Path: "/grants", Body: grant}, nil); err != nil {
			return fmt.Errorf("granting: %w", err)
		}
	}
	return nil
}

// hear checks that a call is answered as it should be.
func (r *rig) hear(ctx context.Context, agent *target, conversationID string, j judged) error {
	if err := r.attend(ctx); err != nil {
		return err
	}
	d, err := r.ask(ctx, agent, j.question(conversationID, calls.Add(1)))
	if got := d.Effect + " " + d.Reason; err == nil && got != j.want {
		err = fmt.Errorf("the answer is %s", got)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", j.name, err)
	}
	return nil
}

// ask sends a question as an agent does.
func (r *rig) ask(ctx context.Context, agent *target, question string) (d hux.Decision, err error) {
	c, err := agent.speaks()
	if err == nil {
		_, err = c.Do(ctx, hux.Request{Method: http.MethodPost, Path: "/decisions", Body: []byte(question)}, &d)
	}
	return d, err
}
