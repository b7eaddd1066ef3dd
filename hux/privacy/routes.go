// Package privacy is the card HUX-10: sensitive topics, notices with real controls, forgetting and the retention audit.
package privacy

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.privacy"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
