package record

import (
	"errors"
	"slices"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Page is the body of a list.
type Page[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}

// maxListed is how many records a list reads for one page at most.
const maxListed = 5000

// PageBytes is how many bytes the records of one page have together at most,
// unless the page has a single record: many large records must not make a huge
// answer.
const PageBytes = 1 << 20

// List gives the records that the caller may see and that keep returns true for,
// newest first. If one of the list's filters has an index, it reads that index
// alone. A page is short, or even empty, once maxListed records were read or
// PageBytes found; next goes on behind them.
func (c *Collection[T]) List(tx store.Reader, call *api.Call, l api.List, keep func(*T) bool) (p Page[*T], err error) {
	p.Items = []*T{}
	seen, size, last := 0, 0, ""
	more := func() bool {
		cursor := l.Next(last)
		p.Next = &cursor
		return false
	}
	visit := func(id string, value []byte) bool {
		if seen == maxListed {
			return more()
		}
		var r *T
		if r, err = c.decode(id, value); err != nil || r == nil {
			return err == nil
		}
		kept := call.Sees(c.spec.Meta(r).Owner) && !c.gone(tx, r) && keep(r)
		if kept && (len(p.Items) == l.Limit || len(p.Items) > 0 && size+len(value) > PageBytes) {
			return more()
		}
		if kept {
			p.Items, size = append(p.Items, r), size+len(value)
		}
		seen, last = seen+1, id
		return true
	}
	var walked error
	if call.Actor.Kind == hux.KindAgent { // it sees the records of all members
		walked = tx.ScanBack(c.spec.Name, "", l.After, visit)
	} else {
		walked = c.walk(tx, c.placesOf(call, l.Filters), l.After, func(id string) bool { return visit(id, tx.Get(c.spec.Name, id)) })
	}
	for _, r := range p.Items {
		if err == nil {
			err = c.Fill(tx, r)
		}
	}
	return p, errors.Join(walked, err)
}

// placesOf are the places in an index that a list reads: the caller's and the
// tenant's own.
func (c *Collection[T]) placesOf(call *api.Call, filters map[string]string) []string {
	by, value := Index[T]{Name: everything}, ""
	for _, x := range c.spec.Indexes {
		if want, asked := filters[x.Name]; asked {
			by, value = x, want
		}
	}
	return []string{c.place(by, call.User, value), c.place(by, "", value)}
}

// walk calls fn for the ids in any of places that come before an id, the last
// first, until fn returns false.
func (c *Collection[T]) walk(tx store.Reader, places []string, before string, fn func(id string) bool) error {
	const batch = 256
	rest := make([][]string, len(places)) // ids that are read already, the last first
	from := make([]string, len(places))   // where to read on; "" from the end
	for i, place := range places {
		if before != "" {
			from[i] = place + before
		}
	}
	done := make([]bool, len(places))
	for {
		last := -1
		for i, place := range places {
			if len(rest[i]) == 0 && !done[i] {
				err := tx.ScanBack(c.indexBucket(), place, from[i], func(row string, _ []byte) bool {
					rest[i] = append(rest[i], row[len(place):])
					from[i] = row
					return len(rest[i]) < batch
				})
				if err != nil {
					return err
				}
				done[i] = len(rest[i]) < batch
			}
			if len(rest[i]) > 0 && (last < 0 || rest[i][0] > rest[last][0]) {
				last = i
			}
		}
		if last < 0 || !fn(rest[last][0]) {
			return nil
		}
		rest[last] = rest[last][1:]
	}
}

// Find reads an owner's records with a value in an index, oldest first.
func (c *Collection[T]) Find(tx store.Reader, owner hux.User, index, value string) (found []*T, err error) {
	i := slices.IndexFunc(c.spec.Indexes, func(x Index[T]) bool { return x.Name == index })
	place := c.place(c.spec.Indexes[i], owner, value)
	for _, row := range tx.List(c.indexBucket(), place) {
		r, err := c.Read(tx, strings.TrimPrefix(row.Key, place))
		if err != nil {
			return nil, err
		}
		if r != nil {
			found = append(found, r)
		}
	}
	return found, nil
}

// Value gives the values in an index for a member that may be null.
func Value(member *string) []string {
	if member == nil {
		return nil
	}
	return []string{*member}
}

// Passes reports whether a member of a record is what the filter asks for, if
// the filter is set. Without a value it passes only while the filter is not
// set.
func Passes(filters map[string]string, name string, value ...string) bool {
	want, asked := filters[name]
	return !asked || slices.Contains(value, want)
}
