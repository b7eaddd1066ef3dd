package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	bolt "go.etcd.io/bbolt" //nolint:depguard // here it is a peer to be measured
)

// measureAppend prints how many events a second become durable in one
// conversation, beside what the disk does, beside bbolt with a transaction for
// each event, and beside Mercure. All write to files in the same directory.
func (r *rig) measureAppend() {
	agent, id := r.agent(), conversation(r.bearer)
	event := posted(agent, id)
	db := must(bolt.Open(filepath.Join(r.dir, "peer.db"), 0o600, nil))
	defer func() { _ = db.Close() }()
	bbolt := &subject{name: "bbolt, a transaction each", worker: func(int) (do, end func()) {
		return func() {
			check(db.Update(func(tx *bolt.Tx) error {
				b := must(tx.CreateBucketIfNotExists([]byte("events")))
				return b.Put(fmt.Appendf(nil, "%016x", must(b.NextSequence())), event)
			}))
		}, func() {}
	}}
	appending := func(t *target) *subject {
		return &subject{name: t.name, process: t.process, worker: over(t.addr, func(int) []byte { return t.post(id, 0) })}
	}
	disk := r.rawDisk()
	subjects := []*subject{disk, bbolt, appending(r.bearer), appending(agent)}
	var hub *subject
	if t := r.addMercure(event); t != nil {
		hub = appending(t)
		subjects = append(subjects, hub)
	}
	var rows [][]string
	for _, writers := range r.sizes {
		r.sideBySide(fmt.Sprintf("%d writers", writers), writers, subjects, nil)
		for _, s := range subjects[1:] {
			rows = append(rows, s.row(writers, disk, bbolt, hub))
		}
	}
	printRows("writers|target|events/s|min to max|raw disk/s|ratio to disk|ratio to bbolt|ratio to Mercure|p50 ms|p99 ms", rows)
	fmt.Printf("\nRounds of %v; an event has %d bytes.\n", r.plan.duration, len(event))
}

// row is the subject's cells in a table: its rate, the disk's, its ratios to the
// disk and to each base, and how long one took.
func (s *subject) row(workers int, disk *subject, bases ...*subject) []string {
	cells := []string{strconv.Itoa(workers), s.name, s.rate().median(0), s.rate().ends(0), disk.rate().median(0), s.ratio(disk).median(2)}
	for _, base := range bases {
		cells = append(cells, s.ratio(base).median(2))
	}
	return append(cells, s.took().ms(50), s.took().ms(99))
}

// rawDisk is the floor: 4 KB over 4 KB in a file that has its size already,
// each made durable.
func (r *rig) rawDisk() *subject {
	const pages = 1024
	page, next := make([]byte, 4<<10), int64(0)
	f := must(os.Create(filepath.Join(r.dir, "raw")))
	must(f.Write(make([]byte, pages*len(page))))
	check(f.Sync())
	return &subject{name: "raw disk", workers: 1, worker: func(int) (do, end func()) {
		return func() {
			next++
			must(f.WriteAt(page, next%pages*int64(len(page))))
			check(syscall.Fdatasync(int(f.Fd()))) //nolint:gosec // a file descriptor
		}, func() {}
	}}
}
