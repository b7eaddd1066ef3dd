package modes

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
	{Schema, Fast, "Fast", "Short answers at once.", anywhere, "atlas/auto/fast", pinned},
	{Schema, Thoughtful, "Thoughtful", "Takes its time to think before it answers.", anywhere, "atlas/auto/thoughtful", pinned},
	{Schema, Research, "Research", "Reads sources and says which it rests on.", anywhere, "atlas/auto/research", pinned},
	{Schema, Create, "Create", "Writes and makes things with you.", anywhere, "atlas/auto/create", pinned},
	{Schema, Private, "Private", "Stays on your own machines: no web, no memory, and nothing of it is kept.", atHome, "atlas/auto/private", pinned},
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
