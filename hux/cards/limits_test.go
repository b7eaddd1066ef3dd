package cards_test

import (
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/artifacts"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/memory"
	"bstein.dev/hux/hux/projects"
)

// What capabilities say of limits is what the cards hold to.
func TestLimitsAreTheCards(t *testing.T) {
	limits := api.NewCapabilities(hux.Flags{}, nil, &api.Call{}).Limits
	want := map[string]int64{
		"memory_active": memory.MaxActive, "sensitive_days": int64(memory.MaxSensitive / (24 * time.Hour)),
		"branch_depth": projects.MaxDepth, "branch_children": projects.MaxChildren,
		"artifact_text_bytes": artifacts.MaxText, "artifact_versions": artifacts.MaxVersions,
		"approval_min_seconds": seconds(autonomy.MinApproval), "approval_default_seconds": seconds(autonomy.DefaultApproval),
		"approval_max_seconds": seconds(autonomy.MaxApproval), "receipt_seconds": seconds(autonomy.ReceiptDeadline),
		"grant_session_hours": seconds(autonomy.MaxSessionGrant) / 3600, "grant_always_days": seconds(autonomy.DefaultAlwaysGrant) / 86400,
		"grant_always_max_days": seconds(autonomy.MaxAlwaysGrant) / 86400,
	}
	for _, rt := range cards.Routes(cards.Options{}) {
		switch rt.Path {
		case "/artifacts/blobs":
			want["blob_bytes"] = rt.MaxBody
		case "/artifacts/{id}/versions":
			if rt.Method == "POST" {
				want["artifact_body_bytes"] = rt.BodyLimit()
			}
		}
	}
	for name, n := range want {
		if limits[name] != n {
			t.Errorf("%s is %d, want %d", name, limits[name], n)
		}
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }
