package record

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

// Index finds records by their values.
type Index[T any] struct {
	Name   string
	Values func(*T) []string // the values by which a record is found; none: it is not in the index
	Tenant bool              // one index for all owners of the tenant, instead of one for each
	// Generation goes up by one when Values comes to mean something else.
	// Databases that were written with a lower one have their indexes built
	// anew.
	Generation int
}

// Indexes that are not a card's to declare.
const (
	everything     = ""             // all records of an owner
	ofConversation = "conversation" // those that hang on one
)

func (c *Collection[T]) indexBucket() string { return "index " + c.spec.Name } // hash of index, owner and value, and id → nothing

// place begins the rows of the records with a value; the record's id ends them.
func (c *Collection[T]) place(x Index[T], owner hux.User, value string) string {
	if x.Tenant {
		owner = ""
	}
	return c.frame.Keys.Short("index", c.spec.Name, x.Name, string(owner), value)
}

// rows are the index rows of a record; none for nil.
func (c *Collection[T]) rows(r *T) map[string]bool {
	rows := map[string]bool{}
	if r == nil {
		return rows
	}
	m := c.spec.Meta(r)
	for _, x := range c.spec.Indexes {
		for _, value := range x.Values(r) {
			rows[c.place(x, m.Owner, value)+m.ID] = true
		}
	}
	return rows
}

// reindex replaces the index rows of a record as it was by those of it as it is.
func (c *Collection[T]) reindex(ch *Change, before, now *T) {
	old, rows := c.rows(before), c.rows(now)
	for row := range old {
		if !rows[row] {
			ch.Delete(c.indexBucket(), row)
		}
	}
	for row := range rows {
		if !old[row] {
			ch.Put(c.indexBucket(), row, []byte{})
		}
	}
}

const buildsBucket = "indexes" // collection → build, as JSON

// build says how far the indexes of a collection are built.
type build struct {
	Generations map[string]int `json:"generations"` // by index
	Dropping    bool           `json:"dropping"`    // the rows of an earlier build are being deleted
	After       string         `json:"after"`       // the last record that is in the indexes
	Done        bool           `json:"done"`
}

// mostBuilt is how many records one transaction puts into the indexes, so that
// it holds nobody up.
const mostBuilt = 1000

// built reads how far the collection's indexes are built. It refuses indexes
// that a newer hux has written.
func (c *Collection[T]) built(tx store.Reader) (b build, err error) {
	if value := tx.Get(buildsBucket, c.spec.Name); value != nil {
		if err := store.Decode(buildsBucket, c.spec.Name, value, &b); err != nil {
			return b, err
		}
	}
	own := map[string]int{}
	for _, x := range c.spec.Indexes {
		own[x.Name] = x.Generation
		if b.Generations[x.Name] > x.Generation {
			return b, fmt.Errorf("the index %q of %s was written by a newer hux: run that one, or restore a backup of this one", x.Name, c.spec.Name)
		}
	}
	if !maps.Equal(own, b.Generations) {
		b = build{Generations: own, Dropping: true}
	}
	return b, nil
}

// buildMore builds the collection's indexes for one more transaction, and
// reports whether they are done.
func (c *Collection[T]) buildMore(tx *store.Tx) (done bool, err error) {
	b, err := c.built(tx)
	if err != nil || b.Done {
		return err == nil, err
	}
	if b.Dropping {
		var rows []string
		err := tx.Scan(c.indexBucket(), "", "", func(row string, _ []byte) bool {
			rows = append(rows, row)
			return len(rows) < mostBuilt
		})
		for _, row := range rows {
			if err == nil {
				err = tx.Delete(c.indexBucket(), row)
			}
		}
		if err != nil {
			return false, err
		}
		b.Dropping = len(rows) == mostBuilt
	}
	if !b.Dropping {
		var rows []string
		seen := 0
		err := tx.Scan(c.spec.Name, "", b.After, func(id string, value []byte) bool {
			if id == b.After {
				return true
			}
			r, err := c.decode(id, value)
			if err != nil { // it is found by its id alone, and whoever reads it is told; the others go on
				slog.Error("a record can't be read, and stands in no index", "cause", err)
			}
			for row := range c.rows(r) {
				rows = append(rows, row)
			}
			b.After = id
			seen++
			return seen < mostBuilt
		})
		for _, row := range rows {
			if err == nil {
				err = tx.Put(c.indexBucket(), row, []byte{})
			}
		}
		if err != nil {
			return false, err
		}
		b.Done = seen < mostBuilt
	}
	value, err := json.Marshal(b)
	if err != nil {
		return false, err
	}
	return b.Done, tx.Put(buildsBucket, c.spec.Name, value)
}

// collection is a Collection of any kind of record.
type collection interface {
	name() string
	meta(tx store.Reader, id string) (*hux.Meta, error)
	forget(ch *Change, conversationID string, most int) (removed int, err error)
	built(tx store.Reader) (build, error)
	buildMore(tx *store.Tx) (done bool, err error)
}

// Prepare makes a database ready before anybody uses it: it gives a new one its
// epoch, and builds missing indexes.
func (f *Frame) Prepare(db *store.DB) error {
	ctx := context.Background()
	if err := event.Begin(db); err != nil {
		return err
	}
	missing := false
	err := db.View(ctx, func(tx *store.Tx) error {
		for _, c := range f.collections {
			b, err := c.built(tx)
			if err != nil {
				return err
			}
			missing = missing || !b.Done
		}
		return nil
	})
	for err == nil && missing {
		err = db.Update(ctx, func(tx *store.Tx) error {
			missing = false
			for _, c := range f.collections {
				done, err := c.buildMore(tx)
				if err != nil {
					return err
				}
				missing = missing || !done
			}
			return nil
		})
	}
	return err
}
