package demo

// bounded is a map that forgets its oldest entries, so that nothing a visitor
// does grows the memory of a demo without end.
type bounded[V any] struct {
	limit   int
	entries map[string]V
	order   []string // oldest first; the same keys as entries
}

func newBounded[V any](limit int) *bounded[V] {
	return &bounded[V]{limit: limit, entries: map[string]V{}}
}

func (b *bounded[V]) get(key string) (V, bool) {
	v, ok := b.entries[key]
	return v, ok
}

// put adds v and returns what had to go for it, in order.
func (b *bounded[V]) put(key string, v V) (dropped []V) {
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

func (b *bounded[V]) remove(key string) {
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

// removeIf removes every entry that match holds for.
func (b *bounded[V]) removeIf(match func(V) bool) {
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

// newestFirst lists the entries from the newest to the oldest.
func (b *bounded[V]) newestFirst() []V {
	all := make([]V, 0, len(b.entries))
	for i := len(b.order) - 1; i >= 0; i-- {
		all = append(all, b.entries[b.order[i]])
	}
	return all
}
