// Package bounded has a map that a visitor can't make grow without end.
package bounded

// Map is a map that forgets its oldest entries, so that nothing a visitor
// does grows the memory of a demo without end.
type Map[V any] struct {
	limit   int
	entries map[string]V
	order   []string // oldest first; the same keys as entries
}

// New makes a map of at most limit entries.
func New[V any](limit int) *Map[V] {
	return &Map[V]{limit: limit, entries: map[string]V{}}
}

// Get gives the entry of a key.
func (b *Map[V]) Get(key string) (V, bool) {
	v, ok := b.entries[key]
	return v, ok
}

// Put adds v and returns what had to go for it, in order.
func (b *Map[V]) Put(key string, v V) (dropped []V) {
	if _, ok := b.entries[key]; !ok {
		b.order = append(b.order, key)
	}
	b.entries[key] = v
	for len(b.entries) > b.limit {
		oldest := b.order[0]
		b.order = b.order[1:]
		dropped = append(dropped, b.entries[oldest])
		delete(b.entries, oldest)
	}
	return dropped
}

// Remove takes an entry away.
func (b *Map[V]) Remove(key string) {
	if _, ok := b.entries[key]; !ok {
		return
	}
	delete(b.entries, key)
	for i, k := range b.order {
		if k == key {
			b.order = append(b.order[:i:i], b.order[i+1:]...)
			return
		}
	}
}

// RemoveIf removes every entry that match holds for.
func (b *Map[V]) RemoveIf(match func(V) bool) {
	kept := b.order[:0:0]
	for _, key := range b.order {
		if match(b.entries[key]) {
			delete(b.entries, key)
		} else {
			kept = append(kept, key)
		}
	}
	b.order = kept
}

// Len is how many entries there are.
func (b *Map[V]) Len() int { return len(b.entries) }

// NewestFirst lists the entries from the newest to the oldest.
func (b *Map[V]) NewestFirst() []V {
	all := make([]V, 0, len(b.entries))
	for i := len(b.order) - 1; i >= 0; i-- {
		all = append(all, b.entries[b.order[i]])
	}
	return all
}
