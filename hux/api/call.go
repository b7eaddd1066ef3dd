package api

import (
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/store"
)

// Call is a request to /hux/v1 that may be answered: who asks, for whom, and
// where their tenant's records are. The router makes it from the credential;
// nothing in it comes from a body.
type Call struct {
	Actor   hux.Actor
	User    hux.User // the person; "" for an agent, which acts for a conversation's owner
	Surface hux.Surface
	Session *string // HUX-Session, where the client names one
	Run     *string // HUX-Run
	Build   hux.Build
	DB      *store.Lease

	// What the route's door has let in:
	Body    *schema.Request // nil where it takes none
	IfMatch *Precondition   // nil where there is none
	Key     string          // Idempotency-Key, "" where there is none

	SignedInAt time.Time // when a person last proved who they are; zero where that is not known
}

// recently is how long a sign-in counts as a recent one.
const recently = 15 * time.Minute

// RecentSignIn refuses a person who has not proved who they are of late, as
// what lasts asks for.
func (c *Call) RecentSignIn() error {
	if time.Since(c.SignedInAt) <= recently {
		return nil
	}
	return hux.Errorf(hux.RecentSignIn, "Sign in again on the console: this needs a sign-in of the last %d minutes.", int(recently.Minutes()))
}

// Tenant is whose records the call is about.
func (c *Call) Tenant() hux.Tenant { return c.DB.Tenant() }

// Provenance is what a record made by the call says of where it comes from.
func (c *Call) Provenance() hux.Provenance {
	return hux.Provenance{
		Surface: c.Surface, Actor: c.Actor, Time: hux.Now(), SessionID: c.Session, RunID: c.Run, Build: c.Build,
	}
}

// Sees reports whether records that belong to owner are the caller's to see: the
// tenant's, which have none, a person's own, and for an agent those of every
// member of its tenant.
func (c *Call) Sees(owner hux.User) bool {
	return owner == "" || c.Actor.Kind == hux.KindAgent || c.User == owner
}
