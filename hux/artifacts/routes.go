// Package artifacts is the card HUX-04: what was made, in versions, with differences, lineage and promotion. HUX-07, images, audio and transcripts, are artifacts too.
package artifacts

import (
	"net/http"
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.artifacts"

// Multimodal is the flag of HUX-07.
const Multimodal = "hux.multimodal"

// Routes are the card's lines of /hux/v1.
func (s *Service) Routes() []api.Route {
	flags := []string{Flag}
	created := []int{http.StatusCreated}
	person := []hux.Kind{hux.KindHuman}
	const one, version = "/artifacts/{id}", "/artifacts/{id}/versions/{n}"
	return []api.Route{
		{
			Method: "GET", Path: "/artifacts", Summary: "The artifacts that the caller may see, newest first",
			Flags: flags, Query: slices.Concat([]string{"cursor", "limit"}, filters), Record: Schema, Answer: api.Page, Handler: s.artifacts.Lists(s.cursors, filters, passes),
		},
		{
			Method: "POST", Path: "/artifacts", Summary: "Makes an artifact, which has no version yet",
			Flags: flags, Request: "hux.artifact.create.v1", Status: created, Record: Schema,
			Errors: []hux.Code{hux.UnknownReference, hux.LineageCycle, hux.ConversationForgotten, hux.PrivateHistory}, Handler: s.create,
		},
		{
			Method: "POST", Path: "/artifacts/blobs", Summary: "Stores bytes for a version to name",
			Flags: []string{Multimodal}, Raw: true, MaxBody: MaxBlob, Status: created, Record: BlobSchema,
			Errors: []hux.Code{hux.IdempotencyInProgress, hux.SchemaInvalid, hux.MetadataKept},
		},
		{Method: "GET", Path: one, Summary: "An artifact", Flags: flags, Record: Schema, Handler: s.artifacts.Get},
		{
			Method: "PATCH", Path: one, Summary: "Changes what may change of an artifact, as a merge patch (RFC 7396)",
			Flags: flags, Request: "hux.artifact.patch.v1", IfMatch: true, Record: Schema, Errors: []hux.Code{hux.UnknownReference, hux.InvalidTransition}, Handler: s.patch,
		},
		{
			Method: "POST", Path: one + "/forget", Summary: "Forgets an artifact with all of its versions",
			Flags: flags, Kinds: person, Record: Schema, Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed},
		},
		{Method: "GET", Path: one + "/export", Summary: "An artifact with its versions, as a zip archive", Flags: flags, Answer: api.Bytes, Errors: []hux.Code{hux.Gone}},
		{Method: "GET", Path: "/projects/{id}/export", Summary: "The artifacts of a project, as a zip archive", Flags: flags, Answer: api.Bytes},
		{
			Method: "POST", Path: one + "/transcribe", Summary: "Makes a transcript of a version of a recording, as an artifact of its own",
			Flags: []string{Multimodal}, Kinds: person, Request: "hux.artifact.transcribe.v1", Status: created, Record: Schema,
			Errors: []hux.Code{hux.UnknownReference, hux.PrivateHistory, hux.ModeRouteConflict, hux.RouteUnavailable},
		},
		{
			Method: "GET", Path: one + "/versions", Summary: "An artifact's versions, newest first; a page with much content is a short one",
			Flags: flags, Query: []string{"cursor", "limit"}, Record: VersionSchema, Answer: api.Page, Errors: []hux.Code{hux.Gone}, Handler: s.listVersions,
		},
		{
			Method: "POST", Path: one + "/versions", Summary: "Adds a version to the one that it was made from, if that is the last",
			Flags: flags, Request: "hux.artifact_version.create.v1", Status: created, Record: VersionSchema,
			Errors: []hux.Code{hux.VersionConflict, hux.NoChange, hux.PatchDoesNotApply, hux.UnknownReference}, Handler: s.addVersion,
		},
		{Method: "GET", Path: version, Summary: "A version with its content", Flags: flags, Record: VersionSchema, Errors: []hux.Code{hux.Gone}, Handler: s.getVersion},
		{Method: "GET", Path: version + "/content", Summary: "A version's content alone", Flags: flags, Answer: api.Bytes, Errors: []hux.Code{hux.Gone}},
		{
			Method: "GET", Path: version + "/diff", Summary: "What differs between an earlier version and this one",
			Flags: flags, Query: []string{"from"}, Record: DiffSchema, Errors: []hux.Code{hux.Gone},
		},
		{
			Method: "POST", Path: one + "/promote", Summary: "Shows a version to a project's readers or to an export",
			Flags: flags, Kinds: []hux.Kind{hux.KindHuman}, Request: "hux.artifact.promote.v1", Record: Schema,
			Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed, hux.PrivateHistory, hux.UnknownReference},
		},
	}
}
