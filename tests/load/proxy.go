package main

import "fmt"

// reading is a subject that gets a path through a target, whose answer must be
// this long.
func reading(t *target, path string, size int) *subject {
	return &subject{name: t.name, version: t.version, process: t.process, worker: func(int) (do, end func()) {
		c, request := dial(t.addr), t.get(path)
		return func() {
			if n := len(c.do(request)); n != size {
				check(fmt.Errorf("an answer has %d bytes instead of %d", n, size))
			}
		}, c.close
	}}
}

// startBare starts the bare proxy.
func (r *rig) startBare() *target { return r.startPart("bare ReverseProxy", "bare", r.upstream.addr) }

// measureJSON prints what a small answer takes through everything that passes
// requests on.
func (r *rig) measureJSON() {
	targets := []*target{r.upstream, r.startBare(), r.session, r.bearer}
	for _, p := range proxies {
		if t := r.addPeer(p); t != nil {
			targets = append(targets, t)
		}
	}
	var subjects []*subject
	for _, t := range targets {
		subjects = append(subjects, reading(t, jsonPath, jsonSize))
	}
	r.compare(subjects, subjects[1])
}

// measurePage compares one page with and without the bridge. The two have
// paths of their own, of which the allow-list names only one as a page.
func (r *rig) measurePage() {
	c := dial(r.session.addr)
	defer c.close()
	size := len(c.do(r.session.get(pagePath)))
	if size <= pageSize {
		check(fmt.Errorf("the page with the bridge has %d bytes: nothing was injected", size))
	}
	plain, with := reading(r.session, plainPagePath, pageSize), reading(r.session, pagePath, size)
	plain.name, with.name = "hux, page as it comes", "hux, page with the bridge"
	r.compare([]*subject{reading(r.upstream, plainPagePath, pageSize), reading(r.startBare(), plainPagePath, pageSize), plain, with}, plain)
}

// compare measures subjects against each other and prints the table; ratios
// are to the base, round by round.
func (r *rig) compare(subjects []*subject, base *subject) {
	label := fmt.Sprintf("%d connections, rounds of %v", r.connections, r.plan.duration)
	r.sideBySide(label, r.connections, subjects, nil)
	var rows [][]string
	for _, s := range subjects {
		rate, ratio, took := s.rate(), s.ratio(base), s.took()
		rows = append(rows, []string{s.name, s.version, rate.median(0), rate.ends(0), ratio.median(2), ratio.ends(2),
			s.over(func(n int) float64 { return s.samples[n].own }).median(0),
			s.over(func(n int) float64 { return s.samples[n].ours }).median(0), s.ratioByCPU(base).median(2),
			fmt.Sprint(took.ValueAtPercentile(50)), fmt.Sprint(took.ValueAtPercentile(99))})
	}
	printRows("target|version|requests/s|min to max|ratio|min to max|CPU µs/request|with driver and upstream|ratio by CPU|p50 µs|p99 µs", rows)
}
