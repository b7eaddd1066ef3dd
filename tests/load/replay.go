package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"bstein.dev/hux/router/demo/provider"
)

// history is how many events there are to replay.
const history = 10_000

// measureReplay prints how fast one connection gets what is there already,
// from the first event and from the middle, and again after a restart.
func (r *rig) measureReplay(ctx context.Context, o options) error {
	t := r.bearer()
	path, err := conversation(ctx, t)
	if err != nil {
		return err
	}
	if err := write(ctx, t, path, history, 0, 64); err != nil {
		return err
	}
	foreign := disturbance(r.pids()...)
	rows := [][]string{{"replay", "round", "events", "first event ms", "all ms", "events/s", "lost / doubled / reordered"}}
	measure := func(label string, after uint64, round int) error {
		row, err := replay(ctx, t, path, after)
		if err != nil {
			return fmt.Errorf("%s: %w", label, err)
		}
		rows = append(rows, append([]string{label, strconv.Itoa(round + 1)}, row...))
		return nil
	}
	for n := range o.plan.rounds {
		if err := errors.Join(measure("from the first", 0, n), measure("from the middle", history/2, n)); err != nil {
			return err
		}
	}
	others := foreign()
	if err := r.restart(ctx); err != nil {
		return err
	}
	for n := range o.plan.rounds {
		if err := measure("after a restart", 0, n); err != nil {
			return err
		}
	}
	printRows(rows)
	fmt.Printf("\nOther programs took %.0f %% of the CPUs.\n", 100*others)
	return nil
}

func replay(ctx context.Context, t *target, path string, after uint64) ([]string, error) {
	begin := time.Now()
	f, err := follow(ctx, t, path, after)
	if err != nil {
		return nil, err
	}
	defer f.c.close()
	var first time.Duration
	for f.last < history {
		if err := f.next(); err != nil {
			return nil, fmt.Errorf("at event %d: %w", f.last, err)
		}
		if first == 0 {
			first = time.Since(begin)
		}
	}
	all := time.Since(begin)
	var sum faults
	sum.add(f, history)
	n := history - int(after) //nolint:gosec // small
	return []string{strconv.Itoa(n), fmt.Sprintf("%.2f", micros(first)/1000), fmt.Sprintf("%.1f", micros(all)/1000),
		fmt.Sprintf("%.0f", float64(n)/all.Seconds()), sum.String()}, nil
}

// restart ends the router and starts it again with what it has on disk.
func (r *rig) restart(ctx context.Context) error {
	r.router.stop()
	p, err := r.startHux(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{huxName, huxBearerName} {
		r.named(name).pids = p.tree()
	}
	_, err = signInSoon(ctx, r.site("chat")+"/") // it knows its provider again
	return err
}

// tenants is how many are measured.
const tenants = 1000

// measureTenants gives each of many people a conversation with an event, and
// so each tenant an open database, and prints the router's memory.
func (r *rig) measureTenants(ctx context.Context, _ options) error {
	pids := r.bearer().pids
	before := rss(pids)
	errs := make([]error, 8)
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range errs {
		wg.Go(func() {
			for n := next.Add(1); n <= tenants && errs[i] == nil; n = next.Add(1) {
				errs[i] = r.settle(ctx, fmt.Sprintf("person-%d", n))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	took := time.Since(begin)
	after := rss(pids)
	now, err := scrape(ctx, "http://"+r.metrics+"/metrics")
	if err != nil {
		return err
	}
	printRows([][]string{
		{"target", "version", "tenants", "RSS before, MiB", "RSS, MiB", "of it files, MiB", "RSS each, KiB", "heap in use, MiB", "made in s"},
		{"hux", r.bearer().version, strconv.Itoa(tenants), strconv.FormatInt(before>>20, 10), strconv.FormatInt(after>>20, 10),
			strconv.FormatInt(rssOfFiles(pids)>>20, 10), fmt.Sprintf("%.1f", float64(after-before)/1024/tenants),
			strconv.FormatInt(now["go_memstats_heap_inuse_bytes"]>>20, 10), fmt.Sprintf("%.1f", took.Seconds())},
	})
	return nil
}

// settle makes somebody a tenant with a conversation and an event.
func (r *rig) settle(ctx context.Context, name string) error {
	if err := r.provider.AddPerson(provider.Person{Name: name}); err != nil {
		return err
	}
	token, err := r.provider.Token(name)
	if err != nil {
		return err
	}
	t := *r.bearer()
	t.headers = []string{t.headers[0], "Authorization: Bearer " + token}
	path, err := conversation(ctx, &t)
	if err != nil {
		return err
	}
	return write(ctx, &t, path, 1, 0, 1)
}
