// Package projects is the card HUX-03: projects, branches and lineage of conversations, and search.
package projects

import (
	"net/http"
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/conversation"
)

// Flag is the card's flag.
const Flag = "hux.projects"

// Routes are the card's lines of /hux/v1.
func (s *Service) Routes() []api.Route {
	flags := []string{Flag}
	person := []hux.Kind{hux.KindHuman}
	return []api.Route{
		{
			Method: "GET", Path: "/projects", Summary: "The tenant's projects, newest first",
			Flags: flags, Query: slices.Concat([]string{"cursor", "limit"}, filters), Record: Schema, Answer: api.Page, Handler: s.projects.Lists(s.cursors, filters, passes),
		},
		{
			Method: "POST", Path: "/projects", Summary: "Makes a project",
			Flags: flags, Request: "hux.project.create.v1", Status: []int{http.StatusCreated}, Record: Schema, Errors: []hux.Code{hux.UnknownReference}, Handler: s.create,
		},
		{Method: "GET", Path: "/projects/{id}", Summary: "A project", Flags: flags, Record: Schema, Handler: s.projects.Get},
		{
			Method: "PATCH", Path: "/projects/{id}", Summary: "Changes a project, as a merge patch (RFC 7396); to archive it moves nothing out of it",
			Flags: flags, Request: "hux.project.patch.v1", IfMatch: true, Record: Schema, Errors: []hux.Code{hux.UnknownReference, hux.InvalidTransition}, Handler: s.patch,
		},
		{
			Method: "POST", Path: "/projects/{id}/forget", Summary: "Forgets a project: its artifacts go, and its conversations leave it",
			Flags: flags, Kinds: person, Record: Schema, Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed},
		},
		{
			Method: "POST", Path: "/conversations/{id}/branch", Summary: "Opens a conversation that shares this one's events up to one of them",
			Flags: flags, Request: "hux.conversation.branch.v1", Status: []int{http.StatusCreated}, Record: conversation.Schema,
			Errors: []hux.Code{hux.UnknownReference, hux.MessageNotCommitted, hux.PrivateHistory},
		},
		{
			Method: "GET", Path: "/conversations/{id}/lineage", Summary: "Where a conversation comes from, and its branches",
			Flags: flags, Record: LineageSchema, Errors: []hux.Code{hux.ConversationForgotten},
		},
		{
			Method: "GET", Path: "/search", Summary: "Looks for words in what the answer lists as indexed",
			Flags: flags, Query: []string{"q", "project_id", "cursor", "limit"}, Record: SearchSchema,
		},
	}
}
