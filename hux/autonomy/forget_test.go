package autonomy_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store/storetest"
)

const sentinel = "xyzzy-sentinel"

// live fills a conversation with all that this card and the log keep of one.
func (r *rig) live(id string) {
	r.t.Helper()
	scope := "conversation:" + id
	r.do(r.human, "PUT /policy scope="+scope, `{"level":"ask_first","budgets":[{"kind":"tool_calls","limit":9,"window":"day"},{"kind":"tool_calls","limit":9,"window":"run"}]}`, `If-Match: "`+scope+`:0"`)
	run := "run-" + id[len(id)-4:]
	for n := range 700 { // more than one transaction takes
		r.event(id, "tool.started", "started", run, fmt.Sprintf(`{"tool":"read_file","tool_call_id":"%s-%d","note":%q}`, run, n, sentinel))
	}
	r.page(id, "tool.finished", "completed", run, `{"tool":"read_file","tool_call_id":"page"}`)
	r.event(id, "tool.finished", "completed", run, `{"tool":"read_file","tool_call_id":"page","duration_ms":5}`)
	r.ask(id, run, "read", "read_file", `{"path":"`+sentinel+`"}`)
	for n, choice := range []string{"once", "deny", ""} {
		a := r.ask(id, run, fmt.Sprint("write", n), "write_file", fmt.Sprintf(`{"path":"%s-%d"}`, sentinel, n)).text("approval_id")
		if choice != "" {
			r.choose(a, choice)
		}
	}
	r.do(r.human, "POST /grants", `{"capability":"write","effect":"deny","duration":"always","match":{"tool":"write_file"},"scope":{"conversation_id":"`+id+`"}}`)
	r.do(r.human, "POST /conversations/{id}/runs/{run_id}/cancel id="+id+" run_id="+run, "")
}

// rows counts the rows of each bucket of the tenant's file, and those in which
// the sentinel stands.
func (r *rig) rows() (counts map[string]int, planted int) {
	r.t.Helper()
	r.close()
	counts = map[string]int{}
	storetest.Rows(r.t, filepath.Join(r.dir, string(tenant), "tenant.db"), func(bucket, key string, value []byte) {
		counts[bucket]++
		if strings.Contains(key, sentinel) || bytes.Contains(value, []byte(sentinel)) {
			planted++
		}
	})
	r.start()
	return counts, planted
}

// A tenant whose conversation was forgotten keeps as many rows as one that never
// had it, but for the stub and what that is found by, the tombstones, the note
// that it was forgotten, and keys that say that what they made is gone.
func TestAForgottenConversationLeavesNothing(t *testing.T) {
	kept := func(t *testing.T, forget bool) (counts map[string]int, planted int) {
		r := newRig(t)
		r.stopped = func(context.Context, string) error { return nil }
		if forget {
			gone := r.ofWebUI("s")
			r.live(gone)
			approvals := r.do(r.human, "GET /approvals limit=1 conversation_id="+gone, "").object["items"].([]any)
			if _, err := r.service.Take(t.Context(), r.human.DB, alice, autonomy.Foreign{
				Session: conversation.Ref{System: "webui", ID: "s"}, ID: "f", Tool: "terminal", Args: map[string]any{"command": "ls"},
			}); err != nil {
				t.Fatal(err)
			}
			var err error
			if e := r.frame.Change(t.Context(), r.human, record.Plan{Due: time.Now()}, func(ch *record.Change) error {
				_, err = r.convs.Forget(ch, gone)
				return err
			}); e != nil {
				t.Fatal(e)
			}
			id := approvals[0].(map[string]any)["id"].(string)
			if a := r.approval(id); a.code != hux.Gone && a.code != hux.NotFound {
				t.Errorf("an approval of it: %d %s", a.status, a.code)
			}
			if a := r.event(gone, "tool.started", "started", "r", "{}"); a.code != hux.ConversationForgotten {
				t.Errorf("an event of it: %d %s", a.status, a.code)
			}
			if a := r.do(r.human, "GET /approvals conversation_id="+gone, ""); len(a.object["items"].([]any)) != 0 {
				t.Errorf("a list of its approvals: %s", a.body)
			}
			for tries := 0; !r.forgotten(gone); tries++ {
				if tries > 20 {
					t.Fatal("it is not forgotten")
				}
				r.restart() // in the middle of it
				<-time.After(time.Minute)
			}
		}
		r.live(r.id)
		<-time.After(time.Minute) // what is judged later is judged
		return r.rows()
	}
	var never, after map[string]int
	var before, now int
	synctest.Test(t, func(t *testing.T) { never, before = kept(t, false) })
	synctest.Test(t, func(t *testing.T) { after, now = kept(t, true) })
	more := map[string]int{"hux.conversation.v1": 1, "index hux.conversation.v1": 2, "forgettings": 1}
	for bucket, n := range after {
		switch extra := n - never[bucket]; bucket {
		case "events", "idempotency": // tombstones and blanked keys
			if extra < 700 {
				t.Errorf("%s: %d more rows", bucket, extra)
			}
		default:
			if extra != more[bucket] {
				t.Errorf("%s: %d more rows, want %d", bucket, extra, more[bucket])
			}
		}
	}
	if before == 0 || now != before {
		t.Errorf("the sentinel stands in %d rows, was in %d", now, before)
	}
}

// forgotten reports whether the last event of a conversation is a tombstone, which
// it becomes last of all.
func (r *rig) forgotten(id string) bool {
	r.t.Helper()
	head := r.do(r.human, "GET /conversations/{id}/events id="+id+" limit=1", "").object["head_seq"].(float64)
	last := r.do(r.human, fmt.Sprintf("GET /conversations/{id}/events id=%s after_seq=%.0f", id, head-1), "").object["items"].([]any)[0]
	return last.(map[string]any)["tombstone"] != nil
}
