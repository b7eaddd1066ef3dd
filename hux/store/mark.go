package store

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"

	"bstein.dev/hux/hux"
)

// mark says which database a tenant had when it was last closed, and how far
// that had come.
type mark struct {
	ID      string `json:"id"`      // random, made with the file
	Commits int    `json:"commits"` // the number only grows
}

const (
	marksBucket = "tenant_stores" // in PoolOptions.Marks: tenant → mark
	ownBucket   = "store"         // in a tenant's database: "id" → mark.ID
)

// markOf is the mark of a database. A database that was just made has the ID "".
func markOf(db *DB) (m mark, err error) {
	err = db.View(context.Background(), func(tx *Tx) error {
		m = mark{string(tx.Get(ownBucket, "id")), tx.engine.commits()}
		return nil
	})
	return m, err
}

// compare compares a database that was just opened with its saved mark. If it
// was emptied or is older, compare logs that, and the database stays under
// suspicion until Trust. A new database gets its id. The caller holds e.mu.
func (p *Pool) compare(e *tenantDB, db *DB) error {
	if p.o.Marks == nil {
		return nil
	}
	now, err := markOf(db)
	if err != nil {
		return err
	}
	var was *mark
	err = p.o.Marks.View(context.Background(), func(tx *Tx) error {
		value := tx.Get(marksBucket, string(e.tenant))
		if value == nil {
			return nil
		}
		was = new(mark)
		return json.Unmarshal(value, was)
	})
	if err != nil { // a damaged mark holds nobody up
		slog.Warn("the mark of a tenant's database can't be read, so hux can't tell whether the database is older than it was", "tenant", e.tenant, "cause", err)
		was = nil
	}
	suspicion, what := "", ""
	switch {
	case was == nil:
	case now.ID != was.ID:
		suspicion, what = "is empty or another one than it was: its records are lost unless the file is put back from a backup", "lost"
	case now.Commits < was.Commits:
		suspicion, what = "is older than it was: what was written since is lost", "older"
	}
	if suspicion != "" {
		p.mu.Lock()
		news := e.suspicion == ""
		e.suspicion = suspicion
		p.mu.Unlock()
		if news {
			p.damaged(what)
			slog.Error("a tenant's database "+suspicion+"; once the file is as you want it, run hux slots restored", "tenant", e.tenant, "file", p.name(e.tenant))
		}
	}
	if now.ID == "" {
		now.ID = rand.Text()
		err = db.Update(context.Background(), func(tx *Tx) error { return tx.Put(ownBucket, "id", []byte(now.ID)) })
	}
	if err != nil || was != nil {
		return err
	}
	return p.setMarks(map[hux.Tenant]mark{e.tenant: now})
}

func (p *Pool) setMarks(marks map[hux.Tenant]mark) error {
	if p.o.Marks == nil || len(marks) == 0 {
		return nil
	}
	return p.o.Marks.Update(context.Background(), func(tx *Tx) error {
		for t, m := range marks {
			value, err := json.Marshal(m)
			if err != nil {
				return err
			}
			if err := tx.Put(marksBucket, string(t), value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Trust takes a tenant's database as it is, since an operator says that it is
// right.
func (p *Pool) Trust(t hux.Tenant) error {
	var m mark
	err := p.with(t, func(db *DB) (err error) {
		m, err = markOf(db)
		return err
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.tenants[t].suspicion = ""
	p.mu.Unlock()
	return p.setMarks(map[hux.Tenant]mark{t: m})
}

// Alarms says what is wrong with tenants' databases. It knows of those that were
// used since the start.
func (p *Pool) Alarms() (alarms map[hux.Tenant]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	alarms = map[hux.Tenant]string{}
	for t, e := range p.tenants {
		switch {
		case e.condemned:
			alarms[t] = "is damaged: restore it from a backup"
		case e.suspicion != "":
			alarms[t] = e.suspicion
		case len(e.unreadable) > 0:
			alarms[t] = "has " + hux.Count(len(e.unreadable), "record") + " that can't be read"
		}
	}
	return alarms
}
