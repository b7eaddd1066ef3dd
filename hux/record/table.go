package record

import (
	"encoding/json"
	"errors"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Table keeps, as JSON, what a card notes besides its records. The card chooses
// the keys; those that belong to a conversation begin with its id. The Table is
// named as its bucket.
type Table[T any] string

// Get reads the row under a key; nil if there is none.
func (t Table[T]) Get(tx store.Reader, key string) (*T, error) {
	value := tx.Get(string(t), key)
	if value == nil {
		return nil, nil
	}
	return t.decode(key, value)
}

func (t Table[T]) decode(key string, value []byte) (*T, error) {
	row := new(T)
	return row, store.Decode(string(t), key, value, row)
}

// Put writes the row under a key.
func (t Table[T]) Put(ch *Change, key string, row *T) error {
	value, err := json.Marshal(row)
	if err != nil {
		return err
	}
	ch.Put(string(t), key, value)
	return nil
}

// Delete deletes the row under a key.
func (t Table[T]) Delete(ch *Change, key string) { ch.Delete(string(t), key) }

// Row is a row with its key.
type Row[T any] struct {
	Key   string
	Value *T
}

// List reads the rows whose keys begin with prefix, in the order of the keys.
func (t Table[T]) List(tx store.Reader, prefix string) (rows []Row[T], err error) {
	for _, e := range tx.List(string(t), prefix) {
		row, err := t.decode(e.Key, e.Value)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Row[T]{e.Key, row})
	}
	return rows, nil
}

// Page reads one page of the rows whose keys begin with prefix, the last first.
// It is short if the rows are large (PageBytes).
func (t Table[T]) Page(tx store.Reader, prefix string, l api.List) (p Page[*T], err error) {
	p.Items = []*T{}
	size, last := 0, ""
	walked := tx.ScanBack(string(t), prefix, l.After, func(key string, value []byte) bool {
		if len(p.Items) == l.Limit || len(p.Items) > 0 && size+len(value) > PageBytes {
			next := l.Next(last)
			p.Next = &next
			return false
		}
		var row *T
		if row, err = t.decode(key, value); err != nil {
			return false
		}
		p.Items, size, last = append(p.Items, row), size+len(value), key
		return true
	})
	return p, errors.Join(walked, err)
}
