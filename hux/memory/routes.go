// Package memory is the card HUX-02: what the assistant remembers, as a ledger that a person approves, corrects and forgets.
package memory

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.memory_control"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
