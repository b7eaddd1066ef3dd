package privacy

import "bstein.dev/hux/hux"

// Policy is hux.privacy_policy.v1.
type Policy struct {
	Schema    string      `json:"schema"`
	Version   int         `json:"version"`
	Topics    []Topic     `json:"topics"`
	Retention []Retention `json:"retention"`
	Controls  []string    `json:"controls"` // all of Controls
	Notices   []Words     `json:"notices"`

	Provenance hux.Provenance `json:"provenance"` // of the answer that it is given in
}

// Topic is what the policy says of a topic.
type Topic struct {
	Topic               string  `json:"topic"`
	Class               string  `json:"class"`
	Scope               string  `json:"scope"` // conversation, project or user
	ShareAcrossSurfaces bool    `json:"share_across_surfaces"`
	MaxAgeDays          *int    `json:"max_age_days"` // nil for until it is forgotten
	NoticeID            *string `json:"notice_id"`    // of the policy's notices
}

// Retention is a rule for what a store keeps.
type Retention struct {
	Store      string `json:"store"`
	Rule       string `json:"rule"`
	MaxAgeDays *int   `json:"max_age_days"` // nil for until it is forgotten
}

// Words are what a notice says.
type Words struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// Notice is hux.privacy_notice.v1.
type Notice struct {
	hux.Meta
	Topic           string    `json:"topic"`
	ConversationID  string    `json:"conversation_id"`
	ShownAt         hux.Time  `json:"shown_at"`
	ControlsOffered []string  `json:"controls_offered"` // of Controls
	Chosen          *string   `json:"chosen"`
	ChosenAt        *hux.Time `json:"chosen_at"`
	EffectRef       *string   `json:"effect_ref"` // id of what came of it
}

// NoticeCreate is hux.privacy_notice.create.v1: it shows a notice or, by its
// id, resolves one.
type NoticeCreate struct {
	Topic          string  `json:"topic,omitempty"`
	ConversationID string  `json:"conversation_id,omitempty"`
	NoticeID       string  `json:"notice_id,omitempty"`
	Chosen         *string `json:"chosen,omitempty"`
}

// Audit is hux.retention_audit.v1: proof that the rules of retention ran.
type Audit struct {
	Schema        string         `json:"schema"`
	ID            string         `json:"id"`
	Seq           int            `json:"seq"` // from 1, without a gap
	Period        Period         `json:"period"`
	PolicyVersion int            `json:"policy_version"`
	Rules         []Checked      `json:"rules"`
	Result        string         `json:"result"` // as Result says
	StartedAt     hux.Time       `json:"started_at"`
	FinishedAt    hux.Time       `json:"finished_at"`
	PrevHash      *string        `json:"prev_hash"` // nil for the first
	Hash          string         `json:"hash"`      // as Hash says
	CreatedAt     hux.Time       `json:"created_at"`
	Provenance    hux.Provenance `json:"provenance"`
}

// Period is from one moment on, up to another.
type Period struct {
	From hux.Time `json:"from"`
	To   hux.Time `json:"to"`
}

// Checked is what became of one rule in an audit.
type Checked struct {
	Rule         string `json:"rule"`
	Store        string `json:"store"`
	Checked      int    `json:"checked"`
	OverdueFound int    `json:"overdue_found"`
	Removed      int    `json:"removed"`
	Remaining    int    `json:"remaining"` // overdue, and still there
}

// Forget is hux.forget.v1: what became of a conversation that is forgotten.
type Forget struct {
	Schema         string         `json:"schema"`
	ConversationID string         `json:"conversation_id"`
	Owner          hux.User       `json:"owner"`
	State          string         `json:"state"` // forgetting or forgotten
	Counts         Counts         `json:"counts"`
	Kept           []Kept         `json:"kept"`
	Branches       []Branch       `json:"branches"`
	External       []External     `json:"external"`
	CompletedAt    *hux.Time      `json:"completed_at"` // nil until it is forgotten
	CreatedAt      hux.Time       `json:"created_at"`
	Provenance     hux.Provenance `json:"provenance"`
}

// Counts says how many were removed of each.
type Counts struct {
	Events          int `json:"events"`
	Messages        int `json:"messages"`
	Runs            int `json:"runs"`
	Policies        int `json:"policies"`
	Memory          int `json:"memory"`
	Artifacts       int `json:"artifacts"`
	Versions        int `json:"versions"`
	Blobs           int `json:"blobs"`
	Approvals       int `json:"approvals"`
	Grants          int `json:"grants"`
	Receipts        int `json:"receipts"`
	Sources         int `json:"sources"`
	Passages        int `json:"passages"`
	Citations       int `json:"citations"`
	Notebooks       int `json:"notebooks"`
	Notices         int `json:"notices"`
	Attachments     int `json:"attachments"`
	SearchEntries   int `json:"search_entries"`
	IdempotencyRows int `json:"idempotency_rows"`
}

// Kept is what was not removed, and why.
type Kept struct {
	Ref    string `json:"ref"`
	Reason string `json:"reason"` // shared_artifact, shared_source, shared_notebook, promoted or audit
}

// Branch is a conversation that began as the forgotten one.
type Branch struct {
	ID     string `json:"id"`
	Effect string `json:"effect"` // prefix_forgotten
}

// External is what a system outside of hux says of its copy.
type External struct {
	System string `json:"system"`
	Status string `json:"status"` // confirmed, pending or unsupported
}

// The names of the records.
const (
	PolicySchema = "hux.privacy_policy.v1"
	NoticeSchema = "hux.privacy_notice.v1"
	AuditSchema  = "hux.retention_audit.v1"
	ForgetSchema = "hux.forget.v1"
)

// The classes of topics, from the strictest on.
const (
	NeverWrite = "never_write"
	Sensitive  = "sensitive"
	Normal     = "normal"
)

// What a person can do about a notice.
const (
	ForgetThis    = "forget_this_conversation"
	SwitchPrivate = "switch_to_private"
	DisableMemory = "disable_memory_here"
	Dismiss       = "dismiss"
)

// Controls are the four that every notice may offer.
var Controls = []string{ForgetThis, SwitchPrivate, DisableMemory, Dismiss}

// The states of a notice. The record has no member for them: it is chosen once
// its chosen is not null.
const (
	Shown  = "shown"
	Chosen = "chosen"
)

// NoticeStates is the state machine of a notice.
var NoticeStates = hux.Machine{Name: "notice", Start: Shown, Moves: map[string][]string{Shown: {Chosen}, Chosen: {}}}
