package main

import (
	"bytes"
	"encoding/json"
)

// ordered is a JSON object whose members are in the order of the file; objects
// in it are ordered too.
type ordered []entry

type entry struct {
	name  string
	value any
}

func (o ordered) find(name string) (any, bool) {
	for _, e := range o {
		if e.name == name {
			return e.value, true
		}
	}
	return nil, false
}

func (o ordered) get(name string) any {
	v, _ := o.find(name)
	return v
}

// UnmarshalJSON is json.Unmarshaler's.
func (o *ordered) UnmarshalJSON(content []byte) error {
	d := json.NewDecoder(bytes.NewReader(content))
	d.UseNumber()
	v, err := next(d)
	*o, _ = v.(ordered)
	return err
}

// next reads one value.
func next(d *json.Decoder) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		o := ordered{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := next(d)
			if err != nil {
				return nil, err
			}
			o = append(o, entry{name.(string), v})
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		l := []any{}
		for d.More() {
			v, err := next(d)
			if err != nil {
				return nil, err
			}
			l = append(l, v)
		}
		_, err = d.Token()
		return l, err
	}
	return t, nil
}
