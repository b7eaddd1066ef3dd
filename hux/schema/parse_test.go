package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

func TestParseIsStrict(t *testing.T) {
	for body, want := range map[string]hux.Code{
		`{"a":[1,-0.5e+3,"x",true,false,null,{}]}`: "",
		" \t\r\n[] ":               "",
		`"\u00e4\ud83d\ude00\/\n"`: "",
		`1e308`:                    "",
		`-1E-308`:                  "",
		strings.Repeat("9", 40):    "",
		strings.Repeat("[", 64) + strings.Repeat("]", 64): "",

		``:                             hux.InvalidJSON,
		` `:                            hux.InvalidJSON,
		`{`:                            hux.InvalidJSON,
		`{"a":1,}`:                     hux.InvalidJSON,
		`[1,]`:                         hux.InvalidJSON,
		`{"a" 1}`:                      hux.InvalidJSON,
		`{a:1}`:                        hux.InvalidJSON,
		`nul`:                          hux.InvalidJSON,
		`NaN`:                          hux.InvalidJSON,
		`01`:                           hux.InvalidJSON,
		`+1`:                           hux.InvalidJSON,
		`.5`:                           hux.InvalidJSON,
		`1.`:                           hux.InvalidJSON,
		`1e`:                           hux.InvalidJSON,
		`-`:                            hux.InvalidJSON,
		`{} {}`:                        hux.InvalidJSON,
		`{}x`:                          hux.InvalidJSON,
		`"a`:                           hux.InvalidJSON,
		`"\`:                           hux.InvalidJSON,
		`"\x"`:                         hux.InvalidJSON,
		`"\u12"`:                       hux.InvalidJSON,
		"\"\n\"":                       hux.InvalidJSON,
		"\"\\t\n\"":                    hux.InvalidJSON,
		"\"\xff\"":                     hux.InvalidJSON,
		"\xef\xbb\xbf{}":               hux.InvalidJSON,
		"{}\x00":                       hux.InvalidJSON,
		`"\ud83d"`:                     hux.InvalidJSON,
		`"\ud83dx"`:                    hux.InvalidJSON,
		`"\ud83d\u0041"`:               hux.InvalidJSON,
		`"\ude00"`:                     hux.InvalidJSON,
		`{"a":1,"a":2}`:                hux.InvalidJSON,
		`{"a":1,"\u0061":2}`:           hux.InvalidJSON,
		`[{"b":{"a":1,"a":1}}]`:        hux.InvalidJSON,
		`1e309`:                        hux.InvalidJSON,
		`1e-309`:                       hux.InvalidJSON,
		`1e999999`:                     hux.InvalidJSON,
		`{"a":{"b":[1e1000001]}}`:      hux.InvalidJSON,
		`1e99999999999999999999999`:    hux.InvalidJSON,
		strings.Repeat("9", 41):        hux.InvalidJSON,
		"0." + strings.Repeat("1", 50): hux.InvalidJSON,
		strings.Repeat("[", 65) + strings.Repeat("]", 65): hux.InvalidJSON,
		strings.Repeat("[", 60000):                        hux.InvalidJSON,
		strings.Repeat(" ", schema.MaxBody+1):             hux.TooLarge,
		"[" + strings.Repeat("1,", 20000) + "1]":          hux.TooLarge,
	} {
		_, err := schema.Parse([]byte(body))
		var e *hux.Error
		var got hux.Code
		if errors.As(err, &e) {
			got = e.Code
		}
		if got != want || (err == nil) != (want == "") {
			t.Errorf("%.60q: %v, want %q", body, err, want)
		}
	}
}

func TestIntegersHaveOneSpelling(t *testing.T) {
	for text, want := range map[string]json.Number{
		"0": "0", "-0": "-0", "-0.0": "0", "0e5": "0", "3.0": "3", "-3.00": "-3", "30e-1": "3", "1e2": "100", "1.5e1": "15", "0.001e3": "1",
		"1.5": "1.5", "1e-1": "1e-1", "1e17": "100000000000000000", "1e18": "1e18", "3.00000000000000000001": "3.00000000000000000001",
		"9007199254740993": "9007199254740993",
	} {
		if got, err := schema.Parse([]byte(text)); got != want || err != nil {
			t.Errorf("%s: %v, %v, want %s", text, got, err, want)
		}
	}
}

// alike reports whether a and b mean the same; numbers may be spelt otherwise.
func alike(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if a == b || !ok {
			return ok
		}
		x, okX := new(big.Rat).SetString(string(a))
		y, okY := new(big.Rat).SetString(string(b))
		return okX && okY && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, alike)
	}
	return a == b
}

// hostile are bodies that were made to cost much.
func hostile() map[string]string {
	return map[string]string{
		"exponents":     `{"kind":"run.started","summary":"s","causes":[` + strings.Repeat("1e999999,", 200) + `1]}`,
		"numbers":       `{"kind":"run.started","summary":"s","causes":[` + strings.Repeat("1e308,", 4000) + `1]}`,
		"open brackets": strings.Repeat("[", 64000),
		"open braces":   strings.Repeat(`{"":`, 16000),
		"many items":    `{"kind":"run.started","summary":"s","evidence":[` + strings.Repeat("{},", 8000) + `{}]}`,
		"many strings":  `{"tags":[` + strings.Repeat(`"a",`, 8000) + `"a"]}`,
		"one string":    `{"kind":"run.started","summary":"` + strings.Repeat("x", 65000) + `"}`,
		"escapes":       `{"kind":"run.started","summary":"` + strings.Repeat(`\u0041`, 10000) + `"}`,
		"same name":     `{` + strings.Repeat(`"a":0,`, 10000) + `"a":0}`,
	}
}

// The bound is far above what these take, and far below what they took a
// reader without bounds: 4.5 s for the first.
func TestHostileBodiesAreRefusedFast(t *testing.T) {
	set := load(t)
	for name, body := range hostile() {
		for _, s := range []string{"hux.event.create.v1", "hux.conversation.create.v1"} {
			start := time.Now()
			_, err := set.Decode(s, []byte(body))
			if took := time.Since(start); took > 500*time.Millisecond {
				t.Errorf("%s as %s took %v", name, s, took)
			}
			if err == nil && s == "hux.event.create.v1" {
				t.Errorf("%s is accepted", name)
			}
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	set := load(b)
	for name, body := range hostile() {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = set.Decode("hux.event.create.v1", []byte(body))
			}
		})
	}
}

// FuzzParse holds Parse against encoding/json: what it takes they read alike,
// and what it refuses is refused for one of its own reasons.
func FuzzParse(f *testing.F) {
	for _, body := range hostile() {
		f.Add([]byte(body[:min(len(body), 200)]))
	}
	for _, s := range []string{`{"a":[1,2.5,"\u00e4\ud83d\ude00"],"b":{"c":null}}`, `{"a":1,"a":2}`, `"\ud83d"`, `1e309`, `[3.0,30e-1,-0.0,1e17]`, "\"\xff\"", `[true,false] `} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := schema.Parse(body)
		if err == nil {
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.UseNumber()
			var want any
			if err := decoder.Decode(&want); err != nil {
				t.Fatalf("%q: encoding/json refuses: %v", body, err)
			}
			if !alike(got, want) {
				t.Fatalf("%q: %#v, encoding/json has %#v", body, got, want)
			}
			return
		}
		var e *hux.Error
		if !errors.As(err, &e) {
			t.Fatalf("%q: %v is no error of ours", body, err)
		}
		if e.Detail == "The body is not JSON." && json.Valid(body) && utf8.Valid(body) {
			t.Fatalf("%q: refused, and encoding/json takes it", body)
		}
	})
}
