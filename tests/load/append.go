package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt" //nolint:depguard // here it is a peer to be measured
)

// measureAppend prints how many events a second become durable in one
// conversation, beside what the disk does, beside bbolt with a transaction for
// each event, and beside Mercure. All write to files in the same directory.
func (r *rig) measureAppend(ctx context.Context, o options) error {
	agent, err := r.agent(ctx, o)
	if err != nil {
		return err
	}
	path, err := conversation(ctx, r.bearer())
	if err != nil {
		return err
	}
	event, err := posted(ctx, agent, path)
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
	update := func(int) (func() error, func(), error) {
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
				return b.Put(fmt.Appendf(nil, "%016x", n), event)
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
	bbolt := &series{name: "bbolt, a transaction each", writer: update}
	subjects := []*series{
		bbolt,
		{name: huxBearerName, writer: over(r.bearer())},
		{name: "hux, agent credential and key", writer: over(agent)},
	}
	hub, err := r.addMercure(ctx, o, event)
	if err != nil {
		return err
	}
	var mercure *series
	if hub != nil {
		mercure = &series{name: hub.name, writer: over(hub)}
		subjects = append(subjects, mercure)
	}
	rows := [][]string{{"writers", "target", "events/s", "min to max", "raw disk/s", "ratio to disk", "ratio to bbolt", "ratio to Mercure", "p50 ms", "p99 ms"}}
	var disturbed []string
	for _, writers := range o.orSizes(1, 16, 64) {
		raw, foreign, err := r.sideBySide(o.plan, writers, disk, subjects, nil)
		if err != nil {
			return err
		}
		for _, s := range subjects {
			rows = append(rows, s.row(writers, raw, bbolt, mercure))
		}
		disturbed = append(disturbed, fmt.Sprintf("%s with %d", foreign, writers))
	}
	printRows(rows)
	fmt.Printf("\nRounds of %v; an event has %d bytes; of the CPUs other programs took %s writers.\n",
		o.plan.duration, len(event), strings.Join(disturbed, ", "))
	return nil
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
