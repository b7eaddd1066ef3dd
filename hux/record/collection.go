// Package record is the one way in which mutable records are kept: a typed
// collection that knows revisions, preconditions, state machines, idempotency
// and the events that go with a change, all in one transaction. A card says
// what its record is, in a Spec; what is not common to all stays in the card.
package record

import (
	"bytes"
	"encoding/json"
	"net/http"
	"sync"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

// Spec is what a collection must know of its record.
type Spec[T any] struct {
	Name   string // its schema, such as hux.conversation.v1
	Prefix string // of its ids, such as cnv
	Meta   func(*T) *hux.Meta
	State  func(*T) *string               // nil where it has no states
	States hux.Machine                    // the moves between them
	Check  func(tx *store.Tx, r *T) error // what a schema can't say; pure but for reading tx
	Fill   func(tx *store.Tx, r *T) error // reads the members that move without a revision; nil where none does
}

// Collection keeps the records of one Spec.
type Collection[T any] struct {
	spec Spec[T]
	log  *event.Log

	mu     sync.Mutex
	peeked map[string]decoded[T] // by id
}

// decoded is a record with the bytes that it was read from.
type decoded[T any] struct {
	value  []byte
	record *T
}

// New makes a collection whose changes are told to log.
func New[T any](spec Spec[T], log *event.Log) *Collection[T] {
	return &Collection[T]{spec: spec, log: log, peeked: map[string]decoded[T]{}}
}

// Load reads a record that the caller may see; every other is not_found, as an
// unknown id is.
func (c *Collection[T]) Load(tx *store.Tx, call *api.Call, id string) (*T, error) {
	r, err := c.Read(tx, id)
	if err != nil {
		return nil, err
	}
	if r == nil || !call.Sees(c.spec.Meta(r).Owner) {
		return nil, hux.Errorf(hux.NotFound, "There is no such record.")
	}
	return r, nil
}

// Peek is Load for those who only look: the record is shared and must not be
// changed. One that many requests in a row look at is decoded once.
func (c *Collection[T]) Peek(tx *store.Tx, call *api.Call, id string) (*T, error) {
	value := c.get(tx, id)
	c.mu.Lock()
	have, ok := c.peeked[id]
	c.mu.Unlock()
	if !ok || !bytes.Equal(have.value, value) {
		r, err := c.decode(id, value)
		if err != nil {
			return nil, err
		}
		have = decoded[T]{value, r}
		if r != nil {
			c.remember(id, have)
		}
	}
	if have.record == nil || !call.Sees(c.spec.Meta(have.record).Owner) {
		return nil, hux.Errorf(hux.NotFound, "There is no such record.")
	}
	return have.record, nil
}

// maxPeeked bounds the records that are kept decoded, of all tenants together.
const maxPeeked = 512

func (c *Collection[T]) remember(id string, d decoded[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for old := range c.peeked { // any will do
		if len(c.peeked) < maxPeeked {
			break
		}
		delete(c.peeked, old)
	}
	c.peeked[id] = d
}

// Read reads a record, whoever owns it, or nil.
func (c *Collection[T]) Read(tx *store.Tx, id string) (*T, error) { return c.decode(id, c.get(tx, id)) }

func (c *Collection[T]) get(tx *store.Tx, id string) []byte {
	if !hux.ValidID(c.spec.Prefix, id) {
		return nil
	}
	return tx.Get(c.spec.Name, id)
}

// decode makes a record of its value; nil of none.
func (c *Collection[T]) decode(id string, value []byte) (*T, error) {
	if value == nil {
		return nil, nil
	}
	r := new(T)
	if err := store.Decode(c.spec.Name, id, value, r); err != nil {
		return nil, err
	}
	return r, nil
}

// Create writes the record that fn makes around a new envelope.
func (c *Collection[T]) Create(tx *store.Tx, call *api.Call, owner hux.User, fn func(hux.Meta) *T) (*T, error) {
	p := call.Provenance()
	r := fn(hux.Meta{
		Schema: c.spec.Name, ID: hux.NewID(c.spec.Prefix), Owner: owner, Revision: 1,
		CreatedAt: p.Time, UpdatedAt: p.Time, Provenance: p,
	})
	return r, c.put(tx, r)
}

// Change writes what fn makes of a record that the caller may see, as its next
// revision; where fn changes nothing there is none. The precondition is held
// first, and a change of state must be one of the legal moves.
func (c *Collection[T]) Change(tx *store.Tx, call *api.Call, id string, p *api.Precondition, fn func(*T) error) (*T, error) {
	r, err := c.Load(tx, call, id)
	if err != nil {
		return nil, err
	}
	if p != nil {
		m := c.spec.Meta(r)
		if err := p.Check(m.ID, m.Revision); err != nil {
			return nil, err
		}
	}
	return r, c.Alter(tx, r, fn)
}

// Alter is Change of a record that was read already, such as one that the
// router itself moves on.
func (c *Collection[T]) Alter(tx *store.Tx, r *T, fn func(*T) error) error {
	before := ""
	if c.spec.State != nil {
		before = *c.spec.State(r)
	}
	was, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := fn(r); err != nil {
		return err
	}
	if is, err := json.Marshal(r); err != nil || bytes.Equal(is, was) {
		return err
	}
	if c.spec.State != nil {
		if after := *c.spec.State(r); after != before {
			if err := c.spec.States.Check(before, after); err != nil {
				return err
			}
		}
	}
	m := c.spec.Meta(r)
	m.Revision++
	m.UpdatedAt = hux.Now()
	return c.put(tx, r)
}

// Keep writes members of a record that move without a revision.
func (c *Collection[T]) Keep(tx *store.Tx, r *T) error { return c.put(tx, r) }

func (c *Collection[T]) fill(tx *store.Tx, r *T) error {
	if c.spec.Fill == nil {
		return nil
	}
	return c.spec.Fill(tx, r)
}

func (c *Collection[T]) put(tx *store.Tx, r *T) error {
	if c.spec.Check != nil {
		if err := c.spec.Check(tx, r); err != nil {
			return err
		}
	}
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return tx.Put(c.spec.Name, c.spec.Meta(r).ID, value)
}

// maxListed is how many records a list reads for one page.
const maxListed = 5000

// PageBytes is how large the records of one page of a list are together, unless
// there is just one: many that are large must not make an answer that is huge.
const PageBytes = 1 << 20

// List gives the caller's records that keep says yes to, newest first. Where
// maxListed records were read, or PageBytes found, before the page was full, it
// is short, even empty, and next goes on behind them.
func (c *Collection[T]) List(tx *store.Tx, call *api.Call, l api.List, keep func(*T) bool) (items []*T, next *string, err error) {
	items = []*T{}
	seen, size, last := 0, 0, ""
	more := func() bool {
		cursor := l.Next(last)
		next = &cursor
		return false
	}
	scanErr := tx.ScanBack(c.spec.Name, "", l.After, func(id string, value []byte) bool {
		if seen == maxListed {
			return more()
		}
		r := new(T)
		if err = store.Decode(c.spec.Name, id, value, r); err != nil {
			return false
		}
		kept := call.Sees(c.spec.Meta(r).Owner) && keep(r)
		if kept && (len(items) == l.Limit || len(items) > 0 && size+len(value) > PageBytes) {
			return more()
		}
		if kept {
			items, size = append(items, r), size+len(value)
		}
		seen, last = seen+1, id
		return true
	})
	if err == nil {
		err = scanErr
	}
	return items, next, err
}

// Write runs fn in one transaction with the idempotency of its request, and
// answers. fn says which record it made or changed and with which status; the
// record is read again for a replay, so that what was forgotten since is not
// told.
func (c *Collection[T]) Write(w http.ResponseWriter, r *http.Request, call *api.Call, key Key,
	fn func(tx *store.Tx) (rec *T, status int, events []*event.Event, err error)) error {
	var rec *T
	var status int
	var told []*event.Event
	replayed := false
	err := call.DB.Update(r.Context(), func(tx *store.Tx) error {
		rec, told, replayed = nil, nil, false
		before, err := key.Replay(tx)
		if err != nil {
			return err
		}
		if before != nil {
			replayed, status = true, before.Status
			if rec, err = c.Load(tx, call, before.ID); err != nil {
				return err
			}
			return c.fill(tx, rec)
		}
		if rec, status, told, err = fn(tx); err != nil {
			return err
		}
		for _, e := range told {
			if err := event.Append(tx, e); err != nil {
				return err
			}
		}
		if err := c.fill(tx, rec); err != nil {
			return err
		}
		return key.Save(tx, Outcome{status, c.spec.Meta(rec).ID})
	})
	if err != nil {
		return err
	}
	for _, e := range told {
		c.log.Committed(call.Tenant(), e.ConversationID)
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	m := c.spec.Meta(rec)
	w.Header().Set("ETag", api.ETag(m.ID, m.Revision))
	return api.JSON(w, status, rec)
}

// Answer answers a GET of one record. Where moves says that some of its members
// change while the revision stays, If-None-Match counts for nothing: the tag is
// for writes alone.
func (c *Collection[T]) Answer(w http.ResponseWriter, r *http.Request, rec *T, moves bool) error {
	m := c.spec.Meta(rec)
	w.Header().Set("ETag", api.ETag(m.ID, m.Revision))
	if !moves && api.NotModified(r, m.ID, m.Revision) {
		w.Header().Set("Cache-Control", "no-store, no-transform")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return api.JSON(w, http.StatusOK, rec)
}

// Page is the body of a list.
type Page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}
