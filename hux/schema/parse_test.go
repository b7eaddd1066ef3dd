package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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

// hostile are bodies that cost a careless reader much, each a member of an
// event, or all of the body.
func hostile() map[string]string {
	with := func(member string) string { return `{"kind":"tool.started","summary":"s",` + member + `}` }
	full := func(before, unit, after string) string { // as large as a body may be
		room := schema.MaxBody - len(with(before+after))
		return with(before + strings.TrimSuffix(strings.Repeat(unit, room/len(unit)), ",") + after)
	}
	members := func(n int, name string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, name+",", i)
		}
		return strings.TrimSuffix(b.String(), ",")
	}
	return map[string]string{
		"1e999999":                         with(`"data":{"x":1e999999}`),
		"1e-999999 a thousand times":       with(`"causes":[` + strings.TrimSuffix(strings.Repeat("1e-999999,", 1000), ",") + `]`),
		"a number of 65,000 digits":        full(`"data":{"x":`, "9", `}`),
		"a number of a million digits":     with(`"data":{"x":` + strings.Repeat("9", 1_000_000) + `}`),
		"an exponent of 65,000 digits":     full(`"data":{"x":1e`, "9", `}`),
		"nested 10,000 deep, lists":        with(`"data":{"x":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + `}`),
		"nested 10,000 deep, objects":      with(`"data":` + strings.Repeat(`{"":`, 10_000) + "0" + strings.Repeat("}", 10_000)),
		"64 KiB of [":                      strings.Repeat("[", schema.MaxBody),
		"64 KiB of {":                      strings.Repeat("{", schema.MaxBody),
		"a name twice":                     with(`"data":{"x":1,"x":2}`),
		"a name twice after 4,000":         with(`"data":{` + members(4000, `"m%d":0`) + `,"m0":1}`),
		"20,000 members":                   with(`"data":{` + members(20_000, `"%x":0`) + `}`),
		"4,000 members that nobody knows":  with(members(4000, `"u%d":0`) + `,"status":0`),
		"4,000 items where 20 are allowed": with(`"causes":[` + members(4000, `%d`) + `]`),
		"4,000 empty objects as evidence":  with(`"evidence":[` + strings.TrimSuffix(strings.Repeat("{},", 4000), ",") + `]`),
		"64 KiB of escapes":                full(`"summary_":0,"run_id":"`, `\u0041`, `"`),
		"64 KiB of surrogate pairs":        full(`"run_id":"`, `\ud83d\ude00`, `"`),
		"a summary of 64 KiB":              full(`"status":"`, `ä`, `"`),
		"half a surrogate pair at the end": full(`"run_id":"`, `\n`, `\ud800"`),
		"not UTF-8 at the end":             full(`"run_id":"`, `x`, "\xff\""),
		"a body of 16 MiB":                 strings.Repeat(" ", 16<<20),
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

// BenchmarkHostile gives the bytes and how soon half and 99 of 100 refusals come
// beside the mean.
func BenchmarkHostile(b *testing.B) {
	set, bodies := load(b), hostile()
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		body := []byte(bodies[name])
		b.Run(name, func(b *testing.B) {
			var took []float64
			for b.Loop() {
				begin := time.Now()
				_, _ = set.Decode("hux.event.create.v1", body)
				took = append(took, float64(time.Since(begin)))
			}
			slices.Sort(took)
			b.ReportMetric(float64(len(body)), "bytes")
			b.ReportMetric(took[len(took)/2], "p50-ns")
			b.ReportMetric(took[len(took)*99/100], "p99-ns")
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
