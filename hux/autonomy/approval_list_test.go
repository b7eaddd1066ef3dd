package autonomy_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/store"
)

// What is pending is listed newest first, page by page, and no record of
// anything else is read for it.
func TestPendingApprovalsAreListedAlone(t *testing.T) {
	r := newRig(t)
	there := r.open("there")
	var pending, here []string // newest first
	decided := ""
	for i := range 7 {
		where := []string{r.id, there}[i%2]
		id := r.ask(where, fmt.Sprintf("run-%d", i%2), fmt.Sprintf("call-%d", i), "terminal", shell).text("approval_id")
		if i == 4 {
			decided = id
			if a := r.choose(id, "once"); a.status != 200 {
				t.Fatalf("deciding: %d %s", a.status, a.code)
			}
			continue
		}
		pending = append([]string{id}, pending...)
		if where == r.id {
			here = append([]string{id}, here...)
		}
	}
	// Who reads this one fails.
	if err := r.pool.Lease(tenant).Update(context.Background(), func(tx *store.Tx) error {
		return tx.Put(autonomy.ApprovalSchema, decided, []byte("{"))
	}); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string][]string{
		"status=pending":                                      pending,
		"status=pending limit=1":                              pending,
		"status=pending limit=4":                              pending,
		"status=pending limit=6":                              pending,
		"status=pending limit=2 conversation_id=" + r.id:      here,
		"status=pending conversation_id=" + there + "x":       nil,
		"status=pending run_id=run-0":                         here,
		"status=pending run_id=run-1 conversation_id=" + r.id: nil,
	} {
		var got []string
		for cursor, pages := "", 0; pages < 10; pages++ {
			a := r.do(r.human, "GET /approvals "+query+cursor, "")
			for _, item := range a.object["items"].([]any) {
				got = append(got, item.(map[string]any)["id"].(string))
			}
			if a.object["next"] == nil {
				break
			}
			cursor = " cursor=" + a.text("next")
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}
