package main

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	hux "bstein.dev/hux/hux/client"
)

// pending are decisions that a person has to make, as their agent hears of them.
func (r *rig) pending(agent *target, conversation string, n int) (all []hux.Decision) {
	call := judged{call: `"tool":"terminal","args":{"command":"make wait-%d"}`}
	for range n {
		d := r.ask(agent, call.question(conversation))
		if d.ApprovalID == nil {
			check(fmt.Errorf("the answer is %s %s", d.Effect, d.Reason))
		}
		all = append(all, d)
	}
	return all
}

func approval(d hux.Decision) string { return "/hux/v1/approvals/" + *d.ApprovalID }

// poll begins to wait for a decision, as an agent's hook does.
func poll(c *client, agent *target, d hux.Decision) {
	must(c.conn.Write(agent.get(approval(d) + "?wait=60")))
}

// measurePolls prints what a waiting hook costs, and how long after a person's
// decision it knows.
func (r *rig) measurePolls() {
	agent, id, disk := r.agent(), conversation(r.bearer), r.rawDisk()
	pending := r.pending(agent, id, r.streams)
	r.printMemory(
		opening{"a connection, idle", r.session, func() func() {
			return hold(r.streams, agent.addr, func(_ int, c *client) { c.do(agent.get("/hux/v1/conversations/" + id)) })
		}},
		opening{"a hook that waits", r.session, func() func() {
			return hold(r.streams, agent.addr, func(i int, c *client) { poll(c, agent, pending[i]) })
		}},
		opening{"a follower of events", r.session, func() func() {
			a := gather(agent, id, 0, r.streams)
			return func() { a.dismiss() }
		}})
	fmt.Println()
	var rows [][]string
	for _, waiting := range r.sizes {
		rows = append(rows, r.rounds(fmt.Sprintf("%d waiting", waiting), func() [][]string {
			raw, _ := run(r.ctx, 1, disk.worker, r.plan)
			answered, heard := r.decideAll(agent, id, waiting)
			followed := r.followOne()
			return [][]string{{strconv.Itoa(waiting), answered.ms(50), heard.ms(50), heard.ms(99),
				followed.ms(50), followed.ms(99), raw.ms(50), raw.ms(99)}}
		})...)
	}
	printRows("round|waiting|decided, answered p50 ms|decided to hook p50 ms|p99 ms|event to follower p50 ms|p99 ms|raw disk p50 ms|p99 ms", rows)
	fmt.Printf("\n%d decisions one after the other, each about any of those that wait; another takes the place of the one that was decided. As many events to one follower.\n", singles)
}

// decideAll takes the times of single decisions: from the request to its
// answer, and to the answer of the hook that waits.
func (r *rig) decideAll(agent *target, conversation string, waiting int) (answered, heard times) {
	answered, heard = newTimes(), newTimes()
	all, hooks := r.pending(agent, conversation, waiting+singles), make([]*client, waiting)
	now, next := all[:waiting], all[waiting:]
	defer hold(waiting, agent.addr, func(i int, c *client) {
		hooks[i] = c
		poll(c, agent, now[i])
	})()
	share(singles, 1, r.bearer.addr, func(n int, person *client) {
		i := rand.IntN(waiting)
		hears := make(chan time.Time, 1)
		go func() {
			defer close(hears)
			_ = attempt(func() { // what fails is not heard
				hooks[i].answer()
				hears <- time.Now()
			})
		}()
		request := r.bearer.send(approval(now[i]), fmt.Sprintf(`{"choice":"once","evidence_hash":%q}`, now[i].EvidenceHash))
		begin := time.Now()
		person.do(request)
		answered.add(time.Since(begin))
		at, ok := <-hears
		if !ok {
			check(fmt.Errorf("a hook had no answer"))
		}
		heard.add(at.Sub(begin))
		now[i] = next[n]
		poll(hooks[i], agent, now[i])
		person.do(r.bearer.get(approval(now[i]))) // by now it waits
	})
	return answered, heard
}

// followOne is how long as many events take to one follower.
func (r *rig) followOne() times {
	id := conversation(r.bearer)
	a := gather(r.bearer, id, 0, 1)
	defer a.dismiss()
	_, last := a.single(r.bearer, id)
	return last
}
