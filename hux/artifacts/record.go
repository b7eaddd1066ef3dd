package artifacts

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// The names of the card's records and answers.
const (
	Schema        = "hux.artifact.v1"
	VersionSchema = "hux.artifact_version.v1"
	DiffSchema    = "hux.artifact_diff.v1"
	BlobSchema    = "hux.blob.v1"
)

// Artifact is hux.artifact.v1: something that was made, whose content is in its
// versions. In a project it is the tenant's, else its owner's.
type Artifact struct {
	hux.Meta
	Title          string        `json:"title"`
	Type           string        `json:"type"`
	ProjectID      *string       `json:"project_id"`
	ConversationID *string       `json:"conversation_id"`
	HeadVersion    int           `json:"head_version"` // 0 before the first
	VersionCount   int           `json:"version_count"`
	Lineage        []Link        `json:"lineage"`
	Promoted       []Promotion   `json:"promoted"` // oldest first; the last of a target is current
	State          string        `json:"state"`
	Sensitivity    string        `json:"sensitivity"`
	Redaction      hux.Redaction `json:"redaction"`
}

// Link names a version of another artifact that this one was made from.
type Link struct {
	Relation   string `json:"relation"` // variant_of, transcript_of, derived_from or restore_of
	ArtifactID string `json:"artifact_id"`
	Version    int    `json:"version"`
}

// Promotion shows a version to the readers of a target, until the next one.
type Promotion struct {
	Target  string    `json:"target"` // project or export
	Version int       `json:"version"`
	At      hux.Time  `json:"at"`
	Actor   hux.Actor `json:"actor"`
}

// Create is hux.artifact.create.v1. The first version is posted after it.
type Create struct {
	Title          string         `json:"title"`
	Type           string         `json:"type"`
	ProjectID      *string        `json:"project_id"`
	ConversationID *string        `json:"conversation_id"`
	Lineage        []Link         `json:"lineage"`
	Sensitivity    string         `json:"sensitivity"`
	Redaction      *hux.Redaction `json:"redaction"`
}

// Patch is hux.artifact.patch.v1, a merge patch (RFC 7396).
type Patch struct {
	Title       *string              `json:"title"`
	ProjectID   api.Nullable[string] `json:"project_id"` // null takes it out of its project
	State       *string              `json:"state"`
	Sensitivity *string              `json:"sensitivity"`
	Redaction   *hux.Redaction       `json:"redaction"`
}

// Version is hux.artifact_version.v1: what an artifact was at a time. It never
// changes, and has no id but its artifact's and its number.
type Version struct {
	Schema        string         `json:"schema"`
	ArtifactID    string         `json:"artifact_id"`
	N             int            `json:"n"`
	MediaType     string         `json:"media_type"`
	Content       *string        `json:"content,omitempty"` // text, or
	Blob          *BlobRef       `json:"blob,omitempty"`    // bytes
	ContentHash   string         `json:"content_hash"`
	BaseVersion   int            `json:"base_version"` // the version that it was made from
	Origin        string         `json:"origin"`       // human, agent, automatic or restore
	ChangeSummary string         `json:"change_summary,omitempty"`
	Consents      []Consent      `json:"consents,omitempty"`
	Redaction     *hux.Redaction `json:"redaction,omitempty"` // what was masked in the summary
	CreatedAt     hux.Time       `json:"created_at"`
	Provenance    hux.Provenance `json:"provenance"`
}

// Consent is what a person has agreed to be done with a version.
type Consent struct {
	Use      string    `json:"use"`      // such as transcribe
	Locality string    `json:"locality"` // where it may run: local or hosted
	At       hux.Time  `json:"at"`
	Actor    hux.Actor `json:"actor"`
}

// BlobRef names bytes that were uploaded.
type BlobRef struct {
	Digest string `json:"digest"` // sha256: and 64 hex digits
	Size   int64  `json:"size"`
}

// VersionCreate is hux.artifact_version.create.v1: what the version is, as
// text, as bytes, or as a patch of the base's text.
type VersionCreate struct {
	BaseVersion   int      `json:"base_version"`
	MediaType     string   `json:"media_type"`
	Content       *string  `json:"content,omitempty"`
	Blob          *BlobRef `json:"blob,omitempty"`
	Patch         []Hunk   `json:"patch,omitempty"`
	Origin        string   `json:"origin"`
	ChangeSummary string   `json:"change_summary"`
}

// Transcribe is hux.artifact.transcribe.v1.
type Transcribe struct {
	Version  int    `json:"version"`
	Locality string `json:"locality"` // local or hosted
}

// Promote is hux.artifact.promote.v1.
type Promote struct {
	Target  string `json:"target"`
	Version int    `json:"version"`
}

// Diff is hux.artifact_diff.v1: what differs between two versions.
type Diff struct {
	Schema     string `json:"schema"`
	ArtifactID string `json:"artifact_id"`
	From       int    `json:"from"` // 0: the empty one
	To         int    `json:"to"`
	Mode       string `json:"mode"` // lines, coarse or binary
	Equal      bool   `json:"equal"`
	Truncated  bool   `json:"truncated"` // there are more hunks than these
	Stats      Stats  `json:"stats"`
	Hunks      []Hunk `json:"hunks"`

	Provenance hux.Provenance `json:"provenance"`
}

// Stats counts the lines of a difference.
type Stats struct {
	Added   int `json:"added"`
	Removed int `json:"removed"`
}

// Hunk is a place where two texts differ. Lines count from 1; of a side
// without lines Start is the line before, as in a unified diff.
type Hunk struct {
	FromStart int      `json:"from_start"`
	FromLines int      `json:"from_lines"`
	ToStart   int      `json:"to_start"`
	ToLines   int      `json:"to_lines"`
	Lines     []string `json:"lines"` // each after + (added), - (removed) or a space (kept)
}

// Blob is hux.blob.v1: bytes as they were stored.
type Blob struct {
	Schema    string `json:"schema"`
	Digest    string `json:"digest"`
	Size      int64  `json:"size"`
	MediaType string `json:"media_type"`

	Provenance hux.Provenance `json:"provenance"`
}

// The states.
const (
	Active    = "active"
	Archived  = "archived"
	Forgotten = "forgotten"
)

// States is the artifact's state machine.
var States = hux.Machine{Name: "artifact", Start: Active, Moves: map[string][]string{
	Active: {Archived, Forgotten}, Archived: {Active, Forgotten}, Forgotten: {},
}}
