package redact_test

import (
	"encoding/json"
	"testing"

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
