// Package onboarding is the card HUX-09: suggestions that fit the moment and
// stop for good when told to.
package onboarding

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.onboarding"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	flags := []string{Flag}
	act := func(verb, summary string) api.Route {
		return api.Route{
			Method: "POST", Path: "/suggestions/{id}/" + verb, Summary: summary,
			Flags: flags, Kinds: []hux.Kind{hux.KindHuman}, Record: StateSchema,
			Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed},
		}
	}
	return []api.Route{
		{
			Method: "GET", Path: "/suggestions", Summary: "What may be suggested in this moment; nothing in a private conversation",
			Flags: flags, Query: []string{"context", "conversation_id"}, Record: SuggestionSchema, Answer: api.Page, Errors: []hux.Code{hux.UnknownContext},
		},
		act("shown", "Counts that a suggestion was shown"),
		act("dismiss", "Stops a suggestion because a person closed it"),
		act("never", "Stops a suggestion because a person never wants to see it again"),
		act("acted", "Stops a suggestion because a person did what it suggests"),
	}
}
