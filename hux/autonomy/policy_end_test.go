package autonomy_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux"
)

// A level ends by the router's clock, whatever the clock of who sets it says.
func TestALevelEndsByTheRoutersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		put := func(body, condition string) answer { return r.do(r.human, "PUT /policy", body, condition) }
		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(hux.TimeFormat) }
		for name, body := range map[string]string{
			"over":               fmt.Sprintf(`{"level":"autonomous","level_expires_at":%q}`, at(-time.Hour)),
			"over now":           fmt.Sprintf(`{"level":"autonomous","level_expires_at":%q}`, at(0)),
			"in a leap second":   `{"level":"autonomous","level_expires_at":"2026-12-31T23:59:60.000Z"}`,
			"said twice":         fmt.Sprintf(`{"level":"autonomous","level_expires_at":%q,"level_expires_in_ms":60000}`, at(time.Hour)),
			"of another level":   `{"level":"safe","level_expires_in_ms":60000}`,
			"after no time":      `{"level":"autonomous","level_expires_in_ms":0}`,
			"after a long while": `{"level":"autonomous","level_expires_in_ms":31536000001}`,
		} {
			if a := put(body, "If-None-Match: *"); a.status != http.StatusUnprocessableEntity || a.code != hux.SchemaInvalid || a.object["errors"] == nil {
				t.Errorf("%s: %d %s %s", name, a.status, a.code, a.body)
			}
		}
		a := put(`{"level":"autonomous","level_expires_in_ms":3600000}`, "If-None-Match: *")
		if a.status != http.StatusCreated || a.text("level_expires_at") != at(time.Hour) {
			t.Fatalf("an hour from now, %s: %d %s", at(time.Hour), a.status, a.body)
		}
		time.Sleep(time.Hour - time.Second)
		if a := r.ask(r.id, "r", "c1", "terminal", shell); a.decision() != "allow matrix" {
			t.Errorf("before its end: %s", a.body)
		}
		time.Sleep(2 * time.Second)
		r.there()
		if a := r.ask(r.id, "r", "c2", "terminal", shell); a.decision() != "ask matrix" {
			t.Errorf("after its end: %s", a.body)
		}
		r.close()
		r.start()
	})
}

// What changes nothing makes no revision, and nobody is told.
func TestASetPolicyThatIsTheSameIsNoChange(t *testing.T) {
	r := newRig(t)
	const body = `{"level":"safe","budgets":[{"kind":"tool_calls","limit":3,"window":"day"}]}`
	scope := "PUT /policy scope=conversation:" + r.id
	first := r.do(r.human, scope, body, "If-None-Match: *")
	told := len(r.events(r.id))
	again := r.do(r.human, scope, body, "If-Match: "+first.header.Get("ETag"))
	if again.status != http.StatusOK || again.header.Get("ETag") != first.header.Get("ETag") || again.text("updated_at") != first.text("updated_at") || len(r.events(r.id)) != told {
		t.Errorf("%d %s %s", again.status, again.header.Get("ETag"), again.body)
	}
	other := r.do(r.human, scope, `{"level":"safe"}`, "If-Match: "+first.header.Get("ETag"))
	if other.status != http.StatusOK || other.header.Get("ETag") == first.header.Get("ETag") || len(r.events(r.id)) != told+1 {
		t.Errorf("a change: %d %s", other.status, other.body)
	}
}
