// Package store keeps what must last. The rest of the program sees buckets of
// keys and values inside transactions. Only this package knows the engine
// below, and it is the only one that imports bbolt. When Update has returned
// nil, its writes are on disk.
package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Errors of a database that callers tell apart.
var (
	ErrLocked  = errors.New("the database is in use by another process")
	ErrCorrupt = errors.New("the database is damaged")
	ErrQuota   = errors.New("the database has reached its quota")
	ErrFull    = errors.New("the disk is full")
	ErrClosed  = errors.New("the database is closed")

	// ErrFailed is a commit that the disk did not confirm. Its writes may turn
	// out to be there or not: who tries again has to look, or to use the same
	// idempotency key. The next use of the database opens it again first.
	ErrFailed = errors.New("the commit failed")
)

// engine is what a database needs of the software below it.
type engine interface {
	view(fn func(engineTx) error) error
	// update runs fn and commits durably; an error of fn or of the commit
	// leaves nothing of what fn wrote. With spare it may go beyond the quota by
	// a little.
	update(spare bool, fn func(engineTx) error) error
	// close waits for open transactions; what begins later is ErrClosed. It may
	// be called again.
	close() error
}

// engineTx is one transaction of an engine. Values are valid until it ends.
type engineTx interface {
	get(bucket, key string) []byte
	put(bucket, key string, value []byte) error
	delete(bucket, key string) error
	// scan calls fn for keys from on, in order or backwards from the last key
	// before it, until fn answers false.
	scan(bucket, from string, backwards bool, fn func(key string, value []byte) bool) error
	next(bucket string) (uint64, error)
	// commits is how many commits the database has had before this transaction.
	commits() int
}

// DB is one open database. It is safe for concurrent use.
type DB struct {
	open    func() (engine, error)
	commits commits

	mu     sync.Mutex // held while opening again and closing, never by a transaction
	engine engine
	failed bool // a commit failed: the engine is not to be used any more
	closed bool
}

// Open opens the database in the file at path. If it is missing, Open makes it
// and its folder, with mode 0700. quota is its size in bytes at most; 0: no
// limit. A damaged file is ErrCorrupt, never a panic.
func Open(path string, quota int64) (*DB, error) {
	db := &DB{open: func() (engine, error) { return openBolt(path, quota) }}
	var err error
	if db.engine, err = db.open(); err != nil {
		return nil, err
	}
	return db, nil
}

// Close waits for open transactions and closes the database.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.closed = true
	return db.engine.close()
}

// current is the engine to use; after a failed commit it is opened again first.
func (db *DB) current() (engine, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.failed && !db.closed {
		if err := db.engine.close(); err != nil {
			return nil, err
		}
		e, err := db.open()
		if err != nil {
			return nil, err
		}
		db.engine, db.failed = e, false
	}
	return db.engine, nil
}

// update runs fn in a transaction of the engine. If the commit fails for
// another reason than a lack of room, nobody knows what the disk holds: Linux
// drops pages that it could not write and takes them for written. So nobody
// reads or writes the database before it has been opened again.
func (db *DB) update(spare bool, fn func(engineTx) error) error {
	e, err := db.current()
	if err != nil {
		return err
	}
	committing := false
	err = e.update(spare, func(t engineTx) error {
		err := fn(t)
		committing = err == nil
		return err
	})
	if err == nil || !committing || errors.Is(err, ErrQuota) || errors.Is(err, ErrFull) {
		return err
	}
	db.mu.Lock()
	db.failed = true
	db.mu.Unlock()
	return fmt.Errorf("%w: %w", ErrFailed, err)
}

// View runs fn in a read transaction. fn must not wait for a client: a long
// transaction keeps old pages alive and can hold up a writer. fn must not begin
// another transaction either, which could wait for the end of this one.
func (db *DB) View(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	e, err := db.current()
	if err != nil {
		return err
	}
	return e.view(func(t engineTx) error { return fn(&Tx{engine: t}) })
}

// Update runs fn in a write transaction and returns once its writes are
// durable. If fn returns an error, nothing of them stays.
//
// A commit covers all the callers that came while the commit before it ran; a
// caller that comes alone does not wait. So fn may run more than once: it runs
// again when another caller's function in the same transaction fails. fn must
// touch nothing outside the transaction, and what it leaves in variables counts
// only after Update has returned nil. fn should check before it writes, since
// an error after a write makes the other functions run again.
func (db *DB) Update(ctx context.Context, fn func(*Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return db.commits.join(db, fn)
}

// Reader reads in a transaction. Tx is one. record.Change is another one, whose
// Get also sees writes that are not in the transaction yet.
type Reader interface {
	// Get is a copy of the value of key in bucket, or nil.
	Get(bucket, key string) []byte
	// Scan calls fn for the entries of bucket whose keys start with prefix and
	// are not before from, in key order, until fn answers false. value is valid
	// during the call alone, and fn must not write.
	Scan(bucket, prefix, from string, fn func(key string, value []byte) bool) error
	// ScanBack is Scan from the last entry before the key before, or from the
	// prefix's last where that is "", to its first.
	ScanBack(bucket, prefix, before string, fn func(key string, value []byte) bool) error
	// List copies the entries of bucket whose keys start with prefix, in key
	// order.
	List(bucket, prefix string) []Entry
}

// Tx is a transaction.
type Tx struct {
	engine  engineTx
	wrote   bool
	deleted bool
}

// Get is Reader's.
func (tx *Tx) Get(bucket, key string) []byte {
	v := tx.engine.get(bucket, key)
	if v == nil {
		return nil
	}
	return append([]byte{}, v...)
}

// Put sets the value of key in bucket.
func (tx *Tx) Put(bucket, key string, value []byte) error {
	tx.wrote = true
	return tx.engine.put(bucket, key, value)
}

// Delete removes key from bucket; a missing key is no error.
func (tx *Tx) Delete(bucket, key string) error {
	tx.wrote, tx.deleted = true, true
	return tx.engine.delete(bucket, key)
}

// Next gives the next number of the bucket's own sequence, which begins at 1.
func (tx *Tx) Next(bucket string) (uint64, error) {
	tx.wrote = true
	return tx.engine.next(bucket)
}

// Scan is Reader's.
func (tx *Tx) Scan(bucket, prefix, from string, fn func(key string, value []byte) bool) error {
	return tx.engine.scan(bucket, max(prefix, from), false, func(k string, v []byte) bool {
		return hasPrefix(k, prefix) && fn(k, v)
	})
}

// ScanBack is Reader's.
func (tx *Tx) ScanBack(bucket, prefix, before string, fn func(key string, value []byte) bool) error {
	if before == "" {
		before = afterPrefix(prefix)
	}
	return tx.engine.scan(bucket, before, true, func(k string, v []byte) bool {
		return hasPrefix(k, prefix) && fn(k, v)
	})
}

// Entry is a key with its value.
type Entry struct {
	Key   string
	Value []byte
}

// List is Reader's. The copy may be walked while the bucket is written.
func (tx *Tx) List(bucket, prefix string) []Entry {
	var entries []Entry
	_ = tx.Scan(bucket, prefix, "", func(k string, v []byte) bool { // reading a mapped file gives no error
		entries = append(entries, Entry{k, append([]byte{}, v...)})
		return true
	})
	return entries
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }

// afterPrefix is the least string after all that start with prefix; "" where
// there is none.
func afterPrefix(prefix string) string {
	b := []byte(prefix)
	for i := len(b) - 1; i >= 0; i-- {
		if b[i] < 0xff {
			b[i]++
			return string(b[:i+1])
		}
	}
	return ""
}
