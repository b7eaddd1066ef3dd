package blackbox_test

import (
	"bytes"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// installed is the home of a Hermes that hux was installed into.
type installed struct {
	home, config string
	env          []string // of whoever runs the commands there: no secret
}

// told makes an agent's secrets, and gives what create prints with --env.
func (h *router) told(t *testing.T, slot, at string) string {
	t.Helper()
	env := h.command(t, "", "agents", "create", slot, "an assistant", "--env", "--url", at)
	for line := range strings.Lines(env) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name != "HUX_URL" {
			h.secrets.add(name, value)
		}
	}
	return env
}

// install runs hux agents install as a person without a terminal does.
func (i *installed) install(t *testing.T, told string, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	if told != "" {
		args = append(args, "--from", writeFile(t, filepath.Join(t.TempDir(), "agent.env"), told))
	}
	return runWith(t, i.env, i.home, append([]string{"agents", "install", i.config}, args...)...)
}

// commandOf is the command of a hook, as words.
func (i *installed) commandOf(t *testing.T, event string) []string {
	t.Helper()
	found := regexp.MustCompile(event + `:\n(?:.*\n)*?\s+command: "(.+)"`).FindStringSubmatch(readFile(t, i.config))
	if found == nil {
		t.Fatalf("no %s in\n%s", event, readFile(t, i.config))
	}
	return strings.Fields(found[1])
}

func readFile(t testing.TB, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func newHermes(t *testing.T, config string) *installed {
	t.Helper()
	home := t.TempDir()
	return &installed{home, writeFile(t, filepath.Join(home, "config.yaml"), config), []string{"PATH=" + os.Getenv("PATH"), trusting(t)}}
}

// What install writes works as it is: the commands of config.yaml need nothing
// else, and a second run finds nothing to do.
func TestInstall(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	at := "https://" + h.addr.get()
	told := h.told(t, "a", at)
	const before = "# mine\nmodel: x\nhooks:\n  pre_tool_call:\n  - command: /bin/true # own\nhooks_auto_accept: false"
	i := newHermes(t, "")
	elsewhere := writeFile(t, filepath.Join(t.TempDir(), "real.yaml"), before)
	if err := os.Chmod(elsewhere, 0o640); err != nil { //nolint:gosec // the operator's choice
		t.Fatal(err)
	}
	if err := os.Remove(i.config); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, i.config); err != nil {
		t.Fatal(err)
	}
	env := writeFile(t, filepath.Join(i.home, ".env"), "API_SERVER_KEY=k\nHUX_HOOK_SECRET=old")
	if err := os.Chmod(env, 0o644); err != nil { //nolint:gosec // as it may be found
		t.Fatal(err)
	}

	// Without a yes it only shows.
	for _, args := range [][]string{nil, {"--dry-run"}} {
		stdout, _, ok := i.install(t, told, args...)
		if ok != (args != nil) || !strings.Contains(stdout, "-hooks_auto_accept: false") || !strings.Contains(stdout, "+    fail_closed: true") || readFile(t, i.config) != before {
			t.Errorf("install %v: %v\n%s", args, ok, stdout)
		}
	}
	if _, err := os.Stat(filepath.Join(i.home, "hux")); err == nil {
		t.Error("it has written a secret before it was told to")
	}
	stdout, stderr, ok := i.install(t, told, "--yes")
	if !ok || !strings.Contains(stdout, "+hooks_auto_accept: true") {
		t.Fatalf("%s%s", stdout, stderr)
	}
	for _, secret := range strings.Fields(told)[1:] {
		if _, secret, _ := strings.Cut(secret, "="); strings.Contains(stdout+stderr+readFile(t, i.config), secret) {
			t.Errorf("it shows a secret:\n%s%s%s", stdout, stderr, readFile(t, i.config))
		}
	}
	for name, mode := range map[string]os.FileMode{i.config: 0o640, env: 0o600, filepath.Join(i.home, "hux", "credential"): 0o600, filepath.Join(i.home, "hux", "hook-secret"): 0o600, filepath.Join(i.home, "hux"): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
	if info, err := os.Lstat(i.config); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	if lines := strings.Split(readFile(t, env), "\n"); len(lines) < 2 || lines[0] != "API_SERVER_KEY=k" || strings.Contains(lines[1], "old") {
		t.Errorf("%q", lines)
	}
	after := readFile(t, i.config)
	for _, line := range []string{"# mine\n", "  - command: /bin/true # own\n", "hook_callback_timeout: 310\n"} {
		if !strings.Contains(after, line) {
			t.Errorf("no %q in\n%s", line, after)
		}
	}
	if stdout, _, ok := i.install(t, "", "--yes"); !ok || !strings.HasPrefix(stdout, "Nothing to change") || readFile(t, i.config) != after {
		t.Errorf("the second time: %v %s", ok, stdout)
	}

	// The commands work as they stand there.
	words := i.commandOf(t, "pre_tool_call")
	if p := startHook(t, i.env, stdin("s.install", "t", "c", "read_file", `{"path":"a"}`), words[2:]...); words[1] != "hook" || p.says(t, 20*time.Second) != "allow" {
		t.Errorf("%v", words)
	}
	post := strings.Replace(*stdin("s.install", "t", "c", "read_file", `{"path":"a"}`), "pre_tool_call", "post_tool_call", 1)
	if p := startHook(t, i.env, &post, i.commandOf(t, "post_tool_call")[2:]...); p.says(t, 20*time.Second) != "allow" || p.errors.Len() > 0 {
		t.Errorf("%s", &p.errors)
	}

	// What moves is brought up to date; new secrets leave config.yaml alone.
	if _, stderr, ok := i.install(t, "", "--yes", "--url", "https://elsewhere.example.org/"); !ok || strings.Contains(readFile(t, i.config), h.addr.get()) || strings.Count(readFile(t, i.config), "elsewhere.example.org") != 3 {
		t.Errorf("moved: %s\n%s", stderr, readFile(t, i.config))
	}
	moved := readFile(t, i.config)
	if stdout, _, ok := i.install(t, strings.Replace(h.told(t, "a", at), at, "https://elsewhere.example.org", 1), "--yes", "--as", i.home); !ok || !strings.Contains(stdout, "gets a secret") {
		t.Errorf("new secrets: %v\n%s", ok, stdout)
	}
	if now := readFile(t, i.config); strings.Count(now, "hux hook") != strings.Count(moved, "hux hook") {
		t.Errorf("there is another entry in\n%s", now)
	}
}

// What can't be merged is left as it is, and a line is named.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	const told = "HUX_URL=https://hux.example.org\nHUX_AGENT_CREDENTIAL=hux_agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6_AAAA\nHUX_HOOK_SECRET=s\n"
	for name, c := range map[string]struct{ config, told, says string }{
		"a key twice":   {"hooks: {}\nhooks: {}\n", told, "line 2"},
		"a tab":         {"hooks:\n\tx: []\n", told, "line 2"},
		"an alias":      {"a: &a {}\nhooks: *a\n", told, "line 2"},
		"no credential": {"", "HUX_URL=https://hux.example.org\n", "hux agents create SLOT NAME --env"},
		"no address":    {"", strings.Replace(told, "https://hux.example.org", "", 1), "--url"},
	} {
		i := newHermes(t, c.config)
		stdout, stderr, ok := i.install(t, c.told, "--yes")
		if ok || !strings.Contains(stderr, c.says) || readFile(t, i.config) != c.config {
			t.Errorf("%s: %v\n%s%s", name, ok, stdout, stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(i.home, "*")); len(left) != 1 {
			t.Errorf("%s: it leaves %v", name, left)
		}
	}
	i := newHermes(t, "")
	if err := os.Remove(i.config); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere.yaml", i.config); err != nil {
		t.Fatal(err)
	}
	if _, stderr, ok := i.install(t, told, "--yes"); ok || !strings.Contains(stderr, "no such file") {
		t.Errorf("a link that leads nowhere: %s", stderr)
	}
	if _, err := os.Readlink(i.config); err != nil {
		t.Error("the link is gone")
	}
	if err := os.Remove(i.config); err != nil {
		t.Fatal(err)
	}
	if _, stderr, ok := i.install(t, told, "--yes", "--as", "/opt/data", "--program", "/opt/hux"); !ok || !strings.Contains(readFile(t, i.config), `"/opt/hux hook --url https://hux.example.org --credential-file /opt/data/hux/credential"`) {
		t.Errorf("without a file: %s", stderr)
	}
}

// hux agents check finds each thing that keeps a hook from its work, and leaves
// nothing behind.
func TestAgentsCheck(t *testing.T) {
	t.Parallel()
	h := house(t, nil)
	alice := h.person(t, "h2", "alice")
	at := "https://" + h.addr.get()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal(err)
	}
	lib, err := filepath.Abs("testdata/hermes")
	if err != nil {
		t.Fatal(err)
	}
	target, _ := url.Parse(at)
	late := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority.pool}},
		ModifyResponse: func(res *http.Response) error {
			res.Header.Set("Date", time.Now().Add(-3*time.Minute).UTC().Format(http.TimeFormat))
			return nil
		},
	})
	t.Cleanup(late.Close)
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	t.Cleanup(other.Close)
	edit := func(old, with string) func(*testing.T, *installed) {
		return func(t *testing.T, i *installed) {
			text := readFile(t, i.config)
			if !strings.Contains(text, old) {
				t.Fatalf("no %q in\n%s", old, text)
			}
			writeFile(t, i.config, strings.ReplaceAll(text, old, with))
		}
	}
	write := func(name, text string) func(*testing.T, *installed) {
		return func(t *testing.T, i *installed) { writeFile(t, filepath.Join(i.home, name), text) }
	}
	for name, c := range map[string]struct {
		version string
		spoil   func(*testing.T, *installed)
		says    []string // none: all is well
	}{
		"0.20.1":               {"0.20.1", nil, nil},
		"0.21.3.post1":         {"0.21.3.post1", nil, nil},
		"0.19.0":               {"0.19.0", nil, []string{"wrong  Hermes 0.19.0 is below 0.20.1", "runs a call whose hook was killed", "runs a call whose hook can't be started"}},
		"no version":           {"main", nil, []string{"is below 0.20.1"}},
		"no fail_closed":       {"0.21.3", edit("fail_closed: true", "fail_closed: false"), []string{"fail_closed", "runs a call whose hook was killed"}},
		"no consent":           {"0.21.3", edit("hooks_auto_accept: true", "hooks_auto_accept: false"), []string{"wrong  config.yaml, hooks_auto_accept", "starts no hook"}},
		"a short limit":        {"0.21.3", edit("310", "30"), []string{"ends a hook after 30 s"}},
		"a short time":         {"0.21.3", edit("timeout: 300", "timeout: 60"), []string{"pre_tool_call: timeout"}},
		"some tools":           {"0.21.3", edit(`matcher: ".*"`, `matcher: "terminal"`), []string{"matcher", "not asked about every tool"}},
		"no hook":              {"0.21.3", write("config.yaml", "model: x\n"), []string{"no hux hook", "hux agents install"}},
		"a key twice":          {"0.21.3", write("config.yaml", "a: 1\na: 2\n"), []string{"line 2"}},
		"no binary":            {"0.21.3", edit(binary, "/nonexistent/hux"), []string{"does not get an answer of hux"}},
		"a wrong credential":   {"0.21.3", write("hux/credential", "hux_agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6_AAAA"), []string{"does not accept the agent's credential"}},
		"no credential":        {"0.21.3", write("hux/credential", ""), []string{"credential is not set up"}},
		"a wrong secret":       {"0.21.3", write("hux/hook-secret", "x"), []string{"does not take the secret of webhooks"}},
		"a secret not in .env": {"0.21.3", write(".env", "A=b\n"), []string{"Hermes does not find the secret"}},
		"nobody listens":       {"0.21.3", edit(at, "http://"+freeAddr(t)), []string{"hux does not answer at", "nothing listens there: is hux running"}},
		"another server":       {"0.21.3", edit(at, other.URL), []string{"with status 418 is not hux", "--url"}},
		"a foreign certificate": {"0.21.3", func(_ *testing.T, i *installed) {
			i.env = append(i.env, "SSL_CERT_FILE=/dev/null", "SSL_CERT_DIR=/dev/null")
		}, []string{"certificate", "SSL_CERT_FILE"}},
		"a clock that is late":  {"0.21.3", edit(at, late.URL), []string{"clocks of this machine and of hux are 3m"}},
		"all hooks off":         {"0.21.3", func(_ *testing.T, i *installed) { i.env = append(i.env, "HERMES_SAFE_MODE=1") }, []string{"HERMES_SAFE_MODE"}},
		"no Hermes":             {"0.21.3", func(_ *testing.T, i *installed) { i.env = append(i.env, "PYTHONPATH=/nonexistent") }, []string{"Hermes' own code fails"}},
		"a secret for everyone": {"0.21.3", func(_ *testing.T, i *installed) { _ = os.Chmod(filepath.Join(i.home, "hux", "credential"), 0o644) }, []string{"others can read the file of the credential"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newHermes(t, "model: x\n")
			i.env = append(i.env, "PYTHONPATH="+lib, "PYTHONDONTWRITEBYTECODE=1", "HERMES_STANDIN_VERSION="+c.version)
			if stdout, stderr, ok := i.install(t, h.told(t, "a", at), "--yes"); !ok {
				t.Fatalf("%s%s", stdout, stderr)
			}
			if c.spoil != nil {
				c.spoil(t, i)
			}
			cmd := exec.Command(binary, "agents", "check", i.config, "--python", python)
			cmd.Env, cmd.Dir = i.env, i.home
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			ok := cmd.Run() == nil
			stdout, stderr := out.String(), errs.String()
			if ok != (c.says == nil) || strings.Contains(stdout, "wrong") == ok || stderr != "" {
				t.Errorf("ok %v\n%s%s", ok, stdout, stderr)
			}
			for _, says := range c.says {
				if !strings.Contains(stdout, says) {
					t.Errorf("it does not say %q:\n%s", says, stdout)
				}
			}
			if ok && strings.Count("\n"+stdout, "\nok ") != 9 {
				t.Errorf("all is well, and it says\n%s", stdout)
			}
		})
	}
	t.Cleanup(func() {
		if l := alice.list(t, "/conversations"); len(l.Items) > 0 {
			t.Errorf("the trials left %v", l.Items)
		}
	})
}
