package api

import (
	"net/http"
	"runtime/debug"
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/schema"
)

// ThisBuild is the running build; imageDigest is "" outside an image.
func ThisBuild(imageDigest string) hux.Build {
	var b hux.Build
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = &s.Value
			}
		}
	}
	if b.Commit == nil && linkedCommit != "" {
		b.Commit = &linkedCommit
	}
	if imageDigest != "" {
		b.ImageDigest = &imageDigest
	}
	return b
}

// linkedCommit is set by the linker (-X) where the build has no repository
// around it.
var linkedCommit string

// Capabilities is hux.capabilities.v1: what this router can do, for whom.
type Capabilities struct {
	Schema          string                   `json:"schema"`
	ContractVersion string                   `json:"contract_version"`
	Flags           map[string]hux.FlagState `json:"flags"`
	Surfaces        []hux.Surface            `json:"surfaces"`
	Modes           []string                 `json:"modes"`
	EventKinds      []string                 `json:"event_kinds"`
	Actor           hux.Actor                `json:"actor"`
	Limits          map[string]int64         `json:"limits"`
	Features        map[string]bool          `json:"features"`
	Build           hux.Build                `json:"build"`
	Provenance      hux.Provenance           `json:"provenance"`
}

// NewCapabilities describes this router to a caller. A flag that is not served
// may be listed and is not enabled.
func NewCapabilities(flags hux.Flags, served map[string]bool, call *Call) Capabilities {
	states := map[string]hux.FlagState{}
	for name, s := range flags.States {
		s.Enabled = s.Enabled && served[name]
		states[name] = s
	}
	have := map[string]bool{}
	for name, flag := range features {
		have[name] = states[flag].Enabled
	}
	return Capabilities{
		Schema:          "hux.capabilities.v1",
		ContractVersion: hux.ContractVersion,
		Flags:           states,
		Surfaces:        []hux.Surface{hux.SurfaceChat, hux.SurfaceWorker, hux.SurfaceTelegram, hux.SurfaceVoice},
		Modes:           []string{},
		EventKinds:      event.Kinds,
		Actor:           call.Actor,
		Limits: map[string]int64{
			"json_body_bytes": MaxBody, "event_summary_chars": 280, "event_data_bytes": 8 << 10, "evidence_refs": 20, "event_causes": 20,
			"name_chars": schema.MaxName, "tags": 20, "tag_chars": 64,
			"list_default": defaultLimit, "list_limit": maxLimit,
			"idempotency_key_chars": 255, "idempotency_key_hours": 24,
			"description_chars": 2000, "search_chars": 256,
			"memory_content_chars": 2000, "memory_active": 1000, "memory_import": 200, "sensitive_days": 30,
			"branch_depth": 32, "branch_children": 200,
			"artifact_body_bytes": 5 << 18, "artifact_text_bytes": 1 << 20, "artifact_versions": 1000, "artifact_diff_lines": 20000, "blob_bytes": 64 << 20,
			"approval_min_seconds": 10, "approval_default_seconds": 280, "approval_max_seconds": 86400, "approval_wait_seconds": int64(MaxWait.Seconds()),
			"grant_session_hours": 12, "grant_always_days": 30, "grant_always_max_days": 365, "receipt_seconds": 30, "recent_sign_in_minutes": int64(recently.Minutes()),
			"passage_chars": 2000, "citations_per_message": 100, "notebook_sources": 200, "notebook_note_chars": 4000,
			"suggestion_shows": 5, "suggestion_cooldown_seconds": 3600, "audit_stale_hours": 26, "release_checks": 10,
		},
		Features: have,
		Build:    call.Build, Provenance: call.Provenance(),
	}
}

// features are what a client may ask for without reading the list of routes, by
// the flag that each goes with.
var features = map[string]string{
	"sse": "hux.activity_timeline", "sse_epoch": "hux.activity_timeline", "diff": "hux.artifacts", "export": "hux.artifacts", "cancel": "hux.autonomy",
}

// MaxBody bounds a JSON body, in bytes (contracts 2.7).
const MaxBody = schema.MaxBody

// Gate answers for a route of /hux/v1: 404 not_found while the foundation is off,
// 404 feature_disabled while none of the route's flags is both on and served.
func Gate(flags hux.Flags, served map[string]bool, rt Route, next Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if !flags.Enabled("hux.foundation") {
			return hux.Errorf(hux.NotFound, "There is nothing here.")
		}
		w.Header().Set("HUX-Contract", hux.ContractVersion)
		switch {
		case !slices.ContainsFunc(rt.Flags, flags.Enabled):
			return hux.Errorf(hux.FeatureDisabled, "This capability is not switched on.")
		case rt.Handler == nil, !slices.ContainsFunc(rt.Flags, func(f string) bool { return flags.Enabled(f) && served[f] }):
			return hux.Errorf(hux.FeatureDisabled, "This build does not serve this capability yet.")
		}
		return next(w, r)
	}
}
