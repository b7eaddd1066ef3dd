package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/timeline"
)

// eventCreate is the request that most are: an agent's event.
const eventCreate = "hux.event.create.v1"

// measureValidate prints what it takes to read and check a body, beside
// json.Unmarshal of the same, and how soon hostile bodies are refused. Nothing
// of it needs a router.
func measureValidate(o options) error {
	set, err := schema.Load(contract.Schemas, cards.Rules())
	if err != nil {
		return err
	}
	foreign := disturbance()
	if err := errors.Join(compareReaders(set, o.plan), compareExamples(set, o.plan), refuseHostile(set)); err != nil {
		return err
	}
	fmt.Printf("\nOther programs took %.0f %% of the CPUs.\n", 100*foreign())
	return nil
}

// reader is a way to read a body.
type reader struct {
	name string
	read func() error
}

// kilobyte is the worked example of an event as posted, padded to 1 KB.
func kilobyte() ([]byte, error) {
	text, err := fs.ReadFile(contract.Examples, "examples/"+eventCreate+".json")
	if err != nil {
		return nil, err
	}
	var v struct {
		Data map[string]any `json:"data"`
	}
	var all map[string]any
	if err := errors.Join(json.Unmarshal(text, &v), json.Unmarshal(text, &all)); err != nil {
		return nil, err
	}
	all["data"] = v.Data
	for i := 0; ; i++ {
		if text, err = json.Marshal(all); err != nil || len(text) >= 1000 {
			return text, err
		}
		v.Data[fmt.Sprintf("fact_%c", 'a'+i)] = "a fact of the run"
	}
}

func compareReaders(set *schema.Set, p plan) error {
	body, err := kilobyte()
	if err != nil {
		return err
	}
	readers := []reader{
		{"json.Unmarshal into any", func() error { var v any; return json.Unmarshal(body, &v) }},
		{"json.Unmarshal into its struct", func() error { var v timeline.Create; return json.Unmarshal(body, &v) }},
		{"schema.Parse: strict JSON", func() error { _, err := schema.Parse(body); return err }},
		{"Decode: strict JSON and schema", func() error { _, err := set.Decode(eventCreate, body); return err }},
		{"Decode and Into: struct and text", func() error {
			in, err := set.Decode(eventCreate, body)
			if err != nil {
				return err
			}
			var v timeline.Create
			return in.Into(&v)
		}},
	}
	times, err := rounds(readers, p)
	if err != nil {
		return err
	}
	rows := [][]string{{"reading a body of 1 KB", "rounds", "CPU µs", "min to max", "to json.Unmarshal", "min to max"}}
	for i, r := range readers {
		took, ratio := times[i], make([]float64, len(times[i]))
		for n := range took {
			ratio[n] = took[n] / times[0][n]
		}
		slices.Sort(ratio)
		mid := middle(slices.Clone(took))
		rows = append(rows, []string{r.name, fmt.Sprint(p.rounds), fmt.Sprintf("%.1f", mid), fmt.Sprintf("%.1f to %.1f", slices.Min(took), slices.Max(took)),
			fmt.Sprintf("%.2f", median(ratio)), fmt.Sprintf("%.2f to %.2f", ratio[0], ratio[len(ratio)-1])})
	}
	printRows(rows)
	fmt.Printf("\n%s of %d bytes, one at a time, %d rounds of %v each.\n\n", eventCreate, len(body), p.rounds, p.duration)
	return nil
}

// rounds measures each reader once a round; times[i] are the µs of CPU that
// reader i took in each.
func rounds(readers []reader, p plan) (times [][]float64, err error) {
	times = make([][]float64, len(readers))
	for range p.rounds {
		for i, r := range readers {
			took, err := perRead(r.read, p.duration)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
			times[i] = append(times[i], took)
		}
	}
	return times, nil
}

// perRead is how many µs of CPU a read takes, over a time. CPU time is little
// moved by what else the machine does; that of the garbage collector is in it.
func perRead(read func() error, long time.Duration) (float64, error) {
	const batch = 32
	begin, from, n := time.Now(), ownCPU(), 0
	for time.Since(begin) < long {
		for range batch {
			if err := read(); err != nil {
				return 0, err
			}
		}
		n += batch
	}
	return micros(ownCPU()-from) / float64(n), nil
}

// ownCPU is the CPU time of this process.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // of oneself, never fails
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// compareExamples does the same for the worked example of every schema, a
// record's or a request's, and prints the dearest.
func compareExamples(set *schema.Set, p plan) error {
	type cost struct {
		name         string
		bytes        int
		plain, check float64
	}
	var costs []cost
	for _, name := range set.Names() {
		body, err := fs.ReadFile(contract.Examples, "examples/"+name+".json")
		if errors.Is(err, fs.ErrNotExist) {
			continue // what the records share is no record
		}
		if err != nil {
			return err
		}
		check := func() error {
			v, err := schema.Parse(body)
			if err != nil {
				return err
			}
			return set.Validate(name, v)
		}
		if strings.Count(name, ".") == 3 {
			check = func() error { _, err := set.Decode(name, body); return err }
		}
		short := plan{rounds: 5, duration: p.duration / 20}
		times, err := rounds([]reader{{"json.Unmarshal", func() error { var v any; return json.Unmarshal(body, &v) }}, {name, check}}, short)
		if err != nil {
			return err
		}
		costs = append(costs, cost{name, len(body), middle(times[0]), middle(times[1])})
	}
	slices.SortFunc(costs, func(a, b cost) int { return int(1000 * (b.check/b.plain - a.check/a.plain)) })
	rows := [][]string{{"worked example", "bytes", "json.Unmarshal, CPU µs", "checked, CPU µs", "ratio"}}
	for _, c := range costs[:min(8, len(costs))] {
		rows = append(rows, []string{c.name, fmt.Sprint(c.bytes), fmt.Sprintf("%.1f", c.plain), fmt.Sprintf("%.1f", c.check), fmt.Sprintf("%.2f", c.check/c.plain)})
	}
	printRows(rows)
	fmt.Printf("\nThe dearest of %d worked examples; the middle one takes %.2f of json.Unmarshal.\n\n", len(costs), costs[len(costs)/2].check/costs[len(costs)/2].plain)
	return nil
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

// refusals is how often each hostile body is sent.
const refusals = 1000

// refuseHostile prints how long refusals take.
func refuseHostile(set *schema.Set) error {
	bodies := hostile()
	rows := [][]string{{"hostile body", "refused as", "bytes", "CPU µs", "half within µs", "99 of 100 within µs"}}
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		body := []byte(bodies[name])
		var took []float64
		code, from := hux.Code(""), ownCPU()
		for range refusals {
			begin := time.Now()
			_, err := set.Decode(eventCreate, body)
			took = append(took, micros(time.Since(begin)))
			var e *hux.Error
			if !errors.As(err, &e) {
				return fmt.Errorf("%s: not refused: %w", name, err)
			}
			code = e.Code
		}
		rows = append(rows, []string{name, string(code), fmt.Sprint(len(body)),
			fmt.Sprintf("%.0f", micros(ownCPU()-from)/refusals), fmt.Sprintf("%.0f", middle(took)), fmt.Sprintf("%.0f", took[len(took)*99/100])})
	}
	printRows(rows)
	return nil
}
