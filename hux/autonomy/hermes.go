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

// What Hermes sends has many members that hux has no use for, among them the
// results of tools. hux takes the ones it knows by their exact names and does
// not look at the rest.

// members are the members of a HermesEvent, and details those of its Extra that
// are kept. idMembers hold ids, which hux.ForeignID gives the form of an id.
var (
	members   = []string{"hook_event_name", "delivery_id", "timestamp", "session_id", "tool_name", "tool_input", "extra"}
	details   = []string{"tool_call_id", "turn_id", "api_request_id", "status", "duration_ms", "error_type"}
	idMembers = []string{"session_id", "tool_name", "tool_call_id", "turn_id"}
)

// uniqueFrom is the least length of a call's id that counts as unique. Models
// use shorter ids, such as call_1, anew in each answer, and two calls must
// never be taken for one.
const uniqueFrom = 16

// ReadHook reads what Hermes gives to a hook that is asked about a tool call. It
// takes all of the arguments or none: the error is a *hux.Error, invalid_json or
// too_large, if they or anything else can't be read.
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

// ReadTold reads what Hermes gives to a hook that is told of a tool's end,
// without the tool's result. Arguments that are too long are left out.
func ReadTold(body []byte) (*HermesEvent, error) {
	picked, err := pickHermes(body, false)
	if err != nil {
		return nil, err
	}
	return eventOf(picked)
}

// pickHermes takes members and details out of a body, as schema.Parse gives
// them. A detail that can't be read or is too long is left out. So is such a
// tool_input, unless whole is set. The error is a *hux.Error, invalid_json or
// too_large.
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

// eventOf makes a HermesEvent of what was picked. The error says that a member
// is of the wrong type.
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

// Told makes the event of the log; ok is false if the log has no such event. The
// summary says what a person would be shown of the call. The event has neither
// the call's arguments nor its result.
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

// blocked reports whether a call ended without having run. Hermes also ends a
// call without asking a hook if the model's arguments can't be read.
func (e *HermesEvent) blocked() bool {
	return slices.Contains([]string{"blocked", "denied"}, e.Detail("status")) || e.Detail("error_type") == "invalid_tool_arguments"
}

// ended is the status with which a call ended. Hermes has several words for an
// error.
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

// took is how many milliseconds a tool ran; ok is false if Hermes gives no
// duration or an impossible one.
func (e *HermesEvent) took() (milliseconds int64, ok bool) {
	n, _ := e.Extra["duration_ms"].(json.Number)
	ms, err := n.Float64()
	if err != nil || ms < 0 || ms > float64(maxRunning.Milliseconds()) {
		return 0, false
	}
	return int64(math.Round(ms)), true
}

// maxRunning is the longest duration of a call that is believed.
const maxRunning = 7 * 24 * time.Hour
