// Package conversation is the record that most cards hang on: which
// conversations there are, whose they are, and under which names the systems
// outside know them.
package conversation

import (
	"bstein.dev/hux/hux"
)

// Conversation is hux.conversation.v1.
type Conversation struct {
	hux.Meta
	Title        string        `json:"title"`
	ProjectID    *string       `json:"project_id"`
	Tags         []string      `json:"tags"`
	Pinned       bool          `json:"pinned"`
	State        string        `json:"state"` // active, archived or forgotten
	Branch       Branch        `json:"branch"`
	Mode         Mode          `json:"mode"`
	Private      bool          `json:"private"`   // was ever private
	Ephemeral    bool          `json:"ephemeral"` // is private now
	ExpiresAt    *hux.Time     `json:"expires_at"`
	Memory       Memory        `json:"memory"`
	ExternalRefs []ExternalRef `json:"external_refs"`

	// These move without a revision: they are read with the record.
	HeadSeq        uint64   `json:"head_seq"`
	LastActivityAt hux.Time `json:"last_activity_at"`
}

// Branch says where a conversation came from; its own root where from nowhere.
type Branch struct {
	RootID   string  `json:"root_id"`
	ParentID *string `json:"parent_id"`
	ForkSeq  *uint64 `json:"fork_seq"`
	Depth    int     `json:"depth"`
}

// Mode is the mode that the conversation is in since an event.
type Mode struct {
	Mode     string  `json:"mode"`
	Route    *string `json:"route"`
	SinceSeq uint64  `json:"since_seq"`
}

// Memory says whether the conversation reads and writes memory.
type Memory struct {
	Read  bool `json:"read"`
	Write bool `json:"write"`
}

// ExternalRef is a name that another system knows the conversation by, as a
// keyed hash.
type ExternalRef struct {
	System string `json:"system"` // such as hermes_session, webui or telegram
	IDHash string `json:"id_hash"`
}

// Schema is the name of the record.
const Schema = "hux.conversation.v1"

// The states.
const (
	Active    = "active"
	Archived  = "archived"
	Forgotten = "forgotten"
)

// States is the conversation's state machine. Forgetting is an act of its own:
// no PATCH may name that state.
var States = hux.Machine{Name: "conversation", Start: Active, Moves: map[string][]string{
	Active: {Archived, Forgotten}, Archived: {Active, Forgotten}, Forgotten: {},
}}
