package conformance_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// mark begins what the suite writes, so that it can be told from the rest.
const mark = "conformance"

// run tells this run's keys and foreign ids from those of others.
var run = strings.ToLower(rand.Text()[:10])

var client = &http.Client{
	Timeout:       30 * time.Second,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
	what   string // the request, for messages
}

// object is a JSON object.
type object = map[string]any

// request sends one request. Each header is a line, "Name: value".
func request(ctx context.Context, method, url, token, body string, header []string) (*answer, error) {
	a := &answer{what: method + " " + strings.TrimPrefix(url, *baseURL)}
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, in)
	if err != nil {
		return a, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	replaced := map[string]bool{}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		if name = http.CanonicalHeaderKey(name); !replaced[name] {
			req.Header.Del(name)
			replaced[name] = true
		}
		if value != "none" {
			req.Header.Add(name, value)
		}
	}
	res, err := client.Do(req)
	if err != nil {
		return a, err
	}
	defer func() { _ = res.Body.Close() }()
	a.status, a.header = res.StatusCode, res.Header
	a.body, err = io.ReadAll(res.Body)
	return a, err
}

// caller is somebody with a credential.
type caller struct{ kind, token string }

// The callers that the command line names; the token is "" where it names none.
func human() caller  { return caller{"human", *token} }
func agent() caller  { return caller{"agent", *agentToken} }
func other() caller  { return caller{"human", *otherToken} }
func worker() caller { return caller{"worker", *workerToken} }

var sent counter

// newKey is a header line with an idempotency key that was never used.
func newKey() string { return "Idempotency-Key: " + unique() }

// unique is an id that no other part of this run, and no other run, has.
func unique() string { return mark + "-" + run + "-" + strconv.FormatInt(sent.next(), 10) }

// call sends a request below /hux/v1 and holds the answer against all that the
// contract says of every answer. path is a template such as
// /conversations/{id}, whose variables values fills in; a query may follow.
func (c caller) call(t testing.TB, method, path, body string, values []string, header ...string) *answer {
	t.Helper()
	template, query, _ := strings.Cut(path, "?")
	at := fill(template, values)
	if query != "" {
		at += "?" + query
	}
	a, err := request(t.Context(), method, *baseURL+prefix+at, c.token, body, header)
	if err != nil {
		t.Fatalf("%s: %v", a.what, err)
	}
	a.holds(t, method, template)
	return a
}

var variable = regexp.MustCompile(`\{[a-z_]+\}`)

// fill puts values into the variables of a path, in order.
func fill(template string, values []string) string {
	i := -1
	return variable.ReplaceAllStringFunc(template, func(string) string { i++; return values[i] })
}

// holds checks what is true of every answer.
func (a *answer) holds(t testing.TB, method, template string) {
	t.Helper()
	if got := a.header.Get("HUX-Contract"); got != "1.1.0" {
		t.Errorf("%s: HUX-Contract is %q, want 1.1.0 on every answer (contracts 2.1)", a.what, got)
	}
	if id := a.header.Get("HUX-Request-Id"); !visible.MatchString(id) {
		t.Errorf("%s: HUX-Request-Id is %q, want 1 to 64 visible ASCII characters (contracts 2.1)", a.what, id)
	}
	if method == http.MethodHead || a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		if len(a.body) > 0 {
			t.Errorf("%s: %d has a body", a.what, a.status)
		}
		return
	}
	if a.status >= 400 {
		a.problem(t)
		return
	}
	for _, o := range server.operations {
		if o.method == method && o.path == template {
			a.success(t, o)
		}
	}
}

var visible = regexp.MustCompile(`^[!-~]{1,64}$`)

// success holds a good answer against its operation.
func (a *answer) success(t testing.TB, o *operation) {
	t.Helper()
	if !slices.Contains(o.statuses, strconv.Itoa(a.status)) {
		t.Errorf("%s: status %d, but the OpenAPI document has only %v", a.what, a.status, o.statuses)
	}
	if o.record == "" || o.stream {
		return
	}
	if ct := a.header.Get("Content-Type"); ct != "application/json" && !strings.HasPrefix(ct, "application/json;") {
		t.Errorf("%s: Content-Type %q, want application/json", a.what, ct)
	}
	if !o.page {
		if err := validate(o.record, a.body); err != nil {
			t.Errorf("%s: the answer is no %s: %v\n%.600s", a.what, o.record, err, a.body)
		}
		a.tagged(t, o)
		return
	}
	var page struct {
		Items []json.RawMessage
		Next  *json.RawMessage
	}
	if err := json.Unmarshal(a.body, &page); err != nil || page.Items == nil || !bytes.Contains(a.body, []byte(`"next"`)) {
		t.Errorf("%s: not {items, next}: %v: %.300s (contracts 2.4)", a.what, err, a.body)
	}
	for _, item := range page.Items {
		if err := validate(o.record, item); err != nil {
			t.Errorf("%s: an item is no %s: %v\n%.600s", a.what, o.record, err, item)
		}
	}
}

// tagged checks the ETag of a record that has revisions.
func (a *answer) tagged(t testing.TB, o *operation) {
	t.Helper()
	if cache := a.header.Get("Cache-Control"); server.mutable(o.record) && cache != "no-store, no-transform" {
		t.Errorf("%s: Cache-Control is %q, want no-store, no-transform (contracts 2.2)", a.what, cache)
	}
	record := a.object(t)
	id, _ := record["id"].(string)
	if revision, ok := record["revision"].(float64); ok && id != "" && server.mutable(o.record) {
		want := fmt.Sprintf(`"%s:%d"`, id, int(revision))
		if scope, ok := record["scope"].(string); ok && revision == 0 { // nobody has set it, so it has no id to name
			want = `"` + scope + `:0"`
		}
		if a.header.Get("ETag") != want {
			t.Errorf("%s: ETag is %s, want %s (contracts 2.2)", a.what, a.header.Get("ETag"), want)
		}
	}
}

// validate holds JSON against a schema that the server gave.
func validate(name string, text []byte) error {
	schema := server.schemas[name]
	if schema == nil {
		return fmt.Errorf("the server gave no schema %s", name)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// want fails the test unless the answer has a status and, of a refusal, a code.
func (a *answer) want(t testing.TB, why string, status int, code string) {
	t.Helper()
	if a.status != status || code != "" && a.code() != code {
		t.Errorf("%s (%s): %d %s, want %d %s\n%.600s", a.what, why, a.status, a.code(), status, code, a.body)
	}
}

func (a *answer) code() string {
	var problem struct{ Code string }
	_ = json.Unmarshal(a.body, &problem) // holds has looked at it
	return problem.Code
}

func (a *answer) object(t testing.TB) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(a.body, &o); err != nil {
		t.Errorf("%s: %v: %.300s", a.what, err, a.body)
	}
	return o
}

// text is a string member of the answer's object.
func (a *answer) text(t testing.TB, member string) string {
	t.Helper()
	s, _ := a.object(t)[member].(string)
	return s
}

// replayed reports whether the answer says that an earlier request did it.
func (a *answer) replayed() bool { return a.header.Get("Idempotency-Replayed") == "true" }

// apart is the body without what is different each time.
func (a *answer) apart() string { return requestID.ReplaceAllString(string(a.body), "") }

var requestID = regexp.MustCompile(`"request_id":\s*"[^"]*"`)

// encoded is v as JSON.
func encoded(v any) string {
	text, _ := json.Marshal(v) // of values that came from JSON
	return string(text)
}
