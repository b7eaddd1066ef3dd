package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/prometheus/procfs"
	"golang.org/x/sync/errgroup"
)

// plan is how often and how long to measure.
type plan struct {
	rounds, attempts int
	warm, duration   time.Duration
	calm             float64
}

// times are how long something took, again and again, in µs.
type times struct{ *hdrhistogram.Histogram }

func newTimes() times {
	return times{hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
}

func (t times) add(took time.Duration) {
	_ = t.RecordValue(min(took.Microseconds(), time.Minute.Microseconds())) // so it is in range
}

// ms is a percentile in milliseconds.
func (t times) ms(p float64) string {
	if t.TotalCount() == 0 {
		return "–" // the machine was too busy for a single one
	}
	return fmt.Sprintf("%.2f", float64(t.ValueAtPercentile(p))/1000)
}

// worker is one of several: what it does again and again, and what it does at
// the end.
type worker func(i int) (do, end func())

// over is a worker with a connection of its own.
func over(addr string, request func(i int) []byte) worker {
	return func(i int) (do, end func()) {
		c := dial(addr)
		return func() { c.do(request(i)) }, c.close
	}
}

// run keeps n workers busy. It gives how long took what began after the warm-up
// and ended within the time, and how often they did it in all.
func run(ctx context.Context, n int, w worker, p plan) (took times, all int64) {
	begin := time.Now().Add(p.warm)
	end := begin.Add(p.duration)
	took = newTimes()
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	for i := range n {
		g.Go(func() error {
			return attempt(func() {
				do, done := w(i)
				defer done()
				mine, count := newTimes(), int64(0)
				for now := time.Now(); now.Before(end) && ctx.Err() == nil; count++ {
					do()
					then := time.Now()
					if !now.Before(begin) && !then.After(end) {
						mine.add(then.Sub(now))
					}
					now = then
				}
				mu.Lock()
				defer mu.Unlock()
				took.Merge(mine.Histogram)
				all += count
			})
		})
	}
	check(g.Wait())
	return took, all
}

// sample is a subject under load once.
type sample struct {
	took      times
	rate      float64 // a second
	own, ours float64 // µs of CPU for each: of the subject's processes, and with driver and upstream
}

// subject is what is measured beside others, round by round.
type subject struct {
	name, version string
	process       *process // whose CPU time is its own
	worker
	workers int // if not as many as the others have
	samples []sample
}

func (s *subject) measure(r *rig, workers int) {
	var own []procfs.Proc
	if s.process != nil {
		own = s.process.tree
	}
	ours := append([]procfs.Proc{r.driver}, own...)
	if s.process != r.upstream.process {
		ours = append(ours, r.upstream.process.tree...)
	}
	ownBefore, oursBefore := cpu(own...), cpu(ours...)
	took, all := run(r.ctx, cmp.Or(s.workers, workers), s.worker, r.plan)
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(all) }
	s.samples = append(s.samples, sample{took: took, rate: float64(took.TotalCount()) / r.plan.duration.Seconds(),
		own: each(cpu(own...) - ownBefore), ours: each(cpu(ours...) - oursBefore)})
}

// spread is one figure of each round, in order of size.
type spread []float64

func (s *subject) over(figure func(n int) float64) spread {
	all := make(spread, len(s.samples))
	for n := range all {
		all[n] = figure(n)
	}
	slices.Sort(all)
	return all
}

func (s *subject) rate() spread { return s.over(func(n int) float64 { return s.samples[n].rate }) }

// ratio is of the rate to the base's in the same round.
func (s *subject) ratio(base *subject) spread {
	if base == nil {
		return nil
	}
	return s.over(func(n int) float64 { return s.samples[n].rate / base.samples[n].rate })
}

// ratioByCPU is what the ratio comes to when nothing else runs.
func (s *subject) ratioByCPU(base *subject) spread {
	return s.over(func(n int) float64 { return base.samples[n].ours / s.samples[n].ours })
}

func (s *subject) took() times {
	all := newTimes()
	for _, one := range s.samples {
		all.Merge(one.took.Histogram)
	}
	return all
}

// median with so many digits behind the point.
func (s spread) median(digits int) string {
	n := len(s)
	if n == 0 {
		return "–"
	}
	return strconv.FormatFloat((s[(n-1)/2]+s[n/2])/2, 'f', digits, 64)
}

func (s spread) ends(digits int) string {
	return s[:1].median(digits) + " to " + s[len(s)-1:].median(digits)
}

// sideBySide measures subjects anew with so many workers each, one after the
// other in each round, and leaves the calmest rounds in them. What disturbs the
// machine for longer disturbs all of them. before is called ahead of each
// round, unless it is nil.
func (r *rig) sideBySide(label string, workers int, subjects []*subject, before func()) {
	for _, s := range subjects {
		s.samples = nil
	}
	round := 0
	kept := r.calmest(label, func() {
		if before != nil {
			before()
		}
		round++
		for i := range subjects {
			subjects[(i+round)%len(subjects)].measure(r, workers) // none always follows the same
		}
	})
	for _, s := range subjects {
		all := s.samples
		s.samples = nil
		for _, n := range kept {
			s.samples = append(s.samples, all[n])
		}
	}
}

// calmest measures round after round until as many were calm as are to count,
// or as many were tried as may be. It gives those that other programs disturbed
// least, and notes by how much.
func (r *rig) calmest(label string, round func()) (kept []int) {
	ours := []procfs.Proc{r.driver}
	for _, p := range r.processes {
		ours = append(ours, p.tree...)
	}
	var foreign []float64
	for calm := 0; calm < r.plan.rounds && len(foreign) < max(r.plan.rounds, r.plan.attempts); {
		begin, all, own := time.Now(), machineCPU(), cpu(ours...)
		round()
		taken := machineCPU() - all - (cpu(ours...) - own)
		f := max(0, taken.Seconds()/time.Since(begin).Seconds()/float64(runtime.NumCPU()))
		if f <= r.plan.calm {
			calm++
		}
		kept, foreign = append(kept, len(foreign)), append(foreign, f)
		fmt.Fprintf(os.Stderr, "round %d, other programs took %.0f %%\n", len(foreign), 100*f)
	}
	slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(foreign[a], foreign[b]) })
	kept = kept[:r.plan.rounds]
	r.notes = append(r.notes, fmt.Sprintf("%s: the %d calmest rounds of %d; other programs took %.0f to %.0f %% of the CPUs.", label,
		len(kept), len(foreign), 100*foreign[kept[0]], 100*foreign[kept[len(kept)-1]]))
	return kept
}

// rounds gives the rows of the calmest rounds, with the round before each.
func (r *rig) rounds(label string, round func() [][]string) (rows [][]string) {
	var all [][][]string
	for i, n := range r.calmest(label, func() { all = append(all, round()) }) {
		for _, row := range all[n] {
			rows = append(rows, append([]string{strconv.Itoa(i + 1)}, row...))
		}
	}
	return rows
}

// printRows prints a Markdown table whose columns line up.
func printRows(head string, rows [][]string) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', tabwriter.AlignRight|tabwriter.Debug|tabwriter.DiscardEmptyColumns)
	columns := strings.Split(head, "|")
	for _, row := range append([][]string{columns, slices.Repeat([]string{"---:"}, len(columns))}, rows...) {
		fmt.Fprintf(w, "\v%s \t\n", strings.Join(row, " \t"))
	}
	_ = w.Flush() // to standard output
}
