package timeline

import (
	"encoding/json"
	"strconv"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
)

// Rules are what the event's schemas can't say.
var Rules = map[string]schema.Rule{
	event.Schema: schema.RuleOf(func(e *event.Event) schema.Faults {
		faults := faultsOfData(e.Data)
		for i, c := range e.Causes {
			faults.AddIf(c >= e.Seq, "/causes/"+strconv.Itoa(i), "cause_later", "is not the number of an earlier event")
		}
		return faults
	}),
	"hux.event.create.v1": schema.RuleOf(func(in *struct {
		Kind  string          `json:"kind"`
		RunID string          `json:"run_id"`
		Data  json.RawMessage `json:"data"`
	}) schema.Faults {
		faults := faultsOfData(in.Data)
		if in.Kind == "message.committed" {
			var data map[string]any
			named := json.Unmarshal(in.Data, &data) == nil && data["message_id"] != nil
			id, _ := data["message_id"].(string)
			valid := hux.ValidForeignID(id)
			faults.AddIf(named && !valid, "/data/message_id", "message_id", "is no id: 1 to 128 letters, digits and _ . : -, and not dots alone")
		}
		faults.AddIf(redact.Secretive(in.RunID), "/run_id", "looks_secret", "looks like a secret, and an id is none")
		return faults
	}),
}

// maxData bounds the facts of an event, in bytes of JSON without blanks
// (contracts 2.7).
const maxData = 8 << 10

func faultsOfData(data json.RawMessage) schema.Faults {
	var faults schema.Faults
	faults.AddIf(len(data) > maxData, "/data", string(hux.TooLarge), "has more than "+strconv.Itoa(maxData)+" bytes")
	return faults
}
