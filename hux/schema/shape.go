package schema

import (
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// shape is what a schema says of a value's structure: which members it knows,
// which of them only the server sets, and how many there may be.
type shape struct {
	members  map[string]*shape
	items    *shape
	open     bool // an object of any members
	readOnly bool
	maxItems int // -1: no bound
	maxNames int
}

// shapeOf gathers the structure of s, of what it refers to and of its
// branches. seen holds what is done, and ends recursion.
func shapeOf(s *jsonschema.Schema, seen map[*jsonschema.Schema]*shape) *shape {
	if have, ok := seen[s]; ok {
		return have
	}
	own := &shape{members: map[string]*shape{}, readOnly: s.ReadOnly, maxItems: -1, maxNames: -1}
	seen[s] = own
	own.open = s.Properties == nil && (s.Types == nil || slices.Contains(s.Types.ToStrings(), "object"))
	if s.MaxItems != nil {
		own.maxItems = *s.MaxItems
	}
	if s.MaxProperties != nil {
		own.maxNames = *s.MaxProperties
	}
	for name, property := range s.Properties {
		own.members[name] = shapeOf(property, seen)
	}
	if s.Items2020 != nil {
		own.items = shapeOf(s.Items2020, seen)
	}
	if s.Ref != nil {
		own.take(shapeOf(s.Ref, seen))
	}
	// X or null has the shape of X. Conditions add rules, not members.
	for _, branch := range s.AnyOf {
		if branch.Types == nil || !slices.Equal(branch.Types.ToStrings(), []string{"null"}) {
			own.take(shapeOf(branch, seen))
		}
	}
	return own
}

func (s *shape) take(other *shape) {
	if s.items == nil {
		s.items = other.items
	}
	if s.maxItems < 0 {
		s.maxItems = other.maxItems
	}
	if s.maxNames < 0 {
		s.maxNames = other.maxNames
	}
	for name, member := range other.members {
		if s.members[name] == nil {
			s.members[name] = member
		}
	}
	s.open = len(s.members) == 0 && other.open
}

// owned names what a body may not name, wherever it does: the members of a
// record's envelope that the server sets, a tenant, a user.
var owned = map[string]bool{
	"schema": true, "id": true, "seq": true, "revision": true, "created_at": true, "updated_at": true,
	"tenant": true, "tenant_id": true, "user": true, "user_id": true, "owner": true, "owner_id": true, "slot": true,
}

// sieve walks a request's body once before it is validated.
type sieve struct {
	ignored  []string
	readOnly []Fault
	tooLong  []Fault
}

// sift takes members that request does not know out of v, and notes those that
// the record says are the server's, and lists that are so long that validating
// each item would be work for nothing. A list that the record does not have is
// taken for one of records.
func (s *sieve) sift(v any, request, record *shape, at []string) {
	switch v := v.(type) {
	case map[string]any:
		if request.maxNames >= 0 && len(v) > request.maxNames {
			s.tooLong = append(s.tooLong, tooMany(at, "maxProperties", request.maxNames, "member"))
		}
		if request.open {
			return
		}
		for name, member := range v {
			known := request.members[name]
			var recorded *shape
			if record != nil {
				recorded = record.members[name]
				if recorded == nil && known != nil && known.items != nil {
					recorded = &shape{items: record} // a list of such records
				}
			}
			if known == nil {
				switch {
				case owned[name] || recorded != nil && recorded.readOnly:
					s.readOnly = append(s.readOnly, readOnly(pointer(append(slices.Clip(at), name))))
				case recorded == nil || !s.inside(member, recorded, append(slices.Clip(at), name)):
					s.ignore(name)
				}
				delete(v, name)
				continue
			}
			s.sift(member, known, recorded, append(at, name))
		}
	case []any:
		if request.maxItems >= 0 && len(v) > request.maxItems {
			s.tooLong = append(s.tooLong, tooMany(at, "maxItems", request.maxItems, "item"))
			return
		}
		if request.items == nil {
			return
		}
		var recorded *shape
		if record != nil {
			recorded = record.items
		}
		for i, item := range v {
			s.sift(item, request.items, recorded, append(at, strconv.Itoa(i)))
		}
	}
}

// inside notes the members of v that the record says are the server's, where
// the request knows nothing of v, and says whether there are any.
func (s *sieve) inside(v any, record *shape, at []string) (found bool) {
	object, ok := v.(map[string]any)
	if !ok || record == nil {
		return false
	}
	for name, member := range object {
		recorded := record.members[name]
		if recorded == nil {
			continue
		}
		here := append(slices.Clip(at), name)
		if recorded.readOnly {
			s.readOnly = append(s.readOnly, readOnly(pointer(here)))
			found = true
		} else if s.inside(member, recorded, here) {
			found = true
		}
	}
	return found
}

func (s *sieve) ignore(name string) {
	if len(s.ignored) == 20 || len(name) == 0 || len(name) > 64 || slices.Contains(s.ignored, name) {
		return
	}
	for i := range len(name) {
		if c := name[i]; (c < 'a' || c > 'z') && c != '_' {
			return
		}
	}
	s.ignored = append(s.ignored, name)
}
