package redact

import "maps"

// Level says how much of a record is left out when it leaves its tenant: on an
// export, an operator's surface, a log, another surface.
type Level string

// The levels of contracts 1.
const (
	None    Level = "none"    // as it is
	Partial Level = "partial" // without the members that hold somebody's words
	Full    Level = "full"    // nothing but id, kind, time and level
)

// worded lists the members of each record that hold somebody's words.
var worded = map[string][]string{
	"hux.event.v1":             {"summary", "data"},
	"hux.conversation.v1":      {"title", "tags", "external_refs"},
	"hux.memory.v1":            {"content", "topics"},
	"hux.project.v1":           {"title", "description", "tags"},
	"hux.artifact.v1":          {"title"},
	"hux.artifact_version.v1":  {"content", "blob", "content_hash", "change_summary"}, // a hash of few words can be guessed
	"hux.policy.v1":            {},
	"hux.grant.v1":             {"match"},
	"hux.approval.v1":          {"request", "decision"},
	"hux.receipt.v1":           {"side_effects"},
	"hux.source.v1":            {"title", "locator", "author", "content_hash", "snapshot"},
	"hux.passage.v1":           {"selector", "text", "content_hash"},
	"hux.suggestion.v1":        {},
	"hux.suggestion_state.v1":  {},
	"hux.privacy_policy.v1":    {},
	"hux.privacy_notice.v1":    {"topic"}, // it says what somebody talked about
	"hux.retention_audit.v1":   {},
	"hux.forget.v1":            {},
	"hux.release.v1":           {"rollback"}, // with an operator's words
	"hux.citation.v1":          {},
	"hux.research_notebook.v1": {"title", "question", "notes"},
}

// identity lists what names a record that has no id of its own.
var identity = map[string][]string{
	"hux.artifact_version.v1": {"artifact_id", "n"},
	"hux.suggestion_state.v1": {"suggestion_id"},
	"hux.privacy_policy.v1":   {"version"},
	"hux.forget.v1":           {"conversation_id"},
}

// Leave gives record as it may leave its tenant: at level or at the record's
// own, whichever takes out more. A restricted record leaves as Full, and so
// does one at a level that nobody knows, or at Partial with members that
// nobody has listed. It does not change record.
func Leave(record map[string]any, level Level) map[string]any {
	own, _ := record["redaction"].(map[string]any)
	if l, ok := own["level"].(string); ok {
		level = stricter(level, Level(l))
	}
	if record["sensitivity"] == "restricted" {
		level = Full
	}
	name, _ := record["schema"].(string)
	members, listed := worded[name]
	if level == None {
		return record
	}
	if level == Partial && listed {
		out := maps.Clone(record)
		for _, member := range members {
			if out[member] != nil { // what is not there has no words
				out[member] = Masked
			}
		}
		redaction := maps.Clone(own)
		if redaction == nil {
			redaction = map[string]any{}
		}
		redaction["level"] = string(Partial)
		out["redaction"] = redaction
		return out
	}
	out := map[string]any{"redaction": map[string]any{"level": string(Full)}}
	for _, member := range append([]string{"schema", "id", "kind", "created_at"}, identity[name]...) {
		if v, ok := record[member]; ok {
			out[member] = v
		}
	}
	return out
}

func stricter(a, b Level) Level {
	if rank(a) < rank(b) {
		return b
	}
	return a
}

func rank(l Level) int {
	switch l {
	case None:
		return 0
	case Partial:
		return 1
	}
	return 2
}
