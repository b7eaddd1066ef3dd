package releases

import (
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.release_followthrough"

// Routes are the card's lines of /hux/v1. Releases belong to no tenant.
func Routes() []api.Route {
	worker := []hux.Kind{hux.KindWorker}
	routes := []api.Route{
		{
			Method: "GET", Path: "/releases", Summary: "The releases, newest first",
			Operator: true, Query: []string{"cursor", "limit", "service", "state"}, Record: Schema, Answer: api.Page,
		},
		{Method: "GET", Path: "/releases/stream", Summary: "Releases as they change", Operator: true, Record: Schema, Answer: api.Stream},
		{Method: "GET", Path: "/releases/{id}", Summary: "A release", Operator: true, Record: Schema},
		{
			Method: "POST", Path: "/releases", Summary: "Begins a release with a change that was reviewed",
			Request: CreateSchema, Status: []int{http.StatusCreated}, Record: Schema,
		},
		{
			Method: "POST", Path: "/releases/{id}/transitions", Summary: "Brings a release into its next state, if the evidence is there",
			Request: TransitionSchema, Record: Schema,
			Errors: []hux.Code{hux.InvalidTransition, hux.ReleaseProblems, hux.BadPrecondition, hux.PreconditionFailed},
		},
		{
			Method: "POST", Path: "/releases/{id}/checks", Summary: "Adds how a check of a release came out",
			Request: CheckSchema, Status: []int{http.StatusCreated}, Record: Schema, Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed},
		},
	}
	for i := range routes {
		routes[i].Flags, routes[i].Kinds, routes[i].Anyone = []string{Flag}, worker, true
	}
	return routes
}
