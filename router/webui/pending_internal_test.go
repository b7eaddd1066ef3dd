package webui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// says is a WebUI that answers everything with one text.
type says func() io.Reader

func (s says) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(s())}, nil
}

func pendingIn(t *testing.T, text string) *pending {
	t.Helper()
	p, err := newClient(says(func() io.Reader { return strings.NewReader(text) })).pending(context.Background(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPendingIsReadStrictly(t *testing.T) {
	for text, want := range map[string]*pending{
		`{"pending":null}`: nil,
		`{"pending":{"approval_id":"a","tool":"mcp_send","args":{"chat_id":1234567890123456789},"run_id":"r","_gateway_mirror_token":"t"}}`: {
			ID: "a", Tool: "mcp_send", Args: map[string]any{"chat_id": json.Number("1234567890123456789")}, RunID: "r", Token: "t",
		},
	} {
		if got := pendingIn(t, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v", text, got)
		}
	}
	big := strings.Repeat("x ", 4<<20)
	for what, text := range map[string]string{
		"a number out of bounds":   `{"pending":{"tool":"x","args":{"n":1e999},"approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"a name twice":             `{"pending":{"args":{"a":1,"a":2},"approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"half a pair":              `{"pending":{"command":"\ud800","approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"no text":                  `{"pending":{"command":["rm"],"approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"what is no JSON":          `{"pending":{"args":NaN,"approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"a large command":          `{"pending":{"approval_id":"a","run_id":"r","_gateway_mirror_token":"t","command":"` + big + `"}}`,
		"a large command before":   `{"pending":{"command":"\"approval_id\":\"b\" ` + big + `","approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"large arguments":          `{"pending":{"args":{"approval_id":"b","x":["` + big + `"]},"approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"a command over 64 KiB":    `{"pending":{"command":"` + big[:70<<10] + `","approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
		"more values than allowed": `{"pending":{"args":[` + strings.Repeat("1,", 5000) + `1],"approval_id":"a","run_id":"r","_gateway_mirror_token":"t"}}`,
	} {
		p := pendingIn(t, text)
		if p == nil || p.Unfit == "" || p.ID != "a" || p.RunID != "r" || p.Token != "t" || p.Command != "" || p.Args != nil {
			t.Errorf("%s: %.200s", what, fmt.Sprintf("%+v", p))
		}
	}
}

func TestSkimTakesAnyText(t *testing.T) {
	for _, text := range []string{"", `"`, `"\`, `{"pending":{"approval_id":`, strings.Repeat("[", 1<<16), `{"pending":{"":"approval_id","x":"y"}}`, `{"pending":["approval_id","x"]}`} {
		if p, err := skim(strings.NewReader(text)); err != nil || *p != (pending{}) {
			t.Errorf("%.40q: %+v", text, p)
		}
	}
}

// endless is a text without an end, of which it counts what was read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

func TestListIsReadWithinBounds(t *testing.T) {
	session := func(id string) string {
		return fmt.Sprintf(`{"session_id":%q,"title":"t","attention":{"kind":"approval"}}`, id)
	}
	many := make([]string, 3000)
	for i := range many {
		many[i] = session(fmt.Sprintf("s%d", i))
	}
	for what, c := range map[string]struct {
		text string
		ids  int
		err  bool
	}{
		"none":                {`{"sessions":[]}`, 0, false},
		"no list":             {`{}`, 0, false},
		"one that waits":      {`{"more":{"a":[1]},"sessions":[{"session_id":"a","attention":null},` + session("b") + `]}`, 1, false},
		"ids that are none":   {`{"sessions":[` + session("../../x") + "," + session("") + "," + session(strings.Repeat("a", 200)) + "," + session("b") + `]}`, 1, false},
		"many":                {`{"sessions":[` + strings.Join(many, ",") + `]}`, maxListed, false},
		"what is no list":     {`[]`, 0, true},
		"half of it":          {`{"sessions":[` + session("a") + `,{"sess`, 1, false},
		"a session too large": {`{"sessions":[` + session("a") + `,{"title":"` + strings.Repeat("x", 1<<20) + `"}]}`, 1, false},
	} {
		ids, err := newClient(says(func() io.Reader { return strings.NewReader(c.text) })).waiting(context.Background())
		if len(ids) != c.ids || (err != nil) != c.err {
			t.Errorf("%s: %d ids, %v", what, len(ids), err)
		}
	}
	rest := &endless{}
	ids, err := newClient(says(func() io.Reader { return io.MultiReader(strings.NewReader(`{"x":"`), rest) })).waiting(context.Background())
	if ids != nil || err == nil || rest.read > 4*maxMember {
		t.Errorf("%d bytes were read of a list without an end: %v %v", rest.read, ids, err)
	}
	var answer any
	if err := newClient(says(func() io.Reader { return &endless{} })).do(context.Background(), http.MethodGet, "/x", nil, nil, &answer); err == nil {
		t.Error("an answer without an end is read")
	}
}

// What was not read to its end has an id that nobody knows, and not none.
func TestSkimOfACutAnswer(t *testing.T) {
	cut := io.MultiReader(strings.NewReader(`{"pending":{"command":"x`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if p, err := skim(cut); err == nil {
		t.Errorf("it is read as %+v", p)
	}
}
