package autonomy

import "bstein.dev/hux/hux"

// The names of the card's records and answers.
const (
	PolicySchema   = "hux.policy.v1"
	GrantSchema    = "hux.grant.v1"
	ApprovalSchema = "hux.approval.v1"
	ReceiptSchema  = "hux.receipt.v1"
	DecisionSchema = "hux.decision.v1"
	CancelSchema   = "hux.cancel.v1"
)

// Level is how much an agent may do without asking.
type Level string

// The three levels of HUX-05.
const (
	Safe       Level = "safe"
	AskFirst   Level = "ask_first"
	Autonomous Level = "autonomous"
)

// Capability is one sort of thing that a tool call does.
type Capability string

// The capabilities.
const (
	Read        Capability = "read"
	Write       Capability = "write"
	Execute     Capability = "execute"
	Message     Capability = "message"
	MemoryWrite Capability = "memory_write"
	Network     Capability = "network"
	Deploy      Capability = "deploy"
)

// AllCapabilities are the capabilities as the contract lists them. Of several
// that are treated alike the last in this order speaks for a call.
var AllCapabilities = []Capability{Read, Write, Execute, Message, MemoryWrite, Network, Deploy}

// Effect is what becomes of a call; for a grant, allow or deny.
type Effect string

// The effects, the strictest last.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Reason names the rule that a decision follows from.
type Reason string

// The reasons, in the order in which their rules are asked.
const (
	GrantDeny        Reason = "grant_deny"
	ModePrivate      Reason = "mode_private"
	DeployAlwaysAsks Reason = "deploy_always_asks"
	GrantAllow       Reason = "grant_allow"
	ByMatrix         Reason = "matrix"
	BudgetExhausted  Reason = "budget_exhausted"
)

// Policy is hux.policy.v1.
type Policy struct {
	hux.Meta
	Scope          string                `json:"scope"` // user, project:prj_… or conversation:cnv_…
	Level          Level                 `json:"level"`
	LevelExpiresAt *hux.Time             `json:"level_expires_at"` // when autonomous becomes ask_first; nil: never
	Budgets        []Budget              `json:"budgets"`
	Effective      map[Capability]Ruling `json:"effective"` // as EffectiveNow computes it
}

// Budget bounds what may be done without asking in a window of time.
type Budget struct {
	Kind     string    `json:"kind"`      // tool_calls, network_calls or seconds
	Limit    int64     `json:"limit"`     // in calls, or in seconds of running tools
	Window   string    `json:"window"`    // run or day
	Spent    int64     `json:"spent"`     // in the window that is open
	ResetsAt *hux.Time `json:"resets_at"` // of a day: the next midnight, UTC; nil for a run
}

// The kinds and windows of budgets.
const (
	ToolCalls    = "tool_calls"
	NetworkCalls = "network_calls"
	Seconds      = "seconds"

	PerRun = "run"
	PerDay = "day"
)

// Ruling is what applies to a capability, and why.
type Ruling struct {
	Effect Effect `json:"effect"`
	Reason Reason `json:"reason"`
}

// Grant is hux.grant.v1.
type Grant struct {
	hux.Meta
	Capability   Capability   `json:"capability"`
	Capabilities []Capability `json:"capabilities,omitempty"` // all that it covers, if more than Capability
	Effect       Effect       `json:"effect"`                 // allow or deny
	Duration     Choice       `json:"duration"`               // once, session or always
	Match        Match        `json:"match"`
	Scope        GrantScope   `json:"scope"`
	Origin       Origin       `json:"origin"`
	ExpiresAt    hux.Time     `json:"expires_at"`
	Uses         Uses         `json:"uses"`
	State        string       `json:"state"` // active, expired, revoked or spent
}

// Match says which calls of a tool a grant is for. One that allows has either
// ArgsHash or Target; one that denies may have neither, and is for all of them
// then.
type Match struct {
	Tool     string `json:"tool"`
	ArgsHash string `json:"args_hash,omitempty"` // as EvidenceHash makes it
	Target   string `json:"target,omitempty"`
}

// GrantScope says where a grant holds; the zero value is everywhere.
type GrantScope struct {
	ConversationID string `json:"conversation_id,omitempty"`
	SessionID      string `json:"session_id,omitempty"`
}

// Origin says how a grant came to be: in an approval, or by hand.
type Origin struct {
	ApprovalID string `json:"approval_id,omitempty"`
	Manual     bool   `json:"manual,omitempty"`
}

// Uses counts how often a grant let a call pass; Max nil is no bound.
type Uses struct {
	Count int64  `json:"count"`
	Max   *int64 `json:"max"`
}

// Choice is what a person answers; all but deny are durations of a grant too.
type Choice string

// The gateway's choices.
const (
	Once       Choice = "once"
	Session    Choice = "session"
	Always     Choice = "always"
	DenyChoice Choice = "deny"
)

// Approval is hux.approval.v1.
type Approval struct {
	hux.Meta
	ConversationID string       `json:"conversation_id"`
	RunID          string       `json:"run_id"`
	SurfaceHint    *hux.Surface `json:"surface_hint"`
	Request        Request      `json:"request"`
	ExpiresAt      hux.Time     `json:"expires_at"`
	Status         string       `json:"status"`   // pending, approved, denied, expired or cancelled
	Decision       *Answer      `json:"decision"` // nil unless approved or denied
}

// Request is what an approval shows to a person: the call, and what each
// choice would grant.
type Request struct {
	Capability   Capability        `json:"capability"`             // the gravest of those that have to be asked for
	Capabilities []Capability      `json:"capabilities,omitempty"` // all that the call needs, if more than Capability
	Tool         string            `json:"tool"`
	Target       *string           `json:"target,omitempty"`
	Summary      string            `json:"summary"`
	ArgsRedacted map[string]any    `json:"args_redacted"`
	Evidence     []hux.EvidenceRef `json:"evidence"`
	Choices      []Choice          `json:"choices"`
	GrantMatch   Match             `json:"grant_match"`
}

// Answer is a person's decision about an approval.
type Answer struct {
	Choice  Choice      `json:"choice"`
	Reason  string      `json:"reason,omitempty"`
	Actor   hux.Actor   `json:"actor"`
	At      hux.Time    `json:"at"`
	Surface hux.Surface `json:"surface"`
	GrantID *string     `json:"grant_id"` // of what session or always granted
}

// Decision is hux.decision.v1, the answer to DecisionCreate.
type Decision struct {
	Schema string `json:"schema"`
	Ruling
	Capabilities []CapabilityRuling `json:"capabilities"`
	EvidenceHash string             `json:"evidence_hash"`
	GrantID      *string            `json:"grant_id"`    // that it rests on
	ApprovalID   *string            `json:"approval_id"` // to wait on, where it is to be asked
	Provenance   hux.Provenance     `json:"provenance"`
}

// CapabilityRuling is what applies to one capability of a call.
type CapabilityRuling struct {
	Capability Capability `json:"capability"`
	Ruling
}

// Receipt is hux.receipt.v1: what a cancelled run had done when it ended. It
// is written once and never changed.
type Receipt struct {
	Schema         string         `json:"schema"`
	ID             string         `json:"id"`
	Owner          hux.User       `json:"owner"`
	Kind           string         `json:"kind"` // cancellation
	ConversationID string         `json:"conversation_id"`
	RunID          string         `json:"run_id"`
	RequestedAt    hux.Time       `json:"requested_at"`
	RequestedBy    hux.Actor      `json:"requested_by"`
	Outcome        string         `json:"outcome"`
	SideEffects    []SideEffect   `json:"side_effects"`
	Coverage       string         `json:"coverage"` // full or partial
	CompletedAt    hux.Time       `json:"completed_at"`
	CreatedAt      hux.Time       `json:"created_at"`
	Provenance     hux.Provenance `json:"provenance"`
}

// SideEffect is one thing that a run had done.
type SideEffect struct {
	EvidenceRef    hux.EvidenceRef  `json:"evidence_ref"`
	Kind           string           `json:"kind"`
	Summary        string           `json:"summary"`
	Reversible     bool             `json:"reversible"`
	Reverted       bool             `json:"reverted"`
	RevertEvidence *hux.EvidenceRef `json:"revert_evidence,omitempty"`
}

// The outcomes of a cancellation.
const (
	Stopped             = "stopped"
	CompletedBeforeStop = "completed_before_stop"
	PartiallyStopped    = "partially_stopped"
	FailedToStop        = "failed_to_stop"
	Unknown             = "unknown"
)

// Cancellation is hux.cancel.v1: how far the stop of a run is.
type Cancellation struct {
	Schema     string   `json:"schema"`
	State      string   `json:"state"` // stopping, or the outcome of the receipt
	ReceiptID  *string  `json:"receipt_id"`
	DeadlineAt hux.Time `json:"deadline_at"`

	Provenance hux.Provenance `json:"provenance"`
}
