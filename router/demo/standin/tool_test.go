package standin_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"bstein.dev/hux/hux/client"
	"bstein.dev/hux/router/demo/standin"
)

// judge is a router that decides about tools as it is told to, and writes down
// what it is asked and told.
type judge struct {
	decide   func(client.DecisionCreate) string // effect and reason, or "error" and its code
	approval string                             // status and choice of every approval

	mu    sync.Mutex
	asked []client.DecisionCreate
	told  []string // kind and status of events
}

const hashOfAll = "sha256:00"

func (j *judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch path := strings.TrimPrefix(r.URL.Path, "/hux/v1"); path {
	case "/conversations":
		fmt.Fprint(w, `{"id":"cnv_1"}`)
	case "/conversations/cnv_1/events":
		var e client.EventCreate
		_ = json.NewDecoder(r.Body).Decode(&e)
		j.told = append(j.told, e.Kind+" "+*e.Status)
		w.WriteHeader(http.StatusCreated)
	case "/decisions":
		var q client.DecisionCreate
		_ = json.NewDecoder(r.Body).Decode(&q)
		j.asked = append(j.asked, q)
		effect, reason, _ := strings.Cut(j.decide(q), " ")
		if effect == "error" {
			w.WriteHeader(http.StatusConflict)
			fmt.Fprintf(w, `{"schema":"hux.error.v1","code":%q}`, reason)
			return
		}
		approval := "null"
		if effect == "ask" {
			approval = `"apr_1"`
		}
		fmt.Fprintf(w, `{"effect":%q,"reason":%q,"evidence_hash":%q,"approval_id":%s}`, effect, reason, hashOfAll, approval)
	case "/approvals/apr_1":
		status, choice, _ := strings.Cut(j.approval, " ")
		fmt.Fprintf(w, `{"status":%q,"decision":{"choice":%q},"request":{"evidence":[{"hash":%q}]}}`, status, choice, hashOfAll)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// plays sends a message and gives the answer and how often a tool ran.
func (j *judge) plays(t *testing.T, message, last string) (answer string, ran int) {
	t.Helper()
	api, err := client.New(client.Options{BaseURL: serve(t, j), Token: client.Static("secret"), Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := newWebUI(t, standin.Options{Router: api})
	session := g.newSession()
	for _, f := range g.stream("/api/chat/stream?stream_id=" + g.start(session, message)).until(last) {
		var d struct {
			Text    string `json:"text"`
			Refused bool   `json:"is_error"`
		}
		_ = json.Unmarshal([]byte(f.data), &d)
		switch {
		case f.event == "token":
			answer += d.Text
		case f.event == "tool_complete" && !d.Refused:
			ran++
		}
	}
	return answer, ran
}

// always is a router that says the same of every call.
func always(says string) func(client.DecisionCreate) string {
	return func(client.DecisionCreate) string { return says }
}

// A tool runs where the router says so or a person does, and nowhere else.
func TestAgentAsksBeforeItUsesATool(t *testing.T) {
	for name, c := range map[string]struct {
		says, approval, want string
		ran                  int
	}{
		"allowed by the level":    {"allow matrix", "", "I need not ask: your level says so.", 1},
		"granted":                 {"allow grant_allow", "", "you have granted it", 1},
		"forbidden":               {"deny grant_deny", "", "you have forbidden it", 0},
		"denied by the level":     {"deny matrix", "", "That is not allowed: your level says so.", 0},
		"asked, and allowed":      {"ask matrix", "approved once", "You allowed it: once.", 1},
		"asked, and denied":       {"ask deploy_always_asks", "denied deny", "You said no", 0},
		"asked, and expired":      {"ask matrix", "expired", "Nobody decided in time", 0},
		"out of budget":           {"ask budget_exhausted", "approved once", "The budget is spent, so I asked. You allowed it", 1},
		"nothing to wait on":      {"ask", "none", "Nobody decided in time", 0},
		"an effect there is not":  {"maybe", "", "not allowed", 0},
		"no answer":               {"error internal", "", "I could not ask you", 0},
		"a router without a card": {"error feature_disabled", "", "I try no other way.", 1},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judge{decide: always(c.says), approval: c.approval}
			answer, ran := j.plays(t, "delete it, which I deny", "stream_end")
			if ran != c.ran || !strings.Contains(answer, c.want) {
				t.Errorf("%d tools ran, want %d; the answer lacks %q: %s", ran, c.ran, c.want, answer)
			}
			if len(j.asked) != 1 || j.asked[0].Tool != "terminal" || j.asked[0].Args["command"] != "rm -r build/" || j.asked[0].ToolCallID == "" ||
				*j.asked[0].ConversationID != "cnv_1" || *j.asked[0].RunID == "" {
				t.Errorf("it asked %+v", j.asked)
			}
		})
	}
}

// A run that the router has stopped ends as a cancelled one, whichever way the
// agent hears of it.
func TestAgentHonoursAStop(t *testing.T) {
	for name, j := range map[string]*judge{
		"when it asks":            {decide: always("error run_ended")},
		"while it waits for them": {decide: always("ask matrix"), approval: "cancelled"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, ran := j.plays(t, "begin three things, and I stop you", "cancel"); ran > 0 {
				t.Errorf("%d tools ran", ran)
			}
			eventually(t, func() bool {
				j.mu.Lock()
				defer j.mu.Unlock()
				return len(j.told) > 0 && j.told[len(j.told)-1] == "run.finished cancelled"
			})
		})
	}
}

// What is under way at a stop is told as far as anybody knows.
func TestStopLeavesMixedEffects(t *testing.T) {
	steps := make(gate)
	j := &judge{decide: always("ask matrix"), approval: "approved once"}
	api, err := client.New(client.Options{BaseURL: serve(t, j), Token: client.Static("secret"), Tries: 1})
	if err != nil {
		t.Fatal(err)
	}
	g := newWebUI(t, standin.Options{Router: api, Wait: steps.wait})
	id := g.start(g.newSession(), "begin three things, and I stop you")
	begun := func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		started := slices.DeleteFunc(slices.Clone(j.told), func(e string) bool { return e != "tool.started started" })
		return len(started) == 3
	}
	eventually(t, func() bool {
		select {
		case steps <- struct{}{}:
		default:
		}
		return begun()
	})
	g.json(200, http.MethodGet, "/api/chat/cancel?stream_id="+id, nil)
	g.stream("/api/chat/stream?stream_id=" + id).until("cancel")
	want := []string{
		"message.committed completed", "run.started started", "tool.started started", "tool.finished completed", // the file
		"tool.started started", "tool.started started", "tool.finished cancelled", // the program; nothing of the page
		"message.committed completed", "run.finished cancelled",
	}
	eventually(t, func() bool {
		j.mu.Lock()
		defer j.mu.Unlock()
		return len(j.told) >= len(want)
	})
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.asked) != 3 || !slices.Equal(j.told, want) {
		t.Errorf("asked %d times, told %v, want %v", len(j.asked), j.told, want)
	}
}

var hint = regexp.MustCompile(`data-say="([^"]*)"><b>([^<]*)</b>`)

// Each message that the page suggests has the word of its own scene, and of no
// other.
func TestSuggestions(t *testing.T) {
	g := newWebUI(t, standin.Options{})
	hints := hint.FindAllStringSubmatch(g.body(g.do(http.MethodGet, "/", "")), -1)
	if len(hints) < 10 {
		t.Fatalf("the page suggests %v", hints)
	}
	for _, h := range hints {
		words := strings.FieldsFunc(strings.ToLower(html.UnescapeString(h[1])), func(r rune) bool { return r < 'a' || r > 'z' })
		for _, other := range hints[1:] { // the first is what all other messages play
			if word := other[2]; slices.Contains(words, word) != (word == h[2]) {
				t.Errorf("%q plays %s, and should play %s", h[1], word, h[2])
			}
		}
	}
}
