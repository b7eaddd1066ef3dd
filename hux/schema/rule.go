package schema

import (
	"bytes"
	"encoding/json"
)

// Rule is what a schema can't say of one record by itself: it reads the record
// as JSON, which its schema accepts, and gives what is wrong with it. It knows
// no other record and no clock.
type Rule func(record []byte) ([]Fault, error)

// RuleOf makes a Rule of a function of the record's Go type. Numbers of free
// members stay json.Number, so that none is rounded.
func RuleOf[T any](faults func(*T) []Fault) Rule {
	return func(record []byte) ([]Fault, error) {
		v := new(T)
		decoder := json.NewDecoder(bytes.NewReader(record))
		decoder.UseNumber()
		if err := decoder.Decode(v); err != nil {
			return nil, err
		}
		return faults(v), nil
	}
}
