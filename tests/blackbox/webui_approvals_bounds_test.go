package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hostile has the WebUI say what it likes of the sessions that wait and of what
// one waits for.
func (u *slotUI) hostile(sessions []string, pending func(session string) string) (answers *sync.Map, n *atomic.Int64) {
	answers, n = &sync.Map{}, &atomic.Int64{}
	var list []object
	for _, id := range sessions {
		list = append(list, object{"session_id": id, "attention": object{"kind": "approval"}})
	}
	listed, err := json.Marshal(object{"sessions": list})
	if err != nil {
		u.t.Fatal(err)
	}
	u.intercept(func(w http.ResponseWriter, r *http.Request) bool {
		switch r.URL.Path {
		case "/api/sessions":
			_, _ = w.Write(listed)
		case "/api/approval/pending":
			_, _ = io.WriteString(w, pending(r.URL.Query().Get("session_id")))
		case "/api/session/status":
			_, _ = io.WriteString(w, `{"active_stream_id":null}`)
		case "/api/approval/respond":
			var a answered
			body, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(body, &a)
			answers.Store(a.Session+" "+a.Approval, a.Choice)
			n.Add(1)
			_, _ = io.WriteString(w, `{"ok":true}`)
		case "/api/sessions/events":
			changing(w, r)
		default:
			return false
		}
		return true
	})
	return answers, n
}

// changing says again and again that the list of sessions has changed.
func changing(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, "data: x\n\n"); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// peak is the most memory that a process has had so far, in bytes. What its
// parent had, which the usage of a child counts too, is no part of it.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(kb)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the kernel does not say")
	return 0
}

// What no person can be asked about is denied, told once, and takes no memory.
func TestWebUIApprovalsThatAreHuge(t *testing.T) {
	const most = 300 << 20
	u := newSlotUI(t)
	big := bytes.Repeat([]byte("x "), 4<<20)
	var ids []string
	for i := range 16 {
		ids = append(ids, fmt.Sprintf("session%d", i))
	}
	ids = append(ids, strings.Repeat("<b>long\n", 1000), "../../x")
	answers := &sync.Map{}
	done := func(session string) bool { _, ok := answers.Load(session + " of-" + session); return ok }
	heard, n := u.hostile(ids, func(session string) string {
		if done(session) {
			return `{"pending":null}`
		}
		return fmt.Sprintf(`{"pending":{"tool":"x","command":"rm %s","approval_id":"of-%s"}}`, big, session)
	})
	answers = heard
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	alice.here(t)
	eventually(t, time.Minute, "all are denied", func() bool { return n.Load() >= 16 })
	for i := range 16 {
		if choice, _ := answers.Load(fmt.Sprintf("session%d of-session%[1]d", i)); choice != "deny" {
			t.Errorf("session %d was answered %v", i, choice)
		}
	}
	if all := alice.list(t, "/approvals?limit=200").Items; len(all) != 0 {
		t.Errorf("%d approvals", len(all))
	}
	told := 0
	for _, e := range alice.list(t, "/conversations/"+alice.conversationOf(t, "session3")+"/events").Items {
		if summary, _ := e["summary"].(string); e["kind"] == "approval.resolved" && strings.Contains(summary, "too large") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("it is told %d times", told)
	}
	if peak := peak(t, h.cmd.Process.Pid); peak > most {
		t.Errorf("the router took %d MiB", peak>>20)
	}
}

// A WebUI that asks something new each time it is asked is heard now and then.
func TestWebUIApprovalsThatFlap(t *testing.T) {
	u := newSlotUI(t)
	var ids []string
	for i := range 80 {
		ids = append(ids, fmt.Sprintf("session%d", i))
	}
	var asked atomic.Int64
	began := make(chan struct{})
	u.hostile(ids, func(string) string {
		n := asked.Add(1)
		if n == 1 {
			close(began)
		}
		return fmt.Sprintf(`{"pending":{"approval_id":"ap%d","tool":"x","command":"rm %[1]d"}}`, n)
	})
	h := u.start(t, "all", "alice")
	alice := h.person(t, "h1", "alice")
	<-began
	start := time.Now()
	<-time.After(3 * time.Second)
	made := len(alice.list(t, "/approvals?limit=200").Items)
	if most := 20 + int(5*time.Since(start).Seconds()) + 1; made == 0 || made > most {
		t.Errorf("%d approvals were made, %d may have been", made, most)
	}
	if n := asked.Load(); n > 500 {
		t.Errorf("the WebUI was asked %d times", n)
	}
}

// Sessions beyond those that are seen to at a time come next.
func TestWebUISessionsAreQueued(t *testing.T) {
	u := newSlotUI(t)
	var ids []string
	for i := range 70 {
		ids = append(ids, fmt.Sprintf("session%d", i))
	}
	answers := &sync.Map{}
	heard, n := u.hostile(ids, func(session string) string {
		if _, done := answers.Load(session + " of-" + session); done {
			return `{"pending":null}`
		}
		return fmt.Sprintf(`{"pending":{"approval_id":"of-%s","tool":"read_file","args":{"path":"a"}}}`, session)
	})
	answers = heard
	h := u.start(t, "all", "alice")
	h.person(t, "h1", "alice").here(t)
	eventually(t, 40*time.Second, "each session has an answer", func() bool { return n.Load() >= 70 })
	for _, id := range ids {
		if choice, _ := answers.Load(id + " of-" + id); choice != "once" {
			t.Errorf("%s was answered %v", id, choice)
		}
	}
}
