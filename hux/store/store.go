// Package store keeps what must last in bbolt files. It is the only importer
// of bbolt; the rest of the program sees buckets of keys and values inside a
// transaction. What Update returned nil for is on disk.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// ErrLocked means that another process holds the file.
var ErrLocked = errors.New("the database is in use by another process")

// DB is one open database file.
type DB struct{ bolt *bolt.DB }

// Tx is a transaction. Values it hands out are copies and stay valid after it.
type Tx struct{ bolt *bolt.Tx }

// Open opens the file at path, and makes it (and its folder, mode 0700) where
// it is missing. A damaged file is an error, never a panic.
func Open(path string) (db *DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("open %s: damaged: %v", filepath.Base(path), p)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	_, statErr := os.Stat(path)
	b, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:         time.Second,
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: 64 << 20, // so that a writer never waits for a reader in order to remap
		NoStatistics:    true,
	})
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, ErrLocked
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	b.AllocSize = 1 << 20 // with the larger map bbolt would grow a new file by 16 MiB at once
	if errors.Is(statErr, fs.ErrNotExist) {
		if err := syncDir(filepath.Dir(path)); err != nil { // bbolt does not: a power cut could lose the new file's name
			return nil, errors.Join(err, b.Close())
		}
	}
	return &DB{bolt: b}, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close waits for open transactions and closes the file.
func (db *DB) Close() error { return db.bolt.Close() }

// View runs fn in a read transaction. fn must not wait for a client.
func (db *DB) View(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return guard(func() error {
		return db.bolt.View(func(tx *bolt.Tx) error { return fn(&Tx{tx}) })
	})
}

// Update runs fn in the write transaction and commits it durably; an error
// from fn undoes all that it wrote.
func (db *DB) Update(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return guard(func() error {
		return db.bolt.Update(func(tx *bolt.Tx) error { return fn(&Tx{tx}) })
	})
}

// guard turns a fault in the mapped file (cut or unreadable under us) into an
// error, so that a damaged file never takes the process down.
func guard(run func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			if fault, ok := p.(interface{ Addr() uintptr }); ok {
				err = fmt.Errorf("the database file is damaged (fault at %x)", fault.Addr())
				return
			}
			panic(p)
		}
	}()
	return run()
}

// Get is a copy of the value of key in bucket, or nil.
func (tx *Tx) Get(bucket, key string) []byte {
	b := tx.bolt.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	return bytes.Clone(b.Get([]byte(key)))
}

// Put sets the value of key in bucket.
func (tx *Tx) Put(bucket, key string, value []byte) error {
	b, err := tx.bolt.CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return err
	}
	return b.Put([]byte(key), value)
}

// Delete removes key from bucket; a missing key is no error.
func (tx *Tx) Delete(bucket, key string) error {
	b := tx.bolt.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	return b.Delete([]byte(key))
}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
}

// List copies the entries of bucket whose keys start with prefix, in key
// order. The copy may be walked while the bucket is written.
func (tx *Tx) List(bucket, prefix string) []Entry {
	b := tx.bolt.Bucket([]byte(bucket))
	if b == nil {
		return nil
	}
	var entries []Entry
	c := b.Cursor()
	for k, v := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, v = c.Next() {
		entries = append(entries, Entry{string(k), bytes.Clone(v)})
	}
	return entries
}
