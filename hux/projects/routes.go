// Package projects is the card HUX-03: projects, branches of conversations, their lineage, and search.
package projects

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.projects"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
