package blackbox_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startDemo runs the demo on a data directory and gives its address.
func startDemo(t *testing.T, data string) (addr string, stop func()) {
	t.Helper()
	addr = freeAddr(t)
	out := &logBuffer{}
	cmd := exec.Command(binary, "demo", "--data", data)
	cmd.Env = append(os.Environ(), "HUX_LISTEN="+addr)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	eventually(t, 30*time.Second, "the demo knows alice", func() bool {
		token, err := getText(t, "http://"+addr+"/demo/token?user=alice", "")
		if err == nil {
			_, err = getText(t, "http://"+addr+"/hux/api/me", token)
		}
		return err == nil
	})
	return addr, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-exited:
			if err != nil || strings.Contains(out.String(), "DATA RACE") || strings.Contains(out.String(), "can't report") {
				t.Errorf("the demo ends with %v:\n%s", err, out)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("the demo does not end:\n%s", out)
		}
	}
}

// getText gives the body of a good answer.
func getText(t *testing.T, url, token string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return send(req)
}

func send(req *http.Request) (string, error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	content, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode/100 != 2 {
		err = fmt.Errorf("status %d: %s", res.StatusCode, content)
	}
	return string(content), err
}

// askDemo sends a request to a demo as a person, and gives the answer's JSON.
func askDemo(t *testing.T, addr, person, method, path, body string, header ...string) (o object) {
	t.Helper()
	token, err := getText(t, "http://"+addr+"/demo/token?user="+person, "")
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	answer, err := send(req)
	if err == nil {
		err = json.Unmarshal([]byte(answer), &o)
	}
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return o
}

// A message in the demo's chat moves the timeline of its conversation, as the
// agent reports it through the API; nobody else sees it; and a demo that goes
// on with old data reports again.
func TestDemoMovesTheTimeline(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	for round := 1; round <= 2; round++ {
		addr, stop := startDemo(t, data)
		session, _ := askDemo(t, addr, "alice", "POST", "/api/session/new", "{}")["session"].(map[string]any)
		askDemo(t, addr, "alice", "POST", "/api/chat/start", fmt.Sprintf(`{"session_id":%q,"message":"hello"}`, session["session_id"]))
		var newest string
		eventually(t, 10*time.Second, "a conversation", func() bool {
			items, _ := askDemo(t, addr, "alice", "GET", "/hux/v1/conversations", "")["items"].([]any)
			if len(items) == round {
				newest, _ = items[0].(map[string]any)["id"].(string)
			}
			return newest != ""
		})
		var kinds []string
		eventually(t, 20*time.Second, "the end of the run", func() bool {
			kinds = nil
			items, _ := askDemo(t, addr, "alice", "GET", "/hux/v1/conversations/"+newest+"/events", "")["items"].([]any)
			for _, item := range items {
				e := item.(map[string]any)
				kinds = append(kinds, e["kind"].(string))
				provenance := e["provenance"].(map[string]any)
				if actor := provenance["actor"].(map[string]any); actor["kind"] != "agent" || provenance["session_id"] != session["session_id"] {
					t.Fatalf("an event comes from %v", provenance)
				}
			}
			return len(kinds) > 0 && kinds[len(kinds)-1] == "run.finished"
		})
		if got, want := strings.Join(kinds, " "), "message.committed run.started tool.started tool.finished message.committed run.finished"; got != want {
			t.Errorf("the timeline has %s, want %s", got, want)
		}
		if items, _ := askDemo(t, addr, "bob", "GET", "/hux/v1/conversations", "")["items"].([]any); len(items) != 0 {
			t.Errorf("bob sees %v", items)
		}
		stop()
	}
}
