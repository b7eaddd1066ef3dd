package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Sizes of the fan-out cases.
const (
	singles    = 200     // events posted one after the other, for latency
	deliveries = 300_000 // of events to followers that a rate is measured over
	fanWriters = 16
)

// measureFanout prints how long an event takes from its POST to the last
// follower, and how many a second reach all of them.
func (r *rig) measureFanout(ctx context.Context, o options) error {
	path, err := conversation(ctx, r.bearer())
	if err != nil {
		return err
	}
	event, err := posted(ctx, r.bearer(), path)
	if err != nil {
		return err
	}
	targets := []*target{r.bearer()}
	hub, err := r.addMercure(ctx, o, event)
	if err != nil {
		return err
	}
	if hub != nil {
		targets = append(targets, hub)
	}
	rows := [][]string{{"followers", "target", "round", "POST answered p50 ms", "POST to last p50 ms", "p99 ms", "events/s to all", "deliveries/s", "lost / doubled / reordered"}}
	var disturbed []string
	for _, followers := range o.orSizes(1, 100, 1000) {
		var rounds [][][]string // the cells of each target
		kept, foreign, err := r.calmest(o.plan, func() error {
			path, err := conversation(ctx, r.bearer())
			if err != nil {
				return err
			}
			var cells [][]string
			for _, t := range targets {
				row, err := fanOut(ctx, t, path, 0, followers)
				if err != nil {
					return fmt.Errorf("%s, %d followers: %w", t.name, followers, err)
				}
				cells = append(cells, row)
			}
			rounds = append(rounds, cells)
			return nil
		})
		if err != nil {
			return err
		}
		for i, t := range targets {
			for n, round := range kept {
				rows = append(rows, append([]string{strconv.Itoa(followers), t.name, strconv.Itoa(n + 1)}, rounds[round][i]...))
			}
		}
		disturbed = append(disturbed, fmt.Sprintf("%s with %d", foreign, followers))
	}
	printRows(rows)
	fmt.Printf("\n%d events one after the other, then as many as make %d deliveries (at most 3,000) from %d connections; an event has %d bytes; of the CPUs other programs took %s followers.\n",
		singles, deliveries, fanWriters, len(event), strings.Join(disturbed, ", "))
	return nil
}

// fanOut measures one audience and gives the cells of its row.
func fanOut(ctx context.Context, t *target, path string, after uint64, followers int) ([]string, error) {
	a, err := gather(ctx, t, path, after, followers)
	if err != nil {
		return nil, err
	}
	answered, last, rate, err := a.measure(ctx, t, path)
	faults := a.dismiss()
	if err != nil {
		return nil, fmt.Errorf("%w; lost, doubled, reordered: %v", err, faults)
	}
	return []string{
		percentile(answered, 50), percentile(last, 50), percentile(last, 99),
		fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.0f", rate*float64(followers)), faults.String(),
	}, nil
}

func (a *audience) measure(ctx context.Context, t *target, path string) (answered, last []time.Duration, rate float64, err error) {
	c, err := dial(ctx, t.addr)
	if err != nil {
		return nil, nil, 0, err
	}
	defer c.close()
	for range singles {
		a.expect(1)
		request := t.post(path, 0)
		begin := time.Now()
		if _, err := c.get(request); err != nil {
			return nil, nil, 0, err
		}
		answered = append(answered, time.Since(begin))
		at, err := a.await(ctx)
		if err != nil {
			return nil, nil, 0, err
		}
		last = append(last, at.Sub(begin))
	}
	n := min(deliveries/len(a.followers), 3000)
	a.expect(n)
	begin := time.Now()
	if err := write(ctx, t, path, n, 0, fanWriters); err != nil {
		return nil, nil, 0, err
	}
	at, err := a.await(ctx)
	return answered, last, float64(n) / at.Sub(begin).Seconds(), err
}

// What the stalled follower has not read: more than the kernel takes off the
// router's hands, so that the router does wait for it.
const (
	backlogEvents = 1500
	backlogBytes  = 6 << 10 // of further data in each
)

// measureStalled is the fan-out to 100 followers beside one more who has
// stopped to read in the middle of a long backlog, and without that one.
func (r *rig) measureStalled(ctx context.Context, o options) error {
	t := r.bearer()
	foreign := disturbance(r.pids()...)
	rows := [][]string{{"stalled", "round", "POST answered p50 ms", "POST to last p50 ms", "p99 ms", "events/s to all", "deliveries/s", "lost / doubled / reordered", "the stalled one's, in the end"}}
	for n := range o.plan.rounds {
		for _, stalls := range []bool{false, true} {
			path, err := conversation(ctx, t)
			if err != nil {
				return err
			}
			if err := write(ctx, t, path, backlogEvents, backlogBytes, 64); err != nil {
				return err
			}
			var stalled *follower
			if stalls {
				if stalled, err = follow(ctx, t, path, 0); err != nil {
					return err
				}
				if err := stalled.c.conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil { // or the kernel would let it grow
					return err
				}
			}
			row, err := fanOut(ctx, t, path, backlogEvents, 100)
			if err != nil {
				return err
			}
			label, end := "none", "–"
			if stalls {
				label = "one"
				if end, err = catchUp(stalled, backlogEvents+singles+deliveries/100); err != nil {
					return err
				}
			}
			rows = append(rows, append(append([]string{label, strconv.Itoa(n + 1)}, row...), end))
		}
	}
	printRows(rows)
	fmt.Printf("\n100 followers who read; the stalled one leaves %.0f MB unread meanwhile and reads on in the end; other programs took %.0f %% of the CPUs.\n",
		float64(backlogEvents*backlogBytes)/1e6, 100*foreign())
	return nil
}

// catchUp lets a follower read on up to a number and gives its faults.
func catchUp(f *follower, head uint64) (string, error) {
	defer f.c.close()
	for f.last < head {
		if err := f.next(); err != nil {
			return "", fmt.Errorf("the stalled follower, at event %d of %d: %w", f.last, head, err)
		}
	}
	var sum faults
	sum.add(f, head)
	return sum.String(), nil
}

// measureFollowers prints what each idle follower takes.
func (r *rig) measureFollowers(ctx context.Context, o options) error {
	path, err := conversation(ctx, r.bearer())
	if err != nil {
		return err
	}
	t := r.named(huxName) // whose memory is known from inside too
	before, err := r.memory(ctx, t, o)
	if err != nil {
		return err
	}
	a, err := gather(ctx, r.bearer(), path, 0, o.streams)
	if err != nil {
		return err
	}
	defer a.dismiss()
	a.expect(1) // so that every one has written an event
	if err := write(ctx, r.bearer(), path, 1, 0, 1); err != nil {
		return err
	}
	if _, err := a.await(ctx); err != nil {
		return err
	}
	after, err := r.memory(ctx, t, o)
	if err != nil {
		return err
	}
	each := func(before, after int64) string {
		return fmt.Sprintf("%.1f", float64(after-before)/1024/float64(o.streams))
	}
	printRows([][]string{
		{"target", "version", "followers", "RSS without, KiB", "RSS with, KiB", "RSS each, KiB", "heap each, KiB", "stacks each, KiB"},
		{"hux", t.version, strconv.Itoa(o.streams), strconv.FormatInt(before.rss/1024, 10), strconv.FormatInt(after.rss/1024, 10),
			each(before.rss, after.rss), each(before.heap, after.heap), each(before.stacks, after.stacks)},
	})
	return nil
}
