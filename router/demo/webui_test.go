package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"bstein.dev/hux/router/demo"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		http.DefaultClient.CloseIdleConnections()
	}))
}

// guest is a browser in front of a stand-in, behind a router that names it.
type guest struct {
	t        *testing.T
	base     string
	identity string
	csrf     string
	client   *http.Client
}

const identityHeader = "X-Hux-User"

func newWebUI(t *testing.T, o demo.WebUIOptions) *guest {
	t.Helper()
	if o.Wait == nil {
		o.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	}
	u := demo.NewWebUI(o)
	base := serve(t, u)
	t.Cleanup(u.Close)
	jar, _ := cookiejar.New(nil)
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	g := &guest{t: t, base: base, identity: "usr_alice", client: &http.Client{Jar: jar, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	g.load()
	return g
}

var tokenInPage = regexp.MustCompile(`__HERMES_CSRF_TOKEN__="([0-9a-f]{64})"`)

// load opens the page, which brings the cookie and the token.
func (g *guest) load() {
	g.t.Helper()
	res := g.do(http.MethodGet, "/", "")
	body := g.body(res)
	found := tokenInPage.FindStringSubmatch(body)
	if found == nil {
		g.t.Fatal("the page has no CSRF token")
	}
	g.csrf = found[1]
}

// do sends a request as the page would; headers come in pairs and replace.
func (g *guest) do(method, path, body string, headers ...string) *http.Response {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), method, g.base+path, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set(identityHeader, g.identity)
	if method != http.MethodGet {
		req.Header.Set("Origin", g.base)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
		req.Header.Set("X-Hermes-CSRF-Token", g.csrf)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := g.client.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = res.Body.Close() })
	return res
}

func (g *guest) body(res *http.Response) string {
	g.t.Helper()
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(body)
}

// json sends a request and reads the answer, which must have the status.
func (g *guest) json(status int, method, path string, body any) map[string]any {
	g.t.Helper()
	sent, _ := json.Marshal(body)
	if body == nil {
		sent = nil
	}
	res := g.do(method, path, string(sent))
	text := g.body(res)
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		g.t.Fatalf("%s %s: %v in %q", method, path, err, text)
	}
	if res.StatusCode != status {
		g.t.Fatalf("%s %s answered %d %v, want %d", method, path, res.StatusCode, got, status)
	}
	return got
}

func (g *guest) newSession() string {
	g.t.Helper()
	s := g.json(200, http.MethodPost, "/api/session/new", map[string]any{})["session"].(map[string]any)
	return s["session_id"].(string)
}

func (g *guest) start(sid, message string) string {
	g.t.Helper()
	started := g.json(200, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": message})
	return started["stream_id"].(string)
}

// frame is one event of a stream, or a comment.
type frame struct{ id, event, data, comment string }

type stream struct {
	t   *testing.T
	res *http.Response
	r   *bufio.Reader
}

func (g *guest) stream(path string, headers ...string) *stream {
	g.t.Helper()
	res := g.do(http.MethodGet, path, "", headers...)
	if res.StatusCode != http.StatusOK {
		g.t.Fatalf("%s answered %d", path, res.StatusCode)
	}
	return &stream{g.t, res, bufio.NewReader(res.Body)}
}

// next reads a frame; it answers false at the end of the stream.
func (s *stream) next() (f frame, ok bool) {
	s.t.Helper()
	for {
		line, err := s.r.ReadString('\n')
		if err == io.EOF {
			return f, false
		}
		if err != nil {
			s.t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			f.data = value
		case "":
			if strings.HasPrefix(line, ": ") {
				f.comment = value
			} else {
				return f, true
			}
		}
	}
}

// until reads frames up to the event named, and gives all of them.
func (s *stream) until(event string) (all []frame) {
	s.t.Helper()
	for {
		f, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before %s: %v", event, all)
		}
		all = append(all, f)
		if f.event == event {
			return all
		}
	}
}

func TestTrustedHeader(t *testing.T) {
	g := newWebUI(t, demo.WebUIOptions{})
	res := g.do(http.MethodGet, "/api/sessions", "")
	if res.StatusCode != 200 || len(res.Cookies()) != 0 {
		t.Errorf("with a cookie: %d, and %v is set", res.StatusCode, res.Cookies())
	}

	g.client.Jar, _ = cookiejar.New(nil)
	cookie := g.do(http.MethodGet, "/api/sessions", "").Cookies()[0]
	if cookie.Name != "hermes_session" || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Path != "/" ||
		!regexp.MustCompile(`^[0-9a-f]{64}\.[0-9a-f]{64}$`).MatchString(cookie.Value) {
		t.Errorf("the cookie is %v", cookie)
	}

	for name, c := range map[string]struct {
		path     string
		status   int
		location string
	}{
		"api":       {"/api/sessions", 401, ""},
		"page":      {"/session/abc", 302, "login?next=%2Fsession%2Fabc"},
		"static":    {"/static/app.css", 200, ""},
		"worker":    {"/sw.js", 200, ""},
		"manifest":  {"/manifest.json", 200, ""},
		"health":    {"/health", 200, ""},
		"who am I":  {"/api/auth/status", 200, ""},
		"the shell": {"/", 302, "login?next=%2F"},
	} {
		res := g.do(http.MethodGet, c.path, "", identityHeader, "")
		if res.StatusCode != c.status || res.Header.Get("Location") != c.location {
			t.Errorf("%s without a name: %d to %q", name, res.StatusCode, res.Header.Get("Location"))
		}
	}
	// The cookie without the name ended the session.
	if res := g.do(http.MethodGet, "/api/sessions", ""); len(res.Cookies()) != 1 {
		t.Error("the old cookie still counts")
	}

	g.load()
	g.identity = "usr_bob"
	res = g.do(http.MethodPost, "/api/session/new", "{}")
	if res.StatusCode != 403 || len(res.Cookies()) != 1 {
		t.Errorf("another person with the old page: %d", res.StatusCode)
	}
	g.load()
	g.newSession()
}

func TestCrossSite(t *testing.T) {
	g := newWebUI(t, demo.WebUIOptions{})
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"same origin":          {nil, 200},
		"other token header":   {[]string{"X-Hermes-CSRF-Token", "", "X-CSRF-Token", g.csrf}, 200},
		"no browser":           {[]string{"Origin", "", "X-Hermes-CSRF-Token", ""}, 200},
		"no token":             {[]string{"X-Hermes-CSRF-Token", ""}, 403},
		"wrong token":          {[]string{"X-Hermes-CSRF-Token", strings.Repeat("0", 64)}, 403},
		"cross-site":           {[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		"foreign origin":       {[]string{"Origin", "http://evil.test"}, 403},
		"foreign port":         {[]string{"Origin", "http://127.0.0.1:1"}, 403},
		"null origin":          {[]string{"Origin", "null"}, 403},
		"referer":              {[]string{"Origin", "", "Referer", g.base + "/x"}, 200},
		"foreign referer":      {[]string{"Origin", "", "Referer", "http://evil.test/"}, 403},
		"the origin's port 80": {[]string{"Origin", "http://127.0.0.1"}, 403},
	} {
		if res := g.do(http.MethodPost, "/api/session/new", "{}", c.headers...); res.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", name, res.StatusCode, c.status)
		}
	}
}

func TestShellAndStatic(t *testing.T) {
	g := newWebUI(t, demo.WebUIOptions{Title: "Slot <1>"})
	for _, path := range []string{"/", "/index.html", "/session/abc", "/session/a/b"} {
		res := g.do(http.MethodGet, path, "", "Accept-Encoding", "gzip")
		h := res.Header
		if res.StatusCode != 200 || h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" ||
			h.Get("Content-Encoding") != "" || h.Get("ETag") != "" || !strings.Contains(h.Get("Content-Security-Policy"), "frame-src 'self'") {
			t.Errorf("%s: %d %v", path, res.StatusCode, h)
		}
		if body := g.body(res); strings.Contains(body, "<1>") || int64(len(body)) != res.ContentLength {
			t.Errorf("%s: the title is not escaped, or the length is wrong", path)
		}
	}
	res := g.do(http.MethodGet, "/static/app.css?v=x", "", "Accept-Encoding", "gzip")
	etag := res.Header.Get("ETag")
	if res.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(etag, `W/"`) || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("static: %v", res.Header)
	}
	if res := g.do(http.MethodGet, "/static/app.css", "", "If-None-Match", etag); res.StatusCode != 304 {
		t.Errorf("a fresh file was answered %d", res.StatusCode)
	}
	for _, path := range []string{"/static/index.html", "/static/none.js", "/static/../webui.go", "/nothing"} {
		if res := g.do(http.MethodGet, path, ""); res.StatusCode != 404 {
			t.Errorf("%s was answered %d", path, res.StatusCode)
		}
	}
	if res := g.do(http.MethodGet, "/sw.js", ""); res.Header.Get("Service-Worker-Allowed") != "/" || strings.Contains(g.body(res), "{{") {
		t.Error("the worker has no version or no scope")
	}
	for _, path := range []string{"/api/terminal/start", "/api/settings"} {
		if got := g.json(200, http.MethodPost, path, map[string]any{}); got["reached"] != "POST "+path {
			t.Errorf("%s answered %v", path, got)
		}
	}
}

func TestTurn(t *testing.T) {
	g := newWebUI(t, demo.WebUIOptions{})
	sid := g.newSession()
	id := g.start(sid, "hello")
	s := g.stream("/api/chat/stream?stream_id=" + id)
	if len(s.res.TransferEncoding) != 0 || s.res.ContentLength != -1 || !s.res.Close || s.res.Header.Get("Content-Encoding") != "" {
		t.Errorf("the stream is framed: %v, length %d, close %t", s.res.TransferEncoding, s.res.ContentLength, s.res.Close)
	}
	all := s.until("stream_end")
	if _, more := s.next(); more {
		t.Error("something follows stream_end")
	}
	seen, text := map[string]int{}, ""
	for i, f := range all {
		seen[f.event]++
		if f.id != fmt.Sprintf("%s:%d", id, i+1) {
			t.Errorf("event %d has the id %s", i+1, f.id)
		}
		if f.event == "token" {
			var d struct{ Text string }
			_ = json.Unmarshal([]byte(f.data), &d)
			text += d.Text
		}
	}
	for _, want := range []string{"reasoning", "token", "tool", "tool_complete", "done"} {
		if seen[want] == 0 {
			t.Errorf("no event %s", want)
		}
	}
	session := g.json(200, http.MethodGet, "/api/session?session_id="+sid, nil)["session"].(map[string]any)
	messages := session["messages"].([]any)
	if last := messages[1].(map[string]any); len(messages) != 2 || last["content"] != text || last["id"] != 2.0 {
		t.Errorf("the conversation has %v", messages)
	}
	if len(session["tool_calls"].([]any)) != 1 || session["title"] != "hello" || session["active_stream_id"] != nil {
		t.Errorf("the conversation is %v", session)
	}

	// A finished run plays again from where the client says.
	for name, c := range map[string]struct {
		query   string
		headers []string
		first   int
	}{
		"header":         {"", []string{"Last-Event-ID", id + ":3"}, 4},
		"event id":       {"&after_event_id=" + id + ":5", nil, 6},
		"number":         {"&after_seq=7&replay=1", nil, 8},
		"foreign header": {"", []string{"Last-Event-ID", "other:3"}, 1},
		"ahead":          {"&after_seq=99999", nil, 1},
		"nonsense":       {"&after_seq=-1", nil, 1},
		"nothing":        {"", nil, 1},
	} {
		f, _ := g.stream("/api/chat/stream?stream_id="+id+c.query, c.headers...).next()
		if f.id != fmt.Sprintf("%s:%d", id, c.first) {
			t.Errorf("%s: starts at %s, want %d", name, f.id, c.first)
		}
	}
	if res := g.do(http.MethodGet, "/api/chat/stream?stream_id=none", ""); res.StatusCode != 404 {
		t.Errorf("an unknown stream was answered %d", res.StatusCode)
	}
	fail := g.start(sid, "please FAIL")
	g.stream("/api/chat/stream?stream_id=" + fail).until("apperror")
	if got := g.json(200, http.MethodGet, "/api/chat/cancel?stream_id="+fail, nil); got["cancelled"] != false {
		t.Errorf("cancelling what is over: %v", got)
	}
}

// gate lets the script go on one step for each value sent.
type gate chan struct{}

func (g gate) wait(ctx context.Context, _ time.Duration) error {
	select {
	case <-g:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestBusyHeartbeatAndCancel(t *testing.T) {
	steps := make(gate)
	g := newWebUI(t, demo.WebUIOptions{Wait: steps.wait, Heartbeat: time.Millisecond})
	sid := g.newSession()
	events := g.stream("/api/sessions/events")
	own := g.stream("/api/session/stream?session_id=" + sid)
	own.until("initial")

	id := g.start(sid, "hello")
	if f := events.until("sessions_changed"); !strings.Contains(f[len(f)-1].data, "turn_started") {
		t.Errorf("the list was told %v", f)
	}
	if f := own.until("server_turn_started"); !strings.Contains(f[len(f)-1].data, id) {
		t.Errorf("the conversation was told %v", f)
	}
	busy := g.json(409, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": "more"})
	if busy["active_stream_id"] != id {
		t.Errorf("busy: %v", busy)
	}
	s := g.stream("/api/chat/stream?stream_id=" + id)
	for range 4 { // three thoughts and a word
		steps <- struct{}{}
	}
	s.until("token")
	for {
		line, err := s.r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == ": heartbeat\n" {
			break
		}
	}
	if got := g.json(200, http.MethodGet, "/api/chat/cancel?stream_id="+id, nil); got["cancelled"] != true {
		t.Errorf("cancel: %v", got)
	}
	s.until("cancel")
	if _, more := s.next(); more {
		t.Error("something follows cancel")
	}
	session := g.json(200, http.MethodGet, "/api/session?session_id="+sid, nil)["session"].(map[string]any)
	if m := session["messages"].([]any); len(m) != 2 || m[1].(map[string]any)["content"] != "You " {
		t.Errorf("what was said is not kept: %v", m)
	}
	id = g.start(sid, "again")
	g.json(200, http.MethodPost, "/api/session/delete", map[string]any{"session_id": sid})
	g.stream("/api/chat/stream?stream_id=" + id).until("cancel")
	g.json(404, http.MethodGet, "/api/session?session_id="+sid, nil)
}

func TestApproval(t *testing.T) {
	for choice, want := range map[string]string{"once": "You allowed it", "deny": "You said no"} {
		t.Run(choice, func(t *testing.T) {
			g := newWebUI(t, demo.WebUIOptions{})
			sid := g.newSession()
			id := g.start(sid, "I will approve")
			s := g.stream("/api/chat/stream?stream_id=" + id)
			s.until("approval")
			waiting := g.json(200, http.MethodGet, "/api/approval/pending?session_id="+sid, nil)["pending"].(map[string]any)
			answer := map[string]any{"session_id": sid, "approval_id": waiting["approval_id"], "choice": "perhaps"}
			g.json(400, http.MethodPost, "/api/approval/respond", answer)
			answer["choice"] = choice
			g.json(200, http.MethodPost, "/api/approval/respond", answer)
			g.json(409, http.MethodPost, "/api/approval/respond", answer)
			done := s.until("done")
			if !strings.Contains(done[len(done)-1].data, want) {
				t.Errorf("the answer lacks %q", want)
			}
			if got := g.json(200, http.MethodGet, "/api/approval/pending?session_id="+sid, nil); got["pending"] != nil {
				t.Errorf("still pending: %v", got)
			}
		})
	}
}

func TestConversations(t *testing.T) {
	g := newWebUI(t, demo.WebUIOptions{})
	sid := g.newSession()
	g.json(200, http.MethodPost, "/api/session/rename", map[string]any{"session_id": sid, "title": "Renamed"})
	g.json(200, http.MethodPost, "/api/session/draft", map[string]any{"session_id": sid, "draft": map[string]any{"text": "half"}})
	session := g.json(200, http.MethodGet, "/api/session?session_id="+sid, nil)["session"].(map[string]any)
	if session["title"] != "Renamed" || session["composer_draft"].(map[string]any)["text"] != "half" {
		t.Errorf("the conversation is %v", session)
	}
	for range 205 {
		g.newSession()
	}
	if list := g.json(200, http.MethodGet, "/api/sessions", nil)["sessions"].([]any); len(list) != 200 {
		t.Errorf("%d conversations are kept", len(list))
	}
	g.json(404, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": "x"})
	g.json(400, http.MethodPost, "/api/chat/start", map[string]any{"session_id": sid, "message": " "})
	if res := g.do(http.MethodPost, "/api/session/new", "{"); res.StatusCode != 400 {
		t.Errorf("half a body was answered %d", res.StatusCode)
	}
}

func TestUpload(t *testing.T) {
	g := newWebUI(t, demo.WebUIOptions{})
	upload := func(size int) *http.Response {
		var b bytes.Buffer
		form := multipart.NewWriter(&b)
		_ = form.WriteField("session_id", "x")
		part, _ := form.CreateFormFile("file", "notes.txt")
		_, _ = part.Write(make([]byte, size))
		_ = form.Close()
		return g.do(http.MethodPost, "/api/upload", b.String(), "Content-Type", form.FormDataContentType())
	}
	res := upload(1000)
	if body := g.body(res); res.StatusCode != 200 || !strings.Contains(body, `"size":1000`) || !strings.Contains(body, "notes.txt") {
		t.Errorf("an upload was answered %d %s", res.StatusCode, body)
	}
	if res := upload(21 << 20); res.StatusCode != 413 {
		t.Errorf("a large upload was answered %d", res.StatusCode)
	}
	if res := g.do(http.MethodPost, "/api/upload", "x"); res.StatusCode != 400 {
		t.Errorf("no form was answered %d", res.StatusCode)
	}
}
