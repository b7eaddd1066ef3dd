package hux

import (
	"fmt"
	"net/http"
	"time"
)

// Code is the machine-readable name of an error, stable across releases.
type Code string

// The codes that the router answers with. The status of each is in
// codeStatus. The first group is of contracts 2.5, the second the router's
// own, for what happens before a request reaches the API.
const (
	BadRequest           Code = "bad_request"
	InvalidJSON          Code = "invalid_json"
	BadIdentity          Code = "bad_identity"
	Unauthenticated      Code = "unauthenticated"
	HumanRequired        Code = "human_required"
	ConsoleRequired      Code = "console_required"
	PolicyDenied         Code = "policy_denied"
	NotFound             Code = "not_found"
	FeatureDisabled      Code = "feature_disabled"
	MethodNotAllowed     Code = "method_not_allowed"
	UnsupportedMediaType Code = "unsupported_media_type"
	InvalidTransition    Code = "invalid_transition"
	TooLarge             Code = "too_large"
	RateLimited          Code = "rate_limited"
	InternalError        Code = "internal_error"
	QuotaExceeded        Code = "quota_exceeded"
	StoreCorrupt         Code = "store_corrupt"
	StoreBusy            Code = "store_busy"
	SurfaceForbidden     Code = "surface_forbidden"
	AgentRequired        Code = "agent_required"

	SchemaInvalid          Code = "schema_invalid"
	ReadOnlyField          Code = "read_only_field"
	UnknownReference       Code = "unknown_reference"
	PreconditionRequired   Code = "precondition_required"
	PreconditionFailed     Code = "precondition_failed"
	BadPrecondition        Code = "bad_precondition"
	IdempotencyKeyRequired Code = "idempotency_key_required"
	IdempotencyKeyReused   Code = "idempotency_key_reused"
	InvalidCursor          Code = "invalid_cursor"
	ConversationForgotten  Code = "conversation_forgotten"
	NotAcceptable          Code = "not_acceptable"
	UnknownContext         Code = "unknown_context"
	ApprovalAlreadyDecided Code = "approval_already_decided"
	ApprovalExpired        Code = "approval_expired"
	EvidenceMismatch       Code = "evidence_mismatch"
	PrivateHistory         Code = "private_history"
	MemoryDisabled         Code = "memory_disabled"
	MessageNotCommitted    Code = "message_not_committed"
	SourceNotReady         Code = "source_not_ready"
	NoticeAlreadyResolved  Code = "notice_already_resolved"
	IdempotencyInProgress  Code = "idempotency_in_progress"
	ModeUnenforceable      Code = "mode_unenforceable"
	RunActive              Code = "run_active"
	RunEnded               Code = "run_ended"
	Gone                   Code = "gone"
	VersionConflict        Code = "version_conflict"
	MemoryTopicForbidden   Code = "memory_topic_forbidden"
	SelfSourced            Code = "self_sourced"
	RetentionRequired      Code = "retention_required"
	ChoiceNotAllowed       Code = "choice_not_allowed"
	DeployNotGrantable     Code = "deploy_not_grantable"
	ModeRouteConflict      Code = "mode_route_conflict"
	UnknownRoute           Code = "unknown_route"
	VendorName             Code = "vendor_name"
	PassageNotInSource     Code = "passage_not_in_source"
	MetadataKept           Code = "metadata_kept"
	OrdinalsNotContiguous  Code = "ordinals_not_contiguous"
	NoChange               Code = "no_change"
	PatchDoesNotApply      Code = "patch_does_not_apply"
	LineageCycle           Code = "lineage_cycle"
	ReleaseProblems        Code = "release_problems"
	RouteUnavailable       Code = "route_unavailable"

	CrossOrigin       Code = "cross_origin"
	RecentSignIn      Code = "recent_sign_in_required"
	OperatorRequired  Code = "operator_required"
	HeadersTooLarge   Code = "headers_too_large"
	Misdirected       Code = "misdirected_request"
	PathDenied        Code = "path_denied"
	NoSlot            Code = "no_slot"
	SlotBusy          Code = "slot_busy"
	SlotDown          Code = "slot_down"
	SlotTimeout       Code = "slot_timeout"
	SlotRefused       Code = "slot_refused_identity"
	SignInUnavailable Code = "sign_in_unavailable"
)

var codeStatus = map[Code]int{
	BadRequest:           http.StatusBadRequest,
	InvalidJSON:          http.StatusBadRequest,
	BadIdentity:          http.StatusBadRequest,
	Unauthenticated:      http.StatusUnauthorized,
	HumanRequired:        http.StatusForbidden,
	ConsoleRequired:      http.StatusForbidden,
	PolicyDenied:         http.StatusForbidden,
	NotFound:             http.StatusNotFound,
	FeatureDisabled:      http.StatusNotFound,
	MethodNotAllowed:     http.StatusMethodNotAllowed,
	UnsupportedMediaType: http.StatusUnsupportedMediaType,
	InvalidTransition:    http.StatusConflict,
	TooLarge:             http.StatusRequestEntityTooLarge,
	RateLimited:          http.StatusTooManyRequests,
	InternalError:        http.StatusInternalServerError,
	QuotaExceeded:        http.StatusInsufficientStorage,
	StoreCorrupt:         http.StatusInternalServerError,
	StoreBusy:            http.StatusServiceUnavailable,
	SurfaceForbidden:     http.StatusForbidden,
	AgentRequired:        http.StatusForbidden,

	SchemaInvalid:          http.StatusUnprocessableEntity,
	ReadOnlyField:          http.StatusUnprocessableEntity,
	UnknownReference:       http.StatusUnprocessableEntity,
	PreconditionRequired:   http.StatusPreconditionRequired,
	PreconditionFailed:     http.StatusPreconditionFailed,
	BadPrecondition:        http.StatusBadRequest,
	IdempotencyKeyRequired: http.StatusBadRequest,
	IdempotencyKeyReused:   http.StatusUnprocessableEntity,
	InvalidCursor:          http.StatusBadRequest,
	ConversationForgotten:  http.StatusGone,
	NotAcceptable:          http.StatusNotAcceptable,
	UnknownContext:         http.StatusBadRequest,
	ApprovalAlreadyDecided: http.StatusConflict,
	ApprovalExpired:        http.StatusConflict,
	EvidenceMismatch:       http.StatusConflict,
	PrivateHistory:         http.StatusConflict,
	MemoryDisabled:         http.StatusConflict,
	MessageNotCommitted:    http.StatusConflict,
	SourceNotReady:         http.StatusConflict,
	NoticeAlreadyResolved:  http.StatusConflict,
	IdempotencyInProgress:  http.StatusConflict,
	ModeUnenforceable:      http.StatusConflict,
	RunActive:              http.StatusConflict,
	RunEnded:               http.StatusConflict,
	Gone:                   http.StatusGone,
	VersionConflict:        http.StatusPreconditionFailed,
	MemoryTopicForbidden:   http.StatusUnprocessableEntity,
	SelfSourced:            http.StatusUnprocessableEntity,
	RetentionRequired:      http.StatusUnprocessableEntity,
	ChoiceNotAllowed:       http.StatusUnprocessableEntity,
	DeployNotGrantable:     http.StatusUnprocessableEntity,
	ModeRouteConflict:      http.StatusUnprocessableEntity,
	UnknownRoute:           http.StatusUnprocessableEntity,
	VendorName:             http.StatusUnprocessableEntity,
	PassageNotInSource:     http.StatusUnprocessableEntity,
	MetadataKept:           http.StatusUnprocessableEntity,
	OrdinalsNotContiguous:  http.StatusUnprocessableEntity,
	NoChange:               http.StatusUnprocessableEntity,
	PatchDoesNotApply:      http.StatusUnprocessableEntity,
	LineageCycle:           http.StatusUnprocessableEntity,
	ReleaseProblems:        http.StatusUnprocessableEntity,
	RouteUnavailable:       http.StatusServiceUnavailable,

	CrossOrigin:       http.StatusForbidden,
	RecentSignIn:      http.StatusForbidden,
	OperatorRequired:  http.StatusForbidden,
	HeadersTooLarge:   http.StatusRequestHeaderFieldsTooLarge,
	Misdirected:       http.StatusMisdirectedRequest,
	PathDenied:        http.StatusForbidden,
	NoSlot:            http.StatusServiceUnavailable,
	SlotBusy:          http.StatusServiceUnavailable,
	SlotDown:          http.StatusBadGateway,
	SlotTimeout:       http.StatusGatewayTimeout,
	SlotRefused:       http.StatusBadGateway,
	SignInUnavailable: http.StatusServiceUnavailable,
}

// Status is the HTTP status that goes with c; 500 for a code not in the table.
func (c Code) Status() int {
	if s, ok := codeStatus[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Error is an error that may be shown: its code and detail are safe for the
// person who caused it. The cause, if any, is for the log alone.
type Error struct {
	Code       Code
	Detail     string         // one sentence that says what to do; never content, paths or secrets
	RetryAfter time.Duration  // how long to wait before trying again; 0 where trying again is no use
	Members    map[string]any // what the code's problem document carries besides (contracts 2.5)
	ETag       string         // of the record as it is, where the code is precondition_failed
	Cause      error
}

// Errorf makes an Error with a detail in the manner of fmt.Sprintf.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// Because gives e a cause, for the log.
func (e *Error) Because(cause error) *Error { e.Cause = cause; return e }

// After says when trying again may help.
func (e *Error) After(d time.Duration) *Error { e.RetryAfter = d; return e }

// Error describes e for the log.
func (e *Error) Error() string {
	s := string(e.Code)
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }
