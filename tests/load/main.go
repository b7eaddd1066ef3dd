// Load measures what the router costs: requests through it beside the same
// requests through a bare proxy and other proxies, pages with and without the
// bridge, memory for each idle stream, the event log, and what an agent asks
// before it uses a tool. docs/performance.md says how to read what it prints.
//
// It starts all that it needs on loopback sockets, stops it at the end, and
// needs Linux for CPU time and memory.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	kind, hux, peers     string
	accessLog            bool
	connections, streams int
	sizes                []int // of writers, followers, agents or hooks that wait; none for those of the case
	plan                 plan
}

// cases are what can be measured, with which of the router's flags and in which
// sizes. The first have no flags, so that the older figures stay comparable.
var cases = map[string]struct {
	measure func(*rig)
	flags   string
	sizes   []int
}{
	"json":      {(*rig).measureJSON, "", nil},
	"page":      {(*rig).measurePage, "", nil},
	"streams":   {(*rig).measureStreams, "", nil},
	"append":    {(*rig).measureAppend, timeline, []int{1, 16, 64}},
	"fanout":    {(*rig).measureFanout, timeline, []int{1, 100, 1000}},
	"stalled":   {(*rig).measureStalled, timeline, nil},
	"replay":    {(*rig).measureReplay, timeline, nil},
	"followers": {(*rig).measureFollowers, timeline, nil},
	"tenants":   {(*rig).measureTenants, timeline, nil},
	"decisions": {(*rig).measureDecisions, autonomy, []int{1, 64}},
	"polls":     {(*rig).measurePolls, autonomy, []int{1, 100, 1000}},
}

const (
	timeline = "hux.foundation,hux.activity_timeline"
	autonomy = timeline + ",hux.autonomy"
)

func main() {
	if len(os.Args) == 4 && parts[os.Args[1]] != nil {
		servePart(os.Args[1], os.Args[2], os.Args[3])
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o := parse()
	err := attempt(func() { measure(ctx, o) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func parse() (o options) {
	flag.StringVar(&o.kind, "case", "json", "what to measure: "+strings.Join(slices.Sorted(maps.Keys(cases)), ", "))
	flag.StringVar(&o.hux, "hux", "../../bin/hux", "the router's binary")
	flag.StringVar(&o.peers, "peers", os.Getenv("HUX_LOAD_PEERS"), "directories with the programs to compare with, separated by colons; those in PATH are found too; - for none")
	flag.BoolVar(&o.accessLog, "access-log", false, "let the router log each request")
	flag.IntVar(&o.connections, "connections", 16, "keep-alive connections, each with one request at a time")
	flag.IntVar(&o.streams, "streams", 1000, "idle streams or followers")
	flag.Func("sizes", "numbers of writers (append), followers (fanout), agents (decisions) or hooks that wait (polls), separated by commas; empty for all that the case has", func(text string) error {
		for _, s := range strings.Split(text, ",") {
			n, err := strconv.Atoi(s)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is not a number of anything", s)
			}
			o.sizes = append(o.sizes, n)
		}
		return nil
	})
	flag.IntVar(&o.plan.rounds, "rounds", 11, "rounds that count; each measures every target once")
	flag.IntVar(&o.plan.attempts, "attempts", 22, "rounds to try for as many calm ones")
	flag.DurationVar(&o.plan.warm, "warm", 250*time.Millisecond, "warm-up before each measurement")
	flag.DurationVar(&o.plan.duration, "duration", time.Second, "length of each measurement")
	flag.Float64Var(&o.plan.calm, "calm", 0.05, "share of the CPUs that other programs may take in a calm round")
	flag.Parse()
	return o
}

func measure(ctx context.Context, o options) {
	c, ok := cases[o.kind]
	if !ok {
		check(fmt.Errorf("there is no case %q", o.kind))
	}
	o.hux = must(filepath.Abs(o.hux))
	if len(o.sizes) == 0 {
		o.sizes = c.sizes
	}
	check(os.Setenv("PATH", strings.Join([]string{o.peers, os.Getenv("PATH"), "/usr/sbin"}, ":")))
	r := &rig{options: o, ctx: ctx}
	defer r.close()
	r.build(c.flags)
	fmt.Printf("%s, %s, %d CPUs, hux %s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU(), r.session.version)
	c.measure(r)
	for _, note := range r.notes {
		fmt.Println("\n" + note)
	}
}
