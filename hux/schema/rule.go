package schema

import (
	"bytes"
	"encoding/json"
)

// Rule is what a schema can't say of one record by itself: it reads the record
// as JSON, which its schema accepts, and gives what is wrong with it. It knows
// no other record and no clock.
type Rule func(record []byte) (Faults, error)

// Faults gathers what is wrong; the zero value is nothing yet.
type Faults []Fault

// Add adds a fault.
func (f *Faults) Add(pointer, code, message string) { *f = append(*f, Fault{pointer, code, message}) }

// AddIf adds a fault where something is wrong.
func (f *Faults) AddIf(wrong bool, pointer, code, message string) {
	if wrong {
		f.Add(pointer, code, message)
	}
}

// RuleOf makes a Rule of a function of the record's Go type. Numbers of free
// members stay json.Number, so that none is rounded.
func RuleOf[T any](faults func(*T) Faults) Rule {
	return func(record []byte) (Faults, error) {
		v := new(T)
		decoder := json.NewDecoder(bytes.NewReader(record))
		decoder.UseNumber()
		if err := decoder.Decode(v); err != nil {
			return nil, err
		}
		return faults(v), nil
	}
}
