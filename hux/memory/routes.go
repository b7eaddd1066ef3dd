// Package memory is the card HUX-02: what the assistant remembers, as a ledger that a person approves, corrects and forgets.
package memory

import (
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.memory_control"

// refused is what a claim may break (Rules), or has no room for.
var refused = []hux.Code{hux.MemoryTopicForbidden, hux.SelfSourced, hux.RetentionRequired, hux.UnknownReference, hux.MemoryDisabled}

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	flags := []string{Flag}
	person := []hux.Kind{hux.KindHuman}
	created := []int{http.StatusCreated}
	act := func(verb, summary string) api.Route {
		return api.Route{
			Method: "POST", Path: "/memory/{id}/" + verb, Summary: summary, Flags: flags, Kinds: person,
			Record: Schema, Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed, hux.InvalidTransition},
		}
	}
	return []api.Route{
		{
			Method: "GET", Path: "/memory", Summary: "The caller's entries, newest first; for=prompt only those that the assistant may be given in a conversation",
			Flags: flags, Query: []string{"cursor", "limit", "for", "state", "conversation_id", "project_id", "topic"}, Record: Schema, Answer: api.Page,
			Errors: []hux.Code{hux.MemoryDisabled},
		},
		{
			Method: "POST", Path: "/memory", Summary: "Proposes an entry; it counts at once only where nobody must approve it",
			Flags: flags, Kinds: []hux.Kind{hux.KindHuman, hux.KindAgent}, Request: "hux.memory.create.v1", Status: created, Record: Schema, Errors: refused,
		},
		{
			Method: "POST", Path: "/memory/import", Summary: "Takes over entries from another memory, all of them or none",
			Flags: flags, Kinds: person, Request: "hux.memory.import.v1", Status: created, Record: Schema, Answer: api.Page, Errors: refused,
		},
		{
			Method: "GET", Path: "/memory/export", Summary: "All of the caller's entries, as they may leave the tenant",
			Flags: flags, Kinds: person, Record: "hux.memory_export.v1",
		},
		{
			Method: "POST", Path: "/memory/prompt", Summary: "What may stand before the assistant in a conversation, on one page; its log says by ids alone what was used",
			Flags: flags, Kinds: []hux.Kind{hux.KindHuman, hux.KindAgent}, Request: "hux.memory.prompt.v1", Record: Schema, Answer: api.Page,
			Errors: []hux.Code{hux.UnknownReference, hux.MemoryDisabled},
		},
		{Method: "GET", Path: "/memory/{id}", Summary: "An entry with its trail, be it forgotten", Flags: flags, Record: Schema},
		act("approve", "Lets a proposed entry count; a correction takes the place of what it corrects"),
		act("reject", "Drops a proposed entry and its content"),
		act("forget", "Drops an entry's content; the trail stays"),
		{
			Method: "POST", Path: "/memory/{id}/edit", Summary: "Corrects an entry: a new one takes its place in the same moment",
			Flags: flags, Kinds: person, Request: "hux.memory.edit.v1", Status: created, Record: Schema,
			Errors: append([]hux.Code{hux.BadPrecondition, hux.PreconditionFailed, hux.InvalidTransition}, refused...),
		},
		act("remove_retrieval", "Keeps an entry from the assistant, whatever its state"),
		act("restore_retrieval", "Lets the assistant have an entry again while it is active"),
	}
}
