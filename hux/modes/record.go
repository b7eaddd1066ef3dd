package modes

import "bstein.dev/hux/hux"

// Mode is hux.mode.v1: one way of working that a person picks. It is mapped to
// constraints and a route, never to a vendor.
type Mode struct {
	Schema       string      `json:"schema"`
	Mode         string      `json:"mode"`
	Label        string      `json:"label"`
	Description  string      `json:"description"`
	Constraints  Constraints `json:"constraints"`
	DefaultRoute string      `json:"default_route"` // of the route catalogue
	PinPattern   string      `json:"pin_pattern"`   // what a route that may be pinned looks like, as a regular expression

	Provenance hux.Provenance `json:"provenance"` // of the answer that it is given in
}

// Constraints are what holds in a mode.
type Constraints struct {
	Locality    string `json:"locality"` // any or local_only
	Memory      string `json:"memory"`   // on or off
	Web         string `json:"web"`      // on or off
	Ephemeral   bool   `json:"ephemeral"`
	Overridable bool   `json:"overridable"` // any route may be pinned; a local one may always
}

// Put is hux.mode.put.v1.
type Put struct {
	Mode  string  `json:"mode"`
	Route *string `json:"route"` // a pinned one; nil for the mode's own
}

// The modes.
const (
	Fast       = "fast"
	Thoughtful = "thoughtful"
	Research   = "research"
	Create     = "create"
	Private    = "private"
)

// Schema is the name of the record.
const Schema = "hux.mode.v1"

const pinned = "^atlas/manual/"

var (
	anywhere = Constraints{Locality: "any", Memory: "on", Web: "on", Overridable: true}
	atHome   = Constraints{Locality: "local_only", Memory: "off", Web: "off", Ephemeral: true}
)

// Catalogue is the five modes, in the order in which a person is offered them.
var Catalogue = []Mode{
	{Schema: Schema, Mode: Fast, Label: "Fast", Description: "Short answers at once.", Constraints: anywhere, DefaultRoute: "atlas/auto/fast", PinPattern: pinned},
	{Schema: Schema, Mode: Thoughtful, Label: "Thoughtful", Description: "Takes its time to think before it answers.", Constraints: anywhere, DefaultRoute: "atlas/auto/thoughtful", PinPattern: pinned},
	{Schema: Schema, Mode: Research, Label: "Research", Description: "Reads sources and says which it rests on.", Constraints: anywhere, DefaultRoute: "atlas/auto/research", PinPattern: pinned},
	{Schema: Schema, Mode: Create, Label: "Create", Description: "Writes and makes things with you.", Constraints: anywhere, DefaultRoute: "atlas/auto/create", PinPattern: pinned},
	{Schema: Schema, Mode: Private, Label: "Private", Description: "Stays on your own machines: no web, no memory, and nothing of it is kept.", Constraints: atHome, DefaultRoute: "atlas/auto/private", PinPattern: pinned},
}

// Find gives the mode of a name.
func Find(name string) (Mode, bool) {
	for _, m := range Catalogue {
		if m.Mode == name {
			return m, true
		}
	}
	return Mode{}, false
}
