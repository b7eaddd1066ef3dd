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
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	kind        string
	hux         string
	peers       string
	accessLog   bool
	connections int
	streams     int
	sizes       []int // of writers, followers, agents or hooks that wait; none for those of the case
	plan        plan
}

// orSizes is the sizes asked for, or those that the case has.
func (o options) orSizes(usual ...int) []int {
	if len(o.sizes) > 0 {
		return o.sizes
	}
	return usual
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.kind, "case", "json", "what to measure: json, page, streams; of the event log append, fanout, stalled, replay, followers, tenants; of autonomy decisions, polls; of request bodies validate")
	flag.StringVar(&o.hux, "hux", "", "the router's binary; empty to build it")
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
	part := flag.String("as", "", "")
	listen := flag.String("listen", "", "")
	upstreamURL := flag.String("upstream", "", "")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "Usage: go run ./tests/load [-case CASE] [flags]")
		flag.VisitAll(func(f *flag.Flag) {
			if f.Usage != "" { // those without are for the driver's own children
				fmt.Fprintf(os.Stderr, "  -%s (%s): %s\n", f.Name, f.DefValue, f.Usage)
			}
		})
	}
	flag.Parse()
	if *part != "" {
		return serve(*part, *listen, *upstreamURL)
	}
	if o.kind == "validate" {
		printMachine()
		return measureValidate(o)
	}
	return measure(ctx, o)
}

// serve is a part that the driver starts as a process of its own.
func serve(part, listen, upstreamURL string) error {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if part == "upstream" {
		return newUpstream().serve(l)
	}
	to, err := url.Parse(upstreamURL)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: newBare(to), ReadHeaderTimeout: 10 * time.Second}
	return server.Serve(l)
}

func measure(ctx context.Context, o options) error {
	r, err := newRig(ctx)
	if err != nil {
		return err
	}
	defer r.close()
	version := filepath.Base(o.hux)
	if o.hux == "" {
		version = revision()
		o.hux = filepath.Join(r.dir, "hux")
		if text, err := exec.CommandContext(ctx, "go", "build", "-o", o.hux, "bstein.dev/hux/router").CombinedOutput(); err != nil {
			return fmt.Errorf("building the router: %w: %s", err, text)
		}
	}
	if o.hux, err = filepath.Abs(o.hux); err != nil {
		return err
	}
	ofEvents := eventCases[o.kind]
	if ofEvents == nil {
		if err := r.addBare(ctx); err != nil {
			return err
		}
	}
	if err := r.addHux(ctx, o, version); err != nil {
		return err
	}
	printMachine()
	switch {
	case ofEvents != nil:
		r.notes = append(r.notes, "hux is "+version+".")
		err = ofEvents(r, ctx, o)
	case o.kind == "json":
		if o.peers != "-" {
			for _, p := range peers {
				if err := r.addPeer(ctx, p, filepath.SplitList(o.peers)); err != nil {
					return err
				}
			}
		}
		var subjects []subject
		for _, t := range r.targets {
			subjects = append(subjects, subject{t, t.name, jsonPath, jsonSize})
		}
		err = r.compare(ctx, o, subjects, bareName)
	case o.kind == "page":
		err = r.comparePages(ctx, o)
	case o.kind == "streams":
		err = r.measureStreams(ctx, o)
	default:
		err = fmt.Errorf("there is no case %q", o.kind)
	}
	for _, note := range r.notes {
		fmt.Println(note)
	}
	return err
}

// printMachine says where and when the figures below it were measured.
func printMachine() {
	fmt.Printf("%s, %s, %d CPUs (%s), kernel %s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.NumCPU(), cpuModel(), kernel())
}

// comparePages compares one page with and without the bridge. The two have
// paths of their own, of which the allow-list names only one as a page.
func (r *rig) comparePages(ctx context.Context, o options) error {
	const plain = "hux, page as it comes"
	var subjects []subject
	for _, t := range r.targets {
		switch t.name {
		case huxName:
			size, err := sizeOf(ctx, t, pagePath)
			if err != nil {
				return err
			}
			if size <= pageSize {
				return fmt.Errorf("the page with the bridge has %d bytes: nothing was injected", size)
			}
			subjects = append(subjects,
				subject{t, plain, plainPagePath, pageSize},
				subject{t, "hux, page with the bridge", pagePath, size})
		case huxBearerName:
		default:
			subjects = append(subjects, subject{t, t.name, plainPagePath, pageSize})
		}
	}
	return r.compare(ctx, o, subjects, plain)
}

// sizeOf is how long an answer is through t.
func sizeOf(ctx context.Context, t *target, path string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	c, err := dial(ctx, t.addr)
	if err != nil {
		return 0, err
	}
	defer c.close()
	return c.get(t.request(path))
}

func kernel() string {
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(text))
}
