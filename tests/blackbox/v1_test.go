package blackbox_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// caller is one actor of /hux/v1, who comes with a bearer token on the API
// host.
type caller struct {
	b    *browser
	auth string
}

func (h *router) caller(t testing.TB, proto, credential string) *caller {
	t.Helper()
	return &caller{h.browser(t, proto), bearer(credential)}
}

// relaunch starts a router again and waits until it knows the provider's keys.
func (h *router) relaunch(t testing.TB) {
	t.Helper()
	h.launch(t)
	c := h.person(t, "h1", "alice")
	eventually(t, 20*time.Second, "the router takes tokens", func() bool {
		return c.b.do(t, "GET", apiURL+"/hux/api/me", nil, c.auth).StatusCode == http.StatusOK
	})
}

// person is a caller with a token of their own.
func (h *router) person(t testing.TB, proto, name string) *caller {
	t.Helper()
	return h.caller(t, proto, h.token(t, name))
}

// agent is a new agent of a slot that somebody has.
func (h *router) agent(t *testing.T, proto, slot string) *caller {
	t.Helper()
	credential := strings.TrimSpace(h.command(t, "", "agents", "create", slot, "an assistant"))
	h.secrets.add("agent credential", credential)
	return h.caller(t, proto, credential)
}

var keys atomic.Int64

// newKey is a header line with an idempotency key that no other request has.
func newKey() string { return "Idempotency-Key: test-" + strconv.FormatInt(keys.Add(1), 10) }

// call sends a request below /hux/v1 and reads the answer, which no cache may
// keep. A request with a body says that it is JSON unless a header says
// otherwise.
func (c *caller) call(t testing.TB, method, path, body string, header ...string) *answer {
	t.Helper()
	a, err := c.try(t, context.Background(), method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if a.Header.Get("Cache-Control") != "no-store, no-transform" {
		t.Errorf("%s %s: Cache-Control %q", method, path, a.Header.Get("Cache-Control"))
	}
	if a.Header.Get("HUX-Contract") != "1.1.0" {
		t.Errorf("%s %s: HUX-Contract %q on %d", method, path, a.Header.Get("HUX-Contract"), a.StatusCode)
	}
	return a
}

func (c *caller) try(t testing.TB, ctx context.Context, method, path, body string, header ...string) (*answer, error) {
	t.Helper()
	return c.b.read(c.b.try(t, ctx, method, apiURL+"/hux/v1"+path, reader(body), c.headers(body, header)...))
}

func reader(body string) io.Reader {
	if body == "" {
		return nil
	}
	return strings.NewReader(body)
}

func (c *caller) headers(body string, header []string) []string {
	all := append([]string{c.auth}, header...)
	if body != "" && !slices.ContainsFunc(header, func(h string) bool { return strings.HasPrefix(h, "Content-Type:") }) {
		all = append(all, "Content-Type: application/json")
	}
	return slices.DeleteFunc(all, func(h string) bool { return h == "Content-Type: none" })
}

// into reads an answer's JSON.
func (a *answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%s %s: %v: %.300s", a.Request.Method, a.Request.URL.Path, err, a.body)
	}
}

// object is a JSON object.
type object map[string]any

func (a *answer) object(t testing.TB) object {
	t.Helper()
	var o object
	a.into(t, &o)
	return o
}

var requestIDs = regexp.MustCompile(`"request_id":"[^"]*"`)

// plainBody is the body without what is different each time.
func (a *answer) plainBody() string { return requestIDs.ReplaceAllString(a.body, "") }

// conversation makes one and gives its id.
func (c *caller) conversation(t testing.TB) string {
	t.Helper()
	a := c.call(t, "POST", "/conversations", "{}", newKey())
	a.want(t, http.StatusCreated, "")
	id, _ := a.object(t)["id"].(string)
	return id
}

// listed is a list's answer.
type listed struct {
	Items   []object `json:"items"`
	Next    *string  `json:"next"`
	HeadSeq uint64   `json:"head_seq"`
	Epoch   string   `json:"epoch"`
}

func (c *caller) list(t testing.TB, path string) listed {
	t.Helper()
	a := c.call(t, "GET", path, "")
	a.want(t, http.StatusOK, "")
	var l listed
	a.into(t, &l)
	return l
}

// event is what these tests look at in one.
type event struct {
	ID      string         `json:"id"`
	Seq     uint64         `json:"seq"`
	Kind    string         `json:"kind"`
	Status  *string        `json:"status"`
	Summary string         `json:"summary"`
	Data    map[string]any `json:"data"`
	By      string         `json:"reported_by"`
}

// post appends an event and gives it back.
func (c *caller) post(t testing.TB, conversation, body string, header ...string) event {
	t.Helper()
	a := c.call(t, "POST", "/conversations/"+conversation+"/events", body, append(header, newKey())...)
	a.want(t, http.StatusCreated, "")
	var e event
	a.into(t, &e)
	return e
}

// note is the body of a small event.
func note(summary string) string {
	return `{"kind":"tool.started","status":"started","summary":"` + summary + `"}`
}

// frame is one server-sent event, or a comment.
type frame struct{ id, event, data, retry, comment string }

// follower reads a stream.
type follower struct {
	t    testing.TB
	res  *http.Response
	in   *bufio.Reader
	stop context.CancelFunc
}

// follow opens a conversation's stream; query begins with "?" or is "".
func (c *caller) follow(t testing.TB, conversation, query string, header ...string) *follower {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	res := c.streamFrom(t, ctx, conversation, query, header...)
	f := newFollower(t, res, stop)
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("a stream: %s: %s", res.Status, body)
	}
	return f
}

func newFollower(t testing.TB, res *http.Response, stop context.CancelFunc) *follower {
	f := &follower{t, res, bufio.NewReader(res.Body), stop}
	t.Cleanup(f.close)
	return f
}

// streamFrom sends a stream's request; its client waits as long as it takes.
func (c *caller) streamFrom(t testing.TB, ctx context.Context, conversation, query string, header ...string) *http.Response {
	t.Helper()
	patient := *c.b
	client := *c.b.client
	client.Timeout = 0
	patient.client = &client
	return patient.open(t, ctx, "GET", apiURL+"/hux/v1/conversations/"+conversation+"/events/stream"+query, nil, c.headers("", header)...)
}

func (f *follower) close() { f.stop(); _ = f.res.Body.Close() }

// frame is the next one, for which a stream has a minute; ok is false at the
// end of the stream.
func (f *follower) frame() (fr frame, ok bool) {
	defer time.AfterFunc(time.Minute, f.stop).Stop()
	for {
		line, err := f.in.ReadString('\n')
		if err != nil {
			return fr, false
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return fr, true
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "":
			fr.comment = value
		case "id":
			fr.id = value
		case "event":
			fr.event = value
		case "data":
			fr.data = value
		case "retry":
			fr.retry = value
		default:
			f.t.Errorf("a line of a stream: %q", line)
		}
	}
}

// control is the next frame with a name, which has no id.
func (f *follower) control(name string) object {
	f.t.Helper()
	for {
		fr, ok := f.frame()
		if !ok {
			f.t.Errorf("the stream ended without %s", name)
			return nil
		}
		if fr.event != name {
			continue
		}
		if fr.id != "" {
			f.t.Errorf("%s has an id", name)
		}
		var o object
		if err := json.Unmarshal([]byte(fr.data), &o); err != nil {
			f.t.Error(err)
		}
		return o
	}
}

// next is the next event, whose frame's id is its number and which has no
// name; ok is false where the stream ends.
func (f *follower) next() (e event, ok bool) {
	f.t.Helper()
	for {
		fr, ok := f.frame()
		if !ok {
			return e, false
		}
		if fr.id == "" {
			continue
		}
		if err := json.Unmarshal([]byte(fr.data), &e); err != nil || strconv.FormatUint(e.Seq, 10) != fr.id || fr.event != "" {
			f.t.Errorf("frame %q is %q %v", fr.id, fr.data, err)
		}
		return e, true
	}
}

// want reads the events from..to, each once and in order.
func (f *follower) want(from, to uint64) {
	f.t.Helper()
	for seq := from; seq <= to; seq++ {
		e, ok := f.next()
		if !ok || e.Seq != seq {
			f.t.Errorf("got event %d (stream goes on: %v), want %d", e.Seq, ok, seq)
			return
		}
	}
}

// ends waits for the stream's end and gives the reason that it says.
func (f *follower) ends(within time.Duration) (reason string) {
	f.t.Helper()
	timer := time.AfterFunc(within, f.stop)
	defer timer.Stop()
	for {
		fr, ok := f.frame()
		if !ok {
			if !timer.Stop() {
				f.t.Errorf("the stream does not end within %v", within)
			}
			return reason
		}
		if fr.event == "hux.closing" {
			var o struct{ Reason string }
			_ = json.Unmarshal([]byte(fr.data), &o)
			reason = o.Reason
		}
	}
}
