package contract_test

import (
	"slices"
	"strings"
	"testing"
)

// contractRoutes are the lines of /hux/v1 as contracts 7 has them, by flag; a
// "-" stands for those that several flags serve.
var contractRoutes = map[string]string{
	"hux.foundation": `
		GET /capabilities
		GET /manifest
		GET /openapi.json
		GET /schemas/{name}`,
	"-": `
		GET /conversations
		POST /conversations
		GET /conversations/{id}
		PATCH /conversations/{id}`,
	"hux.activity_timeline": `
		GET /conversations/{id}/events
		POST /conversations/{id}/events
		GET /conversations/{id}/events/stream`,
	"hux.memory_control": `
		GET /memory
		POST /memory
		POST /memory/import
		GET /memory/export
		POST /memory/prompt
		GET /memory/{id}
		POST /memory/{id}/approve
		POST /memory/{id}/reject
		POST /memory/{id}/forget
		POST /memory/{id}/edit
		POST /memory/{id}/remove_retrieval
		POST /memory/{id}/restore_retrieval`,
	"hux.projects": `
		GET /projects
		POST /projects
		GET /projects/{id}
		PATCH /projects/{id}
		POST /projects/{id}/forget
		POST /conversations/{id}/branch
		GET /conversations/{id}/lineage
		GET /search`,
	"hux.artifacts": `
		GET /artifacts
		POST /artifacts
		GET /artifacts/{id}
		PATCH /artifacts/{id}
		POST /artifacts/{id}/forget
		GET /artifacts/{id}/export
		GET /projects/{id}/export
		GET /artifacts/{id}/versions
		POST /artifacts/{id}/versions
		GET /artifacts/{id}/versions/{n}
		GET /artifacts/{id}/versions/{n}/content
		GET /artifacts/{id}/versions/{n}/diff
		POST /artifacts/{id}/promote`,
	"hux.multimodal": `
		POST /artifacts/blobs
		POST /artifacts/{id}/transcribe`,
	"hux.autonomy": `
		GET /policy
		PUT /policy
		POST /decisions
		GET /approvals
		POST /approvals
		GET /approvals/{id}
		POST /approvals/{id}
		GET /grants
		POST /grants
		POST /grants/{id}/revoke
		POST /conversations/{id}/runs/{run_id}/cancel
		GET /conversations/{id}/runs/{run_id}/cancel
		GET /receipts
		POST /receipts
		GET /receipts/{id}
		POST /ingest/hermes/{agent_id}`,
	"hux.friendly_modes": `
		GET /modes
		PUT /conversations/{id}/mode`,
	"hux.research": `
		GET /sources
		POST /sources
		GET /sources/{id}
		POST /sources/{id}/snapshot
		POST /sources/{id}/refresh
		POST /sources/{id}/forget
		GET /passages
		POST /passages
		GET /messages/{id}/citations
		POST /messages/{id}/citations
		GET /notebooks
		POST /notebooks
		GET /notebooks/{id}
		PATCH /notebooks/{id}
		POST /notebooks/{id}/forget`,
	"hux.onboarding": `
		GET /suggestions
		POST /suggestions/{id}/shown
		POST /suggestions/{id}/dismiss
		POST /suggestions/{id}/never
		POST /suggestions/{id}/acted`,
	"hux.privacy": `
		GET /privacy/policy
		GET /privacy/notices
		POST /privacy/notices
		POST /conversations/{id}/forget
		GET /conversations/{id}/forget
		GET /privacy/audit`,
	"hux.release_followthrough": `
		GET /releases
		GET /releases/{id}
		GET /releases/stream
		POST /releases
		POST /releases/{id}/transitions
		POST /releases/{id}/checks`,
}

// The table of routes has every line of the contract under its flag, and no
// other.
func TestRoutesAreThoseOfTheContract(t *testing.T) {
	var want, got []string
	for flag, lines := range contractRoutes {
		for line := range strings.Lines(lines) {
			if line = strings.TrimSpace(line); line != "" {
				want = append(want, line+" "+flag)
			}
		}
	}
	for _, rt := range routes(t) {
		flag := "-"
		if len(rt.Flags) == 1 {
			flag = rt.Flags[0]
		}
		got = append(got, rt.Method+" "+rt.Path+" "+flag)
	}
	slices.Sort(got)
	for i, line := range got {
		if i > 0 && got[i-1] == line {
			t.Errorf("twice: %s", line)
		}
		if !slices.Contains(want, line) {
			t.Errorf("not of the contract: %s", line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("missing: %s", line)
		}
	}
}
