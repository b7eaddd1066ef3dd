package schema

import (
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"testing"

	contract "bstein.dev/hux"
)

// other is what a mutation puts in the place of a value.
func other(r *rand.Rand) any {
	values := []any{nil, true, "", "x", "hux.event.v1", "run.started", "forgotten", "restricted", "2026-03-02T09:15:04.218Z", "2026-03-02T09:15:04Z",
		"a\nb", "ä", json.Number("0"), json.Number("1"), json.Number("-0"), json.Number("1.0"), json.Number("1.5"), json.Number("1e2"), json.Number("9007199254740992"),
		json.Number("99999999999999999999"), json.Number("-1"), []any{}, []any{"a", "a"}, []any{json.Number("1"), json.Number("1.0")},
		[]any{map[string]any{}, map[string]any{}}, map[string]any{}, map[string]any{"x": nil}}
	return values[r.IntN(len(values))]
}

// mutate changes one random place of v.
func mutate(v any, r *rand.Rand) any {
	if r.IntN(4) == 0 {
		return other(r)
	}
	switch v := v.(type) {
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		if len(names) == 0 || r.IntN(8) == 0 {
			v["another"] = other(r)
			return v
		}
		name := names[r.IntN(len(names))]
		if r.IntN(6) == 0 {
			delete(v, name)
		} else {
			v[name] = mutate(v[name], r)
		}
		return v
	case []any:
		if len(v) == 0 || r.IntN(6) == 0 {
			return append(v, other(r))
		}
		i := r.IntN(len(v))
		if r.IntN(6) == 0 {
			return append(v, v[i])
		}
		v[i] = mutate(v[i], r)
		return v
	}
	return other(r)
}

// What the fast check accepts the library accepts; and the fast check knows
// nearly all that is valid, or it would be no use.
func TestCheckAgreesWithTheLibrary(t *testing.T) {
	set, err := Load(contract.Schemas, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range set.Names() {
		if name == "defs" {
			continue
		}
		text, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
		if err != nil {
			t.Fatal(err)
		}
		c, err := set.need(name)
		if err != nil {
			t.Fatal(err)
		}
		if example, _ := Parse(text); !c.check.accepts(example) {
			t.Errorf("%s: the worked example takes the slow way", name)
		}
		r := rand.New(rand.NewPCG(1, uint64(len(name))))
		valid, slow := 0, 0
		for range 3000 {
			v, err := Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + r.IntN(3) {
				v = mutate(v, r)
			}
			fast, truth := c.check.accepts(v), c.schema.Validate(v) == nil
			if fast && !truth {
				said, _ := json.Marshal(v)
				t.Fatalf("%s: accepted against the library: %s", name, said)
			}
			if truth {
				valid++
			}
			if truth && !fast {
				slow++
			}
		}
		if valid == 0 || slow*4 > valid {
			t.Errorf("%s: %d valid of 3000, %d of them the slow way", name, valid, slow)
		}
	}
}
