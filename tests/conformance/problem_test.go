package conformance_test

import (
	"strings"
	"sync/atomic"
	"testing"
)

// codes is the table of contracts 2.5.
var codes = map[int]string{
	400: "bad_request invalid_json invalid_cursor bad_precondition bad_identity idempotency_key_required unknown_context",
	401: "unauthenticated",
	403: "human_required agent_required surface_forbidden console_required policy_denied recent_sign_in_required",
	404: "not_found feature_disabled",
	405: "method_not_allowed",
	406: "not_acceptable",
	409: "invalid_transition approval_already_decided approval_expired evidence_mismatch private_history memory_disabled message_not_committed source_not_ready notice_already_resolved idempotency_in_progress run_active run_ended",
	410: "gone conversation_forgotten",
	412: "precondition_failed version_conflict",
	413: "too_large",
	415: "unsupported_media_type",
	422: "schema_invalid read_only_field unknown_reference memory_topic_forbidden self_sourced retention_required choice_not_allowed deploy_not_grantable mode_route_conflict unknown_route vendor_name passage_not_in_source ordinals_not_contiguous no_change patch_does_not_apply lineage_cycle idempotency_key_reused release_problems",
	428: "precondition_required",
	429: "rate_limited",
	500: "internal_error store_corrupt",
	503: "route_unavailable store_busy",
	507: "quota_exceeded",
}

// besides are the members that a code brings with it (contracts 2.5).
var besides = map[string][]string{
	"invalid_transition":  {"from", "to", "allowed"},
	"precondition_failed": {"current_revision"},
	"version_conflict":    {"head"},
	"schema_invalid":      {"errors"},
	"release_problems":    {"problems"},
}

// problem holds a refusal against the rules for all of them.
func (a *answer) problem(t testing.TB) {
	t.Helper()
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" && !strings.HasPrefix(ct, "application/problem+json;") {
		t.Errorf("%s: %d has Content-Type %q, want application/problem+json", a.what, a.status, ct)
		return
	}
	if err := validate("hux.error.v1", a.body); err != nil {
		t.Errorf("%s: %d is no hux.error.v1: %v\n%.600s", a.what, a.status, err, a.body)
		return
	}
	p := a.object(t)
	code, _ := p["code"].(string)
	if !strings.Contains(" "+codes[a.status]+" ", " "+code+" ") {
		t.Errorf("%s: code %q is not one of status %d (contracts 2.5)", a.what, code, a.status)
	}
	if p["status"] != float64(a.status) {
		t.Errorf("%s: the body says status %v, the answer %d", a.what, p["status"], a.status)
	}
	if id := a.header.Get("HUX-Request-Id"); p["request_id"] != id {
		t.Errorf("%s: request_id is %v, HUX-Request-Id %s", a.what, p["request_id"], id)
	}
	for _, member := range besides[code] {
		if _, ok := p[member]; !ok {
			t.Errorf("%s: %s has no member %s (contracts 2.5)", a.what, code, member)
		}
	}
	for header, must := range map[string]bool{
		"Retry-After": a.status == 429 || code == "idempotency_in_progress" || p["retry_after_ms"] != nil,
		"Allow":       a.status == 405,
		"ETag":        code == "precondition_failed",
	} {
		if must && a.header.Get(header) == "" {
			t.Errorf("%s: %d %s has no %s", a.what, a.status, code, header)
		}
	}
	if a.status >= 500 {
		t.Errorf("%s: %d %s: %.300s", a.what, a.status, code, a.body)
	}
}

// counter counts up, for many at once.
type counter struct{ n atomic.Int64 }

func (c *counter) next() int64 { return c.n.Add(1) }
