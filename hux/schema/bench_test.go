package schema_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/schema"
)

func example(t testing.TB, name string) []byte {
	t.Helper()
	text, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func load(t testing.TB) *schema.Set { return loadWith(t, cards.Rules()) }

func loadWith(t testing.TB, rules map[string]schema.Rule) *schema.Set {
	t.Helper()
	set, err := schema.Load(contract.Schemas, rules)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// kilobyte is the worked example of an event as posted, padded to 1 KB.
func kilobyte(t testing.TB) []byte {
	var v map[string]any
	if err := json.Unmarshal(example(t, "hux.event.create.v1"), &v); err != nil {
		t.Fatal(err)
	}
	v["data"].(map[string]any)["args"] = map[string]any{"path": "internal/parser/parse_test.go", "lines": []int{1, 2, 3}}
	for i := 0; ; i++ {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) >= 1000 {
			return text
		}
		v["data"].(map[string]any)["fact_"+string(rune('a'+i))] = "a fact of the run"
	}
}

func BenchmarkDecode(b *testing.B) {
	set, body := load(b), kilobyte(b)
	b.Run("json.Unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(body, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("json.Unmarshal into a struct", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v event
			if err := json.Unmarshal(body, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Parse", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := schema.Parse(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := set.Decode("hux.event.create.v1", body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Decode and Into", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			in, err := set.Decode("hux.event.create.v1", body)
			if err != nil {
				b.Fatal(err)
			}
			var v event
			if err := in.Into(&v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkExample checks the worked example of every record and request beside
// json.Unmarshal of the same text.
func BenchmarkExample(b *testing.B) {
	set := load(b)
	for _, name := range set.Names() {
		body, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
		if errors.Is(err, fs.ErrNotExist) {
			continue // what the records share is no record
		}
		if err != nil {
			b.Fatal(err)
		}
		for way, read := range map[string]func() error{
			"json.Unmarshal": func() error { var v any; return json.Unmarshal(body, &v) },
			"checked": func() error {
				v, err := schema.Parse(body)
				if err != nil {
					return err
				}
				return set.Validate(name, v)
			},
		} {
			b.Run(name+"/"+way, func(b *testing.B) {
				for b.Loop() {
					if err := read(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// event is the struct that a request of the kind is put into.
type event struct {
	Kind        string         `json:"kind"`
	Status      *string        `json:"status"`
	Summary     string         `json:"summary"`
	Evidence    []evidence     `json:"evidence"`
	Data        map[string]any `json:"data"`
	RunID       string         `json:"run_id"`
	Causes      []uint64       `json:"causes"`
	Sensitivity string         `json:"sensitivity"`
	Redaction   *struct {
		Level string `json:"level"`
	} `json:"redaction"`
}

type evidence struct {
	Kind  string `json:"kind"`
	ID    string `json:"id"`
	Hash  string `json:"hash"`
	Owner string `json:"owner"`
}
