package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt" //nolint:depguard // here it is a peer to be measured
)

// measureAppend prints how many events a second become durable in one
// conversation, beside what the disk does and beside bbolt with a transaction
// for each event. All write to files in the same directory.
func (r *rig) measureAppend(ctx context.Context, o options) error {
	agent, err := r.agent(ctx, o)
	if err != nil {
		return err
	}
	path, err := conversation(ctx, r.bearer())
	if err != nil {
		return err
	}
	size, err := func() (int, error) {
		c, err := dial(ctx, agent.addr)
		if err != nil {
			return 0, err
		}
		defer c.close()
		return c.get(agent.post(path, 0))
	}()
	if err != nil {
		return err
	}
	disk, err := newRawDisk(filepath.Join(r.dir, "raw"))
	if err != nil {
		return err
	}
	defer disk.close()
	db, err := bolt.Open(filepath.Join(r.dir, "peer.db"), 0o600, nil)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	value := make([]byte, size)
	bbolt := func(int) (func() error, func(), error) {
		return func() error {
			return db.Update(func(tx *bolt.Tx) error {
				b, err := tx.CreateBucketIfNotExists([]byte("events"))
				if err != nil {
					return err
				}
				n, err := b.NextSequence()
				if err != nil {
					return err
				}
				return b.Put(fmt.Appendf(nil, "%016x", n), value)
			})
		}, func() {}, nil
	}
	over := func(t *target) writer {
		return func(int) (func() error, func(), error) {
			c, err := dial(ctx, t.addr)
			if err != nil {
				return nil, nil, err
			}
			return func() error { _, err := c.get(t.post(path, 0)); return err }, c.close, nil
		}
	}
	subjects := []contestant{
		{"bbolt, a transaction each", bbolt},
		{huxBearerName, over(r.bearer())},
		{"hux, agent credential and key", over(agent)},
	}
	foreign := r.disturbance()
	rows := [][]string{{"writers", "target", "events/s", "min to max", "raw disk/s", "ratio to disk", "ratio to bbolt", "p50 ms", "p99 ms"}}
	for _, writers := range []int{1, 16, 64} {
		more, err := contest(o.plan, writers, disk, subjects, nil)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	printRows(rows)
	fmt.Printf("\n%d rounds of %v; an event has %d bytes; other programs took %.0f %% of the CPUs.\n", o.plan.rounds, o.plan.duration, size, 100*foreign())
	return nil
}

// contestant is something that writes, by its name in the table.
type contestant struct {
	name string
	writer
}

// contest measures contestants with so many writers each, round by round one
// after the other and each round the disk first, and gives their rows: the
// rate, its ratio to the disk's and to the first one's in the same round, and
// how long a write took. before is called in each round, unless it is nil.
func contest(p plan, writers int, disk *rawDisk, subjects []contestant, before func() error) (rows [][]string, err error) {
	rates, toDisk, toFirst := make([][]float64, len(subjects)), make([][]float64, len(subjects)), make([][]float64, len(subjects))
	took := make([][]time.Duration, len(subjects))
	var raw []float64
	for range p.rounds {
		times, err := many(1, disk.writer, p)
		if err != nil {
			return nil, err
		}
		floor, base := float64(len(times))/p.duration.Seconds(), 0.0
		raw = append(raw, floor)
		if before != nil {
			if err := before(); err != nil {
				return nil, err
			}
		}
		for i, s := range subjects {
			times, err := many(writers, s.writer, p)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			rate := float64(len(times)) / p.duration.Seconds()
			if i == 0 {
				base = rate
			}
			rates[i], toDisk[i], toFirst[i] = append(rates[i], rate), append(toDisk[i], rate/floor), append(toFirst[i], rate/base)
			took[i] = append(took[i], times...)
		}
	}
	for i, s := range subjects {
		mid := middle(rates[i])
		rows = append(rows, []string{strconv.Itoa(writers), s.name, fmt.Sprintf("%.0f", mid),
			fmt.Sprintf("%.0f to %.0f", rates[i][0], rates[i][len(rates[i])-1]), fmt.Sprintf("%.0f", middle(raw)),
			fmt.Sprintf("%.2f", middle(toDisk[i])), fmt.Sprintf("%.2f", middle(toFirst[i])), percentile(took[i], 50), percentile(took[i], 99)})
	}
	return rows, nil
}

// writer makes one of several writers: what it does again and again, and what
// it does at the end.
type writer func(i int) (write func() error, end func(), err error)

// many runs n writers and returns how long each write took that began after
// the warm-up and ended within the time.
func many(n int, w writer, p plan) ([]time.Duration, error) {
	begin := time.Now().Add(p.warm)
	end := begin.Add(p.duration)
	var mu sync.Mutex
	var all []time.Duration
	var failed error
	var stop atomic.Bool
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			write, done, err := w(i)
			var took []time.Duration
			if err == nil {
				defer done()
				for now := time.Now(); now.Before(end) && !stop.Load(); {
					if err = write(); err != nil {
						break
					}
					then := time.Now()
					if !now.Before(begin) && !then.After(end) {
						took = append(took, then.Sub(now))
					}
					now = then
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all = append(all, took...)
			if err != nil {
				stop.Store(true)
				failed = errors.Join(failed, err)
			}
		})
	}
	wg.Wait()
	if failed == nil && len(all) == 0 {
		failed = fmt.Errorf("no write ended within %v", p.duration)
	}
	return all, failed
}

// rawDisk is the floor: 4 KB over 4 KB in a file that has its size already,
// each made durable.
type rawDisk struct {
	f    *os.File
	page []byte
	n    int64
}

const rawPages = 1024

func newRawDisk(path string) (*rawDisk, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	d := &rawDisk{f: f, page: make([]byte, 4<<10)}
	for range rawPages {
		if _, err := f.Write(d.page); err != nil {
			return nil, err
		}
	}
	return d, f.Sync()
}

func (d *rawDisk) writer(int) (func() error, func(), error) {
	return func() error {
		d.n++
		if _, err := d.f.WriteAt(d.page, d.n%rawPages*int64(len(d.page))); err != nil {
			return err
		}
		return syscall.Fdatasync(int(d.f.Fd())) //nolint:gosec // a file descriptor
	}, func() {}, nil
}

func (d *rawDisk) close() { _ = d.f.Close() }
