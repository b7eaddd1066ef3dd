package autonomy_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

// What was told and asked of a call, in any order, and what comes of it.
func TestACallThatWentRoundTheHook(t *testing.T) {
	type step = func(r *rig)
	const id = "call_0123456789abcdef"
	told := func(kind, status, data string) step {
		return func(r *rig) {
			r.event(r.id, kind, status, "run", fmt.Sprintf(`{"tool":"terminal","tool_call_id":%q%s}`, id, data))
		}
	}
	begun, ended, failed := told("tool.started", "started", ""), told("tool.finished", "completed", ""), told("tool.finished", "failed", "")
	blocked, cancelled := told("tool.finished", "failed", `,"blocked":true`), told("tool.finished", "cancelled", "")
	asked := func(tool string) step { return func(r *rig) { r.ask(r.id, "run", id, tool, shell) } }
	chosen := func(choice string) step {
		return func(r *rig) { r.choose(r.ask(r.id, "run", id, "terminal", shell).text("approval_id"), choice) }
	}
	paged := func(tool, call string) step {
		return func(r *rig) {
			r.page(r.id, "tool.started", "started", "page-run", fmt.Sprintf(`{"tool":%q,"tool_call_id":%q}`, tool, call))
			r.page(r.id, "tool.finished", "completed", "page-run", fmt.Sprintf(`{"tool":%q,"tool_call_id":%q}`, tool, call))
		}
	}
	onPage := func(data string) step {
		return func(r *rig) {
			r.page(r.id, "tool.finished", "completed", "run", fmt.Sprintf(`{"tool":"terminal","tool_call_id":%q%s}`, id, data))
		}
	}
	unnamed := func(r *rig) {
		r.event(r.id, "tool.finished", "completed", "run", `{"tool":"terminal"}`)
	}
	later := func(d time.Duration) step { return func(*rig) { time.Sleep(d) } }
	finished := func(r *rig) { r.event(r.id, "run.finished", "completed", "run", "{}") }
	for name, c := range map[string]struct {
		steps []step
		want  string // alarm, alarm and stop, or ""
	}{
		"ended, never asked":                {[]step{ended}, "stop"},
		"begun, never asked":                {[]step{begun}, "stop"},
		"failed, never asked":               {[]step{failed}, "stop"},
		"cancelled, never asked":            {[]step{cancelled}, ""},
		"blocked, never asked":              {[]step{begun, blocked}, ""},
		"blocked late":                      {[]step{begun, later(4 * time.Second), blocked}, ""},
		"told first, allowed then":          {[]step{begun, later(4 * time.Second), chosen("once"), ended}, ""},
		"told first, never asked":           {[]step{begun, later(6 * time.Second), ended}, "stop"},
		"allowed":                           {[]step{chosen("once"), begun, ended}, ""},
		"allowed long ago":                  {[]step{chosen("once"), later(time.Hour), begun, ended}, ""},
		"allowed, told after the run's end": {[]step{chosen("once"), begun, finished, later(time.Hour), ended}, ""},
		"told, and the run's end":           {[]step{ended, finished}, "alarm"},
		"denied, and told as begun":         {[]step{begun, chosen("deny")}, ""},
		"denied and blocked":                {[]step{begun, chosen("deny"), blocked}, ""},
		"denied, and run badly":             {[]step{begun, chosen("deny"), failed}, "stop"},
		"denied, and run":                   {[]step{begun, chosen("deny"), ended}, "stop"},
		"asked, and run":                    {[]step{asked("terminal"), ended}, "stop"},
		"asked, and waiting":                {[]step{asked("terminal"), begun, later(time.Minute)}, ""},
		"asked about another tool":          {[]step{func(r *rig) { r.ask(r.id, "run", id, "read_file", write) }, ended}, "stop"},
		"allowed in another run":            {[]step{func(r *rig) { r.ask(r.id, "other", id, "read_file", write) }, ended}, "stop"},
		"a page's, asked about":             {[]step{asked("terminal"), paged("terminal", id)}, ""},
		"a page's, under a name of its own": {[]step{asked("terminal"), paged("terminal", "page-run.terminal.1")}, ""},
		"a page's, one more":                {[]step{asked("terminal"), paged("terminal", "page-run.terminal.1"), paged("terminal", "page-run.terminal.2")}, "alarm"},
		"a page's, of another tool":         {[]step{asked("terminal"), paged("write_file", "page-run.write_file.1")}, "alarm"},
		"a page's, then the agent's": {[]step{func(r *rig) {
			r.page(r.id, "tool.started", "started", "run", `{"tool":"terminal","tool_call_id":"page.1"}`)
		}, later(12 * time.Second), ended}, "stop"},
		"ended, and a page says blocked":    {[]step{onPage(`,"blocked":true`), ended}, "stop"},
		"a page says blocked, then ended":   {[]step{ended, onPage(`,"blocked":true`)}, "stop"},
		"begun and denied, ended by a page": {[]step{begun, chosen("deny"), onPage("")}, ""},
		"unnamed, asked about":              {[]step{asked("terminal"), unnamed}, ""},
		"unnamed, one more":                 {[]step{asked("terminal"), unnamed, unnamed}, "stop"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				u := &upstream{answer: make(chan error)}
				r.stopped = u.stop
				r.ask(r.open("elsewhere"), "elsewhere", "c0", "read_file", write) // its hook is at work
				for _, step := range c.steps {
					step(r)
				}
				time.Sleep(6 * time.Second)
				synctest.Wait()
				log := r.events(r.id)
				alarms, stops := count(log, "policy.bypassed failed"), count(log, "run.cancel_requested started")
				want := map[string][3]int{"": {}, "alarm": {1, 0, 0}, "stop": {1, 1, 1}}[c.want]
				if got := [3]int{alarms, stops, u.asked}; got != want {
					t.Errorf("alarms, stops, asked to stop: %v, want %v\n%s", got, want, strings.Join(log, "\n"))
				}
				if c.want == "stop" {
					if a := r.do(r.agent, "POST /decisions", fmt.Sprintf(`{"conversation_id":%q,"run_id":"run","tool":"read_file","args":{},"tool_call_id":"next"}`, r.id)); a.code != hux.RunEnded {
						t.Errorf("the run goes on: %d %s", a.status, a.body)
					}
					u.answer <- nil
					synctest.Wait()
				}
			})
		})
	}
}

func count(list []string, line string) (n int) {
	for _, l := range list {
		if l == line {
			n++
		}
	}
	return n
}

// An alarm comes once a run, over a restart too, and stops nothing where it is
// not to, or the agent has no hook.
func TestOneAlarmARun(t *testing.T) {
	for name, c := range map[string]struct {
		hooked, alarmsOnly, restart bool
		stops                       int
	}{
		"with a hook": {hooked: true, stops: 2}, "over a restart": {hooked: true, restart: true, stops: 2},
		"alarms only": {hooked: true, alarmsOnly: true}, "without a hook": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.stopped = func(context.Context, string) error { return nil }
				r.alarmsOnly = c.alarmsOnly
				r.restart()
				if c.hooked {
					r.ask(r.open("elsewhere"), "elsewhere", "c0", "read_file", write)
					time.Sleep(23 * time.Hour)
					r.there()
				}
				for _, run := range []string{"one", "two"} {
					for i := range 3 {
						r.event(r.id, "tool.finished", "completed", run, fmt.Sprintf(`{"tool":"terminal","tool_call_id":"%s.%d"}`, run, i))
						if c.restart && i == 1 {
							r.restart()
						}
					}
				}
				time.Sleep(6 * time.Second)
				synctest.Wait()
				log := r.events(r.id)
				if alarms, stops := count(log, "policy.bypassed failed"), count(log, "run.cancel_requested started"); alarms != 2 || stops != c.stops {
					t.Errorf("%d alarms and %d stops:\n%s", alarms, stops, strings.Join(log, "\n"))
				}
				o := r.oversight.Load()
				if o == nil || o.Bypasses != 2 || len(o.Recent) != 2 || !slices.ContainsFunc(o.Recent, func(b autonomy.Bypass) bool {
					return b.RunID == "two" && b.Owner == alice && b.Tool == "terminal" && b.ByAgent && b.Stopped == (c.stops > 0)
				}) {
					t.Errorf("the oversight is %+v", o)
				}
				if (o.UnaskedSince == nil) != c.hooked {
					t.Errorf("unasked since %v", o.UnaskedSince)
				}
			})
		})
	}
}

// A page that tells of tools while no hook has ever asked is no alarm a run,
// but says that there is no hook, until one asks.
func TestAPageWithoutAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 3 {
			r.page(r.id, "tool.started", "started", fmt.Sprintf("run-%d", i), fmt.Sprintf(`{"tool":"terminal","tool_call_id":"call.of.a.page.%d"}`, i))
			time.Sleep(6 * time.Second)
		}
		synctest.Wait()
		o := r.oversight.Load()
		if n := count(r.events(r.id), "policy.bypassed failed"); n != 0 || o == nil || o.UnaskedSince == nil || time.Since(o.UnaskedSince.Time) < 15*time.Second {
			t.Errorf("%d alarms, %+v", n, o)
		}
		r.restart()
		r.ask(r.id, "run", "c", "read_file", write)
		if o := r.oversight.Load(); o.UnaskedSince != nil {
			t.Errorf("a hook has asked, and still %+v", o)
		}
	})
}

// What a person is asked about a call that has ended is settled, and to decide
// it then grants nothing.
func TestACallEndsBeforeTheDecision(t *testing.T) {
	for _, choice := range []string{"once", "session", "always", "deny"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			id := r.ask(r.id, "run", "call.that.ends.before", "terminal", shell).text("approval_id")
			hash := r.hash(id)
			r.page(r.id, "tool.finished", "completed", "run", `{"tool":"terminal","tool_call_id":"another.one"}`)
			if a := r.approval(id); a.text("status") != "pending" {
				t.Errorf("another call's end: %s", a.body)
			}
			r.event(r.id, "tool.finished", "failed", "run", `{"tool":"terminal","tool_call_id":"call.that.ends.before","blocked":true}`)
			if a := r.approval(id); a.text("status") != "cancelled" {
				t.Errorf("after the end: %s", a.body)
			}
			a := r.do(r.human, "POST /approvals/{id} id="+id, fmt.Sprintf(`{"choice":%q,"evidence_hash":%q}`, choice, hash))
			if a.code != hux.InvalidTransition || a.object["from"] != "cancelled" {
				t.Errorf("%s too late: %d %s %v", choice, a.status, a.code, a.object)
			}
			if list := r.do(r.human, "GET /grants", "").object["items"].([]any); len(list) != 0 {
				t.Errorf("%s too late grants %v", choice, list)
			}
			if log := r.events(r.id); count(log, "approval.resolved cancelled") != 1 || count(log, "policy.bypassed failed") != 0 {
				t.Errorf("the log has %v", log)
			}
		})
	}
}

// A call that was blocked although somebody had just allowed it is told as one
// that did not run.
func TestADecisionThatCameTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		id := r.ask(r.id, "run", "call.that.is.blocked", "terminal", shell).text("approval_id")
		if a := r.choose(id, "once"); a.status != http.StatusOK {
			t.Fatal(a.code)
		}
		for range 2 {
			r.event(r.id, "tool.finished", "failed", "run", `{"tool":"terminal","tool_call_id":"call.that.is.blocked","blocked":true}`)
		}
		if log := r.events(r.id); count(log, "approval.resolved completed") != 1 || count(log, "approval.resolved cancelled") != 1 {
			t.Errorf("the log has %v", log)
		}
	})
}
