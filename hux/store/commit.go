package store

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
)

// maxShared bounds how many writers share one commit, so that no transaction
// grows without limit.
const maxShared = 256

// commits joins writers: the first that comes leads, commits for all who wait
// when it begins, and hands the lead to one of those who came meanwhile.
type commits struct {
	mu      sync.Mutex
	waiting []*write
	leading bool
}

// write is one Update under way.
type write struct {
	fn       func(*Tx) error
	err      error
	panicked any
	stack    []byte
	turn     chan bool // true: lead the next commit; false: it is done
}

func (c *commits) join(db *DB, fn func(*Tx) error) error {
	w := &write{fn: fn, turn: make(chan bool, 1)}
	c.mu.Lock()
	c.waiting = append(c.waiting, w)
	lead := !c.leading
	c.leading = true
	c.mu.Unlock()
	if lead || <-w.turn {
		c.lead(db)
	}
	if w.panicked != nil {
		panic(fmt.Sprintf("%v\n\nin the transaction:\n%s", w.panicked, w.stack))
	}
	return w.err
}

// lead commits for those who wait, tells them, and passes the lead on. The
// leader is among them: the queue keeps its order.
func (c *commits) lead(db *DB) {
	c.mu.Lock()
	batch := c.waiting
	c.waiting = nil
	if len(batch) > maxShared {
		batch, c.waiting = batch[:maxShared:maxShared], batch[maxShared:]
	}
	c.mu.Unlock()
	commit(db, batch)
	c.mu.Lock()
	var next *write
	if len(c.waiting) > 0 {
		next = c.waiting[0]
	} else {
		c.leading = false
	}
	c.mu.Unlock()
	if next != nil {
		next.turn <- true
	}
	for _, w := range batch[1:] {
		w.turn <- false
	}
}

// errAgain undoes a transaction in which a writer failed after it had written.
var errAgain = errors.New("run again without the writer that failed")

// commit runs the writers in one transaction. One that fails is thrown out:
// at once if it had written nothing, else by running the others again. Where
// the commit itself fails, all are told.
func commit(db *DB, batch []*write) {
	in := batch
	for len(in) > 0 {
		failed := -1
		err := db.update(false, func(t engineTx) error {
			failed = -1
			ok := make([]*write, 0, len(in))
			for i, w := range in {
				tx := &Tx{engine: t}
				w.run(tx)
				switch {
				case w.err == nil:
					ok = append(ok, w)
				case tx.wrote:
					failed = i
					in = append(ok, in[i+1:]...)
					return errAgain
				}
			}
			in = ok
			return nil
		})
		if failed >= 0 {
			continue
		}
		for _, w := range in {
			switch {
			case errors.Is(err, ErrQuota):
				alone(db, w)
			case err != nil:
				w.err = err
			}
		}
		return
	}
}

// alone commits one writer in a database that has reached its quota: for its
// size its neighbours are not refused, and one that takes something away may
// use what is spared for that.
func alone(db *DB, w *write) {
	for _, spare := range []bool{false, true} {
		tx := &Tx{}
		err := db.update(spare, func(t engineTx) error {
			*tx = Tx{engine: t}
			w.run(tx)
			return w.err
		})
		if w.err = err; !errors.Is(err, ErrQuota) || !tx.deleted {
			return
		}
	}
}

func (w *write) run(tx *Tx) {
	defer func() {
		if p := recover(); p != nil {
			if damage(p) != "" {
				panic(p) // the file's, not the writer's
			}
			w.panicked, w.stack, w.err = p, debug.Stack(), errors.New("the transaction panicked")
		}
	}()
	w.err = w.fn(tx)
}
