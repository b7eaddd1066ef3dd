// Package record is the one way in which mutable records are kept. A Change is
// one transaction. A Collection keeps the records of one kind, with their
// revisions, preconditions, moves between states and indexes. A card describes
// its record once, in a Spec. What only one card needs stays in that card.
package record

import (
	"bytes"
	"encoding/json"
	"sync"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Spec describes a kind of record.
type Spec[T any] struct {
	Name    string // its schema, such as hux.conversation.v1
	Prefix  string // of its ids, such as cnv
	Meta    func(*T) *hux.Meta
	State   func(*T) *string // nil if it has no states
	States  hux.Machine      // the legal moves between its states
	Indexes []Index[T]       // besides the index of all records of an owner, which every kind has
	// Fill sets the members that change without a revision, before a record goes
	// into an answer; nil if there are none.
	Fill func(tx store.Reader, r *T) error
}

// Collection keeps the records of one Spec.
type Collection[T any] struct {
	frame *Frame
	spec  Spec[T]

	mu     sync.Mutex
	peeked map[string]decoded[T] // by id
}

// decoded is a record with the bytes that it was read from.
type decoded[T any] struct {
	value  []byte
	record *T
}

// In makes the Collection of a Spec, and makes it known to the Frame.
func In[T any](f *Frame, spec Spec[T]) *Collection[T] {
	all := Index[T]{Name: everything, Values: func(*T) []string { return []string{""} }}
	spec.Indexes = append([]Index[T]{all}, spec.Indexes...)
	c := &Collection[T]{frame: f, spec: spec, peeked: map[string]decoded[T]{}}
	f.collections = append(f.collections, c)
	return c
}

// Load reads a record that the caller may see. Any other is the error
// not_found, as an unknown id is.
func (c *Collection[T]) Load(tx store.Reader, call *api.Call, id string) (*T, error) {
	r, err := c.Read(tx, id)
	if err != nil {
		return nil, err
	}
	return c.visible(call, r)
}

func (c *Collection[T]) visible(call *api.Call, r *T) (*T, error) {
	if r == nil || !call.Sees(c.spec.Meta(r).Owner) {
		return nil, hux.Errorf(hux.NotFound, "There is no such record.")
	}
	return r, nil
}

// Peek is Load for callers that don't change the record, which is shared.
func (c *Collection[T]) Peek(tx store.Reader, call *api.Call, id string) (*T, error) {
	r, err := c.Glance(tx, id)
	if err != nil {
		return nil, err
	}
	return c.visible(call, r)
}

// Glance is Read for callers that don't change the record, which is shared. It
// decodes a record once for many requests in a row.
func (c *Collection[T]) Glance(tx store.Reader, id string) (*T, error) {
	value := c.get(tx, id)
	c.mu.Lock()
	have, ok := c.peeked[id]
	c.mu.Unlock()
	if ok && bytes.Equal(have.value, value) {
		return have.record, nil
	}
	r, err := c.decode(id, value)
	if r != nil {
		c.remember(id, decoded[T]{value, r})
	}
	return r, err
}

// maxPeeked is how many decoded records are kept, of all tenants together.
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

// Read reads a record, whoever owns it; nil if there is none.
func (c *Collection[T]) Read(tx store.Reader, id string) (*T, error) {
	return c.decode(id, c.get(tx, id))
}

func (c *Collection[T]) get(tx store.Reader, id string) []byte {
	if !hux.ValidID(c.spec.Prefix, id) {
		return nil
	}
	return tx.Get(c.spec.Name, id)
}

// decode makes a record of its value; nil if there is none.
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

// Create saves the record that fn makes around a new envelope. A record without
// an owner belongs to the tenant.
func (c *Collection[T]) Create(ch *Change, owner hux.User, fn func(hux.Meta) *T) (*T, error) {
	r := fn(hux.Meta{
		Schema: c.spec.Name, ID: ch.NewID(c.spec.Prefix), Owner: owner, Revision: 1,
		CreatedAt: ch.At, UpdatedAt: ch.At, Provenance: ch.Provenance(),
	})
	return r, c.Save(ch, r)
}

// Update has fn change a record that the caller may see, and saves it as its
// next revision. It checks the caller's precondition first, if there is one.
func (c *Collection[T]) Update(ch *Change, id string, fn func(*T) error) (*T, error) {
	r, err := c.Load(ch, ch.Call, id)
	if err != nil {
		return nil, err
	}
	if p := ch.Call.IfMatch; p != nil {
		m := c.spec.Meta(r)
		if err := p.Check(m.ID, m.Revision); err != nil {
			return nil, err
		}
	}
	return r, c.Revise(ch, r, fn)
}

// Revise has fn change a record that was read in the same change, and saves it
// as its next revision, unless fn changes nothing. A new state must be a legal
// move from the old one.
func (c *Collection[T]) Revise(ch *Change, r *T, fn func(*T) error) error {
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
	m.UpdatedAt = ch.At
	return c.Save(ch, r)
}

// Save writes a record without making a revision, for members that change
// without one.
func (c *Collection[T]) Save(ch *Change, r *T) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	id := c.spec.Meta(r).ID
	before, err := c.decode(id, ch.Get(c.spec.Name, id))
	if err != nil {
		return err
	}
	c.reindex(ch, before, r)
	ch.Put(c.spec.Name, id, value)
	return nil
}

// Fill sets the members of a record that change without a revision.
func (c *Collection[T]) Fill(tx store.Reader, r *T) error {
	if c.spec.Fill == nil {
		return nil
	}
	return c.spec.Fill(tx, r)
}
