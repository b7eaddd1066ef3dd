package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// boltEngine is one bbolt file.
type boltEngine struct {
	db    *bolt.DB
	quota int

	// bbolt shows a commit to readers once its meta page is written, before that
	// is synced. A reader that is so early waits here for the outcome.
	mu        sync.Mutex
	ended     sync.Cond // a commit has ended, one way or the other
	confirmed int       // the last transaction that is on disk
	failed    int       // the last whose commit failed
}

// spareBytes is what a delete may take beyond the quota: bbolt writes the pages
// that it changes anew, and at the quota nothing could be taken away any more.
const spareBytes = 4 << 20

// pageSize is of new files; an older one keeps its own. Of events, which have
// some 700 bytes, a page of the usual 4 KiB holds three on average.
const pageSize = 8 << 10

// fill is how full a page of events and records is left behind as new ones
// come after it. bbolt's own half is for keys that come in any order.
const fill = 0.9

func openBolt(path string, quota int64) (e *boltEngine, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // a file that was cut faults where it is read
	defer func() {
		if p := recover(); p != nil { // bbolt panics on some kinds of damage
			err = fmt.Errorf("open %s: %w", filepath.Base(path), ErrCorrupt)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	_, statErr := os.Stat(path)
	db, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:         time.Second,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: 64 << 20, // so that a writer never waits for a reader in order to remap
		MaxSize:         int(quota),
		NoStatistics:    true,
		PageSize:        pageSize,
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch),
		err != nil && strings.Contains(err.Error(), "file size too small"): // bbolt has no name for it
		return nil, fmt.Errorf("open %s: %w: %w", filepath.Base(path), ErrCorrupt, err)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	db.AllocSize = 1 << 20 // with the larger map bbolt would grow a new file by 16 MiB at once
	if errors.Is(statErr, fs.ErrNotExist) {
		if err := syncDir(filepath.Dir(path)); err != nil { // bbolt does not: a power cut could lose the new file's name
			return nil, errors.Join(err, db.Close())
		}
	}
	if err := syncMeta(path, db.Info().PageSize); err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", filepath.Base(path), err), db.Close())
	}
	e = &boltEngine{db: db, quota: int(quota)}
	e.ended.L = &e.mu
	return e, db.View(func(tx *bolt.Tx) error { e.confirmed = tx.ID(); return nil })
}

// onDisk waits until a transaction that is visible is on disk, or says that its
// commit failed. The wait is for that one commit's sync, which needs no reader
// to end.
func (e *boltEngine) onDisk(id int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id > e.confirmed {
		if id <= e.failed {
			return ErrFailed
		}
		e.ended.Wait()
	}
	return nil
}

// syncMeta writes bbolt's two meta pages again as they are read. After a failed
// fsync, in this process or the last, the page cache may show a meta page that
// the disk does not hold and that Linux takes for written. The next commit
// would write over pages that the disk's own meta page still needs, and a power
// cut leave nothing. What the meta pages lead to was synced before them.
func syncMeta(path string, pageSize int) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	meta := make([]byte, 2*pageSize)
	n, err := f.ReadAt(meta, 0)
	if errors.Is(err, io.EOF) {
		err = nil // cut: the page that is whole is enough for bbolt
	}
	if err == nil {
		_, err = f.WriteAt(meta[:n], 0)
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (e *boltEngine) close() error { return e.db.Close() }

func (e *boltEngine) view(fn func(engineTx) error) error {
	return guard(func(t engineTx) error {
		if err := e.onDisk(t.(boltTx).tx.ID()); err != nil {
			return err
		}
		return fn(t)
	}, e.db.View)
}

func (e *boltEngine) update(spare bool, fn func(engineTx) error) error {
	if e.quota > 0 { // read by this writer alone: there is one at a time
		e.db.MaxSize = e.quota
		if spare {
			e.db.MaxSize += spareBytes
		}
	}
	id, committed := 0, false
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if committed {
			e.confirmed = id
		} else {
			e.failed = id
		}
		e.ended.Broadcast()
	}()
	err := guard(func(t engineTx) error {
		id = t.(boltTx).tx.ID()
		e.mu.Lock()
		e.failed = 0 // the number of one that was undone is given out again
		e.mu.Unlock()
		return fn(t)
	}, e.db.Update)
	committed = err == nil
	return err
}

// pageFault is bbolt's panic over a page that is not what it should be.
type pageFault string

// own makes bbolt's panics, which are texts, pageFaults. It is deferred where
// bbolt runs and none of ours.
func own() {
	switch p := recover().(type) {
	case nil:
	case string:
		panic(pageFault(p))
	default:
		panic(p)
	}
}

// damage is what a panic in a transaction says of the file: a pageFault, or a
// fault where it is mapped (cut or unreadable under us). "" is a panic of
// another kind.
func damage(p any) string {
	if fault, ok := p.(pageFault); ok {
		return string(fault)
	}
	if _, ok := p.(interface{ Addr() uintptr }); ok {
		return "a part of the file can't be read"
	}
	return ""
}

// guard runs fn in a transaction and turns damage of the file into an error, so
// that it never takes the process down.
func guard(fn func(engineTx) error, transaction func(func(*bolt.Tx) error) error) (err error) {
	inside := false // fn
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if text, ok := p.(string); ok && !inside {
				p = pageFault(text) // while it begins or commits
			}
			what := damage(p)
			if what == "" {
				panic(p)
			}
			err = fmt.Errorf("%w: %s", ErrCorrupt, what)
		}
	}()
	err = transaction(func(tx *bolt.Tx) error {
		inside = true
		err := fn(boltTx{tx})
		inside = false
		return err
	})
	switch {
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return ErrQuota
	case full(err):
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return ErrClosed
	default:
		return err
	}
}

// full says whether a write found no room. That is not fdatasync's own ENOSPC,
// which has no path and comes after the pages were given to the disk.
func full(err error) bool {
	if err == nil {
		return false
	}
	var write *fs.PathError
	return errors.As(err, &write) && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)) ||
		strings.Contains(err.Error(), "file resize error") // bbolt keeps no more than its text
}

type boltTx struct{ tx *bolt.Tx }

func (t boltTx) get(bucket, key string) []byte {
	defer own()
	if b := t.tx.Bucket([]byte(bucket)); b != nil {
		return b.Get([]byte(key))
	}
	return nil
}

func (t boltTx) put(bucket, key string, value []byte) error {
	defer own()
	b, err := t.tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	b.FillPercent = fill
	return b.Put([]byte(key), value)
}

func (t boltTx) delete(bucket, key string) error {
	defer own()
	if b := t.tx.Bucket([]byte(bucket)); b != nil {
		return b.Delete([]byte(key))
	}
	return nil
}

func (t boltTx) next(bucket string) (uint64, error) {
	defer own()
	b, err := t.tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return 0, err
	}
	return b.NextSequence()
}

func (t boltTx) commits() int { return t.tx.ID() }

func (t boltTx) scan(bucket, from string, backwards bool, fn func(string, []byte) bool) error {
	defer own() // fn just looks at what it is given
	b := t.tx.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	c := b.Cursor()
	if backwards {
		k, v := c.Last()
		if from != "" {
			if k, _ = c.Seek([]byte(from)); k == nil {
				k, v = c.Last()
			} else {
				k, v = c.Prev()
			}
		}
		for ; k != nil && fn(string(k), v); k, v = c.Prev() {
		}
		return nil
	}
	for k, v := c.Seek([]byte(from)); k != nil && fn(string(k), v); k, v = c.Next() {
	}
	return nil
}
