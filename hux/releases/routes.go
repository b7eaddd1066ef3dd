// Package releases is the card HUX-12: releases followed from review to live, each step with its evidence.
package releases

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.release_followthrough"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
