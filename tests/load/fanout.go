package main

import (
	"fmt"
	"net"
	"strconv"
	"time"
)

// deliveries is how many events to followers a rate is measured over.
const deliveries = 300_000

// measureFanout prints how long an event takes from its POST to the last
// follower, and how many a second reach all of them.
func (r *rig) measureFanout() {
	event := posted(r.bearer, conversation(r.bearer))
	targets := []*target{r.bearer}
	if hub := r.addMercure(event); hub != nil {
		targets = append(targets, hub)
	}
	var rows [][]string
	for _, followers := range r.sizes {
		rows = append(rows, r.rounds(fmt.Sprintf("%d followers", followers), func() (rows [][]string) {
			id := conversation(r.bearer)
			for _, t := range targets {
				rows = append(rows, append([]string{strconv.Itoa(followers), t.name}, fanOut(t, id, 0, followers)...))
			}
			return rows
		})...)
	}
	printRows("round|followers|target|"+fanOutHead, rows)
	fmt.Printf("\n%d events one after the other, then as many as make %d deliveries (at most 3,000) from 16 connections; an event has %d bytes.\n",
		singles, deliveries, len(event))
}

const fanOutHead = "POST answered p50 ms|POST to last p50 ms|p99 ms|events/s to all|deliveries/s|lost / doubled / reordered"

// fanOut measures one audience and gives the cells of its row.
func fanOut(t *target, conversation string, after uint64, followers int) []string {
	a := gather(t, conversation, after, followers)
	answered, last := a.single(t, conversation)
	n := min(deliveries/followers, 3000)
	a.expect(n)
	begin := time.Now()
	write(t, conversation, n, 0, 16)
	rate := float64(n) / a.await().Sub(begin).Seconds()
	return []string{answered.ms(50), last.ms(50), last.ms(99), fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.0f", rate*float64(followers)), a.dismiss().String()}
}

// What the stalled follower has not read: more than the kernel takes off the
// router's hands, so that the router does wait for it.
const (
	backlogEvents = 1500
	backlogBytes  = 6 << 10 // of further data in each
)

// measureStalled is the fan-out to 100 followers beside one more who has
// stopped to read in the middle of a long backlog, and without that one.
func (r *rig) measureStalled() {
	rows := r.rounds("100 followers who read", func() [][]string { return [][]string{r.stalled(false), r.stalled(true)} })
	printRows("round|stalled|"+fanOutHead+"|the stalled one's, in the end", rows)
	fmt.Printf("\nThe stalled one leaves %.0f MB unread meanwhile and reads on in the end.\n", float64(backlogEvents*backlogBytes)/1e6)
}

func (r *rig) stalled(stalls bool) []string {
	id := conversation(r.bearer)
	write(r.bearer, id, backlogEvents, backlogBytes, 64)
	if !stalls {
		return append(append([]string{"none"}, fanOut(r.bearer, id, backlogEvents, 100)...), "–")
	}
	f := follow(r.bearer, id, 0)
	defer f.c.close()
	check(f.c.conn.(*net.TCPConn).SetReadBuffer(64 << 10)) // or the kernel would let it grow
	row := fanOut(r.bearer, id, backlogEvents, 100)
	const head = backlogEvents + singles + deliveries/100
	f.until(head)
	var own faults
	own.count(f.seqs, 0, head)
	return append(append([]string{"one"}, row...), own.String())
}
