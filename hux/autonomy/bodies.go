package autonomy

import (
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// PolicyPut is hux.policy.put.v1.
type PolicyPut struct {
	Level          Level     `json:"level"`
	LevelExpiresAt *hux.Time `json:"level_expires_at"`
	ExpiresInMS    int64     `json:"level_expires_in_ms"` // 0: as LevelExpiresAt says
	Budgets        []struct {
		Kind   string `json:"kind"`
		Limit  int64  `json:"limit"`
		Window string `json:"window"`
	} `json:"budgets"`
}

// end is when a level that is set now falls back; nil for never. A caller whose
// clock is wrong may name a time that is over, which is refused.
func (p *PolicyPut) end(now time.Time) (*hux.Time, error) {
	if p.ExpiresInMS > 0 {
		return &hux.Time{Time: now.Add(time.Duration(p.ExpiresInMS) * time.Millisecond).UTC().Truncate(time.Millisecond)}, nil
	}
	if at := p.LevelExpiresAt; at != nil && !at.After(now) {
		e := hux.Errorf(hux.SchemaInvalid, "level_expires_at is over already. Send a later time, or say in level_expires_in_ms how long the level holds from now.")
		e.Members = map[string]any{"errors": []schema.Fault{{Pointer: "/level_expires_at", Code: "past", Message: "is over"}}}
		return nil, e
	}
	return p.LevelExpiresAt, nil
}

// GrantCreate is hux.grant.create.v1.
type GrantCreate struct {
	Capability   Capability   `json:"capability"`
	Capabilities []Capability `json:"capabilities,omitempty"`
	Effect       Effect       `json:"effect"`
	Duration     Choice       `json:"duration"`
	Match        Match        `json:"match"`
	Scope        GrantScope   `json:"scope"`
	ExpiresInMS  int64        `json:"expires_in_ms"` // 0: as GrantLifetime has it
}

// Run is how an agent names a run: by conversation and run, or by the gateway's
// session and turn, of which the router knows the conversation.
type Run struct {
	ConversationID string      `json:"conversation_id,omitempty"`
	RunID          string      `json:"run_id,omitempty"`
	Session        *SessionRef `json:"session,omitempty"`
	TurnID         string      `json:"turn_id,omitempty"`
}

// SessionRef is a session of the gateway.
type SessionRef struct {
	System string `json:"system"` // such as hermes_session, webui or telegram
	ID     string `json:"id"`
}

// ApprovalCreate is hux.approval.create.v1.
type ApprovalCreate struct {
	Run
	SurfaceHint *hux.Surface `json:"surface_hint"`
	ExpiresInMS int64        `json:"expires_in_ms"` // 0: as ApprovalLifetime has it
	Request     struct {
		Tool     string            `json:"tool"`
		Args     map[string]any    `json:"args"`
		Target   *string           `json:"target"`
		Summary  string            `json:"summary"`
		Evidence []hux.EvidenceRef `json:"evidence"` // their owner is the gateway, whether or not they say so
	} `json:"request"`
}

// ApprovalDecide is hux.approval.decide.v1.
type ApprovalDecide struct {
	Choice       Choice `json:"choice"`
	Reason       string `json:"reason"`
	EvidenceHash string `json:"evidence_hash"` // of the request that the person saw
}

// DecisionCreate is hux.decision.create.v1: a hook asks what applies to a call.
type DecisionCreate struct {
	Run
	Tool        string         `json:"tool"`
	Args        map[string]any `json:"args"`
	Target      *string        `json:"target"`
	ToolCallID  string         `json:"tool_call_id"`
	Summary     string         `json:"summary,omitempty"`
	SurfaceHint *hux.Surface   `json:"surface_hint"`
	ExpiresInMS int64          `json:"expires_in_ms"`
}

// ReceiptCreate is hux.receipt.create.v1.
type ReceiptCreate struct {
	Kind string `json:"kind"`
	Run
	Outcome     string       `json:"outcome"`
	SideEffects []SideEffect `json:"side_effects"`
	Coverage    string       `json:"coverage"`
}

// HermesEvent is hux.ingest.hermes.v1, the body of a webhook of Hermes.
type HermesEvent struct {
	HookEventName string         `json:"hook_event_name"`
	DeliveryID    string         `json:"delivery_id"`
	Timestamp     string         `json:"timestamp"` // RFC 3339, of any precision
	SessionID     *string        `json:"session_id"`
	ToolName      *string        `json:"tool_name"`
	ToolInput     map[string]any `json:"tool_input"`
	CWD           *string        `json:"cwd"`
	Profile       *string        `json:"profile"`
	Extra         map[string]any `json:"extra"`
}
