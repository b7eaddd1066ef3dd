package record

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Refer holds what a body refers to: a record of a kind, by the name of its
// schema, that the caller may see. what is what people call such a record. Any
// other id is unknown_reference; "" refers to nothing.
func (f *Frame) Refer(tx store.Reader, call *api.Call, schema, id, what string) error {
	if id == "" {
		return nil
	}
	for _, c := range f.collections {
		if c.name() == schema {
			if seen, err := c.sees(tx, call, id); seen || err != nil {
				return err
			}
		}
	}
	return hux.Errorf(hux.UnknownReference, "There is no such %s.", what)
}

func (c *Collection[T]) name() string { return c.spec.Name }

func (c *Collection[T]) sees(tx store.Reader, call *api.Call, id string) (bool, error) {
	r, err := c.Read(tx, id)
	return r != nil && call.Sees(c.spec.Meta(r).Owner), err
}
