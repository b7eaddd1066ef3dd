// Package research is the card HUX-08: sources, passages that were found in
// them, citations that stand for passages, and notebooks.
package research

import (
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.research"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	flags := []string{Flag}
	people := []hux.Kind{hux.KindHuman, hux.KindAgent}
	page := []string{"cursor", "limit"}
	created := []int{http.StatusCreated}
	references := []hux.Code{hux.UnknownReference}
	person := []hux.Kind{hux.KindHuman}
	act := []hux.Code{hux.BadPrecondition, hux.PreconditionFailed, hux.InvalidTransition}
	return []api.Route{
		{Method: "GET", Path: "/sources", Summary: "The caller's sources, newest first", Flags: flags, Query: page, Record: SourceSchema, Answer: api.Page},
		{
			Method: "POST", Path: "/sources", Summary: "Adds a source; without a snapshot it is pending until it has been read",
			Flags: flags, Kinds: people, Request: "hux.source.create.v1", Status: created, Record: SourceSchema,
			Errors: []hux.Code{hux.UnknownReference, hux.PolicyDenied},
		},
		{Method: "GET", Path: "/sources/{id}", Summary: "A source", Flags: flags, Record: SourceSchema},
		{
			Method: "POST", Path: "/sources/{id}/snapshot", Summary: "Brings what an agent has read of a pending source, which is ready then",
			Flags: flags, Kinds: []hux.Kind{hux.KindAgent}, Request: "hux.source.snapshot.v1", Record: SourceSchema, Errors: append(references, act...),
		},
		{
			Method: "POST", Path: "/sources/{id}/refresh", Summary: "Has a source read again, as its next version",
			Flags: flags, Kinds: people, Status: []int{http.StatusOK, http.StatusAccepted}, Record: SourceSchema, Errors: append(act, hux.PolicyDenied),
		},
		{Method: "POST", Path: "/sources/{id}/forget", Summary: "Forgets a source and what was read of it", Flags: flags, Kinds: person, Record: SourceSchema, Errors: act},
		{Method: "GET", Path: "/passages", Summary: "The caller's passages, newest first", Flags: flags, Query: page, Record: PassageSchema, Answer: api.Page},
		{
			Method: "POST", Path: "/passages", Summary: "Adds a passage, if its words are in the source",
			Flags: flags, Kinds: people, Request: "hux.passage.create.v1", Status: created, Record: PassageSchema,
			Errors: []hux.Code{hux.UnknownReference, hux.SourceNotReady, hux.PassageNotInSource},
		},
		{Method: "GET", Path: "/messages/{id}/citations", Summary: "All citations of a message, by ordinal", Flags: flags, Record: CitationSchema, Answer: api.Page},
		{
			Method: "POST", Path: "/messages/{id}/citations", Summary: "Adds the next citations to a message, all or none",
			Flags: flags, Kinds: people, Request: "hux.citation.create.v1", Status: created, Record: CitationSchema, Answer: api.Page,
			Errors: []hux.Code{hux.UnknownReference, hux.MessageNotCommitted, hux.OrdinalsNotContiguous},
		},
		{Method: "GET", Path: "/notebooks", Summary: "The caller's notebooks, newest first", Flags: flags, Query: page, Record: NotebookSchema, Answer: api.Page},
		{
			Method: "POST", Path: "/notebooks", Summary: "Opens a notebook",
			Flags: flags, Kinds: people, Request: "hux.research_notebook.create.v1", Status: created, Record: NotebookSchema, Errors: references,
		},
		{Method: "GET", Path: "/notebooks/{id}", Summary: "A notebook", Flags: flags, Record: NotebookSchema},
		{
			Method: "PATCH", Path: "/notebooks/{id}", Summary: "Changes a notebook, as a merge patch (RFC 7396)",
			Flags: flags, Kinds: people, Request: "hux.research_notebook.patch.v1", IfMatch: true, Record: NotebookSchema, Errors: references,
		},
		{Method: "POST", Path: "/notebooks/{id}/forget", Summary: "Forgets a notebook", Flags: flags, Kinds: person, Record: NotebookSchema, Errors: act},
	}
}
