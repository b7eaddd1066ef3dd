package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// What the targets are called that the ratios are about.
const (
	bareName      = "bare ReverseProxy"
	huxName       = "hux, session"
	huxBearerName = "hux, bearer token"
)

// plan is how often and how long to measure.
type plan struct {
	rounds, attempts int
	warm, duration   time.Duration
	calm             float64
}

// subject is a request through a target, with the length of its answer.
type subject struct {
	*target
	label string
	path  string
	size  int
}

// round is every subject measured once, one after the other, so that what
// disturbs the machine for longer disturbs all of them.
type round []sample

// foreign is how much the round was disturbed at worst.
func (r round) foreign() float64 {
	worst := 0.0
	for _, s := range r {
		worst = max(worst, s.foreign)
	}
	return worst
}

// compare measures subjects against each other and prints the table; ratios
// are to the subject labelled base, round by round.
func (r *rig) compare(ctx context.Context, o options, subjects []subject, base string) error {
	for _, s := range subjects {
		if size, err := sizeOf(ctx, s.target, s.path); err != nil || size != s.size {
			return fmt.Errorf("%s: %d bytes instead of %d, error %w", s.label, size, s.size, err)
		}
	}
	var rounds []round
	calm := 0
	for n := 1; n <= o.plan.attempts && calm < o.plan.rounds; n++ {
		this := make(round, len(subjects))
		for i := range subjects {
			// Another one begins each round, so that none always follows the same.
			j := (i + n) % len(subjects)
			s, err := r.sample(ctx, subjects[j], o)
			if err != nil {
				return fmt.Errorf("%s: %w", subjects[j].label, err)
			}
			this[j] = s
		}
		if this.foreign() <= o.plan.calm {
			calm++
		}
		rounds = append(rounds, this)
		fmt.Fprintf(os.Stderr, "round %d, other programs took up to %.0f %%\n", n, 100*this.foreign())
	}
	slices.SortStableFunc(rounds, func(a, b round) int { return int(math.Copysign(1, a.foreign()-b.foreign())) })
	kept := rounds[:min(o.plan.rounds, len(rounds))]
	printTable(subjects, kept, slices.IndexFunc(subjects, func(s subject) bool { return s.label == base }))
	fmt.Printf("\n%d connections, %d rounds of %v, the calmest of %d; other programs took %.0f to %.0f %% of the CPUs in their worst moments.\n",
		o.connections, len(kept), o.plan.duration, len(rounds), 100*kept[0].foreign(), 100*kept[len(kept)-1].foreign())
	return nil
}

// sample puts a subject under load once.
func (r *rig) sample(ctx context.Context, s subject, o options) (sample, error) {
	driver := []int{os.Getpid()}
	others := slices.Concat(driver, r.upPIDs, s.pids)
	type reading struct {
		at                time.Time
		target, ours, all time.Duration
	}
	read := func() reading {
		all, _ := cpuOfAll()
		return reading{time.Now(), cpuOf(s.pids), cpuOf(others), all}
	}
	var before, after reading
	start := time.AfterFunc(o.plan.warm, func() { before = read() })
	defer start.Stop()
	done := make(chan struct{})
	end := time.AfterFunc(o.plan.warm+o.plan.duration, func() { after = read(); close(done) })
	defer end.Stop()
	took, err := closedLoop(ctx, s.addr, s.request(s.path), s.size, o.connections, o.plan.warm, o.plan.duration)
	if err != nil {
		return sample{}, err
	}
	<-done
	if len(took) == 0 {
		return sample{}, fmt.Errorf("no request ended within %v", o.plan.duration)
	}
	slices.Sort(took)
	_, cpus := cpuOfAll()
	elapsed := after.at.Sub(before.at)
	foreign := (after.all - before.all) - (after.ours - before.ours)
	return sample{
		requests: len(took), elapsed: o.plan.duration,
		p50: took[len(took)/2], p99: took[len(took)*99/100],
		cpu:     after.target - before.target,
		ours:    after.ours - before.ours,
		foreign: max(0, foreign.Seconds()/(elapsed.Seconds()*float64(cpus))),
	}, nil
}

// printTable prints medians over rounds, as a Markdown table.
func printTable(subjects []subject, rounds []round, base int) {
	rows := [][]string{{"target", "version", "requests/s", "min to max", "ratio", "min to max", "CPU µs/request", "with driver and upstream", "ratio by CPU", "p50 µs", "p99 µs"}}
	for i, s := range subjects {
		over := func(f func(round) float64) []float64 {
			var values []float64
			for _, r := range rounds {
				values = append(values, f(r))
			}
			slices.Sort(values)
			return values
		}
		rate := over(func(r round) float64 { return r[i].rate() })
		ratio := over(func(r round) float64 { return r[i].rate() / r[base].rate() })
		byCPU := over(func(r round) float64 {
			return r[base].perRequest(r[base].ours) / r[i].perRequest(r[i].ours)
		})
		cpu := "–"
		if len(s.pids) > 0 {
			cpu = fmt.Sprintf("%.0f", median(over(func(r round) float64 { return r[i].perRequest(r[i].cpu) })))
		}
		version := s.version
		if version == "" {
			version = "–"
		}
		rows = append(rows, []string{
			s.label, version,
			fmt.Sprintf("%.0f", median(rate)), fmt.Sprintf("%.0f to %.0f", rate[0], rate[len(rate)-1]),
			fmt.Sprintf("%.2f", median(ratio)), fmt.Sprintf("%.2f to %.2f", ratio[0], ratio[len(ratio)-1]),
			cpu, fmt.Sprintf("%.0f", median(over(func(r round) float64 { return r[i].perRequest(r[i].ours) }))),
			fmt.Sprintf("%.2f", median(byCPU)),
			fmt.Sprintf("%.0f", median(over(func(r round) float64 { return micros(r[i].p50) }))),
			fmt.Sprintf("%.0f", median(over(func(r round) float64 { return micros(r[i].p99) }))),
		})
	}
	printRows(rows)
}

// printRows prints a Markdown table whose columns line up; all but the first
// two are numbers.
func printRows(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i < 2 {
				cell, pad = cell+pad, ""
			}
			b.WriteString("| " + pad + cell + " ")
		}
		fmt.Println(b.String() + "|")
		if n == 0 {
			b.Reset()
			for i := range row {
				end := ":"
				if i < 2 {
					end = "-"
				}
				b.WriteString("| " + strings.Repeat("-", width[i]-1) + end + " ")
			}
			fmt.Println(b.String() + "|")
		}
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// median of sorted values.
func median(values []float64) float64 {
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
