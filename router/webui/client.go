package webui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// client speaks to the WebUI of one slot. It sends no Origin and no Referer, so
// the WebUI asks for no token against forged requests.
type client struct{ http http.Client }

const (
	answerWithin = 15 * time.Second // the WebUI may wait for the agent before it answers a stop
	maxAnswer    = 128 << 10        // bytes of an answer
	maxRefusal   = 4 << 10          // bytes that are read of an answer that is no success
)

var errTooLarge = errors.New("the WebUI's answer is too large")

func newClient(transport http.RoundTripper) *client {
	return &client{http.Client{
		Transport: transport, Jar: &jar{kept: map[string]string{}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// jar keeps the cookie of the session that the WebUI starts for the identity
// header. Without it each request would start another session. A jar is for one
// WebUI alone.
type jar struct {
	mu   sync.Mutex
	kept map[string]string
}

// SetCookies is part of http.CookieJar.
func (j *jar) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range cookies {
		if delete(j.kept, c.Name); c.MaxAge >= 0 && c.Value != "" {
			j.kept[c.Name] = c.Value
		}
	}
}

// Cookies is part of http.CookieJar.
func (j *jar) Cookies(*url.URL) (cookies []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for name, value := range j.kept {
		cookies = append(cookies, &http.Cookie{Name: name, Value: value})
	}
	return cookies
}

// refused is an answer with a status other than 200.
type refused struct {
	status int
	says   string
}

func (r *refused) Error() string { return fmt.Sprintf("the WebUI answers %d %s", r.status, r.says) }

// do sends a request and reads its JSON answer.
func (c *client) do(ctx context.Context, method, path string, query url.Values, body, answer any) error {
	return c.read(ctx, method, path, query, body, func(in io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(in, maxAnswer+1))
		if err == nil && len(text) > maxAnswer {
			err = errTooLarge
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(text, answer)
	})
}

// read sends a request and, if it succeeds, has answer read the body. The body
// may be of any size, so answer reads no more of it than it needs.
func (c *client) read(ctx context.Context, method, path string, query url.Values, body any, answer func(io.Reader) error) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://webui"+path+"?"+query.Encode(), content)
	if err != nil {
		return err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		var told struct {
			Code string `json:"code"`
		}
		_ = json.NewDecoder(io.LimitReader(res.Body, maxRefusal)).Decode(&told) // it may be no JSON
		return &refused{res.StatusCode, told.Code}
	}
	return answer(res.Body)
}

func ofSession(id string) url.Values { return url.Values{"session_id": {id}} }

// stream names the turn that is under way in a session; "" if there is none.
func (c *client) stream(ctx context.Context, session string) (string, error) {
	var answer struct {
		Stream *string `json:"active_stream_id"`
	}
	err := c.do(ctx, http.MethodGet, "/api/session/status", ofSession(session), nil, &answer)
	if gone := (*refused)(nil); errors.As(err, &gone) && gone.status == http.StatusNotFound {
		return "", nil // it has no file yet, or none any more
	}
	if err != nil || answer.Stream == nil {
		return "", err
	}
	return *answer.Stream, nil
}

// errStale says that the WebUI does not wait for the answer, or can't pass it on
// to its agent.
var errStale = errors.New("the WebUI does not wait for this answer")

// respond answers an approval with once or deny.
func (c *client) respond(ctx context.Context, session string, p *pending, choice string) error {
	body := map[string]any{"session_id": session, "approval_id": p.ID, "choice": choice}
	if p.RunID != "" && p.Token != "" {
		body["run_id"], body["mirror_token"] = p.RunID, p.Token
	}
	var answer struct {
		OK    bool `json:"ok"`
		Stale bool `json:"stale_cleared"`
	}
	err := c.do(ctx, http.MethodPost, "/api/approval/respond", nil, body, &answer)
	if r := (*refused)(nil); errors.As(err, &r) && r.status == http.StatusConflict && r.says != "gateway_approval_in_progress" {
		return errStale
	}
	if err == nil && (!answer.OK || answer.Stale) {
		return errStale
	}
	return err
}

// changes follows the WebUI's list of sessions. It calls changed once when the
// stream has begun, from when on it misses nothing, and then at each change of
// the list. It always ends with an error.
func (c *client) changes(ctx context.Context, changed func()) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://webui/api/sessions/events", nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return &refused{res.StatusCode, res.Header.Get("Content-Type")}
	}
	changed()
	buf := make([]byte, 4<<10)
	fresh := true // a line begins
	for {
		n, err := res.Body.Read(buf)
		silent.Reset(silence)
		for _, c := range buf[:n] {
			if fresh && c == 'd' { // of "data:", which no other line begins with
				changed()
			}
			fresh = c == '\n'
		}
		if err != nil {
			return err
		}
	}
}

// silence is how long the stream of the list of sessions may say nothing before
// it counts as broken. The WebUI sends a sign of life every 5 s.
const silence = 40 * time.Second

// cancel asks the WebUI to stop a turn, and reports whether there was a turn to
// stop. The WebUI answers once the agent's gateway has taken the stop.
func (c *client) cancel(ctx context.Context, stream string) (was bool, err error) {
	var answer struct {
		Cancelled bool `json:"cancelled"`
	}
	err = c.do(ctx, http.MethodGet, "/api/chat/cancel", url.Values{"stream_id": {stream}}, nil, &answer)
	return answer.Cancelled, err
}

// status says whether a turn is under way, and whether the WebUI has ever heard
// of it.
func (c *client) status(ctx context.Context, stream string) (active, known bool, err error) {
	var answer struct {
		Active bool `json:"active"`
		Replay bool `json:"replay_available"`
	}
	err = c.do(ctx, http.MethodGet, "/api/chat/stream/status", url.Values{"stream_id": {stream}}, nil, &answer)
	return answer.Active, answer.Active || answer.Replay, err
}
