package blackbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// stubborn is a WebUI that waits for one approval in each of its sessions.
type stubborn struct {
	mu      sync.Mutex
	pending map[string]string // what is asked, by session
	answers map[string]int    // given, by session
	refuse  map[string]func(n int, w http.ResponseWriter)
}

func (s *stubborn) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path == "/api/sessions/events" {
		changing(w, r)
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch session := r.URL.Query().Get("session_id"); r.URL.Path {
	case "/api/sessions":
		var list []object
		for id := range s.pending {
			list = append(list, object{"session_id": id, "attention": object{"kind": "approval"}})
		}
		_ = json.NewEncoder(w).Encode(object{"sessions": list})
	case "/api/approval/pending":
		_, _ = io.WriteString(w, `{"pending":`+s.pending[session]+`}`)
	case "/api/session/status":
		_, _ = io.WriteString(w, `{"active_stream_id":null}`)
	case "/api/approval/respond":
		var a answered
		_ = json.NewDecoder(r.Body).Decode(&a)
		s.answers[a.Session]++
		if refuse := s.refuse[a.Session]; refuse != nil {
			refuse(s.answers[a.Session], w)
			break
		}
		s.pending[a.Session] = "null"
		_, _ = io.WriteString(w, `{"ok":true}`)
	default:
		return false
	}
	return true
}

// asks has sessions ask from now on.
func (s *stubborn) asks(pending map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = pending
}

func (s *stubborn) given(session string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answers[session]
}

// An approval that the WebUI gives no id is told of, once; an answer that it
// never takes is given a few times, and then its person is told; and neither
// holds up what waits beside it.
func TestWebUIApprovalsThatCanNotBeAnswered(t *testing.T) {
	t.Parallel()
	u := newSlotUI(t)
	ask := func(id string) string {
		return fmt.Sprintf(`{"approval_id":%q,"tool":"x","command":"rm -rf %s","description":"recursive delete"}`, id, id)
	}
	never := func(n int, w http.ResponseWriter) {
		switch n {
		case 1:
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, `{"ok":false,"code":"gateway_run_unavailable"}`)
		case 2:
			_, _ = io.WriteString(w, `{"ok":true,"stale_cleared":true}`)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
	accepts := func(_ int, w http.ResponseWriter) { _, _ = io.WriteString(w, `{"ok":true}`) }
	s := &stubborn{
		pending: map[string]string{},
		answers: map[string]int{}, refuse: map[string]func(int, http.ResponseWriter){"unnamed": never, "refused": never, "stays": accepts},
	}
	u.intercept(s.serve)
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	alice.here(t) // before they are asked: what nobody is there to decide expires at once
	s.asks(map[string]string{"unnamed": ask(""), "refused": ask("ap-refused"), "stays": ask("ap-stays"), "good": ask("ap-good")})
	var open []object
	eventually(t, 30*time.Second, "three are asked", func() bool {
		open = alice.approvals(t, "pending")
		return len(open) == 3
	})
	for _, a := range open {
		alice.decides(t, idOf(a), "once").want(t, http.StatusOK, "")
	}
	eventually(t, 20*time.Second, "the good one is answered", func() bool { return s.given("good") == 1 })
	told := func(session string) (texts []string) {
		for _, e := range alice.list(t, "/conversations/"+alice.conversationOf(t, session)+"/events?limit=200").Items {
			if e["kind"] == "approval.resolved" {
				texts = append(texts, e["summary"].(string))
			}
		}
		return texts
	}
	const nobody, untaken = "Not allowed, since nobody can be asked: the WebUI gives it no id", "The answer was not taken, it may have come too late: terminal"
	eventually(t, time.Minute, "what became of them is told", func() bool {
		return len(told("unnamed")) == 1 && len(told("refused")) == 2 && len(told("stays")) == 2 && s.given("unnamed") == 6
	})
	check := func() {
		t.Helper()
		for session, want := range map[string]string{"unnamed": nobody, "refused": "Allowed (once): terminal|" + untaken, "stays": "Allowed (once): terminal|" + untaken, "good": "Allowed (once): terminal"} {
			if got := strings.Join(told(session), "|"); got != want {
				t.Errorf("of %s is told %q", session, got)
			}
		}
		for session, most := range map[string]int{"unnamed": 6, "refused": 6, "stays": 6, "good": 1} {
			if n := s.given(session); n != most {
				t.Errorf("%s was answered %d times", session, n)
			}
		}
	}
	check()
	// What comes next in the same session is asked, also after a restart.
	h.crash(t)
	h.relaunch(t)
	alice = h.person(t, "h1", "alice")
	alice.here(t)
	s.mu.Lock()
	s.pending["refused"], s.refuse["refused"] = ask("ap-next"), nil
	s.mu.Unlock()
	eventually(t, 30*time.Second, "the next one is asked", func() bool { return len(alice.approvals(t, "pending")) == 1 })
	alice.decides(t, idOf(alice.approvals(t, "pending")[0]), "deny").want(t, http.StatusOK, "")
	eventually(t, 20*time.Second, "it is answered", func() bool { return s.given("refused") == 7 })
	if n := s.given("stays") + s.given("unnamed"); n != 12 {
		t.Errorf("what was given up is answered again: %d", n)
	}
}
