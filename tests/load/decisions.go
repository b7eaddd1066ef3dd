package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	hux "bstein.dev/hux/hux/client"
)

// activeGrants is how many grants a person has where a case says that there
// are many.
const activeGrants = 100

// judged is a tool call that agents ask about, and what they must hear.
type judged struct{ name, call, want string } // call has a verb for a number that differs from one to the next

// judgedCalls are asked without grants, and with many.
var judgedCalls = [][]judged{{
	{"allow, by the level", `"tool":"read_file","args":{"path":"a-%d"}`, "allow matrix"},
	{"ask, an approval each", `"tool":"terminal","args":{"command":"make test-%d"}`, "ask matrix"},
}, {
	{"allow, by the level, with 100 grants", `"tool":"read_file","args":{"path":"b-%d"}`, "allow matrix"},
	{"allow, by one of 100 grants", `"tool":"write_file","target":"granted-7","args":{"path":"granted-7","content":"%d"}`, "allow grant_allow"},
	{"ask, with 100 grants", `"tool":"terminal","args":{"command":"make check-%d"}`, "ask matrix"},
}}

// question is what an agent asks about a call in a run of its own.
func (j judged) question(conversation string) string {
	n := calls.Add(1)
	return fmt.Sprintf(`{"conversation_id":%q,"run_id":"run-%s","tool_call_id":"call-%d",%s,"expires_in_ms":86400000}`,
		conversation, strings.TrimPrefix(conversation, "cnv_"), n, fmt.Sprintf(j.call, n))
}

// measureDecisions prints how long it takes to hear whether a tool may run,
// beside what it takes to add an event to the log, which is one durable write
// too, and beside the disk.
func (r *rig) measureDecisions() {
	agent, disk := r.agent(), r.rawDisk()
	conversations := make([]string, slices.Max(r.sizes))
	for i := range conversations {
		conversations[i] = conversation(r.bearer)
	}
	event := &subject{name: "an event of the agent's", worker: over(agent.addr, func(i int) []byte { return agent.post(conversations[i], 0) })}
	var rows [][]string
	for i, calls := range judgedCalls {
		if i > 0 {
			r.grantMany()
		}
		subjects := []*subject{disk, event}
		for _, j := range calls {
			if d := r.ask(agent, j.question(conversations[0])); d.Effect+" "+d.Reason != j.want {
				check(fmt.Errorf("%s: the answer is %s %s", j.name, d.Effect, d.Reason))
			}
			subjects = append(subjects, &subject{name: j.name, worker: over(agent.addr, func(i int) []byte {
				return agent.send("/hux/v1/decisions", j.question(conversations[i]))
			})})
		}
		for _, agents := range r.sizes {
			r.sideBySide(fmt.Sprintf("%d agents, %d grants", agents, i*activeGrants), agents, subjects, r.attend)
			for _, s := range subjects[1:] {
				rows = append(rows, s.row(agents, disk, event))
			}
		}
	}
	printRows("agents|call|a second|min to max|raw disk/s|ratio to disk|ratio to events|p50 ms|p99 ms", rows)
	fmt.Printf("\nRounds of %v, all agents in one tenant, each in a conversation of its own.\n", r.plan.duration)
}

// attend makes the person somebody who is there to decide.
func (r *rig) attend() {
	must(r.bearer.api().Do(r.ctx, hux.Request{Path: "/approvals", Query: map[string][]string{"limit": {"1"}}}, nil))
}

// grantMany gives the person that many grants, one of which the calls use.
func (r *rig) grantMany() {
	api := r.bearer.with(person, must(r.provider.Token(person))).api() // fresh, as for a sign-in just now
	for n := range activeGrants {
		path := fmt.Sprintf("granted-%d", n)
		grant := hux.GrantCreate{Capability: "write", Effect: "allow", Duration: "always", Match: hux.GrantMatch{Tool: "write_file", Target: &path}}
		must(api.Do(r.ctx, hux.Request{Method: http.MethodPost, Path: "/grants", Body: grant}, nil))
	}
}

// ask sends a question as an agent does, with the person there.
func (r *rig) ask(agent *target, question string) (d hux.Decision) {
	r.attend()
	must(agent.api().Do(r.ctx, hux.Request{Method: http.MethodPost, Path: "/decisions", Body: []byte(question)}, &d))
	return d
}
