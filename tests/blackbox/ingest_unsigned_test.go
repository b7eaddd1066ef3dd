package blackbox_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// A webhook that nobody can have signed is answered before its body has come,
// one whose body does not come in time is ended, and all look alike.
func TestUnsignedWebhooksAreNotRead(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	agent := h.hooked(t, "h1", "a")
	form := "sha256=" + strings.Repeat("0", 64)
	const nobody = "agt_0123456789abcdef0123456789abcdef"
	refusal := func(a *answer) string {
		o := a.object(t)
		return fmt.Sprint(a.StatusCode, o["code"], o["error"], o["detail"])
	}
	want := refusal(agent.unsigned(t, agent.id, "{}", "X-Hermes-Signature-256: "+form))
	for what, c := range map[string]struct{ id, signature string }{
		"no agent": {"agt_x", form}, "an unknown agent": {nobody, form}, "no signature": {agent.id, ""},
		"half a signature": {agent.id, form[:20]}, "no hex": {agent.id, "sha256=" + strings.Repeat("x", 64)},
	} {
		var header []string
		if c.signature != "" {
			header = append(header, "X-Hermes-Signature-256: "+c.signature)
		}
		if got := refusal(agent.unsigned(t, c.id, "{}", header...)); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
		status, took := h.withheld(t, c.id, c.signature)
		if status != http.StatusNotFound || took > time.Second {
			t.Errorf("%s: %d after %v, without the body", what, status, took)
		}
	}
	if status, took := h.withheld(t, agent.id, form); status != http.StatusBadRequest || took > 5*time.Second {
		t.Errorf("a body that does not come: %d after %v", status, took)
	}
}

// withheld sends the head of a webhook, and never its body.
func (h *router) withheld(t *testing.T, id, signature string) (status int, took time.Duration) {
	t.Helper()
	conn := h.dialTLS(t, "h1")
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	u, err := url.Parse(apiURL)
	if err != nil {
		t.Fatal(err)
	}
	head := "POST /hux/v1/ingest/hermes/" + id + " HTTP/1.1\r\nHost: " + u.Host + "\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n"
	if signature != "" {
		head += "X-Hermes-Signature-256: " + signature + "\r\n"
	}
	start := time.Now()
	if _, err := io.WriteString(conn, head+"\r\n{"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, time.Since(start)
}
