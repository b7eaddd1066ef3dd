// Package client speaks /hux/v1 for a Go program: typed records, writes that
// are safe to repeat, lists that page by themselves and streams that go on
// where they broke off.
//
// It imports the words of hux and an SSE reader, and nothing of the router or
// its storage, so that a program outside can use it. The types of records and
// request bodies are made from schemas/ (make types-generate); one that a newer
// router sends more members of is read without them.
package client

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
	"time"

	"bstein.dev/hux/hux"
)

// Options say where a router is and who asks it.
type Options struct {
	// BaseURL is where hux answers programs, such as https://hux.example.org.
	BaseURL string
	// Token gives the bearer token or the agent's credential, and is asked
	// before each try, so that it may give a newer one. Nil sends none.
	Token func(context.Context) (string, error)
	// HTTPClient sends the requests; nil is one that waits a minute for an
	// answer. Its Timeout is not applied to streams, and it follows no
	// redirect: the API has none, and another place may not have the token. With
	// no Transport in it, HTTP_PROXY and its like are not heeded; one that heeds
	// them is http.DefaultTransport.
	HTTPClient *http.Client
	// UserAgent is sent as it is; "" says which contract this package speaks.
	UserAgent string
	// Tries is how often a request is sent at most; 0 is 5.
	Tries int
}

// Client asks one router. It may be used by many goroutines.
type Client struct {
	base      string // with the prefix
	token     func(context.Context) (string, error)
	http      *http.Client
	userAgent string
	tries     int
	run       http.Header // HUX-Session and HUX-Run
}

const (
	prefix    = "/hux/v1"
	answerIn  = time.Minute // what the default client waits
	maxAnswer = 65 << 20    // bytes; the largest is a blob of 64 MiB
)

// transport is shared by the clients that bring none.
var transport = hux.NewTransport()

// New makes a Client. It sends nothing yet.
func New(o Options) (*Client, error) {
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" || base.RawQuery != "" || base.Fragment != "" {
		return nil, errors.New("a router's address is like https://hux.example.org")
	}
	c := &Client{base: base.JoinPath(prefix).String(), token: o.Token, userAgent: o.UserAgent, tries: o.Tries, http: &http.Client{Transport: transport, Timeout: answerIn}}
	if o.HTTPClient != nil {
		own := *o.HTTPClient
		c.http = &own
	}
	if c.http.Transport == nil {
		c.http.Transport = transport
	}
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.userAgent == "" {
		c.userAgent = "hux-client/" + hux.ContractVersion
	}
	if c.tries <= 0 {
		c.tries = 5
	}
	return c, nil
}

// Static is a Token that never changes.
func Static(token string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return token, nil }
}

// During gives a client whose requests say that they belong to a session and a
// run of the gateway's, which the provenance of what they write then names.
// Either may be "".
func (c *Client) During(session, run string) *Client {
	during := *c
	during.run = http.Header{}
	for name, value := range map[string]string{"HUX-Session": session, "HUX-Run": run} {
		if value != "" {
			during.run.Set(name, value)
		}
	}
	return &during
}

// Request is one request to a path below /hux/v1.
type Request struct {
	Method string // "" is GET
	Path   string // such as /conversations, escaped where it needs to be
	Query  url.Values
	// Body is sent as JSON; a []byte is sent as it is, under ContentType.
	Body        any
	ContentType string // "" is application/json
	IfMatch     string // the ETag of the record that is changed
	// Key is the write's Idempotency-Key, for a caller that has one that
	// outlives the process; "" makes one for this call.
	Key    string
	Header http.Header // further headers
}

// Option changes a request of one of the typed methods.
type Option func(*Request)

// Key sets a write's Idempotency-Key.
func Key(key string) Option { return func(r *Request) { r.Key = key } }

// Answer is what is told of an answer besides its body.
type Answer struct {
	Status int
	Header http.Header
}

// ETag names the revision of the record that was answered, "" where it has none.
func (a *Answer) ETag() string { return a.Header.Get("ETag") }

// Replayed reports whether the request had been done before.
func (a *Answer) Replayed() bool { return a.Header.Get("Idempotency-Replayed") == "true" }

// ETag is the tag of a record's revision, to send as IfMatch (contracts 2.2).
func ETag(id string, revision int64) string { return fmt.Sprintf(`"%s:%d"`, id, revision) }

// Do sends a request and reads its answer's JSON into into, which may be nil; a
// *[]byte takes the body as it is. It tries again where that is safe and may
// help: every write goes under one Idempotency-Key, so two tries that both
// arrive are one write. What the router refuses is an *Error.
func (c *Client) Do(ctx context.Context, r Request, into any) (*Answer, error) {
	send, err := c.prepare(r)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		answer, body, err := c.once(ctx, send)
		if err == nil {
			return answer, read(body, into)
		}
		wait, again := c.again(err, try)
		if !again || ctx.Err() != nil {
			return answer, err
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
			return answer, err
		}
		if ended := pause(ctx, wait); ended != nil {
			return answer, fmt.Errorf("%w; the last try: %w", ended, err)
		}
	}
}

// prepare encodes a request, for as many tries as it takes.
func (c *Client) prepare(r Request) (func(context.Context) (*http.Request, error), error) {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	var body []byte
	if raw, ok := r.Body.([]byte); ok {
		body = raw
	} else if r.Body != nil {
		var err error
		if body, err = json.Marshal(r.Body); err != nil {
			return nil, err
		}
	}
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for name, values := range c.run {
		header[name] = values
	}
	header.Set("User-Agent", c.userAgent)
	if r.Body != nil {
		header.Set("Content-Type", "application/json")
		if r.ContentType != "" {
			header.Set("Content-Type", r.ContentType)
		}
	}
	if r.IfMatch != "" {
		header.Set("If-Match", r.IfMatch)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if r.Key == "" {
			r.Key = hux.NewID("key")
		}
		header.Set("Idempotency-Key", r.Key)
	}
	at := c.base + r.Path
	if len(r.Query) > 0 {
		at += "?" + r.Query.Encode()
	}
	return func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, r.Method, at, bytes.NewReader(body))
		if err != nil {
			return nil, final{err}
		}
		req.Header = header.Clone()
		return req, c.authorize(ctx, req.Header)
	}, nil
}

func (c *Client) authorize(ctx context.Context, h http.Header) error {
	if c.token == nil {
		return nil
	}
	token, err := c.token(ctx)
	if err != nil {
		return final{err}
	}
	h.Set("Authorization", "Bearer "+token)
	return nil
}

// once sends one try. The answer is given with an *Error too.
func (c *Client) once(ctx context.Context, prepared func(context.Context) (*http.Request, error)) (*Answer, []byte, error) {
	req, err := prepared(ctx)
	if err != nil {
		return nil, nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer := &Answer{res.StatusCode, res.Header}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer, nil, err
	case len(body) > maxAnswer:
		return answer, nil, final{errors.New("the answer is longer than any of hux's")}
	case res.StatusCode >= 200 && res.StatusCode < 300 || res.StatusCode == http.StatusNotModified:
		return answer, body, nil
	}
	return answer, nil, refusal(res, body)
}

func read(body []byte, into any) error {
	if raw, ok := into.(*[]byte); ok {
		*raw = body
		return nil
	}
	if into == nil || len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("an answer that can't be read: %w", err)
	}
	return nil
}

// path joins parts that may come from elsewhere into a path, each as one
// segment.
func path(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString("/" + url.PathEscape(p))
	}
	return b.String()
}
