package api

import (
	"net/http"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Prefix is where the routes stand.
const Prefix = "/hux/v1"

// Route is one line of /hux/v1: what the map of URLs, the manifest and the
// OpenAPI document are made from.
type Route struct {
	Method   string
	Path     string     // below Prefix, such as /conversations/{id}
	Summary  string     // what it does, in one line
	Flags    []string   // any of them serves it
	Kinds    []hux.Kind // who may call it; nil for everybody
	Signed   bool       // a webhook: a signature of its body stands for a credential
	Operator bool       // besides Kinds: a person with the operator's role
	Anyone   bool       // needs no tenant: whoever is signed in may call it, and Call.DB is nil

	Query   []string // the names it takes in the query, each of queryParameters
	Request string   // schema of its body, "" for none
	Raw     bool     // its body is bytes of any media type instead
	MaxBody int64    // bytes that a raw body may have; any other has what schema.BodyLimit says
	IfMatch bool     // it changes a record, and needs the ETag of the one it was made for
	Upsert  bool     // the record may not be there yet, or be whatever it is now

	Status  []int          // of success, as Statuses gives them; 200 alone where there are none
	Record  string         // schema of what it answers with, "" for any JSON
	Answer  Answer         // in which form it answers with it
	Besides map[string]any // members of a page beside items and next, each with its JSON Schema
	Waits   bool           // it may take as long as its caller asks, MaxWait at most, and is told when the router ends
	Headers []string       // of its answers besides those of every answer, each of headers
	Errors  []hux.Code     // it refuses with besides those that its form brings, which Codes adds

	// Handler answers; nil where the contract has the route and this build does
	// not serve it.
	Handler func(w http.ResponseWriter, r *http.Request, c *Call) error
}

// Answer is the form in which a route answers with its record.
type Answer int

// The forms of an answer.
const (
	One    Answer = iota // the record itself
	Page                 // {items, next}
	Stream               // text/event-stream, a record in the data of each frame
	Bytes                // no record, but what it has in it, in its own media type
)

// HumanOnly reports whether the route is for a person's own decision, which from
// a browser is taken on the console alone (contracts 2.1).
func (rt Route) HumanOnly() bool {
	return rt.writes() && len(rt.Kinds) == 1 && rt.Kinds[0] == hux.KindHuman
}

// writes reports whether the route changes something.
func (rt Route) writes() bool { return rt.Method != http.MethodGet }

// Idempotent reports whether the route takes an Idempotency-Key. A webhook has
// no use for one: what it delivers has an id in its body.
func (rt Route) Idempotent() bool { return rt.writes() && !rt.Signed }

// Statuses are those of the route's success.
func (rt Route) Statuses() []int {
	if rt.Status == nil {
		return []int{http.StatusOK}
	}
	return rt.Status
}

// MaxWait is how long a route that waits does so at most: whoever asks for more
// gets this.
const MaxWait = 60 * time.Second

// BodyLimit is how many bytes the route's body may have.
func (rt Route) BodyLimit() int64 {
	if rt.Raw {
		return rt.MaxBody
	}
	return int64(schema.BodyLimit(rt.Request))
}

// ServedBy reports whether a build that serves some flags has the route. A card is
// served whole or not at all: the routes of one that waits for some of its
// handlers wait too.
func (rt Route) ServedBy(served map[string]bool) bool {
	return rt.Handler != nil && slices.ContainsFunc(rt.Flags, func(flag string) bool { return served[flag] })
}

// Served names the flags whose capability is served: those with routes of their
// own that all have handlers.
func Served(routes []Route) map[string]bool {
	served := map[string]bool{}
	for _, rt := range routes {
		if len(rt.Flags) == 1 {
			before, seen := served[rt.Flags[0]]
			served[rt.Flags[0]] = rt.Handler != nil && (before || !seen)
		}
	}
	return served
}
