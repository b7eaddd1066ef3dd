package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"hash/maphash"
	"net/http/httputil"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// follower reads a stream of events and keeps their numbers.
type follower struct {
	c     *client
	r     *bufio.Reader
	after uint64   // the number behind which it began
	seqs  []uint64 // as they came; of a hub's updates, which have no number, a hash of their id
	hub   bool
}

// follow opens the stream of a conversation's events behind a number.
func follow(t *target, conversation string, after uint64) *follower {
	f := &follower{c: dial(t.addr), after: after, hub: t.update != ""}
	stream, hello := fmt.Sprintf("/hux/v1/conversations/%s/events/stream?after_seq=%d", conversation, after), "data: "
	if f.hub {
		stream, hello = hubPath+"?match="+conversation, ":"
	}
	f.c.open(t.get(stream))
	f.r = bufio.NewReaderSize(httputil.NewChunkedReader(f.c.r), 16<<10)
	f.line(hello) // what is posted from now on is live
	return f
}

// line reads on to the next line that begins so, and gives the rest of it.
func (f *follower) line(start string) []byte {
	for {
		line := must(f.r.ReadSlice('\n'))
		if rest, ok := bytes.CutPrefix(line, []byte(start)); ok {
			return bytes.TrimSpace(rest)
		}
	}
}

var hashSeed = maphash.MakeSeed()

// next reads up to the end of the next event.
func (f *follower) next() {
	id := f.line("id: ")
	if f.hub {
		f.seqs = append(f.seqs, maphash.Bytes(hashSeed, id))
	} else {
		f.seqs = append(f.seqs, must(strconv.ParseUint(string(id), 10, 64)))
	}
	if line := must(f.r.ReadSlice('\n')); !bytes.HasPrefix(line, []byte(`data: {"schema":"hux.event.v1"`)) {
		check(fmt.Errorf("an event is %.40q", line))
	}
}

// last is the number of the newest event.
func (f *follower) last() uint64 {
	if len(f.seqs) == 0 {
		return f.after
	}
	return f.seqs[len(f.seqs)-1]
}

// until reads up to a number.
func (f *follower) until(head uint64) {
	for f.last() < head {
		f.next()
	}
}

// faults counts what must not be.
type faults struct{ lost, doubled, reordered int }

func (f faults) String() string { return fmt.Sprintf("%d / %d / %d", f.lost, f.doubled, f.reordered) }

// count holds each number against the last, up to head.
func (f *faults) count(seqs []uint64, after, head uint64) {
	missing, last := map[uint64]bool{}, after
	for _, seq := range seqs {
		switch {
		case seq > last:
			for n := last + 1; n < seq; n++ {
				missing[n] = true
			}
			last = seq
		case missing[seq]:
			delete(missing, seq)
			f.reordered++
		default:
			f.doubled++
		}
	}
	f.lost += len(missing) + int(max(head, last)-last) //nolint:gosec // small
}

// number gives the updates of a hub the numbers that they have for the follower
// who got most; one that this follower did not get comes last.
func number(followers []*follower) {
	numbers := map[uint64]uint64{}
	for _, f := range slices.SortedFunc(slices.Values(followers), func(a, b *follower) int { return cmp.Compare(len(b.seqs), len(a.seqs)) }) {
		for i, id := range f.seqs {
			if numbers[id] == 0 {
				numbers[id] = uint64(len(numbers)) + 1
			}
			f.seqs[i] = numbers[id]
		}
	}
}

// audience is followers of one conversation who read all the time.
type audience struct {
	followers []*follower
	heard     atomic.Int64 // events, by all of them together
	want      atomic.Int64
	all       chan time.Time // when heard came to want
	wg        sync.WaitGroup
}

func gather(t *target, conversation string, after uint64, n int) *audience {
	a := &audience{all: make(chan time.Time, 1)}
	for range n {
		f := follow(t, conversation, after)
		a.followers = append(a.followers, f)
		a.wg.Go(func() {
			_ = attempt(func() { // until its connection is closed; what it lacks then is counted
				for {
					f.next()
					if a.heard.Add(1) == a.want.Load() {
						a.all <- time.Now()
					}
				}
			})
		})
	}
	return a
}

// expect says that n events come; all have heard all that came before.
func (a *audience) expect(n int) { a.want.Store(a.heard.Load() + int64(n*len(a.followers))) }

// await is when the last follower heard the last expected event.
func (a *audience) await() time.Time {
	select {
	case at := <-a.all:
		return at
	case <-time.After(time.Minute):
		panic(failure{fmt.Errorf("%d of %d events came within a minute", a.heard.Load(), a.want.Load())})
	}
}

// dismiss ends the streams and counts the faults up to the last number that
// anybody heard.
func (a *audience) dismiss() (sum faults) {
	for _, f := range a.followers {
		f.c.close()
	}
	a.wg.Wait()
	head := uint64(0)
	if len(a.followers) > 0 && a.followers[0].hub {
		number(a.followers)
	}
	for _, f := range a.followers {
		head = max(head, f.after, slices.Max(append(f.seqs, 0)))
	}
	for _, f := range a.followers {
		sum.count(f.seqs, f.after, head)
	}
	return sum
}

// singles is how many events are posted one after the other, for latency.
const singles = 200

// single posts events one after the other and tells how long each took to be
// answered, and to come to the last follower.
func (a *audience) single(t *target, conversation string) (answered, last times) {
	answered, last = newTimes(), newTimes()
	c := dial(t.addr)
	defer c.close()
	for range singles {
		a.expect(1)
		request, begin := t.post(conversation, 0), time.Now()
		c.do(request)
		answered.add(time.Since(begin))
		last.add(a.await().Sub(begin))
	}
	return answered, last
}
