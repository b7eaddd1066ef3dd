package client_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
)

// asked is a request as the router got it.
type asked struct {
	method, target, body string
	header               http.Header
	at                   time.Time
}

// wire is a connection to a router that answers as answers say, one after the
// other, and writes down what it was asked.
type wire struct {
	answers []answer
	asked   []asked
}

type answer func(*http.Request) (*http.Response, error)

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	w.asked = append(w.asked, asked{r.Method, r.URL.RequestURI(), string(body), r.Header, time.Now()})
	if len(w.answers) == 0 {
		return nil, errors.New("asked too often")
	}
	next := w.answers[0]
	w.answers = w.answers[1:]
	return next(r)
}

// say answers with a body and header lines.
func say(status int, body string, header ...string) answer {
	return func(r *http.Request) (*http.Response, error) {
		res := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			res.Header.Set(name, value)
		}
		return res, nil
	}
}

func refuse(status int, code string, retryable bool, header ...string) answer {
	return say(status, fmt.Sprintf(`{"schema":"hux.error.v1","type":"about:blank","title":"x","status":%d,"code":%q,"detail":"Say.","request_id":"r1","retryable":%v,"allowed":["x"]}`, status, code, retryable), header...)
}

func fail(err error) answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func (w *wire) client(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.New(client.Options{BaseURL: "https://hux.example.org/", Token: client.Static("secret"), HTTPClient: &http.Client{Transport: w, Timeout: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var broken = fail(io.ErrUnexpectedEOF)

// What may pass is tried again, at the right time and under one key; what stays
// is told at once.
func TestTries(t *testing.T) {
	for name, c := range map[string]struct {
		answers []answer
		tries   int
		wait    time.Duration // at least, in all
		code    hux.Code      // "" for success, "-" for an error without one
	}{
		"at once":       {[]answer{say(201, `{}`)}, 1, 0, ""},
		"a broken one":  {[]answer{broken, say(201, `{}`)}, 2, 50 * time.Millisecond, ""},
		"a broken body": {[]answer{cutOff, say(201, `{}`)}, 2, 50 * time.Millisecond, ""},
		"a proxy's 502": {[]answer{say(502, "<html>"), say(504, ""), say(201, `{}`)}, 3, 150 * time.Millisecond, ""},
		"asked to wait": {[]answer{say(503, "", "Retry-After: 7"), say(201, `{}`)}, 2, 7 * time.Second, ""},
		"until a date":  {[]answer{say(429, "", "Retry-After: Sat, 01 Jan 2000 00:00:09 GMT"), say(201, `{}`)}, 2, 9 * time.Second, ""},
		"in progress":   {[]answer{refuse(409, "idempotency_in_progress", true, "Retry-After: 1"), say(201, `{}`)}, 2, time.Second, ""},
		"for too long":  {[]answer{refuse(503, "no_slot", true, "Retry-After: 60")}, 1, 0, "no_slot"},
		"never":         {[]answer{broken, broken, broken, broken, refuse(503, "store_busy", true)}, 5, 750 * time.Millisecond, "store_busy"},
		"a refusal":     {[]answer{refuse(422, "schema_invalid", false)}, 1, 0, "schema_invalid"},
		"our fault":     {[]answer{refuse(500, "internal_error", false)}, 1, 0, "internal_error"},
		"elsewhere":     {[]answer{say(307, "", "Location: https://evil.example.org/")}, 1, 0, "-"},
		"not hux":       {[]answer{say(404, "<html>")}, 1, 0, "-"},
		"not trusted":   {[]answer{fail(&tls.CertificateVerificationError{Err: errors.New("x")})}, 1, 0, "-"},
		"no JSON":       {[]answer{say(201, `<html>`)}, 1, 0, "-"},
		"without end":   {[]answer{endless}, 1, 0, "-"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &wire{answers: c.answers}
				begun := time.Now()
				_, err := w.client(t).During("s1", "r1").OpenConversation(t.Context(), client.ConversationCreate{Title: new("x")})
				took := time.Since(begun)
				if len(w.asked) != c.tries || took < c.wait || took > 2*c.wait+time.Second/10 {
					t.Errorf("%d tries in %v: %v", len(w.asked), took, err)
				}
				switch {
				case c.code == "" && err != nil, c.code != "" && err == nil, len(c.code) > 1 && client.CodeOf(err) != c.code:
					t.Errorf("it ends with %v", err)
				case err != nil && strings.Contains(err.Error(), "secret"):
					t.Errorf("it shows the token: %v", err)
				}
				for _, a := range w.asked {
					h := a.header
					if a.method != "POST" || a.target != "/hux/v1/conversations" || a.body != `{"title":"x"}` || h.Get("Authorization") != "Bearer secret" ||
						h.Get("Content-Type") != "application/json" || h.Get("HUX-Session") != "s1" || h.Get("HUX-Run") != "r1" || h.Get("User-Agent") != "hux-client/1.1.0" ||
						h.Get("Idempotency-Key") == "" || h.Get("Idempotency-Key") != w.asked[0].header.Get("Idempotency-Key") {
						t.Errorf("asked %+v", a)
					}
				}
			})
		})
	}
}

func cutOff(r *http.Request) (*http.Response, error) {
	res, err := say(201, "")(r)
	res.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"id":`), broke{}))
	return res, err
}

type broke struct{}

func (broke) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func endless(r *http.Request) (*http.Response, error) {
	res, err := say(201, "")(r)
	res.Body = io.NopCloser(spaces{})
	return res, err
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// The caller's context ends the waiting, and is in the error; a deadline that
// the next try would miss ends it before.
func TestContextEndsTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		w := &wire{answers: []answer{say(503, "", "Retry-After: 9")}}
		if _, err := w.client(t).Capabilities(ctx); !errors.Is(err, context.Canceled) || len(w.asked) != 1 {
			t.Errorf("cancelled: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		w = &wire{answers: []answer{refuse(503, "store_busy", true, "Retry-After: 9")}}
		begun := time.Now()
		if _, err := w.client(t).Capabilities(ctx); client.CodeOf(err) != hux.StoreBusy || time.Since(begun) > 0 {
			t.Errorf("with a deadline: %v after %v", err, time.Since(begun))
		}
	})
}

// An error carries what the router says of it.
func TestError(t *testing.T) {
	w := &wire{answers: []answer{say(412, `{"schema":"hux.error.v1","status":412,"code":"precondition_failed","detail":"It was changed.","request_id":"r1",
		"retryable":false,"current_revision":4,"errors":[{"pointer":"/title","code":"maxLength","message":"Too long."}]}`, `ETag: "cnv_1:4"`)}}
	_, err := w.client(t).PatchConversation(t.Context(), &client.Conversation{ID: "cnv_1", Revision: 3}, client.ConversationPatch{ProjectID: client.Null[string]()})
	var e *client.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	var members struct {
		Revision int `json:"current_revision"`
	}
	if err := json.Unmarshal(e.Document, &members); err != nil || members.Revision != 4 {
		t.Errorf("%s", e.Document)
	}
	if e.Status != 412 || e.Code != hux.PreconditionFailed || e.Detail != "It was changed." || e.RequestID != "r1" || e.ETag != `"cnv_1:4"` || len(e.Errors) != 1 || e.Errors[0].Pointer != "/title" {
		t.Errorf("%+v", e)
	}
	if a := w.asked[0]; a.header.Get("If-Match") != `"cnv_1:3"` || a.body != `{"project_id":null}` || a.method != "PATCH" {
		t.Errorf("asked %+v", a)
	}
}

// A change is made anew for the record that somebody else changed.
func TestUpdate(t *testing.T) {
	record := func(revision int, title string) answer {
		return say(200, fmt.Sprintf(`{"id":"cnv_1","revision":%d,"title":%q}`, revision, title))
	}
	w := &wire{answers: []answer{record(1, "a"), refuse(412, "precondition_failed", false), record(2, "b"), record(3, "b!")}}
	got, err := w.client(t).UpdateConversation(t.Context(), "cnv_1", func(c *client.Conversation) (client.ConversationPatch, error) {
		return client.ConversationPatch{Title: new(c.Title + "!"), ProjectID: client.Set("prj_1"), Tags: []string{}}, nil
	})
	if err != nil || got.Revision != 3 {
		t.Fatal(got, err)
	}
	for i, want := range map[int][2]string{1: {`"cnv_1:1"`, `{"title":"a!","project_id":"prj_1","tags":[]}`}, 3: {`"cnv_1:2"`, `{"title":"b!","project_id":"prj_1","tags":[]}`}} {
		if a := w.asked[i]; a.header.Get("If-Match") != want[0] || a.body != want[1] {
			t.Errorf("request %d: %+v", i, a)
		}
	}
	if w.asked[1].header.Get("Idempotency-Key") == w.asked[3].header.Get("Idempotency-Key") {
		t.Error("two changes have one key")
	}
}

// A list is read as far as it is taken.
func TestList(t *testing.T) {
	pages := func() []answer {
		return []answer{say(200, `{"items":[{"id":"a"},{"id":"b"}],"next":"x y"}`), say(200, `{"items":[],"next":"z"}`), say(200, `{"items":[{"id":"c"}],"next":null}`)}
	}
	w := &wire{answers: pages()}
	all, err := client.Collect(w.client(t).Conversations(t.Context(), map[string][]string{"state": {"active"}}))
	if err != nil || len(all) != 3 || all[2].ID != "c" {
		t.Errorf("%v %v", all, err)
	}
	for i, want := range []string{"state=active", "cursor=x+y&state=active", "cursor=z&state=active"} {
		if w.asked[i].target != "/hux/v1/conversations?"+want {
			t.Errorf("page %d: %s", i, w.asked[i].target)
		}
	}
	w = &wire{answers: pages()}
	for range w.client(t).Events(t.Context(), "cnv_1", 4) {
		break
	}
	if len(w.asked) != 1 || w.asked[0].target != "/hux/v1/conversations/cnv_1/events?after_seq=4&limit=200" {
		t.Errorf("asked %+v", w.asked)
	}
	w = &wire{answers: []answer{pages()[0], refuse(400, "invalid_cursor", false)}}
	if all, err := client.Collect(w.client(t).Conversations(t.Context(), nil)); len(all) != 2 || client.CodeOf(err) != hux.InvalidCursor {
		t.Errorf("%v %v", all, err)
	}
}

func TestNew(t *testing.T) {
	for _, bad := range []string{"", "hux.example.org", "ftp://x", "https://", "https://x/?a=b", "://"} {
		if _, err := client.New(client.Options{BaseURL: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	w := &wire{}
	c, err := client.New(client.Options{BaseURL: "https://x", HTTPClient: &http.Client{Transport: w}, Token: func(context.Context) (string, error) { return "", errors.New("no token") }})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Capabilities(t.Context()); err == nil || len(w.asked) > 0 {
		t.Errorf("asked without a token: %v", err)
	}
}
