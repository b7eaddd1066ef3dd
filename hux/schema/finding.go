package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
)

// Finding is a fault and where in the text it is.
type Finding struct {
	Line int `json:"line"` // from 1; of what is faulty, or of the object that lacks it
	Fault
}

// Inspect holds a text, a record or a request's body, against the schema name
// and then, where that accepts it, against its rule, if it has one. The name ""
// is for a record that says by its member schema what it is. A body goes
// through the same door as in Decode, and ignored names the members that it
// leaves there. The error is that there is no such schema, or a rule's own.
func (s *Set) Inspect(name string, text []byte) (findings []Finding, ignored []string, err error) {
	within := ofRecord
	if _, verb := RecordOf(name); verb != "" {
		within = ofBody(name)
	}
	value, stopped, err := parse(text, within)
	if err != nil {
		return []Finding{{lineOf(text, stopped), refusedFor(err)[0]}}, nil, nil
	}
	var list []Fault
	if name == "" {
		name, list = s.named(value)
	}
	var admitted []byte
	if list == nil {
		admitted, ignored, err = s.pass(name, value)
		if list = refusedFor(err); err != nil && list == nil {
			return nil, nil, err
		}
	}
	if list == nil {
		if list, err = s.broken(name, admitted); err != nil {
			return nil, nil, err
		}
	}
	inOrder(list)
	for _, f := range list {
		findings = append(findings, Finding{lineOf(text, place(text, f.Pointer)), f})
	}
	return findings, ignored, nil
}

// Strict holds a text that may be as long as a record against what Parse takes
// of JSON, and says in which line it is not that.
func Strict(text []byte) (line int, err error) {
	_, stopped, err := parse(text, ofRecord)
	return lineOf(text, stopped), err
}

// named gives the schema that a record says it is of.
func (s *Set) named(record any) (string, []Fault) {
	object, ok := record.(map[string]any)
	if !ok {
		return "", []Fault{{"", "type", "must be object"}}
	}
	said, there := object["schema"]
	name, _ := said.(string)
	_, verb := RecordOf(name)
	switch {
	case !there:
		return "", []Fault{{"/schema", "required", "is missing"}}
	case s.files[name] == nil || name == "defs" || verb != "":
		return "", []Fault{{"/schema", "unknown_schema", "names no record of the contract"}}
	}
	return name, nil
}

// pass gives a record that fits its schema, or what Decode leaves of a body, as
// JSON.
func (s *Set) pass(name string, value any) (text []byte, ignored []string, err error) {
	if _, verb := RecordOf(name); s.files[name] == nil || verb == "" {
		return encode(nil, value), nil, s.fits(name, value)
	}
	in, err := s.admit(name, value, 0)
	if err != nil {
		return nil, nil, err
	}
	return in.Text, in.Ignored, nil
}

// refusedFor gives an error's faults, at least one; nil where it is no *hux.Error.
func refusedFor(err error) []Fault {
	var refused *hux.Error
	if !errors.As(err, &refused) {
		return nil
	}
	if list, _ := refused.Members["errors"].([]Fault); len(list) > 0 {
		return list
	}
	return []Fault{{"", string(refused.Code), refused.Detail}}
}

func lineOf(text []byte, offset int) int {
	return 1 + bytes.Count(text[:min(offset, len(text))], []byte("\n"))
}

// place is the offset just behind what pointer names in a JSON text, or behind
// the beginning of the innermost part of it that is there.
func place(text []byte, pointer string) (offset int) {
	d := json.NewDecoder(bytes.NewReader(text))
	for steps := strings.Split(pointer, "/")[1:]; ; steps = steps[1:] {
		opened, err := d.Token()
		if err != nil {
			return offset
		}
		offset = int(d.InputOffset())
		if len(steps) == 0 || !enter(d, opened, steps[0]) {
			return offset
		}
	}
}

// enter reads on, behind the token that opened a value, up to its member or
// item with the name step.
func enter(d *json.Decoder, opened json.Token, step string) bool {
	if opened != json.Delim('{') && opened != json.Delim('[') {
		return false
	}
	for i := 0; d.More(); i++ {
		name := json.Token(strconv.Itoa(i))
		if opened == json.Delim('{') {
			name, _ = d.Token() // text was parsed before
		}
		if name == step {
			return true
		}
		var passed json.RawMessage
		if d.Decode(&passed) != nil {
			return false
		}
	}
	return false
}
