package redact_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux/redact"
)

func TestLeave(t *testing.T) {
	const event = `{"schema":"hux.event.v1","id":"evt_1","kind":"tool.finished","summary":"words","data":{"x":1},"evidence":[{"id":"e"}],"created_at":"t","sensitivity":"normal","redaction":{"level":"none","rules":["jwt"]}}`
	const partial = `{"created_at":"t","data":"[redacted]","evidence":[{"id":"e"}],"id":"evt_1","kind":"tool.finished","redaction":{"level":"partial","rules":["jwt"]},"schema":"hux.event.v1","sensitivity":"normal","summary":"[redacted]"}`
	const full = `{"created_at":"t","id":"evt_1","kind":"tool.finished","redaction":{"level":"full"},"schema":"hux.event.v1"}`
	for _, c := range []struct {
		name   string
		change map[string]any
		level  redact.Level
		want   string
	}{
		{"none", nil, redact.None, ""},
		{"partial", nil, redact.Partial, partial},
		{"full", nil, redact.Full, full},
		{"the record's own is stricter", map[string]any{"redaction": map[string]any{"level": "full"}}, redact.None, full},
		{"the record's own is weaker", map[string]any{"redaction": map[string]any{"level": "partial"}}, redact.Full, full},
		{"restricted", map[string]any{"sensitivity": "restricted"}, redact.None, full},
		{"no such level", nil, "some", full},
		{"the record's own is no level", map[string]any{"redaction": map[string]any{"level": "some"}}, redact.None, full},
		{"nobody listed its members", map[string]any{"schema": "hux.other.v1"}, redact.Partial, `{"created_at":"t","id":"evt_1","kind":"tool.finished","redaction":{"level":"full"},"schema":"hux.other.v1"}`},
	} {
		var record map[string]any
		if err := json.Unmarshal([]byte(event), &record); err != nil {
			t.Fatal(err)
		}
		for k, v := range c.change {
			record[k] = v
		}
		before, _ := json.Marshal(record)
		got, _ := json.Marshal(redact.Leave(record, c.level))
		after, _ := json.Marshal(record)
		if c.want == "" {
			c.want = string(before)
		}
		if string(got) != c.want {
			t.Errorf("%s:\n %s, want\n %s", c.name, got, c.want)
		}
		if string(after) != string(before) {
			t.Errorf("%s: the record was changed", c.name)
		}
	}
}

// worked is a worked example as JSON.
func worked(t *testing.T, name string) map[string]any {
	t.Helper()
	text, err := contract.Examples.ReadFile("examples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(text, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

// What each record has of somebody's words is out at Partial, and all else is
// there; at Full there is only what names it.
func TestLeaveByRecord(t *testing.T) {
	for name, c := range map[string]struct{ words, names []string }{
		"hux.conversation.v1":      {[]string{"title", "tags", "external_refs"}, []string{"id"}},
		"hux.memory.v1":            {[]string{"content", "topics"}, []string{"id"}},
		"hux.project.v1":           {[]string{"title", "description", "tags"}, []string{"id"}},
		"hux.artifact.v1":          {[]string{"title"}, []string{"id"}},
		"hux.artifact_version.v1":  {[]string{"content", "content_hash", "change_summary"}, []string{"artifact_id", "n"}},
		"hux.source.v1":            {[]string{"title", "locator", "author", "content_hash", "snapshot"}, []string{"id", "kind"}},
		"hux.passage.v1":           {[]string{"selector", "text", "content_hash"}, []string{"id"}},
		"hux.citation.v1":          {nil, []string{"id"}},
		"hux.research_notebook.v1": {[]string{"title", "question", "notes"}, []string{"id"}},
		"hux.suggestion_state.v1":  {nil, []string{"suggestion_id"}},
		"hux.privacy_notice.v1":    {[]string{"topic"}, []string{"id"}},
		"hux.retention_audit.v1":   {nil, []string{"id"}},
		"hux.forget.v1":            {nil, []string{"conversation_id"}},
		"hux.release.v1":           {nil, []string{"id"}},
	} {
		record := worked(t, name)
		if record["redaction"] == nil { // of projects and conversations
			record["redaction"] = map[string]any{"level": "none"}
		}
		record["redaction"].(map[string]any)["level"] = "none"
		for _, member := range c.words {
			if record[member] == nil {
				t.Errorf("%s: the example has no %s", name, member)
			}
			record[member] = "SENTINEL"
		}
		if same := redact.Leave(record, redact.None); !reflect.DeepEqual(same, record) {
			t.Errorf("%s at none: %v", name, same)
		}

		partial := redact.Leave(record, redact.Partial)
		want := maps.Clone(record)
		for _, member := range c.words {
			want[member] = redact.Masked
		}
		want["redaction"] = map[string]any{"level": "partial"}
		if !reflect.DeepEqual(partial, want) {
			t.Errorf("%s at partial: %v, want %v", name, partial, want)
		}

		full := redact.Leave(record, redact.Full)
		if got, want := slices.Sorted(maps.Keys(full)), slices.Sorted(slices.Values(append(c.names, "schema", "created_at", "redaction"))); !slices.Equal(got, want) {
			t.Errorf("%s at full: %v, want %v", name, got, want)
		}
		for _, left := range []map[string]any{partial, full} {
			if text, _ := json.Marshal(left); strings.Contains(string(text), "SENTINEL") {
				t.Errorf("%s: words leave: %s", name, text)
			}
		}
	}
}

// A release that was taken back holds an operator's reason.
func TestLeaveOfARollback(t *testing.T) {
	release := worked(t, "hux.release.v1")
	release["rollback"] = map[string]any{"reason": "SENTINEL"}
	if left := redact.Leave(release, redact.Partial); left["rollback"] != redact.Masked || left["state"] != release["state"] {
		t.Errorf("a rollback: %v", left)
	}
}

// What is not there stays so, and answers that are no records leave without
// anything that somebody said.
func TestLeaveOfWhatIsGone(t *testing.T) {
	forgotten := worked(t, "hux.memory.v1")
	forgotten["content"], forgotten["state"] = nil, "forgotten"
	if got, there := redact.Leave(forgotten, redact.Partial)["content"]; got != nil || !there {
		t.Errorf("the content of what is forgotten: %v, %v", got, there)
	}
	bytes := worked(t, "hux.artifact_version.v1")
	delete(bytes, "content")
	bytes["blob"] = map[string]any{"digest": bytes["content_hash"], "size": 9}
	left := redact.Leave(bytes, redact.Partial)
	if _, there := left["content"]; there || left["blob"] != redact.Masked || left["content_hash"] != redact.Masked {
		t.Errorf("a version of bytes: %v", left)
	}
	for _, name := range []string{"hux.artifact_diff.v1", "hux.lineage.v1", "hux.search.v1"} {
		if got := redact.Leave(worked(t, name), redact.Partial); len(got) != 2 || got["schema"] != name {
			t.Errorf("%s: %v", name, got)
		}
	}
}
