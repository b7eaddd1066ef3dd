package blackbox_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// tailing is a running hux tail.
type tailing struct {
	cmd         *exec.Cmd
	out, errors *logBuffer
	exited      chan error
}

func startTail(t *testing.T, env []string, args ...string) *tailing {
	t.Helper()
	p := &tailing{cmd: exec.Command(binary, append([]string{"tail"}, args...)...), out: &logBuffer{}, errors: &logBuffer{}, exited: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.exited <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// lines waits until there are n lines, and gives them.
func (p *tailing) lines(t *testing.T, n int) []string {
	t.Helper()
	var lines []string
	eventually(t, 20*time.Second, fmt.Sprintf("%d lines", n), func() bool {
		lines = strings.Split(strings.TrimSuffix(p.out.String(), "\n"), "\n")
		return len(lines) >= n && strings.HasSuffix(p.out.String(), "\n")
	})
	if len(lines) > n {
		t.Errorf("%d lines, want %d:\n%s", len(lines), n, p.out)
	}
	return lines
}

// ends waits for the end of the process and gives its error.
func (p *tailing) ends(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.exited:
		if strings.Contains(p.errors.String(), "DATA RACE") {
			t.Errorf("a data race:\n%s", p.errors)
		}
		return err
	case <-time.After(20 * time.Second):
		t.Fatalf("hux tail does not end:\n%s%s", p.out, p.errors)
		return nil
	}
}

// trusting is an environment in which a program trusts the tests' authority.
func trusting(t *testing.T) string {
	t.Helper()
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.cert.Raw})
	return "SSL_CERT_FILE=" + writeFile(t, filepath.Join(t.TempDir(), "authority.crt"), string(text))
}

// hux tail shows all there is, then what comes, and takes up where it was
// after a restart of the router.
func TestTail(t *testing.T) {
	t.Parallel()
	listen := freeAddr(t)
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}}, config: map[string]any{"listen": listen}})
	alice := h.person(t, "h2", "alice")
	conversation := alice.conversation(t)
	for i := range 3 {
		alice.post(t, conversation, note(fmt.Sprintf("step %d", i+1)))
	}
	env := []string{trusting(t), "HUX_TOKEN=" + h.token(t, "alice")}
	people := startTail(t, env, conversation, "--url", "https://"+listen)
	file := writeFile(t, filepath.Join(t.TempDir(), "token"), h.token(t, "alice")+"\n")
	programs := startTail(t, env[:1], "--json", "--after", "2", "--token-file", file, conversation, "--url", "https://"+listen)
	for i, line := range people.lines(t, 3) {
		if !strings.Contains(line, fmt.Sprintf("%d  tool.started", i+1)) || !strings.Contains(line, fmt.Sprintf("step %d", i+1)) || !strings.Contains(line, "human's page") {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	programs.lines(t, 1)
	alice.post(t, conversation, note("step 4"))
	people.lines(t, 4)

	h.stop(t)
	h.launch(t)
	h.log.wait(t, `"sign-in provider found"`)
	eventually(t, 10*time.Second, "events are taken again", func() bool {
		a, err := alice.try(t, t.Context(), "POST", "/conversations/"+conversation+"/events", note("step 5"), "Idempotency-Key: five")
		return err == nil && a.StatusCode == http.StatusCreated
	})
	if last := people.lines(t, 5)[4]; !strings.Contains(last, "step 5") {
		t.Errorf("after the restart: %q", last)
	}
	for i, line := range programs.lines(t, 3) {
		var e struct {
			Schema string
			Seq    int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != i+3 || e.Schema != "hux.event.v1" {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
	for _, p := range []*tailing{people, programs} {
		if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := p.ends(t); err != nil {
			t.Errorf("interrupted, it ends with %v: %s", err, p.errors)
		}
	}
}

// What can't become better by waiting ends hux tail with status 1 and a
// reason, and never with the token.
func TestTailRefused(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice, bob := h.person(t, "h2", "alice"), h.person(t, "h2", "bob")
	conversation := alice.conversation(t)
	bob.conversation(t)
	at := "https://" + h.addr.get()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	unknown := "cnv_" + strings.Repeat("0", 32)
	trust := trusting(t)
	for name, c := range map[string]struct {
		token string
		args  []string
		says  string
	}{
		"a bad token":          {"nonsense", []string{conversation, "--url", at}, "token is not accepted"},
		"no token":             {"", []string{conversation, "--url", at}, "HUX_TOKEN"},
		"a token of two lines": {"one\ntwo", []string{conversation, "--url", at}, "no token"},
		"no token file":        {"x", []string{conversation, "--url", at, "--token-file", "/nonexistent"}, "--token-file"},
		"another's":            {h.token(t, "bob"), []string{conversation, "--url", at}, "no such conversation"},
		"unknown":              {h.token(t, "alice"), []string{unknown, "--url", at}, "no such conversation"},
		"no id":                {"x", []string{"latest"}, "cnv_"},
		"no URL":               {"x", []string{conversation, "--url", "127.0.0.1:8080"}, "--url"},
		"not hux":              {"x", []string{conversation, "--url", other.URL}, "not hux"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, ok := runWith(t, append(os.Environ(), trust, "HUX_TOKEN="+c.token), t.TempDir(), append([]string{"tail"}, c.args...)...)
			if ok || stdout != "" || !strings.Contains(stderr, c.says) {
				t.Errorf("ok %v, %q %q, want %q", ok, stdout, stderr, c.says)
			}
			if len(c.token) > 1 && strings.Contains(stderr, c.token) {
				t.Errorf("it shows the token: %s", stderr)
			}
		})
	}
}

// A connection that breaks in the middle of an event shows it whole and once;
// what an event says can't move the terminal; a new epoch begins anew.
func TestTailOverBrokenConnections(t *testing.T) {
	t.Parallel()
	entry := func(seq int, summary string) string {
		data, _ := json.Marshal(object{"seq": seq, "kind": "tool.started", "status": "started", "summary": summary, "created_at": "2026-03-02T09:15:04.218Z"})
		return fmt.Sprintf("id: %d\ndata: %s\n\n", seq, data)
	}
	hello := func(epoch string) string {
		return "retry: 10\n\nevent: hux.hello\ndata: {\"epoch\":\"" + epoch + "\",\"replay_after\":0,\"head_seq\":9}\n\n"
	}
	cut := entry(2, strings.Repeat("word ", 20))
	connections := []string{
		hello("a") + entry(1, "first") + cut[:len(cut)/2],
		hello("a") + ": ping\n\n" + entry(1, "first") + entry(2, "\x1b[2Jsecond\nline\u202e"),
		"retry: 10\n\nevent: hux.hello\ndata: {\"epoch\":\"b\"}\n\nevent: hux.reset\ndata: {\"reason\":\"epoch_changed\"}\n\n" + entry(1, "anew") + "event: hux.closing\ndata: {\"reason\":\"shutdown\"}\n\n",
	}
	var mu sync.Mutex
	var queries []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		n := len(queries)
		queries = append(queries, r.Header.Get("Last-Event-ID")+" "+r.URL.RawQuery)
		mu.Unlock()
		if n >= len(connections) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"schema":"hux.error.v1","code":"unauthenticated","detail":"Sign in."}`))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte(connections[n]))
		_ = http.NewResponseController(w).Flush()
		if n == 0 {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	p := startTail(t, []string{"HUX_TOKEN=x", "TZ=UTC"}, "cnv_"+strings.Repeat("0", 32), "--url", server.URL)
	err := p.ends(t)
	if err == nil || !strings.Contains(p.errors.String(), "token is not accepted") {
		t.Errorf("it ends with %v: %s", err, p.errors)
	}
	lines := p.lines(t, 3)
	for i, want := range []string{"first", "⟨U+001B⟩[2Jsecond line⟨U+202E⟩", "anew"} {
		if !strings.Contains(lines[i], want) || strings.ContainsAny(lines[i], "\x1b\u202e") {
			t.Errorf("line %d is %q, want %q", i+1, lines[i], want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	want := []string{" ", "1 epoch=a", "2 epoch=a", "1 epoch=b"}
	if !slices.Equal(queries, want) {
		t.Errorf("it asks %q, want %q", queries, want)
	}
}
