package record

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Refer holds what a body refers to: a record of a kind, by the name of its
// schema, that the caller may see; and gives its owner. what is what people call
// such a record. Any other id is unknown_reference.
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
