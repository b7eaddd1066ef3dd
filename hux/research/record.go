package research

import (
	"encoding/json"

	"bstein.dev/hux/hux"
)

// Source is hux.source.v1: something that an answer may cite.
type Source struct {
	hux.Meta
	ConversationID *string          `json:"conversation_id"` // where it was found
	Kind           string           `json:"kind"`            // web, file, artifact or message
	Title          string           `json:"title"`
	Locator        string           `json:"locator"` // the URL of a page, or the id of what is cited
	Status         string           `json:"status"`
	Version        int              `json:"version"` // from 1; the next one each time it is read again
	ContentHash    *string          `json:"content_hash"`
	Snapshot       *hux.EvidenceRef `json:"snapshot"` // the artifact_version that holds what was read
	RetrievedAt    *hux.Time        `json:"retrieved_at"`
	MediaType      *string          `json:"media_type"`
	PublishedAt    *hux.Time        `json:"published_at,omitempty"`
	Author         *string          `json:"author,omitempty"`
	Sensitivity    string           `json:"sensitivity"`
	Redaction      hux.Redaction    `json:"redaction"`
}

// SourceCreate is hux.source.create.v1.
type SourceCreate struct {
	ConversationID *string          `json:"conversation_id"`
	Kind           string           `json:"kind"`
	Title          string           `json:"title"`
	Locator        string           `json:"locator"`
	Snapshot       *hux.EvidenceRef `json:"snapshot"`
	MediaType      *string          `json:"media_type"`
	PublishedAt    *hux.Time        `json:"published_at"`
	Author         *string          `json:"author"`
	Sensitivity    string           `json:"sensitivity"`
	Redaction      *hux.Redaction   `json:"redaction"`
}

// SourceSnapshot is hux.source.snapshot.v1: what an agent has read of a source.
type SourceSnapshot struct {
	Snapshot    hux.EvidenceRef `json:"snapshot"` // the artifact_version that holds it
	MediaType   string          `json:"media_type"`
	PublishedAt *hux.Time       `json:"published_at"`
	Author      *string         `json:"author"`
}

// Passage is hux.passage.v1: words that were found in a source.
type Passage struct {
	hux.Meta
	SourceID      string   `json:"source_id"`
	SourceVersion int      `json:"source_version"`
	ContentHash   string   `json:"content_hash"` // of the source's content that has the words
	Selector      Selector `json:"selector"`
	Text          string   `json:"text"`  // the quote's words; "" once they were taken out
	Match         string   `json:"match"` // exact or normalized
	State         string   `json:"state"` // as PassageState says
}

// PassageCreate is hux.passage.create.v1.
type PassageCreate struct {
	SourceID      string   `json:"source_id"`
	SourceVersion *int     `json:"source_version"` // nil for the last
	Selector      Selector `json:"selector"`
}

// Selector says where a passage is in its source.
type Selector struct {
	Quote    Quote     `json:"quote"`
	Position *Span     `json:"position,omitempty"`
	Page     *int      `json:"page,omitempty"` // from 1
	Time     *TimeSpan `json:"time,omitempty"` // in a recording
}

// Quote is words and, where they may stand in several places, what stands
// right before and behind the ones that are meant.
type Quote struct {
	Exact  string `json:"exact"`
	Prefix string `json:"prefix,omitempty"`
	Suffix string `json:"suffix,omitempty"`
}

// Span is part of a text in code points: from Start on, up to but without End.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// TimeSpan is part of a recording.
type TimeSpan struct {
	StartMS int `json:"start_ms"`
	EndMS   int `json:"end_ms"`
}

// Citation is hux.citation.v1: one mark of a message.
type Citation struct {
	hux.Meta
	ConversationID string `json:"conversation_id"`
	MessageID      string `json:"message_id"`
	Ordinal        int    `json:"ordinal"` // from 1, without a gap in the message
	PassageID      string `json:"passage_id"`
	SourceNumber   int    `json:"source_number"` // as SourceNumbers says
	ClaimSpan      *Span  `json:"claim_span,omitempty"`
	Stance         string `json:"stance,omitempty"` // supports, contradicts or mentions
	State          string `json:"state"`            // that of the passage
}

// CitationCreate is hux.citation.create.v1: all citations that are added to a
// message at once.
type CitationCreate struct {
	Citations []Mark `json:"citations"`
}

// Mark is one of the citations that are to be added.
type Mark struct {
	Ordinal   int    `json:"ordinal"`
	PassageID string `json:"passage_id"`
	ClaimSpan *Span  `json:"claim_span,omitempty"`
	Stance    string `json:"stance,omitempty"`
}

// Notebook is hux.research_notebook.v1.
type Notebook struct {
	hux.Meta
	Title      string   `json:"title"`
	ProjectID  *string  `json:"project_id"`
	Question   *string  `json:"question"`
	SourceIDs  []string `json:"source_ids"`
	PassageIDs []string `json:"passage_ids"`
	Notes      []Note   `json:"notes"`
	State      string   `json:"state"` // active, archived or forgotten
}

// Note is what somebody makes of citations. Its id is its writer's to choose.
type Note struct {
	ID          string   `json:"id"`
	Text        string   `json:"text"`
	CitationIDs []string `json:"citation_ids"`
}

// NotebookCreate is hux.research_notebook.create.v1.
type NotebookCreate struct {
	Title      string   `json:"title"`
	ProjectID  *string  `json:"project_id"`
	Question   *string  `json:"question"`
	SourceIDs  []string `json:"source_ids"`
	PassageIDs []string `json:"passage_ids"`
	Notes      []Note   `json:"notes"`
}

// NotebookPatch is hux.research_notebook.patch.v1. A nil list stays as it is.
type NotebookPatch struct {
	Title      *string         `json:"title"`
	ProjectID  json.RawMessage `json:"project_id"` // null takes it out of its project
	Question   json.RawMessage `json:"question"`   // null takes it away
	SourceIDs  []string        `json:"source_ids"`
	PassageIDs []string        `json:"passage_ids"`
	Notes      []Note          `json:"notes"`
	State      *string         `json:"state"`
}

// The names of the records.
const (
	SourceSchema   = "hux.source.v1"
	PassageSchema  = "hux.passage.v1"
	CitationSchema = "hux.citation.v1"
	NotebookSchema = "hux.research_notebook.v1"
)

// The statuses of a source.
const (
	Pending = "pending"
	Ready   = "ready"
	Failed  = "failed"
	Gone    = "gone"
)

// The states of a passage, and of the citations that stand for it.
const (
	Valid         = "valid"
	SourceChanged = "source_changed"
	SourceGone    = "source_gone"
	Redacted      = "redacted"
)

// SourceStates is the state machine of a source's status. A source that is
// read again stays ready.
var SourceStates = hux.Machine{Name: "source", Start: Pending, Moves: map[string][]string{
	Pending: {Ready, Failed, Gone}, Ready: {Gone}, Failed: {Gone}, Gone: {},
}}
