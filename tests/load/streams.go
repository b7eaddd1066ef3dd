package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// memory is what a target holds, in bytes. Heap and stacks are known of the
// router alone, which tells them among its metrics.
type memory struct {
	rss, heap, stacks int64
}

// measureStreams opens idle event streams through the bare proxy and through
// the router and prints what each stream takes.
func (r *rig) measureStreams(ctx context.Context, o options) error {
	rows := [][]string{{"target", "version", "streams", "RSS without, KiB", "RSS with, KiB", "RSS per stream, KiB", "heap per stream, KiB", "stacks per stream, KiB"}}
	for _, t := range r.targets {
		if t.name != bareName && t.name != huxName {
			continue
		}
		before, err := r.memory(ctx, t, o)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		streams, err := openStreams(ctx, t, o.streams)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		after, err := r.memory(ctx, t, o)
		for _, c := range streams {
			c.close()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		per := func(before, after int64) string {
			if before == 0 {
				return "–"
			}
			return fmt.Sprintf("%.1f", float64(after-before)/1024/float64(o.streams))
		}
		rows = append(rows, []string{t.name, t.version, strconv.Itoa(o.streams),
			strconv.FormatInt(before.rss/1024, 10), strconv.FormatInt(after.rss/1024, 10),
			per(before.rss, after.rss), per(before.heap, after.heap), per(before.stacks, after.stacks)})
	}
	printRows(rows)
	return nil
}

// openStreams opens n streams and reads the first event of each.
func openStreams(ctx context.Context, t *target, n int) ([]*client, error) {
	var open []*client
	for len(open) < n {
		c, err := dial(ctx, t.addr)
		if err != nil {
			return open, err
		}
		open = append(open, c)
		// The head and one event come at once; what a stream needs here is small.
		c.r = bufio.NewReaderSize(c.conn, 1<<10)
		if _, err := c.conn.Write(t.request(streamPath)); err != nil {
			return open, err
		}
		if _, err := c.head(); err != nil {
			return open, fmt.Errorf("stream %d: %w", len(open), err)
		}
		if _, err := c.chunk(); err != nil {
			return open, fmt.Errorf("stream %d: %w", len(open), err)
		}
	}
	return open, nil
}

// memory measures a target while other requests go through it, so that the
// garbage collector runs: the least heap in that time is what is in use.
func (r *rig) memory(ctx context.Context, t *target, o options) (memory, error) {
	m := memory{}
	done := make(chan error, 1)
	go func() {
		_, err := closedLoop(ctx, t.addr, t.request(jsonPath), jsonSize, o.connections, o.plan.warm, 3*o.plan.duration)
		done <- err
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			m.rss = rss(t.pids)
			return m, err
		case <-look.C:
			if t.name != huxName {
				continue
			}
			now, err := scrape(ctx, "http://"+r.metrics+"/metrics")
			if err != nil {
				return m, err
			}
			m.stacks = now["go_memstats_stack_inuse_bytes"]
			if heap := now["go_memstats_heap_alloc_bytes"]; m.heap == 0 || heap < m.heap {
				m.heap = heap
			}
		}
	}
}

// scrape reads the metrics without labels at a Prometheus endpoint.
func scrape(ctx context.Context, from string) (map[string]int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	values := map[string]int64{}
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		name, value, ok := bytes.Cut(lines.Bytes(), []byte(" "))
		if !ok || bytes.ContainsAny(name, "#{") {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(string(value)), 64); err == nil {
			values[string(name)] = int64(v)
		}
	}
	return values, lines.Err()
}
