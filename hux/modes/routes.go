// Package modes is the card HUX-06: the modes that a person picks instead of a model.
package modes

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.friendly_modes"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
