package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bstein.dev/hux/router/demo/provider"
)

// history is how many events there are to replay.
const history = 10_000

// measureReplay prints how fast one connection gets what is there already,
// from the first event and from the middle, and again after a restart.
func (r *rig) measureReplay() {
	id := conversation(r.bearer)
	write(r.bearer, id, history, 0, 64)
	rows := r.rounds("replay", func() [][]string {
		return [][]string{r.replay("from the first", id, 0), r.replay("from the middle", id, history/2)}
	})
	hux := r.bearer.process
	hux.stop()
	hux.start(r.ctx)
	signedIn(*r.session, "", site("chat", hux.addr)) // by then it knows its provider again
	rows = append(rows, r.rounds("replay after a restart", func() [][]string {
		return [][]string{r.replay("after a restart", id, 0)}
	})...)
	printRows("round|replay|events|first event ms|all ms|events/s|lost / doubled / reordered", rows)
}

func (r *rig) replay(label, conversation string, after uint64) []string {
	begin := time.Now()
	f := follow(r.bearer, conversation, after)
	defer f.c.close()
	f.until(after + 1)
	first := time.Since(begin)
	f.until(history)
	all := time.Since(begin)
	var sum faults
	sum.count(f.seqs, after, history)
	n := history - int(after) //nolint:gosec // small
	return []string{label, strconv.Itoa(n), fmt.Sprintf("%.2f", first.Seconds()*1000), fmt.Sprintf("%.1f", all.Seconds()*1000),
		fmt.Sprintf("%.0f", float64(n)/all.Seconds()), sum.String()}
}

// tenants is how many are measured.
const tenants = 1000

// tenantSlots are their slots. Nobody listens there, and nobody has to.
func tenantSlots() string {
	var b strings.Builder
	for n := range tenants {
		fmt.Fprintf(&b, "- {id: load-%d, url: \"http://127.1.%d.%d:9\"}\n", n, n/250, n%250+1)
	}
	return b.String()
}

// measureTenants gives each of many people a conversation with an event, and
// so each tenant an open database, and prints the router's memory.
func (r *rig) measureTenants() {
	hux := r.bearer.process
	before, _ := rss(hux.tree)
	begin := time.Now()
	share(tenants, 8, hux.addr, func(n int, c *client) {
		name := fmt.Sprintf("person-%d", n)
		check(r.provider.AddPerson(provider.Person{Name: name}))
		_ = attempt(func() { signIn(site("chat", hux.addr), name) }) // gives a slot, and ends at its WebUI, which is not there
		t := r.bearer.with(name, must(r.provider.Token(name)))
		c.do(t.post(conversation(t), 0))
	})
	took := time.Since(begin)
	after, files := rss(hux.tree)
	mib := func(bytes int64) string { return strconv.FormatInt(bytes>>20, 10) }
	printRows("version|tenants|RSS before, MiB|RSS, MiB|of it files, MiB|RSS each, KiB|heap in use, MiB|signed in and made in s", [][]string{
		{r.bearer.version, strconv.Itoa(tenants), mib(before), mib(after), mib(files), fmt.Sprintf("%.1f", float64(after-before)/1024/tenants),
			mib(r.metric("go_memstats_heap_inuse_bytes")), fmt.Sprintf("%.1f", took.Seconds())},
	})
}
