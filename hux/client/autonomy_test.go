package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"bstein.dev/hux/hux/client"
)

// An agent asks, waits for as long as it takes, and runs what was allowed.
func TestDecideAndAwait(t *testing.T) {
	polls := 0
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hux/v1/decisions", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Idempotency-Key") == "" {
			t.Error("a question without a key")
		}
		fmt.Fprint(w, `{"effect":"ask","reason":"matrix","evidence_hash":"sha256:1","approval_id":"apr_1"}`)
	})
	mux.HandleFunc("GET /hux/v1/approvals/apr_1", func(w http.ResponseWriter, r *http.Request) {
		status := "pending"
		if polls++; polls == 3 {
			status = "approved"
		}
		fmt.Fprintf(w, `{"status":%q,"request":{"evidence":[{"hash":"sha256:1"}]}}`, status)
		if r.URL.Query().Get("wait") == "" {
			t.Error("a request that does not wait")
		}
	})
	router := httptest.NewServer(mux)
	defer router.Close()
	c, err := client.New(client.Options{BaseURL: router.URL})
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.Decide(t.Context(), client.DecisionCreate{Tool: "terminal", ToolCallID: "1"})
	if err != nil || d.Effect != "ask" {
		t.Fatalf("%v, %v", d, err)
	}
	a, err := c.AwaitApproval(t.Context(), *d.ApprovalID)
	if err != nil || polls != 3 || !a.Passes(d.EvidenceHash) || a.Passes("sha256:2") {
		t.Errorf("after %d polls %v, %v", polls, a, err)
	}
	for _, a.Status = range []string{"pending", "denied", "expired", "cancelled", ""} {
		if a.Passes(d.EvidenceHash) {
			t.Errorf("an approval that is %q lets a call pass", a.Status)
		}
	}
	if _, err := c.AwaitApproval(t.Context(), "apr_2"); err == nil {
		t.Error("an approval that there is not was waited for")
	}
}
