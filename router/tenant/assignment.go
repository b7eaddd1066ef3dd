package tenant

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

const (
	slotsBucket      = "slots"      // slot id → row
	tombstonesBucket = "tombstones" // tenant id → tombstone
)

// row is a slot's assignment as the database has it.
type row struct {
	Tenant  hux.Tenant `json:"tenant"`
	Members []hux.User `json:"members"`
	Since   time.Time  `json:"since"`
	Freed   bool       `json:"freed,omitempty"` // nobody's, and its WebUI still holds the last tenant's data
}

// tombstone remembers a tenant that was. Its id is never used again, so that
// whoever comes back, to this slot or to another, starts with nothing of it.
type tombstone struct {
	Slot    string     `json:"slot"`
	Members []hux.User `json:"members"`
	FreedAt time.Time  `json:"freed_at"`
}

func (s *Service) load() error {
	return s.db.View(context.Background(), func(tx *store.Tx) error {
		for _, e := range tx.List(slotsBucket, "") {
			var r row
			if err := json.Unmarshal(e.Value, &r); err != nil {
				return fmt.Errorf("slot %s: %w", e.Key, err)
			}
			s.rememberLocked(e.Key, r)
		}
		return nil
	})
}

// writeLocked makes r the assignment of a slot, on disk first.
func (s *Service) writeLocked(ctx context.Context, id string, r row) error {
	value, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := s.db.Update(ctx, func(tx *store.Tx) error { return tx.Put(slotsBucket, id, value) }); err != nil {
		return err
	}
	s.rememberLocked(id, r)
	return nil
}

func (s *Service) rememberLocked(id string, r row) {
	for _, u := range s.rows[id].Members {
		if t := s.members[u]; t.id != r.Tenant || !slices.Contains(r.Members, u) {
			t.end()
			delete(s.members, u)
		}
	}
	s.rows[id] = r
	for _, u := range r.Members {
		if s.members[u] == nil {
			t := &Tenant{id: r.Tenant, slot: s.slotLocked(id)}
			t.membership, t.end = context.WithCancel(context.Background())
			s.members[u] = t
		}
	}
}

// Assign gives a slot to a user by an operator's word. A slot that others
// have is joined only where share says so; a user has one slot at most.
func (s *Service) Assign(ctx context.Context, id string, u hux.User, share bool) error {
	if !u.Valid() {
		return hux.Errorf(hux.BadRequest, "A user is named by the id that hux shows them, usr_….")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slotLocked(id).URL == nil {
		return hux.Errorf(hux.NotFound, "There is no slot %s in the configuration.", id)
	}
	if t := s.members[u]; t != nil {
		if t.Slot() == id {
			return nil
		}
		return hux.Errorf(hux.InvalidTransition, "This user has slot %s; free that first.", t.Slot())
	}
	r, taken := s.rows[id]
	switch {
	case taken && r.Freed:
		return hux.Errorf(hux.InvalidTransition, "Slot %s was freed, and its WebUI still holds the last tenant's data. Empty it, then: hux slots free %s --wiped", id, id)
	case taken && !share:
		return hux.Errorf(hux.InvalidTransition, "Slot %s is taken. To let this user share everything in it: --share", id)
	case !taken:
		r = row{Tenant: newTenant(), Since: time.Now().UTC()}
	}
	r.Members = append(slices.Clone(r.Members), u)
	return s.writeLocked(ctx, id, r)
}

// Free takes a slot from its members and buries its tenant. The slot stays
// out of the pool until wiped says that its WebUI was emptied; that may be
// said at once or later.
func (s *Service) Free(ctx context.Context, id string, wiped bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, taken := s.rows[id]
	if !taken {
		if s.slotLocked(id).URL == nil {
			return hux.Errorf(hux.NotFound, "There is no slot %s.", id)
		}
		return hux.Errorf(hux.InvalidTransition, "Slot %s is free.", id)
	}
	if r.Freed && !wiped {
		return hux.Errorf(hux.InvalidTransition, "Slot %s was freed; once its WebUI is emptied: hux slots free %s --wiped", id, id)
	}
	grave, err := json.Marshal(tombstone{Slot: id, Members: r.Members, FreedAt: time.Now().UTC()})
	if err != nil {
		return err
	}
	freed, err := json.Marshal(row{Tenant: r.Tenant, Since: time.Now().UTC(), Freed: true})
	if err != nil {
		return err
	}
	err = s.db.Update(ctx, func(tx *store.Tx) error {
		if !r.Freed {
			if err := tx.Put(tombstonesBucket, string(r.Tenant), grave); err != nil {
				return err
			}
		}
		if wiped {
			return tx.Delete(slotsBucket, id)
		}
		return tx.Put(slotsBucket, id, freed)
	})
	if err != nil {
		return err
	}
	s.rememberLocked(id, row{Tenant: r.Tenant, Freed: true})
	if wiped {
		delete(s.rows, id)
	}
	return nil
}

// Remove takes one member out of a shared slot; the others keep it.
func (s *Service) Remove(ctx context.Context, id string, u hux.User) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[id]
	if !slices.Contains(r.Members, u) {
		return hux.Errorf(hux.NotFound, "This user is no member of slot %s.", id)
	}
	if len(r.Members) == 1 {
		return hux.Errorf(hux.InvalidTransition, "This user is the slot's last member; free the slot instead: hux slots free %s", id)
	}
	r.Members = slices.DeleteFunc(slices.Clone(r.Members), func(m hux.User) bool { return m == u })
	return s.writeLocked(ctx, id, r)
}
