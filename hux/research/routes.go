// Package research is the card HUX-08: sources, passages, citations and notebooks.
package research

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.research"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
