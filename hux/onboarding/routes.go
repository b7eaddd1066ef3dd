// Package onboarding is the card HUX-09: suggestions that fit the moment and stop for good when told to.
package onboarding

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.onboarding"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
