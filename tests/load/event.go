package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// eventCases are the cases about the event log. Flags and limits of the router
// are set for these alone, so that the older figures stay comparable.
var eventCases = map[string]func(*rig, context.Context, options) error{
	"append":    (*rig).measureAppend,
	"fanout":    (*rig).measureFanout,
	"stalled":   (*rig).measureStalled,
	"replay":    (*rig).measureReplay,
	"followers": (*rig).measureFollowers,
	"tenants":   (*rig).measureTenants,
	"decisions": (*rig).measureDecisions,
	"polls":     (*rig).measurePolls,
}

// eventConfig is what those cases add to the router's configuration.
const eventConfig = `flags: hux.foundation,hux.activity_timeline%s
streams_per_user: 100000
tenant_quota: 1000GiB
slot_health_every: 1h
`

// furtherFlags are what cases switch on besides.
var furtherFlags = map[string]string{"decisions": ",hux.autonomy", "polls": ",hux.autonomy"}

// patience is how long the events of one measurement may take to arrive.
const patience = time.Minute

// bearer is the router with the person's token.
func (r *rig) bearer() *target { return r.named(huxBearerName) }

func (r *rig) named(name string) *target {
	return r.targets[slices.IndexFunc(r.targets, func(t *target) bool { return t.name == name })]
}

// agent makes a credential for an agent of the person's slot.
func (r *rig) agent(ctx context.Context, o options) (*target, error) {
	cmd := exec.CommandContext(ctx, o.hux, "agents", "create", "load", "load", "--config", filepath.Join(r.dir, "hux.yaml")) //nolint:gosec // the router under test
	cmd.Env = r.env
	cmd.Dir = r.dir
	credential, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("making an agent: %w", err)
	}
	t := *r.bearer()
	t.name = "hux, agent"
	t.headers = []string{t.headers[0], "Authorization: Bearer " + strings.TrimSpace(string(credential))}
	return &t, nil
}

// conversation makes a conversation and returns the path of its events.
func conversation(ctx context.Context, t *target) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+t.addr+"/hux/v1/conversations", strings.NewReader("{}"))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", strings.TrimPrefix(t.headers[1], "Authorization: "))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &made); err != nil || resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("making a conversation: %s: %s", resp.Status, body)
	}
	return "/hux/v1/conversations/" + made.ID + "/events", nil
}

var calls atomic.Int64 // numbers what must differ from request to request

// post is a request that adds an event, or that publishes to a hub, which has a
// topic of the same name. An agent's has what an agent sends:
// an idempotency key and the id of the tool call. More is as many bytes of
// further data.
func (t *target) post(path string, more int) []byte {
	if t.update != "" {
		return t.publish(path)
	}
	n := calls.Add(1)
	data := `{"tool":"shell","duration_ms":5230`
	key := ""
	if t.name != huxBearerName {
		data += fmt.Sprintf(`,"tool_call_id":"call-%d"`, n)
		key = fmt.Sprintf("Idempotency-Key: load-%d\r\n", n)
	}
	if more > 0 {
		data += `,"output":"` + strings.Repeat("all of it is well ", more/18) + `"`
	}
	body := fmt.Sprintf(`{"kind":"tool.finished","status":"completed","summary":"Ran the tests of the package, and all of them passed","run_id":"run-%d-%08x","data":%s}}`,
		n/100, crc32.ChecksumIEEE([]byte(path)), data) // a run is of one conversation
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\n%s\r\nUser-Agent: hux-load\r\nAccept: */*\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s",
		path, strings.Join(t.headers, "\r\n"), key, len(body), body)
}

// posted adds an event and returns it as the router gives it.
func posted(ctx context.Context, t *target, path string) ([]byte, error) {
	c, err := dial(ctx, t.addr)
	if err != nil {
		return nil, err
	}
	defer c.close()
	if _, err := c.conn.Write(t.post(path, 0)); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusCreated {
		err = fmt.Errorf("adding an event: %s: %s", resp.Status, body)
	}
	return bytes.TrimSpace(body), err
}

// write posts n events from so many connections, each with one at a time.
func write(ctx context.Context, t *target, path string, n, more, writers int) error {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			c, err := dial(ctx, t.addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.close()
			for left.Add(-1) >= 0 {
				if _, err := c.get(t.post(path, more)); err != nil {
					errs[i] = err
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// follower reads a stream of events and holds each number against the last.
type follower struct {
	c       *client
	r       *bufio.Reader
	note    func(id []byte) error // takes in the id of an event
	ids     []uint64              // of a hub's updates, hashed, as they came
	last    uint64
	missing map[uint64]bool // numbers that were passed over
	doubled int
	late    int // came after a higher number
	err     error
}

// follow opens the stream of events behind a number.
func follow(ctx context.Context, t *target, path string, after uint64) (*follower, error) {
	c, err := dial(ctx, t.addr)
	if err != nil {
		return nil, err
	}
	c.r = bufio.NewReaderSize(c.conn, 16<<10)
	f := &follower{c: c, last: after, missing: map[uint64]bool{}}
	stream, hello := fmt.Sprintf("%s/stream?after_seq=%d", path, after), "data: "
	f.note = f.seq
	if t.update != "" {
		stream, hello = hubPath+"?match="+url.QueryEscape(path), ":"
		f.note = f.keep
	}
	if _, err = c.conn.Write(t.request(stream)); err == nil {
		_, err = c.head()
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("following: %w", err)
	}
	f.r = bufio.NewReaderSize(httputil.NewChunkedReader(c.r), 16<<10)
	for { // the hello, so that what is posted from now on is live
		line, err := f.r.ReadSlice('\n')
		if err != nil {
			c.close()
			return nil, fmt.Errorf("following: %w", err)
		}
		if bytes.HasPrefix(line, []byte(hello)) {
			return f, nil
		}
	}
}

// next reads up to the end of the next event.
func (f *follower) next() error {
	for {
		line, err := f.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		id, ok := bytes.CutPrefix(line, []byte("id: "))
		if !ok {
			continue
		}
		if err := f.note(bytes.TrimSpace(id)); err != nil {
			return err
		}
		if line, err = f.r.ReadSlice('\n'); err != nil {
			return err
		}
		if !bytes.HasPrefix(line, []byte(`data: {"schema":"hux.event.v1"`)) {
			return fmt.Errorf("an event is %q", line[:min(len(line), 40)])
		}
		return nil
	}
}

// seq takes the id of an event of the router's, which is its number.
func (f *follower) seq(id []byte) error {
	seq, err := strconv.ParseUint(string(id), 10, 64)
	if err == nil {
		f.count(seq)
	}
	return err
}

func (f *follower) count(seq uint64) {
	switch {
	case seq > f.last:
		for n := f.last + 1; n < seq; n++ {
			f.missing[n] = true
		}
		f.last = seq
	case f.missing[seq]:
		delete(f.missing, seq)
		f.late++
	default:
		f.doubled++
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

func gather(ctx context.Context, t *target, path string, after uint64, n int) (*audience, error) {
	a := &audience{all: make(chan time.Time, 1)}
	for range n {
		f, err := follow(ctx, t, path, after)
		if err != nil {
			a.dismiss()
			return nil, fmt.Errorf("follower %d: %w", len(a.followers)+1, err)
		}
		a.followers = append(a.followers, f)
		a.wg.Go(func() {
			for f.err = f.next(); f.err == nil; f.err = f.next() {
				if a.heard.Add(1) == a.want.Load() {
					a.all <- time.Now()
				}
			}
		})
	}
	return a, nil
}

// expect says that n events come; all have heard all that came before.
func (a *audience) expect(n int) { a.want.Store(a.heard.Load() + int64(n*len(a.followers))) }

// await is when the last follower heard the last expected event.
func (a *audience) await(ctx context.Context) (time.Time, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case at := <-a.all:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-late.C:
		return time.Time{}, fmt.Errorf("%d of %d events came within %v", a.heard.Load(), a.want.Load(), patience)
	}
}

// faults counts what must not be.
type faults struct{ lost, doubled, reordered int }

func (f *faults) add(o *follower, head uint64) {
	f.lost += len(o.missing) + int(max(head, o.last)-o.last) //nolint:gosec // small
	f.doubled += o.doubled
	f.reordered += o.late
}

func (f faults) String() string { return fmt.Sprintf("%d / %d / %d", f.lost, f.doubled, f.reordered) }

// dismiss ends the streams and counts the faults up to the last number that
// anybody heard.
func (a *audience) dismiss() (sum faults) {
	head := uint64(0)
	for _, f := range a.followers {
		f.c.close()
	}
	a.wg.Wait()
	number(a.followers)
	for _, f := range a.followers {
		head = max(head, f.last)
	}
	for _, f := range a.followers {
		sum.add(f, head)
	}
	return sum
}

// pids are the processes that a case needs besides the driver.
func (r *rig) pids() []int {
	pids := slices.Clone(r.upPIDs)
	for _, t := range r.targets {
		pids = append(pids, t.pids...)
	}
	slices.Sort(pids)
	return slices.Compact(pids) // the router is several targets
}

// disturbance measures the share of the CPUs that programs other than the
// driver and some processes take until the function that it returns is called.
func disturbance(pids ...int) func() float64 {
	ours := append([]int{os.Getpid()}, pids...)
	begin, own := time.Now(), cpuOf(ours)
	all, cpus := cpuOfAll()
	return func() float64 {
		now, _ := cpuOfAll()
		foreign := (now - all) - (cpuOf(ours) - own)
		return max(0, foreign.Seconds()/(time.Since(begin).Seconds()*float64(cpus)))
	}
}

// calmest measures round after round until as many were calm as are to count,
// or as many were tried as may be. It gives those that other programs disturbed
// least, and tells by how much.
func (r *rig) calmest(p plan, round func() error) (kept []int, disturbed string, err error) {
	var foreign []float64
	for calm := 0; calm < p.rounds && len(foreign) < max(p.rounds, p.attempts); {
		taken := disturbance(r.pids()...)
		if err := round(); err != nil {
			return nil, "", err
		}
		f := taken()
		if f <= p.calm {
			calm++
		}
		foreign = append(foreign, f)
		fmt.Fprintf(os.Stderr, "round %d, other programs took %.0f %%\n", len(foreign), 100*f)
		kept = append(kept, len(kept))
	}
	slices.SortStableFunc(kept, func(a, b int) int { return cmp.Compare(foreign[a], foreign[b]) })
	kept = kept[:p.rounds]
	return kept, fmt.Sprintf("%.0f to %.0f %% (%d rounds of %d)",
		100*foreign[kept[0]], 100*foreign[kept[len(kept)-1]], len(kept), len(foreign)), nil
}

func percentile(took []time.Duration, p int) string {
	if len(took) == 0 {
		return "–" // the machine was too busy for a single one
	}
	slices.Sort(took)
	return fmt.Sprintf("%.2f", micros(took[len(took)*p/100])/1000)
}

func middle(values []float64) float64 {
	slices.Sort(values)
	return median(values)
}
