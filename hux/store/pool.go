package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bstein.dev/hux/hux"
)

// PoolOptions says how a Pool keeps its databases.
type PoolOptions struct {
	Dir     string        // below it each tenant has a folder
	Quota   int64         // bytes of one tenant's database; 0: no limit
	Idle    time.Duration // a database unused for so long is closed; default 5 min
	MaxOpen int           // databases open at once; default 4,096
	// Prepare runs each time a database is opened, before anybody uses it.
	Prepare func(*DB) error
	// Marks keeps a mark of each tenant's database in another one, so that the
	// Pool notices a database that was emptied or replaced by an older one.
	// With nil it notices nothing.
	Marks *DB
	// Damaged is told once of each damage: "database", "record", "lost" or
	// "older". It may be nil.
	Damaged func(what string)
}

// Pool keeps the databases of all tenants, each in a file of its own. It opens
// a database when somebody first uses it, and closes one that is idle. It
// leaves a damaged file as it is, for whoever repairs it: every use of it is
// ErrCorrupt, and other tenants don't notice.
//
// Locks are taken in the order tenantDB.mu, Pool.mu, DB.mu. To open one
// database may close another that nobody uses, and so take its tenantDB.mu too.
// Two openers can't wait for each other: each counts as a user of its own
// database before it looks for one to close.
type Pool struct {
	o PoolOptions

	mu      sync.Mutex
	tenants map[hux.Tenant]*tenantDB
	open    int
	closed  bool
}

// tenantDB is one tenant's database, open or not.
type tenantDB struct {
	tenant hux.Tenant

	mu      sync.Mutex // held while opening and closing
	db      *DB
	corrupt error

	// Under Pool.mu:
	condemned  bool
	suspicion  string             // why it may not be the database that it was; "" for none
	unreadable map[[2]string]bool // values, by bucket and key, that the operator was told of
	isOpen     bool
	users      int // how many use it or wait for it
	lastUsed   time.Time
}

// NewPool makes a pool over the folder.
func NewPool(o PoolOptions) *Pool {
	if o.Idle <= 0 {
		o.Idle = 5 * time.Minute
	}
	if o.MaxOpen <= 0 {
		o.MaxOpen = 4096
	}
	return &Pool{o: o, tenants: map[hux.Tenant]*tenantDB{}}
}

// Lease names a tenant's database. It does not keep the file open: that is open
// while a transaction runs and for a while after.
type Lease struct {
	pool   *Pool
	tenant hux.Tenant
}

// Lease gives a lease on a tenant's database.
func (p *Pool) Lease(t hux.Tenant) *Lease { return &Lease{p, t} }

// Tenant is whose database it is.
func (l *Lease) Tenant() hux.Tenant { return l.tenant }

// View is DB.View on the tenant's database.
func (l *Lease) View(ctx context.Context, fn func(*Tx) error) error {
	return l.pool.with(l.tenant, func(db *DB) error { return db.View(ctx, fn) })
}

// Update is DB.Update on the tenant's database.
func (l *Lease) Update(ctx context.Context, fn func(*Tx) error) error {
	return l.pool.with(l.tenant, func(db *DB) error { return db.Update(ctx, fn) })
}

// path is where a tenant's database lies. A tenant's id is hex digits behind a
// prefix. Any other id is refused, so that no id can name a file elsewhere.
func (p *Pool) path(t hux.Tenant) (string, error) {
	if !t.Valid() {
		return "", fmt.Errorf("%q is no tenant id", t)
	}
	return filepath.Join(p.o.Dir, string(t), "tenant.db"), nil
}

func (p *Pool) with(t hux.Tenant, fn func(*DB) error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	e := p.tenants[t]
	if e == nil {
		e = &tenantDB{tenant: t}
		p.tenants[t] = e
	}
	e.users++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		e.users--
		e.lastUsed = time.Now()
		p.mu.Unlock()
	}()
	db, err := p.opened(t, e)
	if err != nil {
		return err
	}
	err = fn(db)
	var record *Unreadable
	switch {
	case errors.As(err, &record):
		p.noteUnreadable(t, e, record)
	case errors.Is(err, ErrCorrupt):
		e.mu.Lock()
		p.condemn(t, e, err)
		e.mu.Unlock()
	}
	return err
}

func (p *Pool) opened(t hux.Tenant, e *tenantDB) (*DB, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.db != nil || e.corrupt != nil {
		return e.db, e.corrupt
	}
	path, err := p.path(t)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	full := p.open >= p.o.MaxOpen
	p.mu.Unlock()
	if full {
		p.closeIdle(0)
	}
	db, err := p.prepared(path, e)
	if errors.Is(err, ErrCorrupt) {
		p.condemn(t, e, err)
	}
	if err != nil {
		return nil, err
	}
	e.db = db
	p.mu.Lock()
	e.isOpen = true
	p.open++
	p.mu.Unlock()
	return db, nil
}

// prepared opens the database in the file at path and prepares it. The caller
// holds e.mu.
func (p *Pool) prepared(path string, e *tenantDB) (*DB, error) {
	_, statErr := os.Stat(filepath.Dir(path))
	db, err := Open(path, p.o.Quota)
	if err != nil {
		return nil, err
	}
	if errors.Is(statErr, fs.ErrNotExist) {
		err = syncDir(p.o.Dir) // the tenant's folder is new
	}
	if err == nil {
		err = p.compare(e, db)
	}
	if err == nil && p.o.Prepare != nil {
		err = p.o.Prepare(db)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// condemn keeps a damaged database from being used until the next start. The
// caller holds e.mu.
func (p *Pool) condemn(t hux.Tenant, e *tenantDB, cause error) {
	if e.corrupt == nil {
		e.corrupt = cause
		p.mu.Lock()
		e.condemned = true
		p.mu.Unlock()
		p.damaged("database")
		slog.Error("a tenant's database is damaged; only this tenant is affected", "tenant", t, "file", p.name(t), "cause", cause)
	}
}

// maxUnreadable is how many unreadable values of one tenant are remembered.
const maxUnreadable = 1000

// noteUnreadable tells the operator of a value that can't be read, once.
func (p *Pool) noteUnreadable(t hux.Tenant, e *tenantDB, record *Unreadable) {
	at := [2]string{record.Bucket, record.Key}
	p.mu.Lock()
	known := e.unreadable[at] || len(e.unreadable) >= maxUnreadable
	if !known {
		if e.unreadable == nil {
			e.unreadable = map[[2]string]bool{}
		}
		e.unreadable[at] = true
	}
	p.mu.Unlock()
	if !known {
		p.damaged("record")
		slog.Error("a record of a tenant can't be read; the tenant's others go on", "tenant", t, "file", p.name(t), "cause", record)
	}
}

// damaged reports a new damage to PoolOptions.Damaged.
func (p *Pool) damaged(what string) {
	if p.o.Damaged != nil {
		p.o.Damaged(what)
	}
}

// name is where a tenant's database lies below the pool's folder.
func (p *Pool) name(t hux.Tenant) string {
	return filepath.Join(filepath.Base(p.o.Dir), string(t), "tenant.db")
}

// Run closes idle databases until ctx ends.
func (p *Pool) Run(ctx context.Context) {
	tick := time.NewTicker(p.o.Idle / 2)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.closeIdle(p.o.Idle)
		}
	}
}

// closeIdle closes the databases that nobody uses and nobody has used for so
// long. With 0 it closes one alone: of those that nobody uses, the one that was
// used longest ago.
func (p *Pool) closeIdle(idle time.Duration) {
	now := time.Now()
	var victims []*tenantDB
	p.mu.Lock()
	for _, e := range p.tenants {
		switch {
		case e.users > 0 || !e.isOpen:
		case idle > 0 && now.Sub(e.lastUsed) >= idle:
			victims = append(victims, e)
		case idle == 0 && (len(victims) == 0 || e.lastUsed.Before(victims[0].lastUsed)):
			victims = []*tenantDB{e}
		}
	}
	p.mu.Unlock()
	p.closeAll(victims, false)
}

// closeAll closes databases and saves their marks.
func (p *Pool) closeAll(victims []*tenantDB, evenInUse bool) {
	marks := map[hux.Tenant]mark{}
	for _, e := range victims {
		if m, ok := p.closeOne(e, evenInUse); ok {
			marks[e.tenant] = m
		}
	}
	if err := p.setMarks(marks); err != nil {
		slog.Warn("saving the marks of tenants' databases", "cause", err)
	}
}

// closeOne closes a database, unless somebody began to use it meanwhile. ok is
// true if its mark is to be saved.
func (p *Pool) closeOne(e *tenantDB, evenInUse bool) (m mark, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	p.mu.Lock()
	keep := !e.isOpen || e.users > 0 && !evenInUse
	if !keep {
		e.isOpen = false
		p.open--
	}
	p.mu.Unlock()
	if keep {
		return m, false
	}
	m, err := markOf(e.db)
	if err := e.db.Close(); err != nil {
		slog.Warn("closing a tenant's database", "cause", err)
	}
	e.db = nil
	p.mu.Lock()
	defer p.mu.Unlock()
	return m, err == nil && e.suspicion == ""
}

// Tenants lists the tenants that have a database, open or not.
func (p *Pool) Tenants() ([]hux.Tenant, error) {
	entries, err := os.ReadDir(p.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var tenants []hux.Tenant
	for _, e := range entries {
		if t := hux.Tenant(e.Name()); e.IsDir() && t.Valid() && !strings.HasPrefix(e.Name(), ".") {
			tenants = append(tenants, t)
		}
	}
	return tenants, nil
}

// Open is how many databases are open now.
func (p *Pool) Open() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.open
}

// Close closes every database; transactions under way end first.
func (p *Pool) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeAll(slices.Collect(maps.Values(p.tenants)), true) // p.closed: nobody adds to it any more
	return nil
}
