package autonomy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
)

// upstream stands for the WebUI: it counts the requests to stop a run, and answers
// when the test says so.
type upstream struct {
	asked, open int
	answer      chan error
	gaveUp      error
}

func (u *upstream) stop(ctx context.Context, _ string) error {
	u.asked++
	u.open++
	defer func() { u.open-- }()
	select {
	case err := <-u.answer:
		return err
	case <-ctx.Done():
		u.gaveUp = ctx.Err()
		return ctx.Err()
	}
}

// stopping is a rig with a run under way, and what runs it.
func stopping(t *testing.T) (r *rig, u *upstream, path string) {
	r, u = newRig(t), &upstream{answer: make(chan error)}
	r.stopped = u.stop
	r.event(r.id, "run.started", "started", "run", "{}")
	return r, u, "/conversations/{id}/runs/{run_id}/cancel id=" + r.id + " run_id=run"
}

// page is what alice's page posts.
func (r *rig) page(conversationID, kind, status, run, data string) answer {
	r.t.Helper()
	return r.do(r.human, "POST /conversations/{id}/events id="+conversationID,
		fmt.Sprintf(`{"kind":%q,"status":%q,"summary":"x","run_id":%q,"data":%s}`, kind, status, run, data))
}

func (r *rig) receiptOf(conversationID string) map[string]any {
	r.t.Helper()
	list, _ := r.do(r.human, "GET /receipts conversation_id="+conversationID, "").object["items"].([]any)
	if len(list) != 1 {
		r.t.Fatalf("%d receipts", len(list))
	}
	receipt, _ := list[0].(map[string]any)
	text, err := json.Marshal(receipt)
	if err != nil {
		r.t.Fatal(err)
	}
	r.valid("hux.receipt.v1", text)
	return receipt
}

func summaries(receipt map[string]any) (list []string) {
	effects, _ := receipt["side_effects"].([]any)
	for _, e := range effects {
		list = append(list, fmt.Sprint(e.(map[string]any)["summary"]))
	}
	return list
}

// What a page says of the end of a run ends no stop, before it as little as
// after.
func TestAPageEndsNoStop(t *testing.T) {
	for _, before := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r, u, path := stopping(t)
			if before {
				r.page(r.id, "run.finished", "completed", "run", "{}")
			}
			if a := r.do(r.human, "POST "+path, ""); a.status != http.StatusAccepted {
				t.Errorf("before is %v: %d %s", before, a.status, a.body)
			}
			r.page(r.id, "run.finished", "cancelled", "run", "{}")
			synctest.Wait()
			if a := r.do(r.human, "GET "+path, ""); a.text("state") != "stopping" || u.asked != 1 || u.open != 1 {
				t.Errorf("before is %v: %s, asked %d times, %d open", before, a.body, u.asked, u.open)
			}
			u.answer <- nil
			synctest.Wait()
			if a := r.do(r.human, "GET "+path, ""); a.text("state") != "stopped" {
				t.Errorf("before is %v, in the end: %s", before, a.body)
			}
		})
	}
}

// The agent's word after a page's counts: its end is one.
func TestTheAgentEndsARunAfterAPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, path := stopping(t)
		r.do(r.human, "POST "+path, "")
		r.page(r.id, "run.finished", "cancelled", "run", "{}")
		if a := r.event(r.id, "run.finished", "cancelled", "run", "{}"); a.status != http.StatusCreated || a.text("reported_by") != "page" {
			t.Errorf("%d %s", a.status, a.body)
		}
		if a := r.do(r.human, "GET "+path, ""); a.text("state") != "stopped" {
			t.Errorf("%s", a.body)
		}
	})
}

// An agent's receipt counts, and the stop goes on until what runs the run has
// answered.
func TestAnAgentsReceiptEndsNoStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u, path := stopping(t)
		r.do(r.human, "POST "+path, "")
		synctest.Wait()
		body := fmt.Sprintf(`{"kind":"cancellation","conversation_id":%q,"run_id":"run","outcome":"stopped","coverage":"full","side_effects":[]}`, r.id)
		first := r.do(r.agent, "POST /receipts", body)
		time.Sleep(time.Second)
		synctest.Wait()
		if first.status != http.StatusCreated || u.open != 1 || u.gaveUp != nil {
			t.Errorf("the receipt: %d; %d open, %v", first.status, u.open, u.gaveUp)
		}
		u.answer <- errors.New("it goes on")
		synctest.Wait()
		a := r.do(r.human, "POST "+path, "")
		synctest.Wait()
		if a.status != http.StatusOK || a.text("receipt_id") != first.text("id") || u.asked != 2 {
			t.Errorf("once more: %d %s, asked %d times", a.status, a.body, u.asked)
		}
		u.answer <- nil
		synctest.Wait()
		r.do(r.human, "POST "+path, "")
		time.Sleep(time.Minute)
		if u.asked != 2 || r.receiptOf(r.id)["id"] != first.text("id") {
			t.Errorf("asked %d times of a run that it has stopped", u.asked)
		}
	})
}

// A stop is asked for by one at a time, is asked for again after a restart, and
// when somebody presses again that has failed.
func TestAStopGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u, path := stopping(t)
		for range 3 {
			r.do(r.human, "POST "+path, "")
			synctest.Wait()
		}
		time.Sleep(12 * time.Second)
		if u.asked != 1 || u.open != 1 {
			t.Errorf("asked %d times, %d open", u.asked, u.open)
		}
		r.close()
		synctest.Wait()
		if u.open != 0 {
			t.Error("the router has ended, and somebody asks")
		}
		r.start()
		time.Sleep(6 * time.Second)
		synctest.Wait()
		if u.asked != 2 || u.open != 1 {
			t.Errorf("after a restart: asked %d times, %d open", u.asked, u.open)
		}
		u.answer <- errors.New("no")
		time.Sleep(time.Minute)
		if a := r.do(r.human, "GET "+path, ""); a.text("state") != "failed_to_stop" || u.asked != 2 {
			t.Errorf("%s, asked %d times", a.body, u.asked)
		}
		r.do(r.human, "POST "+path, "")
		synctest.Wait()
		if u.asked != 3 {
			t.Errorf("pressed again: asked %d times", u.asked)
		}
		u.answer <- nil
		synctest.Wait()
		if receipt := r.receiptOf(r.id); receipt["outcome"] != "failed_to_stop" {
			t.Errorf("the first receipt is now %v", receipt)
		}
	})
}

// Nothing that a run did is missing from its receipt because of who told of it
// first, or when its start was told.
func TestEffectsDoNotVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			tell    func(r *rig)
			outcome string
			want    []string
		}{
			"a late start": {func(r *rig) {
				r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`)
				r.event(r.id, "run.started", "started", "run", "{}")
			}, "stopped", []string{"terminal has ended"}},
			"a page says less": {func(r *rig) {
				r.page(r.id, "tool.finished", "completed", "run", `{"tool":"read_file","tool_call_id":"1"}`)
				r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`)
				r.event(r.id, "tool.finished", "completed", "run", `{"tool":"read_file","tool_call_id":"1"}`)
			}, "stopped", []string{"terminal has ended"}},
			"a page saw an end": {func(r *rig) {
				r.event(r.id, "tool.started", "started", "run", `{"tool":"terminal","tool_call_id":"1"}`)
				r.page(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`)
			}, "partially_stopped", []string{"terminal had begun; nobody saw it end"}},
			"a page alone": {func(r *rig) {
				r.page(r.id, "tool.started", "started", "run", `{"tool":"terminal","tool_call_id":"1"}`)
				r.page(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`)
			}, "partially_stopped", []string{"terminal has ended, as a page saw it"}},
			"what was blocked has done nothing": {func(r *rig) {
				r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`)
				r.event(r.id, "tool.started", "started", "run", `{"tool":"terminal","tool_call_id":"2"}`)
				r.event(r.id, "tool.finished", "failed", "run", `{"tool":"terminal","tool_call_id":"2","blocked":true}`)
			}, "stopped", []string{"terminal has ended"}},
			"a page says that it was blocked": {func(r *rig) {
				r.page(r.id, "tool.finished", "failed", "run", `{"tool":"terminal","tool_call_id":"1","blocked":true}`)
			}, "partially_stopped", []string{"terminal has ended, as a page saw it"}},
			"the agent names another run": {func(r *rig) {
				r.page(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`)
				r.event(r.id, "tool.finished", "completed", "other", `{"tool":"read_file","tool_call_id":"1"}`)
			}, "partially_stopped", []string{"terminal has ended, as a page saw it"}},
		} {
			r := newRig(t)
			r.event(r.id, "message.committed", "completed", "run", `{"message_id":"m"}`)
			c.tell(r)
			r.do(r.human, "POST /conversations/{id}/runs/{run_id}/cancel id="+r.id+" run_id=run", "")
			r.event(r.id, "run.finished", "cancelled", "run", "{}")
			receipt := r.receiptOf(r.id)
			if got := summaries(receipt); receipt["outcome"] != c.outcome || strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s: %v %q", name, receipt["outcome"], got)
			}
		}
	})
}

// The time of a call is spent once, whoever told of the call first, and however
// much it is said to be.
func TestTimeIsSpentOnce(t *testing.T) {
	r := newRig(t)
	r.do(r.human, "PUT /policy scope=conversation:"+r.id, `{"level":"autonomous","level_expires_at":null,"budgets":[{"kind":"seconds","limit":5,"window":"day"}]}`, "If-None-Match: *")
	spent := func() string {
		return fmt.Sprint(r.do(r.human, "GET /policy scope=conversation:"+r.id, "").object["budgets"].([]any)[0].(map[string]any)["spent"])
	}
	r.page(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1","duration_ms":9000}`)
	if spent() != "0" {
		t.Errorf("a page spends %s", spent())
	}
	for range 2 {
		r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1","duration_ms":3000}`)
	}
	if spent() != "3" {
		t.Errorf("three seconds are %s", spent())
	}
	r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"2","duration_ms":9007199254740991}`)
	if spent() != "86403" {
		t.Errorf("a call of ages makes them %s", spent())
	}
}

// A receipt names so many effects as it may, the gravest, and the log says how
// many there were.
func TestAReceiptHasItsBound(t *testing.T) {
	r := newRig(t)
	for i := range 250 {
		tool := "write_file"
		if i == 249 {
			tool = "terminal"
		}
		r.event(r.id, "tool.finished", "completed", "run", fmt.Sprintf(`{"tool":%q,"tool_call_id":"c%d"}`, tool, i))
	}
	r.do(r.human, "POST /conversations/{id}/runs/{run_id}/cancel id="+r.id+" run_id=run", "")
	r.event(r.id, "run.finished", "cancelled", "run", "{}")
	receipt := r.receiptOf(r.id)
	got := summaries(receipt)
	if len(got) != 200 || got[199] != "terminal has ended" || receipt["coverage"] != "partial" {
		t.Errorf("%d effects, the last is %s, coverage %v", len(got), got[len(got)-1], receipt["coverage"])
	}
	log := r.do(r.human, "GET /conversations/{id}/events id="+r.id+" after_seq=250", "")
	if !strings.Contains(string(log.body), "Stopped; 250 things were done") {
		t.Errorf("%s", log.body)
	}
}

// A run that has told of its end has no budget of its own any more: it asks
// nothing.
func TestARunDoesNotGoOnAfterItsEnd(t *testing.T) {
	r := newRig(t)
	r.do(r.human, "PUT /policy", `{"level":"autonomous","level_expires_at":null,"budgets":[{"kind":"tool_calls","limit":1,"window":"run"}]}`, "If-None-Match: *")
	r.ask(r.id, "run", "1", "terminal", shell)
	r.page(r.id, "run.finished", "completed", "run", "{}")
	if a := r.ask(r.id, "run", "2", "terminal", shell); a.decision() != "ask budget_exhausted" {
		t.Errorf("after the end that a page saw: %s", a.body)
	}
	r.event(r.id, "run.finished", "completed", "run", "{}")
	for _, call := range []string{"1", "3"} {
		a := r.do(r.agent, "POST /decisions", fmt.Sprintf(`{"conversation_id":%q,"run_id":"run","tool":"terminal","args":%s,"tool_call_id":%q}`, r.id, shell, call))
		if a.code != hux.RunEnded {
			t.Errorf("after its own, call %s: %d %s %s", call, a.status, a.code, a.body)
		}
	}
	if a := r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"1"}`); a.status != http.StatusCreated {
		t.Errorf("what it tells late: %d %s", a.status, a.code)
	}
}

// A turn that its hook named before its page did is stopped with the page's run,
// and the next turn is another.
func TestAStopIsOfTheTurnToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, u := newRig(t), &upstream{answer: make(chan error)}
		r.stopped = u.stop
		n := 0
		ask := func(turn string) answer {
			n++
			return r.do(r.agent, "POST /decisions", fmt.Sprintf(`{"session":{"system":"hermes_session","id":"s"},"turn_id":%q,"tool":"read_file","args":{"path":"a"},"tool_call_id":"c%d"}`, turn, n))
		}
		if a := ask("turn-1"); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.code)
		}
		id := r.do(r.human, "POST /conversations", `{"external_ref":{"system":"webui","id":"s"}}`).text("id")
		r.page(id, "run.started", "started", "stream", "{}")
		time.Sleep(time.Second)
		r.do(r.human, "POST /conversations/{id}/runs/{run_id}/cancel id="+id+" run_id=stream", "")
		r.page(id, "run.finished", "cancelled", "stream", "{}")
		for _, turn := range []string{"turn-1", "heard-of-late"} {
			if a := ask(turn); a.code != hux.RunEnded {
				t.Errorf("%s while it stops: %d %s", turn, a.status, a.body)
			}
		}
		synctest.Wait()
		u.answer <- nil
		synctest.Wait()
		time.Sleep(time.Second)
		for _, turn := range []string{"turn-1", "heard-of-late"} {
			if a := ask(turn); a.code != hux.RunEnded {
				t.Errorf("%s once it is stopped: %d %s", turn, a.status, a.body)
			}
		}
		if a := ask("turn-2"); a.status != http.StatusOK {
			t.Errorf("the next turn: %d %s", a.status, a.code)
		}
	})
}
