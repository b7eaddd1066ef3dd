package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// boltEngine is one bbolt file.
type boltEngine struct{ db *bolt.DB }

func openBolt(path string, quota int64) (e *boltEngine, err error) {
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
	})
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.Is(err, berrors.ErrInvalid), errors.Is(err, berrors.ErrChecksum), errors.Is(err, berrors.ErrVersionMismatch):
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
	return &boltEngine{db}, nil
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
	return guard(func() error {
		return e.db.View(func(tx *bolt.Tx) error { return fn(boltTx{tx}) })
	})
}

func (e *boltEngine) update(fn func(engineTx) error) error {
	return guard(func() error {
		return e.db.Update(func(tx *bolt.Tx) error { return fn(boltTx{tx}) })
	})
}

// guard turns a fault in the mapped file (cut or unreadable under us) into an
// error, so that a damaged file never takes the process down.
func guard(run func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(interface{ Addr() uintptr }); !ok {
				panic(p)
			}
			err = fmt.Errorf("%w: a part of the file can't be read", ErrCorrupt)
		}
	}()
	switch err := run(); {
	case errors.Is(err, berrors.ErrMaxSizeReached):
		return ErrQuota
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT),
		err != nil && strings.Contains(err.Error(), "file resize error"): // bbolt keeps no more than its text
		return fmt.Errorf("%w: %w", ErrFull, err)
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return ErrClosed
	default:
		return err
	}
}

type boltTx struct{ tx *bolt.Tx }

func (t boltTx) get(bucket, key string) []byte {
	if b := t.tx.Bucket([]byte(bucket)); b != nil {
		return b.Get([]byte(key))
	}
	return nil
}

func (t boltTx) put(bucket, key string, value []byte) error {
	b, err := t.tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(key), value)
}

func (t boltTx) delete(bucket, key string) error {
	if b := t.tx.Bucket([]byte(bucket)); b != nil {
		return b.Delete([]byte(key))
	}
	return nil
}

func (t boltTx) next(bucket string) (uint64, error) {
	b, err := t.tx.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return 0, err
	}
	return b.NextSequence()
}

func (t boltTx) scan(bucket, from string, backwards bool, fn func(string, []byte) bool) error {
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
