package api

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	contract "bstein.dev/hux"
)

// example refers to the worked example of a schema, in the form of an answer,
// and makes it a component of the document.
func (d *describer) example(name string, form Answer) (object, error) {
	key := name + map[Answer]string{Page: ".page", Stream: ".stream"}[form]
	if d.examples[key] == nil {
		text, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
		if err != nil {
			return nil, err
		}
		var record object
		if err := json.Unmarshal(text, &record); err != nil {
			return nil, fmt.Errorf("example of %s: %w", name, err)
		}
		var value any = record
		switch form {
		case Page:
			value = object{"items": []any{record}, "next": nil}
		case Stream:
			value = streamOf(record)
		}
		d.examples[key] = object{"value": value}
	}
	return object{"worked": object{"$ref": "#/components/examples/" + key}}, nil
}

// streamOf is the beginning of a stream that has one record.
func streamOf(record object) string {
	line, _ := json.Marshal(record) // was read from JSON
	hello, _ := json.Marshal(object{"epoch": "9f86d081884c7d65", "replay_after": 41, "head_seq": 42})
	id := ""
	if seq, ok := record["seq"]; ok {
		id = fmt.Sprintf("id: %v\n", seq)
	}
	return strings.Join([]string{
		"retry: 2000\n",
		"event: hux.hello\ndata: " + string(hello) + "\n",
		id + "data: " + string(line) + "\n\n",
	}, "\n")
}

// stream describes an event stream (contracts 2.6): as text, since OpenAPI 3.1
// has no word for its frames, and frame by frame in x-hux-frames.
func (d *describer) stream(record string) (object, error) {
	example, err := d.example(record, Stream)
	if err != nil {
		return nil, err
	}
	frame := func(event, description string, data object) object {
		return object{"event": event, "description": description, "data": data}
	}
	entry := frame("", "A record on one line. Its id is the number to come back with, in Last-Event-ID; kinds that are not known are to be shown all the same.", Component(record))
	entry["id"] = object{"type": "string"}
	if properties, _ := d.components[record].(object)["properties"].(object); properties["seq"] != nil {
		entry["id"] = Component("seq")
	}
	return object{
		"schema": object{
			"type": "string", "contentMediaType": "text/event-stream",
			"description": "Server-sent events, UTF-8, as x-hux-frames lists them. It begins with retry, then hux.hello; a comment every 20 seconds keeps the connection alive.",
		},
		"examples": example,
		"x-hux-frames": []any{
			entry,
			frame("hux.hello", "The first frame: what the headers say, for clients that can't read them.", Component("stream_hello")),
			frame("hux.reset", "What the client has is not what the router has: forget it, all comes again.", Component("stream_reset")),
			frame("hux.closing", "The router ends the stream on purpose; come back with Last-Event-ID.", Component("stream_closing")),
		},
	}, nil
}
