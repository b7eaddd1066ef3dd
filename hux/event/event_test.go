package event_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const conv = "cnv_0123456789abcdef0123456789abcdef"

// rig is a log over one tenant's database, served as a stream.
type rig struct {
	*httptest.Server
	t   *testing.T
	log *event.Log
	db  *store.Lease
}

func newRig(t *testing.T) *rig {
	t.Helper()
	pool := store.NewPool(store.PoolOptions{Dir: t.TempDir(), Prepare: event.Begin})
	r := &rig{t: t, log: event.NewLog(100), db: pool.Lease("ten_0123456789abcdef0123456789abcdef")}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		after, _ := strconv.ParseUint(req.URL.Query().Get("after"), 10, 64)
		r.log.Stream(req.Context(), w, event.StreamOptions{DB: r.db, Conversation: conv, After: after, Epoch: "e"})
	}))
	t.Cleanup(func() {
		r.CloseClientConnections()
		r.Close()
		http.DefaultClient.CloseIdleConnections()
		_ = pool.Close()
	})
	return r
}

func (r *rig) append(conversation, summary string) uint64 {
	r.t.Helper()
	e := event.Event{ConversationID: conversation, Kind: "tool.started", Summary: summary}
	if err := r.db.Update(context.Background(), func(tx *store.Tx) error { return event.Append(tx, &e) }); err != nil {
		r.t.Error(err)
	}
	r.log.Committed(r.db.Tenant(), conversation)
	return e.Seq
}

// reader follows the stream after a number.
type reader struct {
	t    *testing.T
	body *bufio.Reader
	stop context.CancelFunc
}

func (r *rig) follow(after uint64) *reader {
	r.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "GET", r.URL+"?after="+strconv.FormatUint(after, 10), nil)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { stop(); _ = res.Body.Close() })
	return &reader{r.t, bufio.NewReader(res.Body), stop}
}

// next gives the next event, whose id line and seq must agree.
func (rd *reader) next() (seq uint64, summary string) {
	var id uint64
	for {
		line, err := rd.body.ReadString('\n')
		if err != nil {
			rd.t.Errorf("the stream ended: %v", err)
			return 0, ""
		}
		line = strings.TrimSuffix(line, "\n")
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id, _ = strconv.ParseUint(v, 10, 64)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok && id > 0 {
			var e event.Event
			if err := json.Unmarshal([]byte(v), &e); err != nil || e.Seq != id {
				rd.t.Errorf("frame %d carries %s (%v)", id, v, err)
			}
			return id, e.Summary
		}
	}
}

// Sixteen writers and readers that come at any time: each reader sees each
// event once, in order, from where it asked.
func TestReadersMissNothingAndSeeNothingTwice(t *testing.T) {
	r := newRig(t)
	const writers, each = 16, 60
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				r.append(conv, fmt.Sprint(w, ".", n))
				r.append("cnv_ffffffffffffffffffffffffffffffff", "another conversation's")
			}
		})
	}
	for i := range 6 {
		after := uint64(i * 100)
		rd := r.follow(after)
		wg.Go(func() {
			seen := map[string]bool{}
			for want := after + 1; want <= writers*each; want++ {
				seq, summary := rd.next()
				if seq != want || seen[summary] {
					t.Errorf("reader %d: got %d (%s), want %d", i, seq, summary, want)
					return
				}
				seen[summary] = true
			}
		})
	}
	wg.Wait()
}

func TestALongHistoryIsReplayedWholeFromAnywhere(t *testing.T) {
	r := newRig(t)
	const n = 2500
	if err := r.db.Update(context.Background(), func(tx *store.Tx) error {
		for range n {
			if err := event.Append(tx, &event.Event{ConversationID: conv, Kind: "tool.started"}); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	live := r.follow(n) // its cache begins at the end; those behind read for themselves
	for _, after := range []uint64{0, 1, 511, 512, 1999, n - 1} {
		rd := r.follow(after)
		for want := after + 1; want <= n; want++ {
			if seq, _ := rd.next(); seq != want {
				t.Fatalf("after %d: got %d, want %d", after, seq, want)
			}
		}
	}
	r.append(conv, "new")
	if seq, _ := live.next(); seq != n+1 {
		t.Errorf("the live reader got %d", seq)
	}
}

func TestAppendRefusesCausesThatAreNotBefore(t *testing.T) {
	r := newRig(t)
	r.append(conv, "first")
	for _, cause := range []uint64{0, 2, 99} {
		err := r.db.Update(context.Background(), func(tx *store.Tx) error {
			return event.Append(tx, &event.Event{ConversationID: conv, Causes: []uint64{cause}})
		})
		if err == nil {
			t.Errorf("cause %d was taken", cause)
		}
	}
	if seq := r.append(conv, "second"); seq != 2 {
		t.Errorf("a refused event left a gap: %d", seq)
	}
}

func TestEpochIsTheStoresAndStays(t *testing.T) {
	a, b := newRig(t), newRig(t)
	epoch := func(r *rig) (e string) {
		if err := r.db.View(context.Background(), func(tx *store.Tx) (err error) { e, err = event.Epoch(tx, conv); return err }); err != nil {
			t.Fatal(err)
		}
		return e
	}
	first := epoch(a)
	if first == epoch(b) || first != epoch(a) || first == "" {
		t.Errorf("epochs %q and %q", first, epoch(b))
	}
}

func TestReadersAreLimitedEach(t *testing.T) {
	l := event.NewLog(2)
	one, err1 := l.Admit("usr_a")
	_, err2 := l.Admit("usr_a")
	_, err3 := l.Admit("usr_a")
	_, other := l.Admit("usr_b")
	if err1 != nil || err2 != nil || err3 == nil || other != nil {
		t.Error(err1, err2, err3, other)
	}
	one()
	if _, err := l.Admit("usr_a"); err != nil {
		t.Error(err)
	}
	var e *hux.Error
	if _, err := l.Admit("usr_a"); err == nil || !asError(err, &e) || e.Code != hux.RateLimited {
		t.Error(err)
	}
}

func asError(err error, target **hux.Error) bool {
	e, ok := err.(*hux.Error) //nolint:errorlint // made here, wrapped by nobody
	*target = e
	return ok
}
