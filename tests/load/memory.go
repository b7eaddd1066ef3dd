package main

import (
	"fmt"
	"net/http/httputil"
	"strconv"
	"time"
)

// opening is what to have many of open at a target.
type opening struct {
	name string
	*target
	open func() (end func())
}

// printMemory prints what each of those that are open takes.
func (r *rig) printMemory(openings ...opening) {
	var rows [][]string
	for _, o := range openings {
		before := r.memory(o.target)
		end := o.open()
		after := r.memory(o.target)
		end()
		row := []string{o.name, o.version, strconv.Itoa(r.streams), strconv.FormatInt(before[0]/1024, 10), strconv.FormatInt(after[0]/1024, 10)}
		for i := range before {
			each := "–"
			if before[i] > 0 {
				each = fmt.Sprintf("%.1f", float64(after[i]-before[i])/1024/float64(r.streams))
			}
			row = append(row, each)
		}
		rows = append(rows, row)
	}
	printRows("open|version|of them|RSS without, KiB|RSS with, KiB|RSS each, KiB|heap each, KiB|stacks each, KiB", rows)
}

// memory measures a target while other requests go through it, so that the
// garbage collector runs: the least heap in that time is what is in use. It
// gives RSS and, of the router alone, heap and stacks in bytes.
func (r *rig) memory(t *target) (m [3]int64) {
	busy := r.plan
	busy.duration *= 3
	done := make(chan error, 1)
	go func() {
		done <- attempt(func() { run(r.ctx, r.connections, reading(t, jsonPath, jsonSize).worker, busy) })
	}()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			check(err)
			m[0], _ = rss(t.process.tree)
			return m
		case <-look.C:
			if t != r.session {
				continue
			}
			if heap := r.metric("go_memstats_heap_alloc_bytes"); m[1] == 0 || heap < m[1] {
				m[1] = heap
			}
			m[2] = r.metric("go_memstats_stack_inuse_bytes")
		}
	}
}

// measureStreams prints what each idle event stream takes, through the bare
// proxy and through the router.
func (r *rig) measureStreams() {
	through := func(t *target) opening {
		return opening{"a stream through " + t.name, t, func() func() { return openStreams(t, r.streams) }}
	}
	r.printMemory(through(r.startBare()), through(r.session))
}

// openStreams opens n streams and reads the first event of each.
func openStreams(t *target, n int) (end func()) {
	return hold(n, t.addr, func(_ int, c *client) {
		c.open(t.get(streamPath))
		must(httputil.NewChunkedReader(c.r).Read(make([]byte, 64)))
	})
}

// measureFollowers prints what each idle follower of a conversation takes.
func (r *rig) measureFollowers() {
	id := conversation(r.bearer)
	r.printMemory(opening{"a follower of events", r.session, func() func() {
		a := gather(r.bearer, id, 0, r.streams)
		a.expect(1) // so that every one has written an event
		write(r.bearer, id, 1, 0, 1)
		a.await()
		return func() { a.dismiss() }
	}})
}
