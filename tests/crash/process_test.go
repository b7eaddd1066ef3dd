package crash_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var binary string

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hux-crash-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "hux")
	build := exec.Command("go", "build", "-o", binary, "bstein.dev/hux/router")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "the router does not build:", err)
		return 1
	}
	return m.Run()
}

// process is a router whose only caller is an agent, so that it needs neither
// a sign-in provider nor a WebUI.
type process struct {
	env        []string
	credential string
	cmd        *exec.Cmd
	log        bytes.Buffer // of the process that runs; written by one goroutine until waited
	logDone    chan struct{}
	url        string
	client     *http.Client
}

func newProcess(t *testing.T, data string) *process {
	t.Helper()
	p := &process{client: &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	p.env = append(os.Environ(), "HUX_KEY="+base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
		"HUX_DATA="+data, "HUX_LISTEN=127.0.0.1:0", "HUX_PUBLIC_URL=http://chat.hux.localhost", "HUX_CONSOLE_URL=http://console.hux.localhost",
		"HUX_OIDC_ISSUER=http://127.0.0.1:9", "HUX_OIDC_CLIENT_SECRET=not-used", "HUX_FLAGS=all", "HUX_ACCESS_LOG=false")
	config := filepath.Join(t.TempDir(), "hux.yaml")
	slots := "slots:\n  - {id: one, url: \"http://127.0.0.1:9\", members: [usr_0123456789abcdef0123456789abcdef01234567]}\n"
	if err := os.WriteFile(config, []byte(slots), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env = append(p.env, "HUX_CONFIG="+config)
	cmd := exec.Command(binary, "agents", "create", "one", "writer")
	cmd.Env = p.env
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("hux agents create: %v", err)
	}
	p.credential = strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if p.cmd != nil {
			p.kill(t)
		}
		p.client.CloseIdleConnections()
	})
	return p
}

// start starts it and waits until it serves.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.cmd = exec.Command(binary, "serve")
	p.cmd.Env = p.env
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = in, in
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
	p.log.Reset()
	p.logDone = make(chan struct{})
	serving, done := make(chan string, 1), p.logDone
	go func() {
		defer close(done)
		defer out.Close()
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			p.log.Write(append(lines.Bytes(), '\n'))
			var entry struct{ Msg, Listen string }
			if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
				serving <- entry.Listen
			}
		}
	}()
	select {
	case listen := <-serving:
		p.url = "http://" + listen + "/hux/v1"
	case <-done:
		t.Fatalf("the router ended at once:\n%s", p.log.String())
	case <-time.After(30 * time.Second):
		t.Fatal("the router does not serve")
	}
}

// kill ends it without a word.
func (p *process) kill(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGKILL)
	p.wait(t)
}

// stop ends it as a service manager does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.wait(t)
}

func (p *process) wait(t *testing.T) {
	t.Helper()
	_ = p.cmd.Wait()
	<-p.logDone
	p.cmd = nil
	if log := p.log.String(); strings.Contains(log, "panic") || strings.Contains(log, "is damaged") {
		t.Errorf("the log:\n%s", log)
	}
}

type answer struct {
	status   int
	replayed bool
	body     []byte
}

// call sends a request; an error says that nothing was acknowledged.
func (p *process) call(method, path, key, body string) (answer, error) {
	req, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Authorization", "Bearer "+p.credential)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := p.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, replayed: res.Header.Get("Idempotency-Replayed") == "true"}
	a.body, err = io.ReadAll(res.Body)
	return a, err
}

// event is what these tests look at in one.
type event struct {
	ID      string `json:"id"`
	Seq     uint64 `json:"seq"`
	Summary string `json:"summary"` // the key that it was posted with
}

func (p *process) post(conversation, key, padding string) (event, answer, error) {
	body := `{"kind":"tool.started","summary":"` + key + `"`
	if padding != "" {
		body += `,"data":{"x":"` + padding + `"}`
	}
	a, err := p.call("POST", "/conversations/"+conversation+"/events", key, body+"}")
	var e event
	if err == nil && a.status == http.StatusCreated {
		err = json.Unmarshal(a.body, &e)
	}
	return e, a, err
}

func (p *process) conversation(t *testing.T, key string) string {
	t.Helper()
	a, err := p.call("POST", "/conversations", key, "{}")
	var c struct {
		ID string `json:"id"`
	}
	if err != nil || a.status != http.StatusCreated || json.Unmarshal(a.body, &c) != nil {
		t.Fatalf("a conversation: %v %d %s", err, a.status, a.body)
	}
	return c.ID
}

// events reads a conversation's log after a number, and fails where it has a
// gap or a repeat.
func (p *process) events(t *testing.T, conversation string, after uint64) []event {
	t.Helper()
	var all []event
	for {
		a, err := p.call("GET", "/conversations/"+conversation+"/events?limit=200&after_seq="+strconv.FormatUint(after, 10), "", "")
		if err != nil || a.status != http.StatusOK {
			t.Fatalf("the list after %d: %v %d %s", after, err, a.status, a.body)
		}
		var l struct {
			Items []event `json:"items"`
			Next  *string `json:"next"`
			Head  uint64  `json:"head_seq"`
		}
		if err := json.Unmarshal(a.body, &l); err != nil {
			t.Fatal(err)
		}
		for _, e := range l.Items {
			if after++; e.Seq != after {
				t.Fatalf("%s has %d where %d should be", conversation, e.Seq, after)
			}
			all = append(all, e)
		}
		if l.Next == nil {
			if l.Head != after {
				t.Errorf("%s: head %d, last event %d", conversation, l.Head, after)
			}
			return all
		}
	}
}

func run(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}
