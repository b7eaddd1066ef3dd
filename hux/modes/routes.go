// Package modes is the card HUX-06: the modes that a person picks instead of a model.
package modes

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.friendly_modes"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	flags := []string{Flag}
	return []api.Route{
		{Method: "GET", Path: "/modes", Summary: "The modes that there are", Flags: flags, Record: Schema, Answer: api.Page},
		{
			Method: "PUT", Path: "/conversations/{id}/mode", Summary: "Puts a conversation into a mode; it holds from its next run on",
			Flags: flags, Kinds: []hux.Kind{hux.KindHuman}, Request: "hux.mode.put.v1", IfMatch: true, Upsert: true, Record: "hux.conversation.v1",
			Errors: []hux.Code{hux.UnknownRoute, hux.ModeRouteConflict, hux.VendorName, hux.PrivateHistory, hux.RouteUnavailable, hux.RunActive, hux.ModeUnenforceable},
		},
	}
}
