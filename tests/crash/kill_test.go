package crash_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// rounds is how often the process is killed: CRASHES, or 20.
func rounds(t *testing.T) int {
	v := os.Getenv("CRASHES")
	if v == "" {
		return 20
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		t.Fatalf("CRASHES=%q is no number of rounds", v)
	}
	return n
}

// history is what a test knows of one conversation.
type history struct {
	id string

	mu    sync.Mutex
	acked map[string]event // by key
	asked map[string]bool  // sent, and neither acknowledged nor refused
	seen  map[string]event // by key, read back after a crash
	head  uint64           // up to where
}

// Killed while many write: every event that was acknowledged is there, once;
// numbers have no gap and go on where they ended; and a key that was used, with
// an answer or without one, gives the one event that it made.
func TestKilledWhileWriting(t *testing.T) {
	p := newProcess(t, t.TempDir())
	p.start(t)
	const writers = 8
	histories := make([]*history, 2)
	for i := range histories {
		histories[i] = &history{id: p.conversation(t, fmt.Sprint("c", i)), acked: map[string]event{}, asked: map[string]bool{}, seen: map[string]event{}}
	}
	acknowledged, unanswered, written := int64(0), 0, 0
	for round := range rounds(t) {
		var acks atomic.Int64
		enough, once := make(chan struct{}), sync.Once{}
		until := 1 + rand.Int64N(150)
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				h := histories[w%len(histories)]
				for n := 0; ; n++ {
					key := fmt.Sprintf("k-%d-%d-%d", round, w, n)
					h.mu.Lock()
					h.asked[key] = true
					h.mu.Unlock()
					e, a, err := p.post(h.id, key, "")
					if err != nil {
						once.Do(func() { close(enough) })
						return
					}
					if a.status != http.StatusCreated || a.replayed {
						t.Errorf("%s: %d %s", key, a.status, a.body)
						return
					}
					h.mu.Lock()
					delete(h.asked, key)
					h.acked[key] = e
					h.mu.Unlock()
					if acks.Add(1) == until {
						once.Do(func() { close(enough) })
					}
				}
			})
		}
		<-enough
		p.kill(t)
		wg.Wait()
		acknowledged += acks.Load()
		p.start(t)
		for _, h := range histories {
			h.check(t, p, round)
			unanswered += len(h.asked)
			written += h.retry(t, p)
		}
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	for _, h := range histories { // all of it once more
		all := p.events(t, h.id, 0)
		if len(all) != len(h.seen) {
			t.Errorf("%d events at the end, %d were read", len(all), len(h.seen))
		}
		for _, e := range all {
			if h.seen[e.Summary] != e {
				t.Errorf("%s is %+v, was %+v", e.Summary, e, h.seen[e.Summary])
			}
		}
		var replays int
		for key, want := range h.acked {
			if replays++; replays > 50 {
				break
			}
			if e, a, err := p.post(h.id, key, ""); err != nil || e != want || !a.replayed {
				t.Errorf("%s again: %+v %v, was %+v", key, e, err, want)
			}
		}
	}
	t.Logf("%d events acknowledged; %d requests got no answer, and %d of them were written", acknowledged, unanswered, written)
}

// check reads what is new since the round before, and holds it against what
// was acknowledged.
func (h *history) check(t *testing.T, p *process, round int) {
	t.Helper()
	for _, e := range p.events(t, h.id, h.head) {
		if before, twice := h.seen[e.Summary]; twice {
			t.Errorf("%s is there as %d and as %d", e.Summary, before.Seq, e.Seq)
		}
		if want, acked := h.acked[e.Summary]; acked && want != e {
			t.Errorf("%s is %+v, was acknowledged as %+v", e.Summary, e, want)
		}
		h.seen[e.Summary], h.head = e, e.Seq
	}
	for key, e := range h.acked {
		if h.seen[key] != e {
			t.Errorf("%+v was acknowledged in some round up to %d and is gone", e, round)
		}
	}
}

// retry sends the requests again that got no answer: those that were written
// are replayed, the others get the next numbers.
func (h *history) retry(t *testing.T, p *process) (written int) {
	t.Helper()
	for key := range h.asked {
		e, a, err := p.post(h.id, key, "")
		before, there := h.seen[key]
		switch {
		case err != nil || a.status != http.StatusCreated:
			t.Errorf("%s again: %v %d %s", key, err, a.status, a.body)
		case there && (e != before || !a.replayed):
			t.Errorf("%s is there as %+v and was answered with %+v (replayed: %v)", key, before, e, a.replayed)
		case !there && (e.Seq != h.head+1 || a.replayed):
			t.Errorf("%s got %d after %d (replayed: %v)", key, e.Seq, h.head, a.replayed)
		case !there:
			h.head++
			h.seen[key] = e
		default:
			written++
		}
		h.acked[key] = e
		delete(h.asked, key)
	}
	return written
}
