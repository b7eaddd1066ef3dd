// Code generated from schemas/ by make types-generate. DO NOT EDIT.

package client

import (
	"bstein.dev/hux/hux"
)

// ApprovalCreate is hux.approval.create.v1. An agent asks a person about a tool call. What is shown and offered, the router makes of the arguments. Names the conversation and run, or the gateway's session and turn.
type ApprovalCreate struct {
	ConversationID *string               `json:"conversation_id,omitzero"`
	RunID          *string               `json:"run_id,omitzero"`
	Session        *SessionRef           `json:"session,omitzero"`
	TurnID         *string               `json:"turn_id,omitzero"`
	SurfaceHint    *hux.Surface          `json:"surface_hint,omitzero"` // chat, worker, telegram or voice
	ExpiresInMS    *int64                `json:"expires_in_ms,omitzero"`
	Request        ApprovalCreateRequest `json:"request"`
}

// ApprovalCreateRequest is a part of hux.approval.create.v1.
type ApprovalCreateRequest struct {
	Tool     string                              `json:"tool"`
	Args     map[string]any                      `json:"args"`
	Target   *string                             `json:"target,omitzero"`
	Summary  *string                             `json:"summary,omitzero"`
	Evidence []ApprovalCreateRequestEvidenceItem `json:"evidence"`
}

// ApprovalCreateRequestEvidenceItem is a part of hux.approval.create.v1.
type ApprovalCreateRequestEvidenceItem struct {
	Kind  string  `json:"kind"`
	ID    string  `json:"id"`
	Hash  string  `json:"hash"` // SHA-256 of the canonical JSON (RFC 8785) of {tool, args, target}.
	Owner *string `json:"owner,omitzero"`
}

// ApprovalDecide is hux.approval.decide.v1. What a person chose, and for which request: the hash is that of the evidence they saw.
type ApprovalDecide struct {
	Choice       string  `json:"choice"` // once, session, always or deny
	Reason       *string `json:"reason,omitzero"`
	EvidenceHash string  `json:"evidence_hash"`
}

// Approval is hux.approval.v1. A tool call that waits for a person, and what the person decided. It is decided once.
type Approval struct {
	Schema         string            `json:"schema"`
	ID             string            `json:"id"`
	Owner          hux.User          `json:"owner"`
	Revision       int64             `json:"revision"`
	ConversationID string            `json:"conversation_id"`
	RunID          string            `json:"run_id"`
	SurfaceHint    *hux.Surface      `json:"surface_hint"` // chat, worker, telegram or voice
	Request        ApprovalRequest   `json:"request"`      // Exactly what a person sees and decides about.
	ExpiresAt      hux.Time          `json:"expires_at"`
	Status         string            `json:"status"` // pending, approved, denied, expired or cancelled
	Decision       *ApprovalDecision `json:"decision"`
	CreatedAt      hux.Time          `json:"created_at"`
	UpdatedAt      hux.Time          `json:"updated_at"`
	Provenance     hux.Provenance    `json:"provenance"`
}

// ApprovalRequest is a part of hux.approval.v1. Exactly what a person sees and decides about.
type ApprovalRequest struct {
	Capability   string                        `json:"capability"`            // read, write, execute, message, memory_write, network or deploy
	Capabilities []string                      `json:"capabilities,omitzero"` // All that the call needs, capability among them; that alone where this is absent.
	Tool         string                        `json:"tool"`
	Target       *string                       `json:"target,omitzero"`
	Summary      string                        `json:"summary"`
	ArgsRedacted map[string]any                `json:"args_redacted"` // The arguments with the secrets in them masked.
	Evidence     []ApprovalRequestEvidenceItem `json:"evidence"`
	Choices      []string                      `json:"choices"`
	GrantMatch   GrantMatch                    `json:"grant_match"` // What session and always would grant.
}

// ApprovalRequestEvidenceItem is a part of hux.approval.v1.
type ApprovalRequestEvidenceItem struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Hash  string `json:"hash"` // SHA-256 of the canonical JSON (RFC 8785) of {tool, args, target}.
	Owner string `json:"owner"`
}

// ArtifactCreate is hux.artifact.create.v1. It begins without a version; the first is posted with base_version 0.
type ArtifactCreate struct {
	Title          string                `json:"title"`
	Type           string                `json:"type"` // document, code, data, image, audio or transcript
	ProjectID      *string               `json:"project_id,omitzero"`
	ConversationID *string               `json:"conversation_id,omitzero"`
	Lineage        []ArtifactLineageItem `json:"lineage,omitzero"`
	Sensitivity    *string               `json:"sensitivity,omitzero"` // normal, sensitive or restricted
	Redaction      *RedactionRequest     `json:"redaction,omitzero"`
}

// ArtifactLineageItem is a part of artifact_lineage.
type ArtifactLineageItem struct {
	Relation   string `json:"relation"` // variant_of, transcript_of, derived_from or restore_of
	ArtifactID string `json:"artifact_id"`
	Version    int64  `json:"version"`
}

// ArtifactPatch is hux.artifact.patch.v1. A merge patch (RFC 7396). Type, lineage and versions stay as they are.
type ArtifactPatch struct {
	Title       *string           `json:"title,omitzero"`
	ProjectID   Nullable[string]  `json:"project_id,omitzero"`
	State       *string           `json:"state,omitzero"`       // active or archived
	Sensitivity *string           `json:"sensitivity,omitzero"` // normal, sensitive or restricted
	Redaction   *RedactionRequest `json:"redaction,omitzero"`
}

// ArtifactPromote is hux.artifact.promote.v1. Shows one version to the readers of a target, who see no later one before it is promoted too.
type ArtifactPromote struct {
	Target  string `json:"target"` // project or export
	Version int64  `json:"version"`
}

// ArtifactTranscribe is hux.artifact.transcribe.v1. Makes a transcript of a version of a recording, as an artifact of its own. Whoever asks agrees to where it runs, and the version keeps that among its consents.
type ArtifactTranscribe struct {
	Version  int64  `json:"version"`
	Locality string `json:"locality"` // Where it may run.
}

// Artifact is hux.artifact.v1. Something that was made. Its content is in its versions, which are numbered from 1 without a gap and never change. In a project it is the tenant's, else its owner's.
type Artifact struct {
	Schema         string                 `json:"schema"`
	ID             string                 `json:"id"`
	Owner          *hux.User              `json:"owner,omitzero"`
	Revision       int64                  `json:"revision"`
	Title          string                 `json:"title"` // Empty once the artifact is forgotten.
	Type           string                 `json:"type"`  // document, code, data, image, audio or transcript
	ProjectID      *string                `json:"project_id,omitzero"`
	ConversationID *string                `json:"conversation_id,omitzero"` // Where it was made.
	HeadVersion    int64                  `json:"head_version"`             // The number of the last version; 0 before the first.
	VersionCount   int64                  `json:"version_count"`
	Lineage        []ArtifactLineageItem  `json:"lineage"`
	Promoted       []ArtifactPromotedItem `json:"promoted"`    // Which versions were shown to whom, oldest first. The last of a target is what its readers see, until another is promoted.
	State          string                 `json:"state"`       // active, archived or forgotten
	Sensitivity    string                 `json:"sensitivity"` // normal, sensitive or restricted
	Redaction      hux.Redaction          `json:"redaction"`
	CreatedAt      hux.Time               `json:"created_at"`
	UpdatedAt      hux.Time               `json:"updated_at"`
	Provenance     hux.Provenance         `json:"provenance"`
}

// ArtifactPromotedItem is a part of hux.artifact.v1.
type ArtifactPromotedItem struct {
	Target  string    `json:"target"` // project or export
	Version int64     `json:"version"`
	At      hux.Time  `json:"at"`
	Actor   hux.Actor `json:"actor"`
}

// ArtifactDiff is hux.artifact_diff.v1. Line by line; coarse where that would take too long, with all from the first difference to the last in one hunk; binary, without hunks, of bytes.
type ArtifactDiff struct {
	Schema     string            `json:"schema"`
	ArtifactID string            `json:"artifact_id"`
	From       int64             `json:"from"` // A version, or 0 for the empty one.
	To         int64             `json:"to"`
	Mode       string            `json:"mode"` // lines, coarse or binary
	Equal      bool              `json:"equal"`
	Truncated  bool              `json:"truncated"` // There are more hunks than these; stats counts all.
	Stats      ArtifactDiffStats `json:"stats"`
	Hunks      []ArtifactHunk    `json:"hunks"`
	Provenance hux.Provenance    `json:"provenance"`
}

// ArtifactDiffStats is a part of hux.artifact_diff.v1.
type ArtifactDiffStats struct {
	Added   int64 `json:"added"`
	Removed int64 `json:"removed"`
}

// ArtifactHunk is a part of artifact_hunks.
type ArtifactHunk struct {
	FromStart int64    `json:"from_start"`
	FromLines int64    `json:"from_lines"`
	ToStart   int64    `json:"to_start"`
	ToLines   int64    `json:"to_lines"`
	Lines     []string `json:"lines"` // Each begins with what became of it: + added, - removed, a space for kept.
}

// ArtifactVersionCreate is hux.artifact_version.create.v1. One of the three: its content as text, the bytes of a blob, or a patch of the base's text. Where base_version is not the head, another version came between.
type ArtifactVersionCreate struct {
	BaseVersion   int64          `json:"base_version"`
	MediaType     string         `json:"media_type"`
	Content       *string        `json:"content,omitzero"`
	Blob          *BlobRef       `json:"blob,omitzero"`
	Patch         []ArtifactHunk `json:"patch,omitzero"`
	Origin        *string        `json:"origin,omitzero"` // Follows from who posts it, unless the version is made by a machine's rule or taken from an earlier one.
	ChangeSummary *string        `json:"change_summary,omitzero"`
}

// ArtifactVersion is hux.artifact_version.v1. What an artifact was at a time: text or bytes. It never changes, and has no id but its artifact's and its number.
type ArtifactVersion struct {
	Schema        string         `json:"schema"`
	ArtifactID    string         `json:"artifact_id"`
	N             int64          `json:"n"`
	MediaType     string         `json:"media_type"`
	Content       *string        `json:"content,omitzero"`
	Blob          *BlobRef       `json:"blob,omitzero"`
	ContentHash   string         `json:"content_hash"` // SHA-256 of the text in UTF-8, or of the bytes.
	BaseVersion   int64          `json:"base_version"`
	Origin        string         `json:"origin"` // human, agent, automatic or restore
	ChangeSummary *string        `json:"change_summary,omitzero"`
	Consents      []Consent      `json:"consents,omitzero"`
	Redaction     *hux.Redaction `json:"redaction,omitzero"` // What was masked in the summary.
	CreatedAt     hux.Time       `json:"created_at"`
	Provenance    hux.Provenance `json:"provenance"`
}

// Blob is hux.blob.v1. Bytes as they were stored, which may be fewer than were sent: no place or person is kept in a picture's or a recording's data.
type Blob struct {
	Schema     string         `json:"schema"`
	Digest     string         `json:"digest"`
	Size       int64          `json:"size"`
	MediaType  string         `json:"media_type"`
	Provenance hux.Provenance `json:"provenance"`
}

// Cancel is hux.cancel.v1. How far the stop of a run is: stopping until there is a receipt, then the receipt's outcome.
type Cancel struct {
	Schema     string         `json:"schema"`
	State      string         `json:"state"` // stopping, stopped, completed_before_stop, partially_stopped, failed_to_stop or unknown
	ReceiptID  *string        `json:"receipt_id"`
	DeadlineAt hux.Time       `json:"deadline_at"` // When the receipt is written at the latest.
	Provenance hux.Provenance `json:"provenance"`
}

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
	Provenance      hux.Provenance              `json:"provenance"`
}

// CapabilitiesFlag is a part of hux.capabilities.v1.
type CapabilitiesFlag struct {
	Enabled   bool     `json:"enabled"`
	Listed    bool     `json:"listed"`
	DependsOn []string `json:"depends_on"`
	BlockedBy []string `json:"blocked_by"`
}

// CitationCreate is hux.citation.create.v1. All in one commit. Later ones go on with the next ordinal and replace nothing.
type CitationCreate struct {
	Citations []CitationCreateCitation `json:"citations"`
}

// CitationCreateCitation is a part of hux.citation.create.v1.
type CitationCreateCitation struct {
	Ordinal   int64   `json:"ordinal"`
	PassageID string  `json:"passage_id"`
	ClaimSpan *Span   `json:"claim_span,omitzero"`
	Stance    *string `json:"stance,omitzero"` // supports, contradicts or mentions
}

// Citation is hux.citation.v1. One mark of a message, and the passage that it stands for.
type Citation struct {
	Schema         string         `json:"schema"`
	ID             string         `json:"id"`
	Owner          hux.User       `json:"owner"`
	Revision       int64          `json:"revision"`
	ConversationID string         `json:"conversation_id"`
	MessageID      string         `json:"message_id"`
	Ordinal        int64          `json:"ordinal"`
	PassageID      string         `json:"passage_id"`
	SourceNumber   int64          `json:"source_number"`       // The number of the source in the message, by first appearance: one source has one number.
	ClaimSpan      *Span          `json:"claim_span,omitzero"` // The part of the message that the mark is for.
	Stance         *string        `json:"stance,omitzero"`     // supports, contradicts or mentions
	State          string         `json:"state"`               // That of the passage.
	CreatedAt      hux.Time       `json:"created_at"`
	UpdatedAt      hux.Time       `json:"updated_at"`
	Provenance     hux.Provenance `json:"provenance"`
}

// ConversationBranch is hux.conversation.branch.v1. fork_seq or message_id, one of the two, names the last event that the child shares. Without a title it has its parent's.
type ConversationBranch struct {
	ForkSeq   *int64  `json:"fork_seq,omitzero"`
	MessageID *string `json:"message_id,omitzero"`
	Title     *string `json:"title,omitzero"`
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
	System string `json:"system"`
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
	Branch         ConversationBranchPart    `json:"branch"`
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

// ConversationBranchPart is a part of hux.conversation.v1.
type ConversationBranchPart struct {
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
	System string `json:"system"`
	IDHash string `json:"id_hash"` // A keyed hash; the id itself is not kept.
}

// DecisionCreate is hux.decision.create.v1. An agent's hook asks what applies to a tool call, before it runs. Names the conversation and run, or the gateway's session and turn.
type DecisionCreate struct {
	ConversationID *string        `json:"conversation_id,omitzero"`
	RunID          *string        `json:"run_id,omitzero"`
	Session        *SessionRef    `json:"session,omitzero"`
	TurnID         *string        `json:"turn_id,omitzero"`
	Tool           string         `json:"tool"`
	Args           map[string]any `json:"args"`
	Target         *string        `json:"target,omitzero"`
	ToolCallID     string         `json:"tool_call_id"`
	Summary        *string        `json:"summary,omitzero"`
	SurfaceHint    *hux.Surface   `json:"surface_hint,omitzero"`  // chat, worker, telegram or voice
	ExpiresInMS    *int64         `json:"expires_in_ms,omitzero"` // How long the hook can wait if it has to ask.
}

// Decision is hux.decision.v1. What applies to a tool call: it may run, may not, or waits for an approval.
type Decision struct {
	Schema       string               `json:"schema"`
	Effect       string               `json:"effect"`       // allow, ask or deny
	Reason       string               `json:"reason"`       // grant_deny, mode_private, deploy_always_asks, grant_allow, matrix or budget_exhausted
	Capabilities []DecisionCapability `json:"capabilities"` // What the call needs, and what applies to each; the strictest applies to the call.
	EvidenceHash string               `json:"evidence_hash"`
	GrantID      *string              `json:"grant_id"`    // The grant that it rests on.
	ApprovalID   *string              `json:"approval_id"` // The approval to wait on, if effect is ask.
	Provenance   hux.Provenance       `json:"provenance"`
}

// DecisionCapability is a part of hux.decision.v1.
type DecisionCapability struct {
	Capability string `json:"capability"` // read, write, execute, message, memory_write, network or deploy
	Effect     string `json:"effect"`     // allow, ask or deny
	Reason     string `json:"reason"`     // grant_deny, mode_private, deploy_always_asks, grant_allow, matrix or budget_exhausted
}

// Problem is hux.error.v1. A problem document (RFC 9457). Some codes carry members of their own besides. It is no record and has no provenance: it may be about a request of nobody.
type Problem struct {
	Schema          string            `json:"schema"`
	Type            string            `json:"type"`
	Title           string            `json:"title"`
	Status          int64             `json:"status"`
	Code            string            `json:"code"`
	Detail          *string           `json:"detail,omitzero"`
	Instance        *string           `json:"instance,omitzero"`
	RequestID       string            `json:"request_id"`
	Retryable       bool              `json:"retryable"`
	RetryAfterMS    *int64            `json:"retry_after_ms,omitzero"`
	Errors          []Fault           `json:"errors,omitzero"`
	CurrentRevision *int64            `json:"current_revision,omitzero"` // Of precondition_failed: the revision that the record has.
	From            *string           `json:"from,omitzero"`             // Of invalid_transition: the state that the record is in.
	To              *string           `json:"to,omitzero"`               // Of invalid_transition: the state that it can't go to.
	Allowed         []string          `json:"allowed,omitzero"`          // Of invalid_transition: the states that it can go to.
	Decision        *ApprovalDecision `json:"decision,omitzero"`         // Of approval_already_decided: what was decided.
	Head            *int64            `json:"head,omitzero"`             // Of version_conflict: the artifact's last version.
	Problems        []Fault           `json:"problems,omitzero"`         // Of release_problems.
	User            *hux.User         `json:"user,omitzero"`             // Of no_slot: the id that the operator needs.
	Error           *string           `json:"error,omitzero"`            // The same as detail, where the answer stands in for one of the WebUI.
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

// Forget is hux.forget.v1. What was removed, what was kept and why, and what could not be reached. Counts and ids only.
type Forget struct {
	Schema         string               `json:"schema"`
	ConversationID string               `json:"conversation_id"`
	Owner          hux.User             `json:"owner"`
	State          string               `json:"state"`  // forgetting or forgotten
	Counts         ForgetCounts         `json:"counts"` // How many were removed of each.
	Kept           []ForgetKeptItem     `json:"kept"`
	Branches       []ForgetBranch       `json:"branches"` // Conversations that began as this one, and have lost what they had from it.
	External       []ForgetExternalItem `json:"external"` // What systems outside of hux say of their copies.
	CompletedAt    *hux.Time            `json:"completed_at"`
	CreatedAt      hux.Time             `json:"created_at"`
	Provenance     hux.Provenance       `json:"provenance"`
}

// ForgetCounts is a part of hux.forget.v1. How many were removed of each.
type ForgetCounts struct {
	Events          int64 `json:"events"`
	Messages        int64 `json:"messages"`
	Runs            int64 `json:"runs"`
	Policies        int64 `json:"policies"`
	Memory          int64 `json:"memory"`
	Artifacts       int64 `json:"artifacts"`
	Versions        int64 `json:"versions"`
	Blobs           int64 `json:"blobs"`
	Approvals       int64 `json:"approvals"`
	Grants          int64 `json:"grants"`
	Receipts        int64 `json:"receipts"`
	Sources         int64 `json:"sources"`
	Passages        int64 `json:"passages"`
	Citations       int64 `json:"citations"`
	Notebooks       int64 `json:"notebooks"`
	Notices         int64 `json:"notices"`
	Attachments     int64 `json:"attachments"`
	SearchEntries   int64 `json:"search_entries"`
	IdempotencyRows int64 `json:"idempotency_rows"`
}

// ForgetKeptItem is a part of hux.forget.v1.
type ForgetKeptItem struct {
	Ref    string `json:"ref"`
	Reason string `json:"reason"` // shared_artifact, shared_source, shared_notebook, promoted or audit
}

// ForgetBranch is a part of hux.forget.v1.
type ForgetBranch struct {
	ID     string `json:"id"`
	Effect string `json:"effect"`
}

// ForgetExternalItem is a part of hux.forget.v1.
type ForgetExternalItem struct {
	System string `json:"system"`
	Status string `json:"status"` // confirmed, pending or unsupported
}

// GrantCreate is hux.grant.create.v1. A grant that no approval asked for.
type GrantCreate struct {
	Capability   string      `json:"capability"`            // read, write, execute, message, memory_write, network or deploy
	Capabilities []string    `json:"capabilities,omitzero"` // All that it covers, capability among them; that alone where this is absent.
	Effect       string      `json:"effect"`                // allow or deny
	Duration     string      `json:"duration"`              // once, session or always
	Match        GrantMatch  `json:"match"`
	Scope        *GrantScope `json:"scope,omitzero"`
	ExpiresInMS  *int64      `json:"expires_in_ms,omitzero"` // At most 365 days with always, 12 hours otherwise; 30 days and 12 hours unless it is said.
}

// Grant is hux.grant.v1. Lets an agent do, or keeps it from doing, just what a person saw.
type Grant struct {
	Schema       string         `json:"schema"`
	ID           string         `json:"id"`
	Owner        hux.User       `json:"owner"`
	Revision     int64          `json:"revision"`
	Capability   string         `json:"capability"`            // read, write, execute, message, memory_write, network or deploy
	Capabilities []string       `json:"capabilities,omitzero"` // All that it covers, capability among them; that alone where this is absent.
	Effect       string         `json:"effect"`                // allow or deny
	Duration     string         `json:"duration"`              // once, session or always
	Match        GrantMatch     `json:"match"`
	Scope        GrantScope     `json:"scope"`
	Origin       GrantOrigin    `json:"origin"` // The approval that it was given in, or manual.
	ExpiresAt    hux.Time       `json:"expires_at"`
	Uses         GrantUses      `json:"uses"`
	State        string         `json:"state"` // active, expired, revoked or spent
	CreatedAt    hux.Time       `json:"created_at"`
	UpdatedAt    hux.Time       `json:"updated_at"`
	Provenance   hux.Provenance `json:"provenance"`
}

// GrantOrigin is a part of hux.grant.v1. The approval that it was given in, or manual.
type GrantOrigin struct {
	ApprovalID *string `json:"approval_id,omitzero"`
	Manual     *bool   `json:"manual,omitzero"`
}

// GrantUses is a part of hux.grant.v1.
type GrantUses struct {
	Count int64  `json:"count"`
	Max   *int64 `json:"max"` // Null for any number.
}

// IngestHermes is hux.ingest.hermes.v1. What a Hermes gateway tells by an outbound webhook. It is signed, may be lost or come twice, and decides nothing.
type IngestHermes struct {
	HookEventName string         `json:"hook_event_name"`
	DeliveryID    string         `json:"delivery_id"`         // The same when it is sent again.
	Timestamp     string         `json:"timestamp"`           // When it was sent; one of more than five minutes ago is refused.
	SessionID     *string        `json:"session_id,omitzero"` // One that is not of the form of a foreign id is known by its SHA-256.
	ToolName      *string        `json:"tool_name,omitzero"`  // As session_id.
	ToolInput     map[string]any `json:"tool_input,omitzero"`
	Cwd           *string        `json:"cwd,omitzero"`
	Profile       *string        `json:"profile,omitzero"`
	Extra         map[string]any `json:"extra,omitzero"` // Facts of the event, such as tool_call_id, turn_id, status and duration_ms.
}

// Lineage is hux.lineage.v1. Where a conversation comes from and what comes from it: its ancestors from the root to the parent, itself, and its branches.
type Lineage struct {
	Schema     string         `json:"schema"`
	Root       LineageNode    `json:"root"`
	Ancestors  []LineageNode  `json:"ancestors"`
	Self       LineageNode    `json:"self"`
	Children   []LineageNode  `json:"children"`
	Provenance hux.Provenance `json:"provenance"`
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
	Provenance      hux.Provenance             `json:"provenance"`
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

// MemoryCreate is hux.memory.create.v1. An agent's proposal waits for a person wherever approval_mode must be ask, whatever it says. corrects names the entry that a correction is to replace.
type MemoryCreate struct {
	Content      string            `json:"content"`
	Topics       []string          `json:"topics"`
	Scope        MemoryScope       `json:"scope"`
	ApprovalMode *string           `json:"approval_mode,omitzero"` // auto or ask
	Sensitivity  string            `json:"sensitivity"`            // normal, sensitive or restricted
	Redaction    *RedactionRequest `json:"redaction,omitzero"`
	Retention    MemoryRetention   `json:"retention"`
	Source       MemorySource      `json:"source"`
	Corrects     *string           `json:"corrects,omitzero"`
}

// MemoryEdit is hux.memory.edit.v1. A person's correction, which takes the entry's place at once. What it leaves out is as in the entry.
type MemoryEdit struct {
	Content     string            `json:"content"`
	Topics      []string          `json:"topics,omitzero"`
	Scope       *MemoryScope      `json:"scope,omitzero"`
	Sensitivity *string           `json:"sensitivity,omitzero"` // normal, sensitive or restricted
	Redaction   *RedactionRequest `json:"redaction,omitzero"`
	Retention   *MemoryRetention  `json:"retention,omitzero"`
}

// MemoryImport is hux.memory.import.v1. Entries from another memory, all of them or none. evidence says where they come from.
type MemoryImport struct {
	Evidence []hux.EvidenceRef  `json:"evidence"`
	Items    []MemoryImportItem `json:"items"`
}

// MemoryImportItem is a part of hux.memory.import.v1.
type MemoryImportItem struct {
	Content     string            `json:"content"`
	Topics      []string          `json:"topics"`
	Scope       MemoryScope       `json:"scope"`
	Sensitivity string            `json:"sensitivity"` // normal, sensitive or restricted
	Redaction   *RedactionRequest `json:"redaction,omitzero"`
	Retention   MemoryRetention   `json:"retention"`
}

// MemoryPrompt is hux.memory.prompt.v1. What of the memory may stand before the assistant in a conversation. That it was asked for is told in the conversation's log, by ids alone.
type MemoryPrompt struct {
	ConversationID string  `json:"conversation_id"`
	RunID          *string `json:"run_id,omitzero"`
	MaxChars       *int64  `json:"max_chars,omitzero"` // How long the contents may be together; 4000 unless it is said.
}

// Memory is hux.memory.v1. One entry of the ledger of what the assistant remembers. What it says is never changed; a correction is another entry that takes its place.
type Memory struct {
	Schema       string             `json:"schema"`
	ID           string             `json:"id"`
	Owner        hux.User           `json:"owner"`
	Revision     int64              `json:"revision"`
	Content      *string            `json:"content"` // null once it is rejected or forgotten.
	Topics       []string           `json:"topics"`
	Scope        MemoryScope        `json:"scope"`
	State        string             `json:"state"`         // proposed, active, rejected, expired or forgotten
	ApprovalMode string             `json:"approval_mode"` // auto or ask
	Sensitivity  string             `json:"sensitivity"`   // normal, sensitive or restricted
	Redaction    hux.Redaction      `json:"redaction"`
	Retention    MemoryRetention    `json:"retention"`
	Retrieval    MemoryRetrieval    `json:"retrieval"` // Whether it may be given to the assistant; only an active entry is.
	Source       MemorySource       `json:"source"`
	Corrects     *string            `json:"corrects"`      // The entry whose place it takes.
	SupersededBy *string            `json:"superseded_by"` // The entry that took its place.
	Transitions  []MemoryTransition `json:"transitions"`   // Its moves, oldest first. They have nothing of the content, not even a hash.
	CreatedAt    hux.Time           `json:"created_at"`
	UpdatedAt    hux.Time           `json:"updated_at"`
	Provenance   hux.Provenance     `json:"provenance"`
}

// MemoryRetrieval is a part of hux.memory.v1. Whether it may be given to the assistant; only an active entry is.
type MemoryRetrieval struct {
	Enabled   bool     `json:"enabled"`
	ChangedAt hux.Time `json:"changed_at"`
}

// MemoryTransition is a part of hux.memory.v1.
type MemoryTransition struct {
	From       string    `json:"from"` // proposed, active or expired
	To         string    `json:"to"`   // active, rejected, expired or forgotten
	At         hux.Time  `json:"at"`
	Actor      hux.Actor `json:"actor"`
	ReasonCode string    `json:"reason_code"`
}

// MemoryExport is hux.memory_export.v1. All of a person's entries, in any state and oldest first: each a hux.memory.v1, or what its redaction level leaves of one outside its tenant.
type MemoryExport struct {
	Schema     string             `json:"schema"`
	ExportedAt hux.Time           `json:"exported_at"`
	Items      []MemoryExportItem `json:"items"`
	Provenance hux.Provenance     `json:"provenance"`
}

// MemoryExportItem is a part of hux.memory_export.v1.
type MemoryExportItem struct {
	Schema    string        `json:"schema"`
	ID        string        `json:"id"`
	Redaction hux.Redaction `json:"redaction"`
	CreatedAt hux.Time      `json:"created_at"`
}

// ModePut is hux.mode.put.v1. Puts a conversation into a mode, with the mode's own route or a pinned one.
type ModePut struct {
	Mode  string  `json:"mode"`           // fast, thoughtful, research, create or private
	Route *string `json:"route,omitzero"` // An exact route of the catalogue; null for the mode's own.
}

// Mode is hux.mode.v1. A way of working that a person picks; which model serves it is not theirs to know.
type Mode struct {
	Schema       string          `json:"schema"`
	Mode         string          `json:"mode"` // fast, thoughtful, research, create or private
	Label        string          `json:"label"`
	Description  string          `json:"description"`
	Constraints  ModeConstraints `json:"constraints"`
	DefaultRoute string          `json:"default_route"`
	PinPattern   string          `json:"pin_pattern"` // What a route that may be pinned looks like, as a regular expression.
	Provenance   hux.Provenance  `json:"provenance"`
}

// ModeConstraints is a part of hux.mode.v1.
type ModeConstraints struct {
	Locality    string `json:"locality"`    // any or local_only
	Memory      string `json:"memory"`      // on or off
	Web         string `json:"web"`         // on or off
	Ephemeral   bool   `json:"ephemeral"`   // Nothing of it outlasts the session.
	Overridable bool   `json:"overridable"` // Whether any route may be pinned; a local one may always.
}

// PassageCreate is hux.passage.create.v1. The words are looked for in the source; what is not there is refused. A position chooses the place nearest to it.
type PassageCreate struct {
	SourceID      string   `json:"source_id"`
	SourceVersion *int64   `json:"source_version,omitzero"` // The version that the words were read in; the last one unless it is said.
	Selector      Selector `json:"selector"`
}

// Passage is hux.passage.v1. Words of a source, found there when the passage was added.
type Passage struct {
	Schema        string         `json:"schema"`
	ID            string         `json:"id"`
	Owner         hux.User       `json:"owner"`
	Revision      int64          `json:"revision"`
	SourceID      string         `json:"source_id"`
	SourceVersion int64          `json:"source_version"`
	ContentHash   string         `json:"content_hash"` // Of the source's content that has the words.
	Selector      Selector       `json:"selector"`
	Text          string         `json:"text"`  // The quote's words. Empty once they were taken out.
	Match         string         `json:"match"` // exact: letter by letter. normalized: after NFC, and with each run of white space taken for one space.
	State         string         `json:"state"` // valid, source_changed, source_gone or redacted
	CreatedAt     hux.Time       `json:"created_at"`
	UpdatedAt     hux.Time       `json:"updated_at"`
	Provenance    hux.Provenance `json:"provenance"`
}

// PolicyPut is hux.policy.put.v1. Replaces the policy of the scope that the query names. Budgets that go on keep what is spent of them.
type PolicyPut struct {
	Level            string            `json:"level"`                        // safe, ask_first or autonomous
	LevelExpiresAt   *hux.Time         `json:"level_expires_at,omitzero"`    // When autonomous falls back to ask_first, by the router's clock; null for never. A time that is over is refused.
	LevelExpiresInMS *int64            `json:"level_expires_in_ms,omitzero"` // The same as a length of time from now on, for those whose clock may be wrong; 365 days at most. One of the two alone.
	Budgets          []PolicyPutBudget `json:"budgets,omitzero"`
}

// PolicyPutBudget is a part of hux.policy.put.v1.
type PolicyPutBudget struct {
	Kind   string `json:"kind"` // tool_calls, network_calls or seconds
	Limit  int64  `json:"limit"`
	Window string `json:"window"` // run or day
}

// Policy is hux.policy.v1. How much an agent may do without asking a person: anywhere, in a project or in a conversation. Each person has their own.
type Policy struct {
	Schema         string          `json:"schema"`
	ID             string          `json:"id"`
	Owner          hux.User        `json:"owner"`
	Revision       int64           `json:"revision"` // 0 for the policy that applies while nobody has set one; its id is all zeros.
	Scope          string          `json:"scope"`
	Level          string          `json:"level"`            // safe, ask_first or autonomous
	LevelExpiresAt *hux.Time       `json:"level_expires_at"` // When autonomous falls back to ask_first; null for never.
	Budgets        []PolicyBudget  `json:"budgets"`          // Once one is spent, what would be allowed is asked; reading is not.
	Effective      PolicyEffective `json:"effective"`        // What applies now where no grant does.
	CreatedAt      hux.Time        `json:"created_at"`
	UpdatedAt      hux.Time        `json:"updated_at"`
	Provenance     hux.Provenance  `json:"provenance"`
}

// PolicyBudget is a part of hux.policy.v1.
type PolicyBudget struct {
	Kind     string    `json:"kind"` // tool_calls, network_calls or seconds
	Limit    int64     `json:"limit"`
	Window   string    `json:"window"` // run or day
	Spent    int64     `json:"spent"`
	ResetsAt *hux.Time `json:"resets_at"` // Null for a run's budget, which ends with the run.
}

// PolicyEffective is a part of hux.policy.v1. What applies now where no grant does.
type PolicyEffective struct {
	Read        Decided `json:"read"`
	Write       Decided `json:"write"`
	Execute     Decided `json:"execute"`
	Message     Decided `json:"message"`
	MemoryWrite Decided `json:"memory_write"`
	Network     Decided `json:"network"`
	Deploy      Decided `json:"deploy"`
}

// PrivacyNoticeCreate is hux.privacy_notice.create.v1. With topic and conversation_id a notice is shown, and resolved at once if chosen is there; with notice_id the one that was shown is resolved. Only a person chooses.
type PrivacyNoticeCreate struct {
	Topic          *string `json:"topic,omitzero"` // credentials, minors, location, biometric, health, finance, legal, religion, politics, sexuality, ethnicity, identity, preferences, people, work, schedule, interests, tools or other
	ConversationID *string `json:"conversation_id,omitzero"`
	NoticeID       *string `json:"notice_id,omitzero"`
	Chosen         *string `json:"chosen,omitzero"` // forget_this_conversation, switch_to_private, disable_memory_here or dismiss
}

// PrivacyNotice is hux.privacy_notice.v1. That a person was told what a topic means in a conversation, and what they chose to do about it.
type PrivacyNotice struct {
	Schema          string         `json:"schema"`
	ID              string         `json:"id"`
	Owner           hux.User       `json:"owner"`
	Revision        int64          `json:"revision"`
	Topic           string         `json:"topic"` // credentials, minors, location, biometric, health, finance, legal, religion, politics, sexuality, ethnicity, identity, preferences, people, work, schedule, interests, tools or other
	ConversationID  string         `json:"conversation_id"`
	ShownAt         hux.Time       `json:"shown_at"`
	ControlsOffered []string       `json:"controls_offered"`
	Chosen          *string        `json:"chosen"` // forget_this_conversation, switch_to_private, disable_memory_here or dismiss
	ChosenAt        *hux.Time      `json:"chosen_at"`
	EffectRef       *string        `json:"effect_ref"` // What came of it: the conversation that was forgotten, that remembers nothing any more, or that was opened in Private.
	CreatedAt       hux.Time       `json:"created_at"`
	UpdatedAt       hux.Time       `json:"updated_at"`
	Provenance      hux.Provenance `json:"provenance"`
}

// PrivacyPolicy is hux.privacy_policy.v1. What is never written, what is kept short and apart, how long each store keeps what it has, and what a person can do about it.
type PrivacyPolicy struct {
	Schema     string                       `json:"schema"`
	Version    int64                        `json:"version"`
	Topics     []PrivacyPolicyTopic         `json:"topics"`
	Retention  []PrivacyPolicyRetentionItem `json:"retention"` // For each store the rules that the daily audit checks.
	Controls   []string                     `json:"controls"`  // All four.
	Notices    []PrivacyPolicyNotice        `json:"notices"`   // The words of the notices.
	Provenance hux.Provenance               `json:"provenance"`
}

// PrivacyPolicyTopic is a part of hux.privacy_policy.v1.
type PrivacyPolicyTopic struct {
	Topic               string  `json:"topic"` // credentials, minors, location, biometric, health, finance, legal, religion, politics, sexuality, ethnicity, identity, preferences, people, work, schedule, interests, tools or other
	Class               string  `json:"class"` // never_write, sensitive or normal
	Scope               string  `json:"scope"` // How far what is written may be read.
	ShareAcrossSurfaces bool    `json:"share_across_surfaces"`
	MaxAgeDays          *int64  `json:"max_age_days"` // After which it is gone; null for until it is forgotten, 0 for what is never written.
	NoticeID            *string `json:"notice_id"`    // Which of the notices is shown when it comes up.
}

// PrivacyPolicyRetentionItem is a part of hux.privacy_policy.v1.
type PrivacyPolicyRetentionItem struct {
	Store      string `json:"store"` // events, messages, runs, policies, memory, artifacts, versions, blobs, approvals, grants, receipts, sources, passages, citations, notebooks, notices, attachments, search_entries or idempotency_rows
	Rule       string `json:"rule"`
	MaxAgeDays *int64 `json:"max_age_days"` // null for until it is forgotten.
}

// PrivacyPolicyNotice is a part of hux.privacy_policy.v1.
type PrivacyPolicyNotice struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// ProjectCreate is hux.project.create.v1. instructions_ref names an artifact whose promoted version says how the assistant is to work in the project.
type ProjectCreate struct {
	Title           string   `json:"title"`
	Description     *string  `json:"description,omitzero"`
	Tags            []string `json:"tags,omitzero"`
	Pinned          *bool    `json:"pinned,omitzero"`
	MemoryScope     *string  `json:"memory_scope,omitzero"` // shared or project_only
	DefaultMode     *string  `json:"default_mode,omitzero"` // fast, thoughtful, research, create or private
	InstructionsRef *string  `json:"instructions_ref,omitzero"`
}

// ProjectPatch is hux.project.patch.v1. A merge patch (RFC 7396); null takes a member away where there need be none.
type ProjectPatch struct {
	Title           *string          `json:"title,omitzero"`
	Description     Nullable[string] `json:"description,omitzero"`
	State           *string          `json:"state,omitzero"` // active or archived
	Tags            []string         `json:"tags,omitzero"`
	Pinned          *bool            `json:"pinned,omitzero"`
	MemoryScope     *string          `json:"memory_scope,omitzero"` // shared or project_only
	DefaultMode     Nullable[string] `json:"default_mode,omitzero"` // fast, thoughtful, research, create or private
	InstructionsRef Nullable[string] `json:"instructions_ref,omitzero"`
}

// Project is hux.project.v1. Conversations and artifacts that belong together. It is its tenant's, and has no owner.
type Project struct {
	Schema          string         `json:"schema"`
	ID              string         `json:"id"`
	Revision        int64          `json:"revision"`
	Title           string         `json:"title"` // Empty once the project is forgotten.
	Description     *string        `json:"description,omitzero"`
	State           string         `json:"state"` // active, archived or forgotten
	Tags            []string       `json:"tags,omitzero"`
	Pinned          *bool          `json:"pinned,omitzero"`
	MemoryScope     *string        `json:"memory_scope,omitzero"` // shared or project_only
	DefaultMode     *string        `json:"default_mode,omitzero"` // fast, thoughtful, research, create or private
	InstructionsRef *string        `json:"instructions_ref,omitzero"`
	CreatedAt       hux.Time       `json:"created_at"`
	UpdatedAt       hux.Time       `json:"updated_at"`
	Provenance      hux.Provenance `json:"provenance"`
}

// ReceiptCreate is hux.receipt.create.v1. An agent's hook tells how a cancelled run ended. Names the conversation and run, or the gateway's session and turn.
type ReceiptCreate struct {
	Kind           string       `json:"kind"`
	ConversationID *string      `json:"conversation_id,omitzero"`
	RunID          *string      `json:"run_id,omitzero"`
	Session        *SessionRef  `json:"session,omitzero"`
	TurnID         *string      `json:"turn_id,omitzero"`
	Outcome        string       `json:"outcome"` // stopped, completed_before_stop, partially_stopped, failed_to_stop or unknown
	SideEffects    []SideEffect `json:"side_effects"`
	Coverage       string       `json:"coverage"` // partial where not all that the run did could be observed.
}

// Receipt is hux.receipt.v1. What a cancelled run had done when it ended. A stop is done once this exists.
type Receipt struct {
	Schema         string         `json:"schema"`
	ID             string         `json:"id"`
	Owner          hux.User       `json:"owner"`
	Kind           string         `json:"kind"`
	ConversationID string         `json:"conversation_id"`
	RunID          string         `json:"run_id"`
	RequestedAt    hux.Time       `json:"requested_at"`
	RequestedBy    hux.Actor      `json:"requested_by"`
	Outcome        string         `json:"outcome"` // stopped, completed_before_stop, partially_stopped, failed_to_stop or unknown
	SideEffects    []SideEffect   `json:"side_effects"`
	Coverage       string         `json:"coverage"` // partial where not all that the run did could be observed.
	CompletedAt    hux.Time       `json:"completed_at"`
	CreatedAt      hux.Time       `json:"created_at"`
	Provenance     hux.Provenance `json:"provenance"`
}

// ReleaseCheck is hux.release.check.v1. A probe, an attestation or the end of a soak, and how it came out.
type ReleaseCheck struct {
	Kind     string            `json:"kind"`   // probe, attestation or soak
	Result   string            `json:"result"` // passed, failed, error, inconclusive or aborted
	At       hux.Time          `json:"at"`     // When it was made.
	Evidence []hux.EvidenceRef `json:"evidence"`
}

// ReleaseCreate is hux.release.create.v1. A change that was reviewed.
type ReleaseCreate struct {
	Service    string              `json:"service"`
	Change     ReleaseCreateChange `json:"change"`
	ObservedAt hux.Time            `json:"observed_at"` // When the review was seen to be done.
	Evidence   []hux.EvidenceRef   `json:"evidence,omitzero"`
}

// ReleaseCreateChange is a part of hux.release.create.v1.
type ReleaseCreateChange struct {
	ReviewRef string `json:"review_ref"`
}

// ReleaseTransition is hux.release.transition.v1. What was seen, and by what evidence. Which of it a state needs the rules of the release say.
type ReleaseTransition struct {
	To          string                     `json:"to"`          // reviewed, merged, built, verified, deployed, converged, live_verified or rolled_back
	ObservedAt  hux.Time                   `json:"observed_at"` // When all of it was seen.
	Evidence    []hux.EvidenceRef          `json:"evidence"`
	MergeCommit *string                    `json:"merge_commit,omitzero"` // For merged.
	Image       *ReleaseImage              `json:"image,omitzero"`        // For built.
	Flux        *ReleaseFlux               `json:"flux,omitzero"`         // For deployed.
	Pods        []ReleasePod               `json:"pods,omitzero"`         // For converged and rolled_back.
	Rollback    *ReleaseTransitionRollback `json:"rollback,omitzero"`     // For rolled_back.
}

// ReleasePod is a part of release_pods.
type ReleasePod struct {
	Name        string   `json:"name"`
	Container   string   `json:"container"`
	ImageDigest *string  `json:"image_digest"` // null while it is not known.
	Ready       bool     `json:"ready"`
	ObservedAt  hux.Time `json:"observed_at"`
}

// ReleaseTransitionRollback is a part of hux.release.transition.v1. For rolled_back.
type ReleaseTransitionRollback struct {
	ToDigest string `json:"to_digest"`
	Reason   string `json:"reason"`
}

// Release is hux.release.v1. A change on its way from review to where people use it, with the evidence of each step.
type Release struct {
	Schema       string                 `json:"schema"`
	ID           string                 `json:"id"`
	Revision     int64                  `json:"revision"`
	Service      string                 `json:"service"`
	State        string                 `json:"state"` // reviewed, merged, built, verified, deployed, converged, live_verified or rolled_back
	Change       ReleaseChange          `json:"change"`
	Image        *ReleaseImage          `json:"image"`
	Steps        map[string]ReleaseStep `json:"steps"` // One for each state that it has reached.
	Flux         *ReleaseFlux           `json:"flux"`
	Pods         []ReleasePod           `json:"pods"`
	Checks       []ReleaseCheckPart     `json:"checks"`        // The last ten.
	CurrentCheck *string                `json:"current_check"` // The result of the last check; null before the first.
	ClaimAllowed bool                   `json:"claim_allowed"` // Whether anybody may say that it is deployed.
	Rollback     *ReleaseRollback       `json:"rollback"`
	CreatedAt    hux.Time               `json:"created_at"`
	UpdatedAt    hux.Time               `json:"updated_at"`
	Provenance   hux.Provenance         `json:"provenance"`
}

// ReleaseChange is a part of hux.release.v1.
type ReleaseChange struct {
	ReviewRef   string  `json:"review_ref"`
	MergeCommit *string `json:"merge_commit"`
}

// ReleaseStep is a part of hux.release.v1.
type ReleaseStep struct {
	At         hux.Time          `json:"at"`
	Actor      hux.Actor         `json:"actor"`
	Evidence   []hux.EvidenceRef `json:"evidence"`
	ObservedAt hux.Time          `json:"observed_at"` // When the evidence was seen.
}

// ReleaseCheckPart is a part of hux.release.v1.
type ReleaseCheckPart struct {
	Kind     string            `json:"kind"`   // probe, attestation or soak
	Result   string            `json:"result"` // passed, failed, error, inconclusive or aborted
	At       hux.Time          `json:"at"`
	Evidence []hux.EvidenceRef `json:"evidence"`
}

// ReleaseRollback is a part of hux.release.v1.
type ReleaseRollback struct {
	FromState string   `json:"from_state"` // reviewed, merged, built, verified, deployed, converged, live_verified or rolled_back
	ToDigest  string   `json:"to_digest"`
	Reason    string   `json:"reason"`
	At        hux.Time `json:"at"`
}

// ResearchNotebookCreate is hux.research_notebook.create.v1.
type ResearchNotebookCreate struct {
	Title      string         `json:"title"`
	ProjectID  *string        `json:"project_id,omitzero"`
	Question   *string        `json:"question,omitzero"`
	SourceIDs  []string       `json:"source_ids,omitzero"`
	PassageIDs []string       `json:"passage_ids,omitzero"`
	Notes      []ResearchNote `json:"notes,omitzero"`
}

// ResearchNote is a part of research_notes.
type ResearchNote struct {
	ID          string   `json:"id"` // Unique in the notebook, and its writer's to choose.
	Text        string   `json:"text"`
	CitationIDs []string `json:"citation_ids"`
}

// ResearchNotebookPatch is hux.research_notebook.patch.v1. A merge patch (RFC 7396): a list takes the place of the one before.
type ResearchNotebookPatch struct {
	Title      *string          `json:"title,omitzero"`
	ProjectID  Nullable[string] `json:"project_id,omitzero"`
	Question   Nullable[string] `json:"question,omitzero"`
	SourceIDs  []string         `json:"source_ids,omitzero"`
	PassageIDs []string         `json:"passage_ids,omitzero"`
	Notes      []ResearchNote   `json:"notes,omitzero"`
	State      *string          `json:"state,omitzero"` // active or archived
}

// ResearchNotebook is hux.research_notebook.v1. A question, what was found on it, and what somebody makes of that.
type ResearchNotebook struct {
	Schema     string         `json:"schema"`
	ID         string         `json:"id"`
	Owner      hux.User       `json:"owner"`
	Revision   int64          `json:"revision"`
	Title      string         `json:"title"` // Empty once the notebook is forgotten.
	ProjectID  *string        `json:"project_id,omitzero"`
	Question   *string        `json:"question,omitzero"`
	SourceIDs  []string       `json:"source_ids"`
	PassageIDs []string       `json:"passage_ids"`
	Notes      []ResearchNote `json:"notes"`
	State      string         `json:"state"` // active, archived or forgotten
	CreatedAt  hux.Time       `json:"created_at"`
	UpdatedAt  hux.Time       `json:"updated_at"`
	Provenance hux.Provenance `json:"provenance"`
}

// RetentionAudit is hux.retention_audit.v1. Proof that the rules of retention were run over a period. Counts and the names of rules only, so that forgetting never breaks the chain.
type RetentionAudit struct {
	Schema        string               `json:"schema"`
	ID            string               `json:"id"`
	Seq           int64                `json:"seq"`
	Period        RetentionAuditPeriod `json:"period"` // From the end of the audit before on.
	PolicyVersion int64                `json:"policy_version"`
	Rules         []RetentionAuditRule `json:"rules"`
	Result        string               `json:"result"` // pass: nothing overdue remains. partial: some of it does. fail: all of it does.
	StartedAt     hux.Time             `json:"started_at"`
	FinishedAt    hux.Time             `json:"finished_at"`
	PrevHash      *string              `json:"prev_hash"` // The hash of the audit before; null for the first.
	Hash          string               `json:"hash"`      // SHA-256 of the record in the form of RFC 8785, without this member.
	CreatedAt     hux.Time             `json:"created_at"`
	Provenance    hux.Provenance       `json:"provenance"`
}

// RetentionAuditPeriod is a part of hux.retention_audit.v1. From the end of the audit before on.
type RetentionAuditPeriod struct {
	From hux.Time `json:"from"`
	To   hux.Time `json:"to"`
}

// RetentionAuditRule is a part of hux.retention_audit.v1.
type RetentionAuditRule struct {
	Rule         string `json:"rule"`
	Store        string `json:"store"` // events, messages, runs, policies, memory, artifacts, versions, blobs, approvals, grants, receipts, sources, passages, citations, notebooks, notices, attachments, search_entries or idempotency_rows
	Checked      int64  `json:"checked"`
	OverdueFound int64  `json:"overdue_found"`
	Removed      int64  `json:"removed"`
	Remaining    int64  `json:"remaining"` // Overdue, and still there.
}

// Search is hux.search.v1. A page of what was found, and where was looked.
type Search struct {
	Schema     string         `json:"schema"`
	Items      []SearchItem   `json:"items"`
	Next       *string        `json:"next"` // Where the next page begins; null at the end.
	Indexed    []string       `json:"indexed"`
	NotIndexed []string       `json:"not_indexed"` // What somebody may look for here in vain.
	Provenance hux.Provenance `json:"provenance"`
}

// SearchItem is a part of hux.search.v1.
type SearchItem struct {
	Type      string  `json:"type"` // project, conversation, artifact or message
	ID        string  `json:"id"`   // A record's own, or a message's.
	Title     string  `json:"title"`
	Field     string  `json:"field"`   // project.title, project.description, conversation.title, artifact.title, artifact.text, tags or message.text
	Snippet   string  `json:"snippet"` // Plain text around what was found.
	ProjectID *string `json:"project_id"`
}

// SourceCreate is hux.source.create.v1. With a snapshot, whose content is hashed and searched for passages, it is ready at once; else it is pending until it has been read.
type SourceCreate struct {
	ConversationID *string           `json:"conversation_id,omitzero"`
	Kind           string            `json:"kind"` // web, file, artifact or message
	Title          string            `json:"title"`
	Locator        string            `json:"locator"`
	Snapshot       *hux.EvidenceRef  `json:"snapshot,omitzero"`
	MediaType      *string           `json:"media_type,omitzero"`
	PublishedAt    *hux.Time         `json:"published_at,omitzero"`
	Author         *string           `json:"author,omitzero"`
	Sensitivity    *string           `json:"sensitivity,omitzero"` // normal, sensitive or restricted
	Redaction      *RedactionRequest `json:"redaction,omitzero"`
}

// SourceSnapshot is hux.source.snapshot.v1. What an agent has read of a pending source, kept as a version of an artifact. The source is ready then.
type SourceSnapshot struct {
	Snapshot    hux.EvidenceRef `json:"snapshot"`
	MediaType   string          `json:"media_type"`
	PublishedAt *hux.Time       `json:"published_at,omitzero"`
	Author      *string         `json:"author,omitzero"`
}

// Source is hux.source.v1. Something that an answer may cite, as it was when it was last read. Reading it again gives it the next version.
type Source struct {
	Schema         string           `json:"schema"`
	ID             string           `json:"id"`
	Owner          hux.User         `json:"owner"`
	Revision       int64            `json:"revision"`
	ConversationID *string          `json:"conversation_id"` // The conversation that it was found in, whose log says so; null where a person added it outside of any.
	Kind           string           `json:"kind"`            // web, file, artifact or message
	Title          string           `json:"title"`
	Locator        string           `json:"locator"`
	Status         string           `json:"status"`  // pending, ready, failed or gone
	Version        int64            `json:"version"` // How many times it was read; 1 while it is pending for the first time.
	ContentHash    *string          `json:"content_hash"`
	Snapshot       *hux.EvidenceRef `json:"snapshot"` // What was read, kept as a version of an artifact.
	RetrievedAt    *hux.Time        `json:"retrieved_at"`
	MediaType      *string          `json:"media_type"`
	PublishedAt    *hux.Time        `json:"published_at,omitzero"`
	Author         *string          `json:"author,omitzero"`
	Sensitivity    string           `json:"sensitivity"` // normal, sensitive or restricted
	Redaction      hux.Redaction    `json:"redaction"`
	CreatedAt      hux.Time         `json:"created_at"`
	UpdatedAt      hux.Time         `json:"updated_at"`
	Provenance     hux.Provenance   `json:"provenance"`
}

// Suggestion is hux.suggestion.v1. An entry of the catalogue of hints. Its id stays, so that who has stopped one never sees it again.
type Suggestion struct {
	Schema          string           `json:"schema"`
	ID              string           `json:"id"`
	Title           string           `json:"title"`
	Body            string           `json:"body"`
	Contexts        []string         `json:"contexts"` // The moments that it is for.
	Action          SuggestionAction `json:"action"`   // What is offered: to open one of the pages of hux, or to choose a mode.
	MaxShows        int64            `json:"max_shows"`
	CooldownSeconds int64            `json:"cooldown_seconds"` // How long after it was shown it is not offered again.
	Dismissable     bool             `json:"dismissable"`
	RequiresFlags   []string         `json:"requires_flags,omitzero"`
	Provenance      hux.Provenance   `json:"provenance"`
}

// SuggestionAction is a part of hux.suggestion.v1. What is offered: to open one of the pages of hux, or to choose a mode.
type SuggestionAction struct {
	Kind   string `json:"kind"`   // open_page or choose_mode
	Target string `json:"target"` // The page's name, or the mode.
}

// SuggestionState is hux.suggestion_state.v1. What became of a suggestion for one person, on all surfaces. Known by owner and suggestion_id.
type SuggestionState struct {
	Schema       string         `json:"schema"`
	SuggestionID string         `json:"suggestion_id"`
	Owner        hux.User       `json:"owner"`
	Revision     int64          `json:"revision"`
	Status       string         `json:"status"` // active, dismissed, never_again, acted or exhausted
	Shows        int64          `json:"shows"`
	LastShownAt  *hux.Time      `json:"last_shown_at"`
	ChangedAt    hux.Time       `json:"changed_at"` // When it came into this status.
	Surface      hux.Surface    `json:"surface"`    // Where that was.
	CreatedAt    hux.Time       `json:"created_at"`
	UpdatedAt    hux.Time       `json:"updated_at"`
	Provenance   hux.Provenance `json:"provenance"`
}

// Decided is shared by records.
type Decided struct {
	Effect string `json:"effect"` // allow, ask or deny
	Reason string `json:"reason"` // grant_deny, mode_private, deploy_always_asks, grant_allow, matrix or budget_exhausted
}

// GrantMatch is shared by records. Which calls of a tool a grant is for. One that allows names either args_hash or target: the calls with just these arguments, or those with this target. One that denies may name neither, and is for all of them then.
type GrantMatch struct {
	Tool     string  `json:"tool"`
	ArgsHash *string `json:"args_hash,omitzero"`
	Target   *string `json:"target,omitzero"`
}

// GrantScope is shared by records. Where a grant holds; everywhere where this names nothing.
type GrantScope struct {
	ConversationID *string `json:"conversation_id,omitzero"`
	SessionID      *string `json:"session_id,omitzero"`
}

// SessionRef is shared by records. A session of the gateway, which the router knows the conversation of.
type SessionRef struct {
	System string `json:"system"`
	ID     string `json:"id"`
}

// SideEffect is shared by records. Something that the run had done by the time it ended.
type SideEffect struct {
	EvidenceRef    hux.EvidenceRef  `json:"evidence_ref"`
	Kind           string           `json:"kind"` // file, process, network, message, memory, artifact, deploy or other
	Summary        string           `json:"summary"`
	Reversible     bool             `json:"reversible"`
	Reverted       bool             `json:"reverted"`
	RevertEvidence *hux.EvidenceRef `json:"revert_evidence,omitzero"`
}

// MemoryScope is shared by records. Where an entry may be read: in one conversation, in those of one project or in all of the person's, on these surfaces alone.
type MemoryScope struct {
	Level          string        `json:"level"` // conversation, project or user
	ConversationID *string       `json:"conversation_id,omitzero"`
	ProjectID      *string       `json:"project_id,omitzero"`
	Surfaces       []hux.Surface `json:"surfaces"`
}

// MemoryRetention is shared by records. How long an entry lasts: until it is forgotten, until a date, or 4.32 half-lives after it was made, when its score has sunk to 0.05.
type MemoryRetention struct {
	Kind         string    `json:"kind"` // none, expire or decay
	ExpiresAt    *hux.Time `json:"expires_at,omitzero"`
	HalfLifeDays *int64    `json:"half_life_days,omitzero"`
}

// MemorySource is shared by records. Where an entry comes from. Only a correction may come from memory: it names the entry that it corrects.
type MemorySource struct {
	Kind     string            `json:"kind"` // user_statement, inferred, web, document, tool, import or correction
	Evidence []hux.EvidenceRef `json:"evidence"`
}

// LineageNode is shared by records. A conversation among those that it comes from or that come from it. fork_seq is the last of its parent's events that it shares.
type LineageNode struct {
	ID       string  `json:"id"`
	ParentID *string `json:"parent_id"`
	ForkSeq  *int64  `json:"fork_seq"`
	Depth    int64   `json:"depth"`
	Title    string  `json:"title"` // Empty once the conversation is forgotten.
	State    string  `json:"state"` // active, archived or forgotten
}

// Consent is shared by records. What a person has agreed to be done with it, and where that may run.
type Consent struct {
	Use      string    `json:"use"`      // What for, such as transcribe.
	Locality string    `json:"locality"` // local or hosted
	At       hux.Time  `json:"at"`
	Actor    hux.Actor `json:"actor"`
}

// ApprovalDecision is shared by records. What a person decided about an approval.
type ApprovalDecision struct {
	Choice  string      `json:"choice"` // once, session, always or deny
	Reason  *string     `json:"reason,omitzero"`
	Actor   hux.Actor   `json:"actor"`
	At      hux.Time    `json:"at"`
	Surface hux.Surface `json:"surface"` // chat, worker, telegram or voice
	GrantID *string     `json:"grant_id"`
}

// Fault is shared by records. What is wrong, and where. No value is in it.
type Fault struct {
	Pointer string `json:"pointer"` // RFC 6901: where in the request body.
	Code    string `json:"code"`    // The keyword of JSON Schema that the value breaks, or a rule's name or error code.
	Message string `json:"message"`
}

// BlobRef is shared by records. Bytes that were uploaded before. To know a digest gives no access.
type BlobRef struct {
	Digest string `json:"digest"`
	Size   int64  `json:"size"`
}

// RedactionRequest is shared by records. How much of the record is left out when it leaves its tenant.
type RedactionRequest struct {
	Level string `json:"level"` // none, partial or full
}

// Span is shared by records. Part of a text, in characters (code points): from start on, up to but without end.
type Span struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Selector is shared by records. Where a passage is in its source: its words, and what narrows down which of several places is meant.
type Selector struct {
	Quote    SelectorQuote `json:"quote"`
	Position *Span         `json:"position,omitzero"`
	Page     *int64        `json:"page,omitzero"`
	Time     *SelectorTime `json:"time,omitzero"` // In a recording.
}

// SelectorQuote is a part of selector.
type SelectorQuote struct {
	Exact  string  `json:"exact"`           // The words. Empty once the passage is redacted.
	Prefix *string `json:"prefix,omitzero"` // What stands right before.
	Suffix *string `json:"suffix,omitzero"` // What stands right behind.
}

// SelectorTime is a part of selector. In a recording.
type SelectorTime struct {
	StartMS int64 `json:"start_ms"`
	EndMS   int64 `json:"end_ms"`
}

// ReleaseImage is shared by records.
type ReleaseImage struct {
	Repository      string   `json:"repository"`
	IndexDigest     string   `json:"index_digest"`
	PlatformDigests []string `json:"platform_digests"`
}

// ReleaseFlux is shared by records. What a kustomization says of itself.
type ReleaseFlux struct {
	Kustomization         string   `json:"kustomization"`
	LastAppliedRevision   string   `json:"last_applied_revision"`
	LastAttemptedRevision *string  `json:"last_attempted_revision,omitzero"` // Of another than this one nothing is said yet.
	Ready                 bool     `json:"ready"`
	ObservedAt            hux.Time `json:"observed_at"`
}
