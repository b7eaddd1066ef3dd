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
	"bstein.dev/hux/hux/due"
	"bstein.dev/hux/hux/store"
)

// Spec describes a kind of record.
type Spec[T any] struct {
	Name    string // its schema, such as hux.conversation.v1
	Prefix  string // of its ids, such as cnv
	Meta    func(*T) *hux.Meta
	State   func(*T) *string // nil if it has no states
	States  hux.Machine      // the legal moves between its states
	Indexes []Index[T]       // besides the one of all records of an owner, which each has
	// Conversation is what the record hangs on and is forgotten with, "" for
	// nothing; nil where no record does.
	Conversation func(*T) string
	// Due is what falls due for the record as it is, or nil. It is noted when the
	// record is written and taken away when it is no longer so.
	Due func(*T) *due.Item
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
	if spec.Conversation != nil {
		spec.Indexes = append(spec.Indexes, Index[T]{Name: ofConversation, Tenant: true, Values: func(r *T) []string {
			if id := spec.Conversation(r); id != "" {
				return []string{id}
			}
			return nil
		}})
	}
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
	return c.visible(tx, call, r)
}

func (c *Collection[T]) visible(tx store.Reader, call *api.Call, r *T) (*T, error) {
	if r == nil || !call.Sees(c.spec.Meta(r).Owner) {
		return nil, hux.Errorf(hux.NotFound, "There is no such record.")
	}
	if c.gone(tx, r) {
		return nil, hux.Errorf(hux.Gone, "This was forgotten with its conversation.")
	}
	return r, nil
}

// gone reports whether the record's conversation is forgotten, and the record
// will be.
func (c *Collection[T]) gone(tx store.Reader, r *T) bool {
	if c.spec.Conversation == nil {
		return false
	}
	id := c.spec.Conversation(r)
	return id != "" && Forgotten(tx, id)
}

// Peek is Load for callers that don't change the record, which is shared.
func (c *Collection[T]) Peek(tx store.Reader, call *api.Call, id string) (*T, error) {
	r, err := c.Glance(tx, id)
	if err != nil {
		return nil, err
	}
	return c.visible(tx, call, r)
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
	if c.gone(ch, r) {
		return hux.Errorf(hux.ConversationForgotten, "This conversation was forgotten.")
	}
	c.reindex(ch, before, r)
	ch.Put(c.spec.Name, id, value)
	if c.spec.Conversation != nil {
		ch.touches(c.spec.Conversation(r))
	}
	return c.schedule(ch, before, r)
}

// schedule notes what falls due for a record as it is now, and no longer what
// did before; now is nil where the record is taken away.
func (c *Collection[T]) schedule(ch *Change, before, now *T) error {
	if c.spec.Due == nil {
		return nil
	}
	item := func(r *T) *due.Item {
		if r == nil {
			return nil
		}
		return c.spec.Due(r)
	}
	was, is := item(before), item(now)
	if was != nil && is != nil && was.At.Equal(is.At) {
		return nil
	}
	if was != nil {
		ch.NoLongerDue(*was)
	}
	if is != nil {
		return ch.LetFallDue(*is)
	}
	return nil
}

// remove takes a record away, with all that it is found by.
func (c *Collection[T]) remove(ch *Change, r *T) error {
	id := c.spec.Meta(r).ID
	c.mu.Lock()
	delete(c.peeked, id)
	c.mu.Unlock()
	c.reindex(ch, r, nil)
	ch.Delete(c.spec.Name, id)
	return c.schedule(ch, r, nil)
}

// Fill sets the members of a record that change without a revision.
func (c *Collection[T]) Fill(tx store.Reader, r *T) error {
	if c.spec.Fill == nil {
		return nil
	}
	return c.spec.Fill(tx, r)
}
