package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
)

// Limits of a list (contracts 2.4).
const (
	defaultLimit = 50
	maxLimit     = 200
)

// Cursors makes and reads the cursors of lists. A cursor says where a list
// goes on, and counts for that tenant, that list and those filters alone; it
// gives no access to anything.
type Cursors struct{ key []byte }

// NewCursors makes cursors under a key that is not in the data directory.
func NewCursors(key []byte) *Cursors { return &Cursors{key} }

// List is what a client asks of a list.
type List struct {
	After   string // the last key it has seen; "" from the start
	Limit   int
	Filters map[string]string

	cursors *Cursors
	binding string
}

// List reads the query of a list: limit, cursor and the filters that the
// route has. An unknown or repeated name is refused.
func (c *Cursors) List(r *http.Request, t hux.Tenant, filters ...string) (List, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return List{}, hux.Errorf(hux.BadRequest, "The query can't be read.")
	}
	l := List{Limit: defaultLimit, Filters: map[string]string{}, cursors: c}
	for name, values := range q {
		switch {
		case len(values) > 1:
			return List{}, hux.Errorf(hux.BadRequest, "A name stands twice in the query.")
		case name == "cursor":
		case name == "limit":
			if l.Limit, err = ParseLimit(values[0]); err != nil {
				return List{}, err
			}
		case slices.Contains(filters, name):
			l.Filters[name] = values[0]
		default:
			return List{}, hux.Errorf(hux.BadRequest, "The query has a name that this list does not know; it knows limit, cursor and %s.", strings.Join(filters, ", "))
		}
	}
	slices.Sort(filters)
	binding := sha256.New()
	for _, part := range append([]string{string(t), r.URL.Path}, filters...) {
		value := l.Filters[part]
		binding.Write([]byte(part + "\x00" + value + "\x00"))
	}
	l.binding = string(binding.Sum(nil))
	if cursor := q.Get("cursor"); q.Has("cursor") {
		if l.After, err = c.open(cursor, l.binding); err != nil {
			return List{}, err
		}
	}
	return l, nil
}

// ParseLimit reads a limit: 1 and more, above 200 it is 200.
func ParseLimit(v string) (int, error) {
	n, err := strconv.Atoi(v) // of what does not fit it gives the nearest
	if err != nil && !errors.Is(err, strconv.ErrRange) || n < 1 {
		return 0, hux.Errorf(hux.BadRequest, "limit is a whole number, 1 or more.")
	}
	return min(n, maxLimit), nil
}

// Next is the cursor that goes on after the item with that key.
func (l List) Next(key string) string { return l.cursors.seal(key, l.binding) }

const cursorVersion = "1"

func (c *Cursors) seal(key, binding string) string {
	payload := cursorVersion + key
	return base64.RawURLEncoding.EncodeToString(append(c.mac(payload, binding), payload...))
}

func (c *Cursors) open(cursor, binding string) (string, error) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(cursor) > 512 || len(raw) < macBytes+1 ||
		!hmac.Equal(raw[:macBytes], c.mac(string(raw[macBytes:]), binding)) || raw[macBytes] != cursorVersion[0] {
		return "", hux.Errorf(hux.InvalidCursor, "This cursor is not one of this list's. Begin again without one.")
	}
	return string(raw[macBytes+1:]), nil
}

const macBytes = 16

func (c *Cursors) mac(payload, binding string) []byte {
	m := hmac.New(sha256.New, c.key)
	m.Write([]byte(payload + "\x00" + binding))
	return m.Sum(nil)[:macBytes]
}
