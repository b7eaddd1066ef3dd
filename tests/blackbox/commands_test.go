package blackbox_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"

	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"bstein.dev/hux/router/demo/standin"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := "HUX_KEY=" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	const good = `public_url: https://chat.example.org
console_url: https://hux.example.org
oidc_issuer: https://sso.example.org/realms/hux
slots:
  - {id: one, url: "http://one.webui:8787"}
`
	for name, c := range map[string]struct {
		file string
		env  []string
		says []string // "" for a good configuration
	}{
		"good":                    {good, []string{key}, nil},
		"misspelt":                {good + "upload-limit: 1MiB\n", []string{key}, []string{"hux.yaml:6", "upload-limit", "upload_limit"}},
		"a bad value":             {good + "grace: soon\n", []string{key}, []string{"hux.yaml:6", "grace", "duration"}},
		"bad YAML":                {good + "grace: [\n", []string{key}, []string{"hux.yaml:", "YAML"}},
		"a second document":       {good + "---\nslots: []\n", []string{key}, []string{"hux.yaml:6", "second document"}},
		"an id twice":             {strings.Replace(good, "{id: one", "{id: a, id: b", 1), []string{key}, []string{"hux.yaml:5", "id stands twice"}},
		"an octal number":         {good + "slot_connections: 010\n", []string{key}, []string{"hux.yaml:6", "slot_connections", "zero in front"}},
		"an alias":                {good + "data: &d /srv\ntemp_dir: *d\n", []string{key}, []string{"hux.yaml:7", "temp_dir", "alias"}},
		"no value":                {good + "flags:\n", []string{key}, []string{"hux.yaml:6", "flags", "no value"}},
		"rules with deny twice":   {good + "rules_file: " + writeFile(t, filepath.Join(dir, "twice.json"), "{\"format\": 1,\n\"deny\": [],\n\"deny\": []}") + "\n", []string{key}, []string{"rules_file", "line 3", "twice"}},
		"no key":                  {good, nil, []string{"key", "required"}},
		"a short key":             {good, []string{"HUX_KEY=c2hvcnQtc2VjcmV0"}, []string{"HUX_KEY", "32 bytes"}},
		"a key twice":             {good, []string{key, "HUX_KEY_FILE=/dev/null"}, []string{"HUX_KEY_FILE"}},
		"a key file that is none": {good, []string{"HUX_KEY_FILE=" + filepath.Join(dir, "none")}, []string{"HUX_KEY_FILE", "read"}},
		"two problems":            {good + "grace: soon\naccess_log: perhaps\n", []string{key}, []string{"hux.yaml:6", "hux.yaml:7"}},
		"slots of one url":        {good + "  - {id: two, url: \"http://one.webui:8787\"}\n", []string{key}, []string{"one url"}},
		"member by name":          {strings.Replace(good, "8787\"}", "8787\", members: [alice]}", 1), []string{key}, []string{"hux.yaml:5", "usr_"}},
		"another site":            {strings.Replace(good, "hux.example.org", "hux.example.net", 1), []string{key}, []string{"hux.yaml:2", "console_url"}},
		"rules with a way round":  {good + "flags: all\nrules_file: " + writeFile(t, filepath.Join(dir, "way.json"), openRules(t)) + "\n", []string{key}, []string{"rules_file", "instead", "hux.autonomy"}},
		"rules that are none":     {good + "rules_file: " + writeFile(t, filepath.Join(dir, "rules.json"), `{"format": 2}`) + "\n", []string{key}, []string{"rules_file"}},
		"an algorithm":            {good + "oidc_algorithms: HS256\n", []string{key}, []string{"hux.yaml:6", "HS256"}},
		"in a container":          {good, []string{key, "KUBERNETES_SERVICE_HOST=10.0.0.1"}, []string{"image_digest"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeFile(t, filepath.Join(dir, "hux.yaml"), c.file)
			env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, c.env...)
			stdout, stderr, ok := runWith(t, env, dir, "check", "--config", file)
			if ok != (c.says == nil) {
				t.Errorf("exit status 0 is %v:\n%s%s", ok, stdout, stderr)
			}
			for _, word := range c.says {
				if !strings.Contains(stderr, word) {
					t.Errorf("it does not say %q:\n%s", word, stderr)
				}
			}
			if strings.Contains(stdout+stderr, "c2hvcnQ") || strings.Contains(stdout+stderr, strings.TrimPrefix(key, "HUX_KEY=")) {
				t.Errorf("it shows a secret:\n%s", stderr)
			}
			if c.says != nil {
				if _, serveErr, ok := runWith(t, env, dir, "serve", "--config", file); ok || !strings.Contains(serveErr, c.says[0]) {
					t.Errorf("serve: ok %v, %s", ok, serveErr)
				}
			}
		})
	}
	_, stderr, ok := runWith(t, []string{key}, dir, "check", "--key", "c2VjcmV0LW9uLWEtY29tbWFuZC1saW5l")
	if ok || strings.Contains(stderr, "c2VjcmV0") {
		t.Errorf("a key on the command line: ok %v, %s", ok, stderr)
	}
	if stdout, _, ok := runWith(t, nil, dir, "version"); !ok || !strings.HasPrefix(stdout, "hux ") {
		t.Errorf("hux version: %q", stdout)
	}
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}, {"check", "--help"}, {"slots", "--help"}, {"agents", "--help"}, {"agents", "install", "--help"}, {"agents", "check", "--help"}, {"hook", "--help"}, {"hook", "event", "--help"}, {"demo", "--help"}} {
		if stdout, _, ok := runWith(t, nil, dir, args...); !ok || !strings.Contains(stdout, "Usage:") {
			t.Errorf("hux %v: ok %v, %.100q", args, ok, stdout)
		}
	}
}

// A command line that is not understood is status 2, and one line says why.
func TestMisusedCommands(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"nosuch":           `no command "nosuch"; "hux --help"`,
		"help nosuch":      `no command "nosuch"`,
		"validate --bogus": `no option --bogus; "hux validate --help"`,
		"rules":            `what is to be done? There are decide, `,
		"rules frob":       `hux rules has no "frob"`,
		"agents":           `There are check, create, install, list, revoke, rotate`,
		"slots frob":       `hux slots has no "frob"`,
		"slots list one":   `too few words, or too many; "hux slots --help"`,
		"tail":             `name one conversation`,
		"tail a --after x": `invalid value "x" for flag -after`,
		"demo --fast":      `no option --fast`,
	} {
		stdout, stderr, status := command(t, "", strings.Fields(line)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "hux: ") || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("hux %s: status %d\n%s%s", line, status, stdout, stderr)
		}
	}
	for _, c := range []string{"hook", "rules", "check", "healthz"} {
		asked, _, _ := command(t, "", c, "--help")
		if helped, _, status := command(t, "", "help", c); status != 0 || helped != asked || strings.Contains(helped, "slot_health_path") {
			t.Errorf("hux help %s: status %d\n%s", c, status, helped)
		}
	}
	env := []string{"HUX_DATA=" + filepath.Join(t.TempDir(), "elsewhere")}
	if _, stderr, ok := runWith(t, env, t.TempDir(), "agents", "list"); ok || !strings.Contains(stderr, strings.TrimPrefix(env[0], "HUX_DATA=")+". ") {
		t.Errorf("without a router: ok %v, %s", ok, stderr)
	}
}

func TestCheckOnlineAndFlags(t *testing.T) {
	t.Parallel()
	ui := standin.New(standin.Options{})
	t.Cleanup(ui.Close)
	server := httptest.NewServer(ui)
	t.Cleanup(server.Close)
	h := prepare(t, setup{slots: []slot{{id: "one", url: server.URL}}, config: map[string]any{
		"slot_health_path": "/health", "flags": "hux.foundation,hux.nonsense,hux.memory",
	}})
	stdout, stderr, _ := h.run(t, "check", "--online")
	for _, word := range []string{"flag hux.foundation is on", "warning: flag hux.nonsense", ", with "} {
		if !strings.Contains(stdout, word) {
			t.Errorf("it does not say %q:\n%s%s", word, stdout, stderr)
		}
	}
	if strings.Contains(stderr, "oidc_issuer") || strings.Contains(stderr, "does not answer") {
		t.Errorf("problems where there are none:\n%s", stderr)
	}
	h.provider.SetDown(true)
	if _, stderr, ok := h.run(t, "check", "--online"); ok || !strings.Contains(stderr, "oidc_issuer: its discovery document can't be had: "+h.sso.URL+"/.well-known/openid-configuration answers with status 503") {
		t.Errorf("with the provider down: ok %v, %s", ok, stderr)
	}
	h.provider.SetDown(false)
	server.Close()
	if _, stderr, ok := h.run(t, "check", "--online"); ok || strings.Count(stderr, "slot one at "+server.URL) != 1 {
		t.Errorf("with the WebUI down: ok %v, %s", ok, stderr)
	}
	if _, stderr, ok := runWith(t, append(h.env, "HUX_CONFIG="+h.file, "HUX_OIDC_ISSUER=http://other.hux.test"), h.dir, "check", "--online"); ok || !strings.Contains(stderr, "oidc_issuer") {
		t.Errorf("with another issuer: ok %v, %s", ok, stderr)
	}
}

// Unknown flags are ignored and reported; with the foundation off nothing of
// the API is there, for anybody.
func TestFlags(t *testing.T) {
	t.Parallel()
	off := start(t, setup{config: map[string]any{"flags": "hux.nonsense"}})
	on := start(t, setup{config: map[string]any{"flags": "hux.foundation"}})
	protocols(t, func(t *testing.T, proto string) {
		requestID := regexp.MustCompile(`"request_id":"[^"]*"`)
		var bodies []string
		for _, path := range []string{"/hux/v1/capabilities", "/hux/v1/nothing", "/hux/v1/"} {
			for _, header := range [][]string{nil, {bearer(off.token(t, "alice"))}} {
				a := off.browser(t, proto).do(t, "GET", apiURL+path, nil, header...)
				if a.StatusCode != http.StatusNotFound {
					t.Errorf("%s: status %d", path, a.StatusCode)
				}
				bodies = append(bodies, requestID.ReplaceAllString(a.body, ""))
			}
		}
		for _, body := range bodies {
			if body != bodies[0] {
				t.Errorf("two answers of 404:\n%s\n%s", bodies[0], body)
			}
		}
		on.browser(t, proto).do(t, "GET", apiURL+"/hux/v1/capabilities", nil).want(t, 401, "unauthenticated")
		a := on.browser(t, proto).do(t, "GET", apiURL+"/hux/v1/capabilities", nil, bearer(on.token(t, "alice")))
		a.want(t, 200, "")
		if !json.Valid([]byte(a.body)) || !strings.Contains(a.body, "hux.foundation") || a.Header.Get("HUX-Contract") != "1.1.0" {
			t.Errorf("capabilities: %v %s", a.Header, a.body)
		}
	})
	if !strings.Contains(off.log.String(), "hux.nonsense") {
		t.Error("an unknown flag is not reported at start")
	}
	olga := off.signIn2(t, "olga")
	if a := olga.fetch(t, "GET", consoleURL+"/hux/api/status", ""); !strings.Contains(a.body, "hux.nonsense") {
		t.Errorf("the status does not tell of an unknown flag: %s", a.body)
	}
}

// Certificates are taken up while connections go on.
func TestCertificateReload(t *testing.T) {
	t.Parallel()
	h := start(t, setup{slots: []slot{{id: "a", up: newUpstream(t)}}})
	serial := func() int64 {
		c, err := tls.Dial("tcp", h.addr.get(), &tls.Config{RootCAs: authority.pool, ServerName: "chat.hux.test"})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	alice := h.signIn(t, "h2", "alice")
	if n := serial(); n != 2 {
		t.Fatalf("the certificate is number %d", n)
	}
	cert, key := filepath.Join(h.dir, "tls.crt"), filepath.Join(h.dir, "tls.key")
	authority.write(t, 3, cert, key)
	eventually(t, 6*time.Second, "the new certificate is served", func() bool { return serial() == 3 })
	replaceFile(t, cert, []byte("this is no certificate"))
	h.addrLog(t, func() { serial() }, "new certificate does not load")
	if n := serial(); n != 3 {
		t.Errorf("after a bad certificate number %d is served", n)
	}
	if alice.me(t, chatURL) == nil {
		t.Error("an old connection is gone")
	}
	authority.write(t, 4, cert, key)
	eventually(t, 6*time.Second, "the third certificate is served", func() bool { return serial() == 4 })

	old := tls.Config{RootCAs: authority.pool, ServerName: "chat.hux.test", MaxVersion: tls.VersionTLS11}
	if c, err := tls.Dial("tcp", h.addr.get(), &old); err == nil {
		_ = c.Close()
		t.Error("TLS 1.1 is spoken")
	}
}

// addrLog does something until the log tells of it.
func (h *router) addrLog(t *testing.T, f func(), text string) {
	t.Helper()
	eventually(t, 6*time.Second, "the log says "+text, func() bool {
		f()
		return strings.Contains(h.log.String(), text)
	})
}

// The demo does what it prints.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	out := &logBuffer{}
	cmd := exec.Command(binary, "demo", "--data", data)
	cmd.Env = append(os.Environ(), "HUX_LISTEN=127.0.0.1:0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	out.wait(t, "Ctrl-C ends it")
	open := regexp.MustCompile(`http://chat\.hux\.localhost:(\d+)`).FindStringSubmatch(out.String())
	if open == nil {
		t.Fatalf("it does not say what to open:\n%s", out)
	}
	port := open[1]
	for _, word := range []string{"alice", "bob", "olga", "worker", "http://console.hux.localhost:" + port} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("it does not say %q:\n%s", word, out)
		}
	}
	addr := "127.0.0.1:" + port
	eventually(t, 10*time.Second, "the demo answers", func() bool {
		res, err := http.Get("http://" + addr + "/hux/readyz")
		if err == nil {
			_ = res.Body.Close()
		}
		return err == nil && res.StatusCode == http.StatusOK
	})

	line := regexp.MustCompile(`(?m)^ +curl .*$`).FindString(out.String())
	if line == "" {
		t.Fatalf("it prints no curl line:\n%s", out)
	}
	answer, err := exec.Command("sh", "-c", line).CombinedOutput()
	if err != nil || !strings.Contains(string(answer), `"hux.foundation"`) {
		t.Errorf("%s\ngives %v %s", line, err, answer)
	}

	ask := func(method, host, path string, header ...string) rawAnswer {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = io.WriteString(c, raw{method: method, host: host, target: path, header: header}.h1())
		return readH1(bufio.NewReader(c), method)
	}
	for _, user := range []string{"alice", "bob", "olga", "worker"} {
		a := ask("GET", addr, "/demo/token?user="+user)
		if a.status != http.StatusOK || strings.Count(a.body, ".") != 2 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/plain") || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s's token: %d %v", user, a.status, a.header)
		}
		if me := ask("GET", addr, "/hux/api/me", bearer(a.body)); me.status != http.StatusOK {
			t.Errorf("%s's token is not good: %d", user, me.status)
		}
	}
	for name, a := range map[string]rawAnswer{
		"Origin":               ask("GET", addr, "/demo/token?user=alice", "Origin: http://"+addr),
		"Origin null":          ask("GET", addr, "/demo/token?user=alice", "Origin: null"),
		"Sec-Fetch-Site":       ask("GET", addr, "/demo/token?user=alice", "Sec-Fetch-Site: none"),
		"Sec-Fetch-Mode":       ask("GET", addr, "/demo/token?user=alice", "sec-fetch-mode: cors"),
		"Sec-Fetch-Dest":       ask("GET", addr, "/demo/token?user=alice", "Sec-Fetch-Dest: document"),
		"localhost":            ask("GET", "localhost:"+port, "/demo/token?user=alice"),
		"chat host":            ask("GET", "chat.hux.localhost:"+port, "/demo/token?user=alice"),
		"console host":         ask("GET", "console.hux.localhost:"+port, "/demo/token?user=alice"),
		"rebinding":            ask("GET", "evil.test:"+port, "/demo/token?user=alice"),
		"look-alike":           ask("GET", "127.0.0.1.evil.test:"+port, "/demo/token?user=alice"),
		"another number":       ask("GET", "127.0.0.2:"+port, "/demo/token?user=alice"),
		"stranger":             ask("GET", addr, "/demo/token?user=mallory"),
		"nobody":               ask("GET", addr, "/demo/token"),
		"POST":                 ask("POST", addr, "/demo/token?user=alice"),
		"preflight":            ask("OPTIONS", addr, "/demo/token?user=alice", "Origin: https://evil.test", "Access-Control-Request-Method: GET"),
		"//":                   ask("GET", addr, "//demo/token?user=alice"),
		"absolute form":        ask("GET", "evil.test", "http://"+addr+"/demo/token?user=alice"),
		"the switch, by Fetch": ask("POST", addr, "/demo/slot?id=alice&up=false", "Sec-Fetch-Site: cross-site"),
	} {
		if a.status < 400 || strings.Count(a.body, ".") == 2 && strings.HasPrefix(a.body, "ey") {
			t.Errorf("%s: status %d: %.60s", name, a.status, a.body)
		}
		for header := range a.header {
			if strings.HasPrefix(header, "Access-Control-") {
				t.Errorf("%s: %s", name, header)
			}
		}
	}

	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("the demo ends with %v\n%s", err, out.tail())
		}
	case <-time.After(10 * time.Second):
		t.Errorf("the demo does not end:\n%s", out.tail())
	}
	if strings.Contains(out.String(), "DATA RACE") {
		t.Errorf("a data race:\n%s", out)
	}

	// Nothing real goes on from a demo's data.
	h := prepare(t, setup{config: map[string]any{"data": data}})
	for _, args := range [][]string{{"serve"}, {"check"}, {"slots", "list"}} {
		if _, stderr, ok := h.run(t, args...); ok || !strings.Contains(stderr, "demo") {
			t.Errorf("hux %v on a demo's data: ok %v, %s", args, ok, stderr)
		}
	}
	real := start(t, setup{})
	real.stop(t)
	demoOnReal := exec.Command(binary, "demo", "--data", real.data)
	demoOnReal.Env = append(os.Environ(), "HUX_LISTEN=127.0.0.1:0")
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = demoOnReal.Process.Kill() })
	defer stop()
	if output, err := demoOnReal.CombinedOutput(); err == nil || !strings.Contains(string(output), "no demo made") {
		t.Errorf("a demo on real data: %v %s", err, output)
	}
}

// openRules are the built-in rules for the WebUI without what closes its own
// approvals.
func openRules(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("../../router/proxy/hermes-webui.json")
	if err != nil {
		t.Fatal(err)
	}
	var rules map[string]any
	if err := json.Unmarshal(content, &rules); err != nil {
		t.Fatal(err)
	}
	delete(rules, "instead")
	open, err := json.Marshal(rules)
	if err != nil {
		t.Fatal(err)
	}
	return string(open)
}

// What could not be printed is no success.
func TestOutputIsFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	for _, args := range [][]string{{"version"}, {"help"}, {"rules", "--help"}, {"rules", "machines"}, {"validate", "--json", os.DevNull}} {
		var said strings.Builder
		cmd := exec.Command(binary, args...)
		cmd.Stdout, cmd.Stderr = full, &said
		if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() < 1 || args[0] != "validate" && !strings.Contains(said.String(), "no space left") {
			t.Errorf("%v: %v, %s", args, cmd.ProcessState, said.String())
		}
	}
}

// A mark that no eye sees is named.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(binary, "validate")
	cmd.Stdin = strings.NewReader("\ufeff{}")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "stdin:1: it begins with a byte order mark") {
		t.Errorf("%v: %s", err, out)
	}
}
