// Package hux holds the words of the product: who a person is, what a tenant
// is, which surface they meet it on, and the errors they may be told. It
// imports the standard library only and knows nothing of HTTP, of sign-in or
// of storage.
package hux

import (
	"regexp"
	"strconv"
)

// ContractVersion is the version of the HUX contract that /hux/v1 speaks.
const ContractVersion = "1.1.0"

// User names a person without saying who they are: "usr_" and a keyed hash of
// the sign-in provider's namespace and subject (contracts 2.1).
type User string

// Tenant names those whom a slot and its database are for: "ten_" and a UUIDv7
// in 32 lower-case hex digits. It never leaves the router in a record.
type Tenant string

// Agent names a tenant's assistant by the credential it signs in with: "agt_"
// and a UUIDv7 in 32 lower-case hex digits.
type Agent string

var (
	userPattern   = regexp.MustCompile(`^usr_[a-z0-9]{16,64}$`)
	tenantPattern = regexp.MustCompile(`^ten_[0-9a-f]{32}$`)
	agentPattern  = regexp.MustCompile(`^agt_[0-9a-f]{32}$`)
)

// Valid reports whether u has the shape of a user id.
func (u User) Valid() bool { return userPattern.MatchString(string(u)) }

// Valid reports whether t has the shape of a tenant id.
func (t Tenant) Valid() bool { return tenantPattern.MatchString(string(t)) }

// Valid reports whether a has the shape of an agent id.
func (a Agent) Valid() bool { return agentPattern.MatchString(string(a)) }

// Kind says what sort of actor does something (HUX-11 provenance).
type Kind string

// The four kinds of actor. Only a human may decide; see contracts 2.1.
const (
	KindHuman  Kind = "human"
	KindAgent  Kind = "agent"
	KindWorker Kind = "worker"
	KindSystem Kind = "system"
)

// Actor is who does something. It comes from a credential, never from a body.
type Actor struct {
	Kind Kind   `json:"kind"`
	ID   string `json:"id"`
}

// Surface is where a person meets the product.
type Surface string

// The four surfaces of HUX-11.
const (
	SurfaceChat     Surface = "chat"
	SurfaceWorker   Surface = "worker"
	SurfaceTelegram Surface = "telegram"
	SurfaceVoice    Surface = "voice"
)

// Count is a number of things in words: 1 record, 2 records.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}
