// Package autonomy is the card HUX-05: what an agent may do: levels, grants, budgets, approvals and receipts.
package autonomy

import "bstein.dev/hux/hux/api"

// Flag is the card's flag.
const Flag = "hux.autonomy"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	return []api.Route{}
}
