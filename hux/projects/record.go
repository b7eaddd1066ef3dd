package projects

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// The names of the card's records and answers.
const (
	Schema        = "hux.project.v1"
	LineageSchema = "hux.lineage.v1"
	SearchSchema  = "hux.search.v1"
)

// Project is hux.project.v1: conversations and artifacts that belong together.
// It is the tenant's, and has no owner.
type Project struct {
	hux.Meta
	Title           string   `json:"title"`
	Description     string   `json:"description,omitempty"`
	State           string   `json:"state"` // active, archived or forgotten
	Tags            []string `json:"tags"`
	Pinned          bool     `json:"pinned"`
	MemoryScope     string   `json:"memory_scope"` // shared or project_only
	DefaultMode     string   `json:"default_mode,omitempty"`
	InstructionsRef string   `json:"instructions_ref,omitempty"` // an artifact
}

// Create is hux.project.create.v1.
type Create struct {
	Title           string   `json:"title"`
	Description     string   `json:"description"`
	Tags            []string `json:"tags"`
	Pinned          bool     `json:"pinned"`
	MemoryScope     string   `json:"memory_scope"`
	DefaultMode     string   `json:"default_mode"`
	InstructionsRef string   `json:"instructions_ref"`
}

// Patch is hux.project.patch.v1, a merge patch (RFC 7396). What may be taken
// away is null for it.
type Patch struct {
	Title           *string              `json:"title"`
	Description     api.Nullable[string] `json:"description"`
	State           *string              `json:"state"`
	Tags            []string             `json:"tags"`
	Pinned          *bool                `json:"pinned"`
	MemoryScope     *string              `json:"memory_scope"`
	DefaultMode     api.Nullable[string] `json:"default_mode"`
	InstructionsRef api.Nullable[string] `json:"instructions_ref"`
}

// Branch is hux.conversation.branch.v1: where a child begins, by one of the
// two, and what it is called, its parent's title if nothing else.
type Branch struct {
	ForkSeq   *uint64 `json:"fork_seq,omitempty"`
	MessageID *string `json:"message_id,omitempty"`
	Title     *string `json:"title"`
}

// Lineage is hux.lineage.v1: where a conversation comes from and what comes
// from it.
type Lineage struct {
	Schema    string `json:"schema"`
	Root      Node   `json:"root"`
	Ancestors []Node `json:"ancestors"` // from the root to the parent
	Self      Node   `json:"self"`
	Children  []Node `json:"children"`

	Provenance hux.Provenance `json:"provenance"`
}

// Node is a conversation in a Lineage.
type Node struct {
	ID       string  `json:"id"`
	ParentID *string `json:"parent_id"`
	ForkSeq  *uint64 `json:"fork_seq"` // the parent's last event that it shares
	Depth    int     `json:"depth"`
	Title    string  `json:"title"`
	State    string  `json:"state"`
}

// Search is hux.search.v1: a page of what was found, and where was looked.
type Search struct {
	Schema     string   `json:"schema"`
	Items      []Hit    `json:"items"`
	Next       *string  `json:"next"`
	Indexed    []string `json:"indexed"`
	NotIndexed []string `json:"not_indexed"`

	Provenance hux.Provenance `json:"provenance"`
}

// Hit is one thing that was found.
type Hit struct {
	Type      string  `json:"type"` // project, conversation, artifact or message
	ID        string  `json:"id"`
	Title     string  `json:"title"`
	Field     string  `json:"field"` // one of Indexed
	Snippet   string  `json:"snippet"`
	ProjectID *string `json:"project_id"`
}

// What a search looks into, and what it does not yet.
var (
	Indexed    = []string{"project.title", "project.description", "conversation.title", "artifact.title", "artifact.text", "tags"}
	NotIndexed = []string{"message.text"}
)

// The states.
const (
	Active    = "active"
	Archived  = "archived"
	Forgotten = "forgotten"
)

// States is the project's state machine. Archiving deletes nothing.
var States = hux.Machine{Name: "project", Start: Active, Moves: map[string][]string{
	Active: {Archived, Forgotten}, Archived: {Active, Forgotten}, Forgotten: {},
}}
