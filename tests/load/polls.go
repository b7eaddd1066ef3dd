package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// waiter is a hook that waits for its approval.
type waiter struct {
	c        *client
	approval string
	hash     string
}

// waits makes n approvals, each with a hook that waits for it on a connection
// of its own.
func (r *rig) waits(ctx context.Context, agent *target, conversationID string, n int) (all []*waiter, err error) {
	call := judged{tool: "terminal", args: `{"command":"make wait-%d"}`}
	for range n {
		if len(all)%500 == 0 {
			if err := r.attend(ctx); err != nil {
				return all, err
			}
		}
		d, err := r.ask(ctx, agent, call.question(conversationID, calls.Add(1)))
		if err != nil {
			return all, err
		}
		if d.ApprovalID == nil {
			return all, fmt.Errorf("the answer is %s %s", d.Effect, d.Reason)
		}
		all = append(all, &waiter{approval: *d.ApprovalID, hash: d.EvidenceHash})
	}
	return all, nil
}

// poll begins to wait.
func (w *waiter) poll(ctx context.Context, agent *target) (err error) {
	if w.c, err = dial(ctx, agent.addr); err != nil {
		return err
	}
	w.c.r = bufio.NewReaderSize(w.c.conn, 4<<10)
	_, err = w.c.conn.Write(agent.request("/hux/v1/approvals/" + w.approval + "?wait=60"))
	return err
}

// heard is when the hook has its answer.
func (w *waiter) heard() (time.Time, error) {
	length, err := w.c.head()
	if err == nil {
		_, err = w.c.r.Discard(length)
	}
	return time.Now(), err
}

func dismissAll(all []*waiter) {
	for _, w := range all {
		if w.c != nil {
			w.c.close()
		}
	}
}

// measurePolls prints what a waiting hook costs, and how long after a person's
// decision it knows.
func (r *rig) measurePolls(ctx context.Context, o options) error {
	agent, err := r.agent(ctx, o)
	if err != nil {
		return err
	}
	path, err := conversation(ctx, r.bearer())
	if err != nil {
		return err
	}
	conversationID := strings.TrimSuffix(strings.TrimPrefix(path, "/hux/v1/conversations/"), "/events")
	if err := r.pollMemory(ctx, o, agent, path, conversationID); err != nil {
		return err
	}
	return r.pollLatency(ctx, o, agent, conversationID)
}

// pollMemory prints what a hook that waits costs, beside a connection that does
// nothing and beside a follower of events.
func (r *rig) pollMemory(ctx context.Context, o options, agent *target, path, conversationID string) error {
	t := r.named(huxName) // whose memory is known from inside too
	all, err := r.waits(ctx, agent, conversationID, o.streams)
	if err != nil {
		return err
	}
	rows := [][]string{{"what is open", "version", "of them", "RSS without, KiB", "RSS with, KiB", "RSS each, KiB", "heap each, KiB", "stacks each, KiB"}}
	for _, s := range []struct {
		name string
		open func() (end func(), err error)
	}{
		{"a connection, idle", func() (func(), error) {
			var idle []*waiter
			for range o.streams {
				c, err := dial(ctx, agent.addr)
				if err != nil {
					return nil, err
				}
				c.r = bufio.NewReaderSize(c.conn, 4<<10)
				idle = append(idle, &waiter{c: c})
				if _, err := c.get(agent.request("/hux/v1/conversations/" + conversationID)); err != nil {
					return nil, err
				}
			}
			return func() { dismissAll(idle) }, nil
		}},
		{"a hook that waits", func() (func(), error) {
			for _, w := range all {
				if err := w.poll(ctx, agent); err != nil {
					return nil, err
				}
			}
			return func() { dismissAll(all) }, nil
		}},
		{"a follower of events", func() (func(), error) {
			a, err := gather(ctx, agent, path, 0, o.streams)
			if err != nil {
				return nil, err
			}
			return func() { a.dismiss() }, nil
		}},
	} {
		before, err := r.memory(ctx, t, o)
		if err != nil {
			return err
		}
		end, err := s.open()
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		after, err := r.memory(ctx, t, o)
		end()
		if err != nil {
			return err
		}
		each := func(before, after int64) string {
			return fmt.Sprintf("%.1f", float64(after-before)/1024/float64(o.streams))
		}
		rows = append(rows, []string{s.name, t.version, strconv.Itoa(o.streams), strconv.FormatInt(before.rss/1024, 10), strconv.FormatInt(after.rss/1024, 10),
			each(before.rss, after.rss), each(before.heap, after.heap), each(before.stacks, after.stacks)})
	}
	printRows(rows)
	fmt.Println()
	return nil
}

// pollLatency decides one approval after the other, of as many as wait.
func (r *rig) pollLatency(ctx context.Context, o options, agent *target, conversationID string) error {
	disk, err := newRawDisk(filepath.Join(r.dir, "raw"))
	if err != nil {
		return err
	}
	defer disk.close()
	rows := [][]string{{"waiting", "round", "decided, answered p50 ms", "decided to hook p50 ms", "p99 ms", "event to follower p50 ms", "p99 ms", "raw disk p50 ms", "p99 ms"}}
	var disturbed []string
	for _, waiting := range o.orSizes(1, 100, 1000) {
		var rounds [][]string // the cells of each
		kept, foreign, err := r.calmest(o.plan, func() error {
			raw, err := many(1, disk.writer, o.plan)
			if err != nil {
				return err
			}
			answered, heard, err := r.decideAll(ctx, agent, conversationID, waiting)
			if err != nil {
				return fmt.Errorf("%d waiting: %w", waiting, err)
			}
			followed, err := r.followOne(ctx)
			if err != nil {
				return err
			}
			rounds = append(rounds, []string{percentile(answered, 50), percentile(heard, 50), percentile(heard, 99),
				percentile(followed, 50), percentile(followed, 99), percentile(raw, 50), percentile(raw, 99)})
			return nil
		})
		if err != nil {
			return err
		}
		for n, round := range kept {
			rows = append(rows, append([]string{strconv.Itoa(waiting), strconv.Itoa(n + 1)}, rounds[round]...))
		}
		disturbed = append(disturbed, fmt.Sprintf("%s with %d", foreign, waiting))
	}
	printRows(rows)
	fmt.Printf("\n%d decisions one after the other, each about any of those that wait; another takes the place of the one that was decided. As many events to one follower. Of the CPUs other programs took %s waiting.\n",
		singles, strings.Join(disturbed, ", "))
	return nil
}

// decideAll takes the times of single decisions: from the request to its
// answer, and to the answer of the hook that waits.
func (r *rig) decideAll(ctx context.Context, agent *target, conversationID string, waiting int) (answered, heard []time.Duration, err error) {
	all, err := r.waits(ctx, agent, conversationID, waiting+singles)
	if err != nil {
		return nil, nil, err
	}
	defer func() { dismissAll(all) }()
	person, err := dial(ctx, r.bearer().addr)
	if err != nil {
		return nil, nil, err
	}
	defer person.close()
	now, next := all[:waiting:waiting], all[waiting:]
	for _, w := range now {
		if err := w.poll(ctx, agent); err != nil {
			return nil, nil, err
		}
	}
	for len(next) > 0 {
		i := rand.IntN(len(now))
		w := now[i]
		type hearing struct {
			at  time.Time
			err error
		}
		hears := make(chan hearing, 1)
		go func() {
			at, err := w.heard()
			hears <- hearing{at, err}
		}()
		request := r.bearer().send("/hux/v1/approvals/"+w.approval, fmt.Sprintf(`{"choice":"once","evidence_hash":%q}`, w.hash))
		begin := time.Now()
		if _, err := person.get(request); err != nil {
			return nil, nil, err
		}
		answered = append(answered, time.Since(begin))
		h := <-hears
		if h.err != nil {
			return nil, nil, h.err
		}
		heard = append(heard, h.at.Sub(begin))
		now[i], next = next[0], next[1:]
		if err := now[i].poll(ctx, agent); err != nil {
			return nil, nil, err
		}
		if _, err := person.get(r.bearer().request("/hux/v1/approvals/" + now[i].approval)); err != nil { // by now it waits
			return nil, nil, err
		}
	}
	return answered, heard, nil
}

// followOne is how long as many events take to one follower.
func (r *rig) followOne(ctx context.Context) (last []time.Duration, err error) {
	t := r.bearer()
	events, err := conversation(ctx, t)
	if err != nil {
		return nil, err
	}
	a, err := gather(ctx, t, events, 0, 1)
	if err != nil {
		return nil, err
	}
	defer a.dismiss()
	c, err := dial(ctx, t.addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	for range singles {
		a.expect(1)
		request := t.post(events, 0)
		begin := time.Now()
		if _, err := c.get(request); err != nil {
			return nil, err
		}
		at, err := a.await(ctx)
		if err != nil {
			return nil, err
		}
		last = append(last, at.Sub(begin))
	}
	return last, nil
}
