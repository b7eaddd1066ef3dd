package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bstein.dev/hux/hux"
)

// PoolOptions is how a Pool keeps its databases.
type PoolOptions struct {
	Dir     string        // one folder a tenant below it
	Quota   int64         // bytes of one tenant's database; 0 is none
	Idle    time.Duration // a database unused for so long is closed; default 5 min
	MaxOpen int           // databases open at once; default 4,096
	// Prepare runs each time a database is opened, before anybody uses it.
	Prepare func(*Tx) error
}

// Pool keeps the databases of all tenants, each in a file of its own. One is
// opened when it is first asked for and closed when it has been idle. A
// damaged file is its tenant's misfortune alone: it is left as it is for
// whoever repairs it, and every use of it is ErrCorrupt.
//
// Locks are taken in the order tenantDB.mu, Pool.mu, DB.mu. Opening one
// database may close another, and so take a second tenantDB.mu: of one that
// nobody uses. The opener counts as a user of its own since before it looked
// for a victim, so no two openers can wait for each other.
type Pool struct {
	o PoolOptions

	mu      sync.Mutex
	tenants map[hux.Tenant]*tenantDB
	open    int
	closed  bool
}

// tenantDB is one tenant's database, open or not.
type tenantDB struct {
	mu      sync.Mutex // held while opening and closing
	db      *DB
	corrupt error

	// Under Pool.mu:
	isOpen   bool
	users    int // who uses it or waits for it
	lastUsed time.Time
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

// Lease names a tenant's database. It holds nothing: the file is open while a
// transaction runs and for a while after.
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

// path is where a tenant's database lies. Tenant ids are hex digits behind a
// prefix, which New of a tenant guarantees; anything else is refused, so that
// no id can name a file elsewhere.
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
		e = &tenantDB{}
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
	if errors.Is(err, ErrCorrupt) {
		e.mu.Lock()
		e.condemn(t, err)
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
	db, err := p.prepared(path)
	if errors.Is(err, ErrCorrupt) {
		e.condemn(t, err)
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

// prepared opens the database in the file at path and prepares it.
func (p *Pool) prepared(path string) (*DB, error) {
	_, statErr := os.Stat(filepath.Dir(path))
	db, err := Open(path, p.o.Quota)
	if err != nil {
		return nil, err
	}
	if errors.Is(statErr, fs.ErrNotExist) {
		err = syncDir(p.o.Dir) // the tenant's folder is new
	}
	if err == nil && p.o.Prepare != nil {
		err = db.Update(context.Background(), p.o.Prepare)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// condemn keeps a database that was found damaged from being used again until
// the next start. e.mu is held.
func (e *tenantDB) condemn(t hux.Tenant, cause error) {
	if e.corrupt == nil {
		e.corrupt = cause
		slog.Error("a tenant's database is damaged; only this tenant is affected", "tenant", t, "cause", cause)
	}
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

// closeIdle closes what nobody uses and nobody has used for so long; with 0 it
// closes just the one that was used longest ago.
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
	for _, e := range victims {
		p.closeOne(e, false)
	}
}

// closeOne closes a database, unless somebody began to use it meanwhile.
func (p *Pool) closeOne(e *tenantDB, evenInUse bool) {
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
		return
	}
	if err := e.db.Close(); err != nil {
		slog.Warn("closing a tenant's database", "cause", err)
	}
	e.db = nil
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
	for _, e := range p.tenants { // nobody adds to it any more
		p.closeOne(e, true)
	}
	return nil
}
