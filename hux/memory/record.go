package memory

import (
	"encoding/json"

	"bstein.dev/hux/hux"
)

// Schema is the name of the record.
const Schema = "hux.memory.v1"

// Memory is hux.memory.v1: one entry of the ledger. What it says is never
// changed; a correction is another entry that takes its place.
type Memory struct {
	hux.Meta
	Content      *string       `json:"content"` // null once it is rejected or forgotten
	Topics       []string      `json:"topics"`
	Scope        Scope         `json:"scope"`
	State        string        `json:"state"`
	ApprovalMode string        `json:"approval_mode"` // auto or ask
	Sensitivity  string        `json:"sensitivity"`
	Redaction    hux.Redaction `json:"redaction"`
	Retention    Retention     `json:"retention"`
	Retrieval    Retrieval     `json:"retrieval"`
	Source       Source        `json:"source"`
	Corrects     *string       `json:"corrects"`      // the entry whose place it takes
	SupersededBy *string       `json:"superseded_by"` // the entry that took its place
	Transitions  []Transition  `json:"transitions"`   // its moves, oldest first
}

// Scope says where an entry may be read.
type Scope struct {
	Level          string        `json:"level"` // conversation, project or user
	ConversationID *string       `json:"conversation_id,omitempty"`
	ProjectID      *string       `json:"project_id,omitempty"`
	Surfaces       []hux.Surface `json:"surfaces"`
}

// Retention says how long an entry lasts.
type Retention struct {
	Kind         string    `json:"kind"` // none, expire or decay
	ExpiresAt    *hux.Time `json:"expires_at,omitempty"`
	HalfLifeDays *int      `json:"half_life_days,omitempty"`
}

// Retrieval says whether an entry may be given to the assistant. It is apart
// from the state: a person still sees what is switched off.
type Retrieval struct {
	Enabled   bool     `json:"enabled"`
	ChangedAt hux.Time `json:"changed_at"`
}

// Source says where an entry comes from.
type Source struct {
	Kind     string            `json:"kind"`
	Evidence []hux.EvidenceRef `json:"evidence"`
}

// Transition is one move of an entry. It has nothing of the content, not even
// a hash, which could be guessed.
type Transition struct {
	From       string    `json:"from"`
	To         string    `json:"to"`
	At         hux.Time  `json:"at"`
	Actor      hux.Actor `json:"actor"`
	ReasonCode string    `json:"reason_code"`
}

// Create is hux.memory.create.v1: an entry as it is proposed.
type Create struct {
	Content      string         `json:"content"`
	Topics       []string       `json:"topics"`
	Scope        Scope          `json:"scope"`
	ApprovalMode *string        `json:"approval_mode"`
	Sensitivity  string         `json:"sensitivity"`
	Redaction    *hux.Redaction `json:"redaction"`
	Retention    Retention      `json:"retention"`
	Source       Source         `json:"source"`
	Corrects     *string        `json:"corrects"`
}

// Edit is hux.memory.edit.v1: a person's correction. What it leaves out is as
// in the entry that it corrects.
type Edit struct {
	Content     string         `json:"content"`
	Topics      []string       `json:"topics"`
	Scope       *Scope         `json:"scope"`
	Sensitivity *string        `json:"sensitivity"`
	Redaction   *hux.Redaction `json:"redaction"`
	Retention   *Retention     `json:"retention"`
}

// Import is hux.memory.import.v1: entries from another memory. They come from
// one source, whose kind is import.
type Import struct {
	Evidence []hux.EvidenceRef `json:"evidence"`
	Items    []Imported        `json:"items"`
}

// Imported is one entry of an Import.
type Imported struct {
	Content     string         `json:"content"`
	Topics      []string       `json:"topics"`
	Scope       Scope          `json:"scope"`
	Sensitivity string         `json:"sensitivity"`
	Redaction   *hux.Redaction `json:"redaction,omitempty"`
	Retention   Retention      `json:"retention"`
}

// Export is hux.memory_export.v1: all entries, each as far as its redaction
// level lets it leave the tenant (redact.Leave).
type Export struct {
	Schema     string            `json:"schema"`
	ExportedAt hux.Time          `json:"exported_at"`
	Items      []json.RawMessage `json:"items"`

	Provenance hux.Provenance `json:"provenance"`
}

// Prompt is hux.memory.prompt.v1: what may stand before the assistant in a
// conversation is asked for.
type Prompt struct {
	ConversationID string `json:"conversation_id"`
	RunID          string `json:"run_id"`
	MaxChars       *int   `json:"max_chars"` // nil: 4000
}

// The states.
const (
	Proposed  = "proposed"
	Active    = "active"
	Rejected  = "rejected"
	Expired   = "expired"
	Forgotten = "forgotten"
)

// States is the ledger's state machine. What was only proposed is rejected,
// not forgotten.
var States = hux.Machine{Name: "memory", Start: Proposed, Moves: map[string][]string{
	Proposed: {Active, Rejected}, Active: {Expired, Forgotten}, Expired: {Forgotten}, Rejected: {}, Forgotten: {},
}}
