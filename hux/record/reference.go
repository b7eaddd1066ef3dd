package record

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Refer checks that the record that a body refers to exists and that the caller
// may see it, and gives its owner. schema names the kind of record, and what
// says what people call it. Any other id is the error unknown_reference.
func (f *Frame) Refer(tx store.Reader, call *api.Call, schema, id, what string) (owner hux.User, err error) {
	for _, c := range f.collections {
		if c.name() != schema {
			continue
		}
		m, err := c.meta(tx, id)
		if err != nil {
			return "", err
		}
		if m != nil && call.Sees(m.Owner) {
			return m.Owner, nil
		}
	}
	return "", hux.Errorf(hux.UnknownReference, "There is no such %s.", what)
}

func (c *Collection[T]) name() string { return c.spec.Name }

func (c *Collection[T]) meta(tx store.Reader, id string) (*hux.Meta, error) {
	r, err := c.Read(tx, id)
	if r == nil {
		return nil, err
	}
	return c.spec.Meta(r), nil
}
