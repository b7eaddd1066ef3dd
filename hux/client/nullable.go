package client

import "encoding/json"

// Nullable is a member of a merge patch (RFC 7396) that may be taken away: the
// zero value leaves it as it is, Set changes it, Null takes it away.
type Nullable[T any] struct {
	named bool
	value *T
}

// Set is a member with a new value.
func Set[T any](v T) Nullable[T] { return Nullable[T]{true, &v} }

// Null is a member that is taken away.
func Null[T any]() Nullable[T] { return Nullable[T]{named: true} }

// IsZero reports whether the member is left as it is, and so out of the patch.
func (n Nullable[T]) IsZero() bool { return !n.named }

// MarshalJSON is json.Marshaler's.
func (n Nullable[T]) MarshalJSON() ([]byte, error) { return json.Marshal(n.value) }

// UnmarshalJSON is json.Unmarshaler's.
func (n *Nullable[T]) UnmarshalJSON(content []byte) error {
	n.named = true
	return json.Unmarshal(content, &n.value)
}
