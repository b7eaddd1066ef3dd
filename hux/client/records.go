// Code generated from schemas/ by make types-generate. DO NOT EDIT.

package client

import (
	"bstein.dev/hux/hux"
)

// Capabilities is hux.capabilities.v1. What this router can do, for the one who asks.
type Capabilities struct {
	Schema          string                      `json:"schema"`
	ContractVersion string                      `json:"contract_version"`
	Flags           map[string]CapabilitiesFlag `json:"flags"`
	Surfaces        []string                    `json:"surfaces"`
	Modes           []string                    `json:"modes"`
	EventKinds      []string                    `json:"event_kinds"`
	Actor           hux.Actor                   `json:"actor"`
	Limits          map[string]int64            `json:"limits"`
	Features        map[string]bool             `json:"features"`
	Build           hux.Build                   `json:"build"`
}

// CapabilitiesFlag is a part of hux.capabilities.v1.
type CapabilitiesFlag struct {
	Enabled   bool     `json:"enabled"`
	Listed    bool     `json:"listed"`
	DependsOn []string `json:"depends_on"`
	BlockedBy []string `json:"blocked_by"`
}

// ConversationCreate is hux.conversation.create.v1. With an external_ref the conversation that it belongs to is given back, if there is one.
type ConversationCreate struct {
	Title       *string                        `json:"title,omitzero"`
	ProjectID   *string                        `json:"project_id,omitzero"`
	Tags        []string                       `json:"tags,omitzero"`
	Pinned      *bool                          `json:"pinned,omitzero"`
	ExternalRef *ConversationCreateExternalRef `json:"external_ref,omitzero"`
}

// ConversationCreateExternalRef is a part of hux.conversation.create.v1.
type ConversationCreateExternalRef struct {
	System string `json:"system"` // hermes_session, webui or telegram
	ID     string `json:"id"`
}

// ConversationPatch is hux.conversation.patch.v1. A merge patch (RFC 7396) over what a person may change.
type ConversationPatch struct {
	Title     *string          `json:"title,omitzero"`
	ProjectID Nullable[string] `json:"project_id,omitzero"`
	Tags      []string         `json:"tags,omitzero"`
	Pinned    *bool            `json:"pinned,omitzero"`
	State     *string          `json:"state,omitzero"` // active or archived
}

// Conversation is hux.conversation.v1. A conversation, as far as HUX knows of it.
type Conversation struct {
	Schema         string                    `json:"schema"`
	ID             string                    `json:"id"`
	Owner          hux.User                  `json:"owner"`
	Revision       int64                     `json:"revision"`
	Title          string                    `json:"title"` // Empty once the conversation is forgotten.
	ProjectID      *string                   `json:"project_id"`
	Tags           []string                  `json:"tags"`
	Pinned         bool                      `json:"pinned"`
	State          string                    `json:"state"` // active, archived or forgotten
	Branch         ConversationBranch        `json:"branch"`
	Mode           ConversationMode          `json:"mode"`
	Private        bool                      `json:"private"`   // Whether it was ever private.
	Ephemeral      bool                      `json:"ephemeral"` // Whether it is private now.
	ExpiresAt      *hux.Time                 `json:"expires_at"`
	Memory         ConversationMemory        `json:"memory"`
	HeadSeq        int64                     `json:"head_seq"`
	LastActivityAt *hux.Time                 `json:"last_activity_at"`
	ExternalRefs   []ConversationExternalRef `json:"external_refs"`
	CreatedAt      hux.Time                  `json:"created_at"`
	UpdatedAt      hux.Time                  `json:"updated_at"`
	Provenance     hux.Provenance            `json:"provenance"`
}

// ConversationBranch is a part of hux.conversation.v1.
type ConversationBranch struct {
	RootID   string  `json:"root_id"`
	ParentID *string `json:"parent_id"`
	ForkSeq  *int64  `json:"fork_seq"`
	Depth    int64   `json:"depth"`
}

// ConversationMode is a part of hux.conversation.v1.
type ConversationMode struct {
	Mode     string  `json:"mode"` // fast, thoughtful, research, create or private
	Route    *string `json:"route"`
	SinceSeq int64   `json:"since_seq"`
}

// ConversationMemory is a part of hux.conversation.v1.
type ConversationMemory struct {
	Read  bool `json:"read"`
	Write bool `json:"write"`
}

// ConversationExternalRef is a part of hux.conversation.v1.
type ConversationExternalRef struct {
	System string `json:"system"`  // hermes_session, webui or telegram
	IDHash string `json:"id_hash"` // A keyed hash; the id itself is not kept.
}

// Problem is hux.error.v1. A problem document (RFC 9457). Some codes carry members of their own besides.
type Problem struct {
	Schema          string         `json:"schema"`
	Type            string         `json:"type"`
	Title           string         `json:"title"`
	Status          int64          `json:"status"`
	Code            string         `json:"code"`
	Detail          *string        `json:"detail,omitzero"`
	Instance        *string        `json:"instance,omitzero"`
	RequestID       string         `json:"request_id"`
	Retryable       bool           `json:"retryable"`
	RetryAfterMs    *int64         `json:"retry_after_ms,omitzero"`
	Errors          []ProblemError `json:"errors,omitzero"`
	CurrentRevision *int64         `json:"current_revision,omitzero"`
	Allowed         []string       `json:"allowed,omitzero"`
}

// ProblemError is a part of hux.error.v1.
type ProblemError struct {
	Pointer string `json:"pointer"` // RFC 6901: where in the request body.
	Code    string `json:"code"`    // The keyword of JSON Schema that the value breaks, or an error code.
	Message string `json:"message"`
}

// EventCreate is hux.event.create.v1. What an agent, or the page of a person, says has happened. Every other kind of event is the router's own.
type EventCreate struct {
	Kind        string                 `json:"kind"`            // run.started, run.finished, message.committed, message.corrected, tool.started, tool.finished or attachment.added
	Status      *string                `json:"status,omitzero"` // started, progress, completed, failed or cancelled
	Summary     string                 `json:"summary"`
	Evidence    []hux.EvidenceRef      `json:"evidence,omitzero"`
	Data        map[string]any         `json:"data,omitzero"`
	RunID       *string                `json:"run_id,omitzero"`
	Causes      []int64                `json:"causes,omitzero"`
	Sensitivity *string                `json:"sensitivity,omitzero"` // normal, sensitive or restricted
	Redaction   *EventCreateRedaction  `json:"redaction,omitzero"`
	Provenance  *EventCreateProvenance `json:"provenance,omitzero"`
}

// EventCreateRedaction is a part of hux.event.create.v1.
type EventCreateRedaction struct {
	Level string `json:"level"` // none, partial or full
}

// EventCreateProvenance is a part of hux.event.create.v1.
type EventCreateProvenance struct {
	Route *hux.Route `json:"route,omitzero"`
}

// Event is hux.event.v1. One entry of a conversation's log. Contiguous by seq, never changed but for its tombstone.
type Event struct {
	Schema         string            `json:"schema"`
	ID             string            `json:"id"`
	ConversationID string            `json:"conversation_id"`
	Seq            int64             `json:"seq"`
	Kind           string            `json:"kind"`
	Status         *string           `json:"status"` // started, progress, completed, failed or cancelled
	Summary        string            `json:"summary"`
	Evidence       []hux.EvidenceRef `json:"evidence"`
	Data           map[string]any    `json:"data,omitzero"`
	RunID          *string           `json:"run_id,omitzero"`
	Causes         []int64           `json:"causes,omitzero"`
	ReportedBy     *string           `json:"reported_by,omitzero"` // page: what the page of a person has seen, never evidence.
	Sensitivity    string            `json:"sensitivity"`          // normal, sensitive or restricted
	Redaction      hux.Redaction     `json:"redaction"`
	Tombstone      *EventTombstone   `json:"tombstone"`
	CreatedAt      hux.Time          `json:"created_at"`
	UpdatedAt      *hux.Time         `json:"updated_at,omitzero"`
	Provenance     hux.Provenance    `json:"provenance"`
}

// EventTombstone is a part of hux.event.v1.
type EventTombstone struct {
	At     hux.Time `json:"at"`
	Reason string   `json:"reason"`
}

// Manifest is hux.manifest.v1. What the contract consists of, so that a consumer can tell whether its copy is the same.
type Manifest struct {
	Schema          string                     `json:"schema"`
	ContractVersion string                     `json:"contract_version"`
	Records         []ManifestRecord           `json:"records"`
	Routes          []ManifestRoute            `json:"routes"`
	Rules           ManifestRules              `json:"rules"` // The hash of the test vectors of what a schema can't say: that of the lines of sha256sum for their files.
	ModesCatalog    []ManifestModesCatalogItem `json:"modes_catalog"`
	GeneratedAt     hux.Time                   `json:"generated_at"`
}

// ManifestRecord is a part of hux.manifest.v1.
type ManifestRecord struct {
	Schema           string `json:"schema"`
	JSONSchemaSHA256 string `json:"json_schema_sha256"`
	Mutable          bool   `json:"mutable"`
}

// ManifestRoute is a part of hux.manifest.v1.
type ManifestRoute struct {
	Method string  `json:"method"` // GET, POST, PUT, PATCH or DELETE
	Path   string  `json:"path"`
	Flag   string  `json:"flag"`
	Record *string `json:"record"`
}

// ManifestRules is a part of hux.manifest.v1. The hash of the test vectors of what a schema can't say: that of the lines of sha256sum for their files.
type ManifestRules struct {
	VectorsSHA256 string `json:"vectors_sha256"`
}

// ManifestModesCatalogItem is a part of hux.manifest.v1.
type ManifestModesCatalogItem struct {
	Mode         string `json:"mode"`
	DefaultRoute string `json:"default_route"`
	InSwitchyard bool   `json:"in_switchyard"`
}
