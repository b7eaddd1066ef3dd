package autonomy

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/schema"
)

// Reading of what Hermes says. It has many members that are nothing to us, and
// results of tools among them: known ones are taken by their exact names, and
// the rest is not looked at.

// members are those of HermesEvent, and details those of its Extra that are
// kept. What is an id there becomes one here, by hux.ForeignID.
var (
	members   = []string{"hook_event_name", "delivery_id", "timestamp", "session_id", "tool_name", "tool_input", "extra"}
	details   = []string{"tool_call_id", "turn_id", "api_request_id", "status", "duration_ms", "error_type"}
	idMembers = []string{"session_id", "tool_name", "tool_call_id", "turn_id"}
)

// uniqueFrom is how long a call's id is that counts as one of its own. Models
// give out shorter ones, such as call_1, anew with each answer, and two calls
// must never be taken for one.
const uniqueFrom = 16

// ReadHook reads what Hermes gives to a hook about a tool call. The arguments
// are whole: those that can't be asked about are an error, a *hux.Error of
// invalid_json or too_large, as all is that can't be read.
func ReadHook(body []byte) (*HermesEvent, error) {
	picked, err := pickHermes(body, true)
	if err != nil {
		return nil, err
	}
	e, err := eventOf(picked)
	if err != nil || e.tool() == "" {
		return nil, hux.Errorf(hux.InvalidJSON, "This is not about a tool call.").Because(err)
	}
	return e, nil
}

// ReadTold reads what Hermes gives to a hook about a tool that has run, without
// its result. Arguments that are too long are left out.
func ReadTold(body []byte) (*HermesEvent, error) {
	picked, err := pickHermes(body, false)
	if err != nil {
		return nil, err
	}
	return eventOf(picked)
}

// pickHermes takes out of a body what is ours, as schema.Parse gives it. Of the
// facts of the event, what can't be read or is too long to keep is left out;
// so is tool_input, unless all of it is wanted. The error is a *hux.Error,
// invalid_json or too_large.
func pickHermes(body []byte, whole bool) (map[string]any, error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil || all == nil {
		return nil, hux.Errorf(hux.InvalidJSON, "The body is no JSON object.")
	}
	picked := map[string]any{}
	for _, name := range members {
		raw, ok := all[name]
		if !ok {
			continue
		}
		if name == "extra" {
			var facts map[string]json.RawMessage
			if json.Unmarshal(raw, &facts) == nil {
				picked[name] = pickFacts(facts)
			}
			continue
		}
		value, err := schema.Parse(raw)
		switch {
		case err == nil:
			picked[name] = identified(name, value)
		case whole || name != "tool_input":
			return nil, err
		}
	}
	return picked, nil
}

func pickFacts(facts map[string]json.RawMessage) map[string]any {
	kept := map[string]any{}
	for _, name := range details {
		if value, err := schema.Parse(facts[name]); err == nil && value != nil {
			kept[name] = identified(name, value)
		}
	}
	answer, _ := kept["api_request_id"].(string)
	if answer == "" {
		answer, _ = kept["turn_id"].(string)
	}
	prefix := answer + "."
	if id, _ := kept["tool_call_id"].(string); id != "" && len(id) < uniqueFrom && answer != "" && !strings.HasPrefix(id, prefix) {
		kept["tool_call_id"] = hux.ForeignID(prefix + id)
	}
	return kept
}

func identified(name string, value any) any {
	if text, ok := value.(string); ok && slices.Contains(idMembers, name) {
		return hux.ForeignID(text)
	}
	return value
}

// eventOf puts what was picked, and is of the right types, into a HermesEvent.
func eventOf(picked map[string]any) (*HermesEvent, error) {
	text, err := json.Marshal(picked)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	e := new(HermesEvent)
	return e, decoder.Decode(e)
}

// Detail is a member of Extra that is text, or "".
func (e *HermesEvent) Detail(name string) string {
	text, _ := e.Extra[name].(string)
	return text
}

func (e *HermesEvent) tool() string {
	if e.ToolName == nil {
		return ""
	}
	return *e.ToolName
}

// Told is the event of the log that Hermes tells of; ok is false where it is
// none that the log has. The summary says what a person would be shown of the
// call; neither its arguments nor its result come with it.
func (e *HermesEvent) Told(runID string) (told event.Event, ok bool) {
	tool := e.tool()
	if tool == "" {
		return told, false
	}
	data := facts{"tool": tool}
	if id := e.Detail("tool_call_id"); id != "" {
		data["tool_call_id"] = id
	}
	told.RunID = runID
	summary := Show(tool, e.ToolInput).Summary
	switch e.HookEventName {
	case "pre_tool_call":
		told.Kind, told.Status = toolStarted, new("started")
	case "post_tool_call":
		told.Kind, told.Status = toolFinished, new(e.ended())
		if e.blocked() {
			data["blocked"] = true
		}
		if n, ok := e.took(); ok {
			data["duration_ms"] = n
		}
	default:
		return told, false
	}
	told.Summary, told.Data = summary, data.json()
	return told, true
}

// blocked reports whether a call ended without having run. What the model
// writes as arguments may be none; then no hook is asked.
func (e *HermesEvent) blocked() bool {
	return slices.Contains([]string{"blocked", "denied"}, e.Detail("status")) || e.Detail("error_type") == "invalid_tool_arguments"
}

// ended is how a tool's call ended. Hermes says an error in several ways.
func (e *HermesEvent) ended() string {
	switch e.Detail("status") {
	case "cancelled", "canceled", "interrupted":
		return "cancelled"
	case "error", "failed", "failure", "blocked", "denied", "timeout":
		return "failed"
	}
	if e.Detail("error_type") != "" {
		return "failed"
	}
	return "completed"
}

// took is for how many milliseconds a tool ran, if that is said and can be.
func (e *HermesEvent) took() (int64, bool) {
	n, _ := e.Extra["duration_ms"].(json.Number)
	ms, err := n.Float64()
	if err != nil || ms < 0 || ms > float64(maxRunning.Milliseconds()) {
		return 0, false
	}
	return int64(math.Round(ms)), true
}

// maxRunning bounds for how long a tool can be said to have run.
const maxRunning = 7 * 24 * time.Hour
