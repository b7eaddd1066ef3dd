package api

import "encoding/json"

// Nullable is a member of a merge patch (RFC 7396) that null takes away. The zero
// value is a member that the patch does not have.
type Nullable[T any] struct {
	There bool
	Value *T // nil for null
}

// UnmarshalJSON reads a member that is there.
func (n *Nullable[T]) UnmarshalJSON(text []byte) error {
	*n = Nullable[T]{There: true}
	return json.Unmarshal(text, &n.Value)
}

// MarshalJSON writes the value, null for none.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.Value) }

// Set puts what the patch says into a member whose zero value stands for null.
func (n Nullable[T]) Set(member *T) {
	if !n.There {
		return
	}
	*member = *new(T)
	Set(member, n.Value)
}

// Set puts what a patch says into a member; nil says nothing.
func Set[T any](member, said *T) {
	if said != nil {
		*member = *said
	}
}
