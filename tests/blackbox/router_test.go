package blackbox_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bstein.dev/hux/router/demo/provider"
)

// The names of the system under test. Only the tests' dialer knows where they
// are.
const (
	chatURL    = "https://chat.hux.test"
	consoleURL = "https://console.hux.test"
	apiURL     = "https://127.0.0.1"
	issuer     = "http://sso.hux.test"
	namespace  = "black-box"
)

// router is a hux process with the outside parties that it needs.
type router struct {
	owner    testing.TB // whose end is the router's
	provider *provider.Provider
	sso      *httptest.Server              // where the provider is really
	silent   atomic.Pointer[chan struct{}] // while it is set and open the provider answers nothing
	secrets  *secrets
	key      []byte
	dir      string // the process's own directory: configuration, certificates, secrets
	data     string
	file     string
	env      []string

	cmd    *exec.Cmd
	addr   address
	log    *logBuffer
	exited chan error
}

// setup is what a test wants of a router.
type setup struct {
	slots   []slot
	config  map[string]any // over the usual settings; nil takes one away
	env     []string
	people  []provider.Person
	plain   bool          // no TLS: a proxy in front would end it
	waiting bool          // don't wait for the provider
	down    bool          // the provider is down at first
	access  time.Duration // lifetime of access tokens; 0 for the provider's default
}

type slot struct {
	id      string
	up      *upstream
	url     string   // instead of up
	members []string // names of people
}

// people are those of every test unless it says otherwise. Their subjects are
// random, and looked for in everything that the router writes.
func defaultPeople() []provider.Person {
	people := []provider.Person{
		{Name: "alice", FullName: "Alice Sentinel"}, {Name: "bob", FullName: "Bob Sentinel"}, {Name: "carol", FullName: "Carol Sentinel"},
		{Name: "olga", FullName: "Olga Sentinel", Roles: []string{"hux-operator"}},
		{Name: "worker", FullName: "Worker Sentinel", Roles: []string{"hux-worker"}},
	}
	for i := range people {
		people[i].Subject = "subject-" + rand.Text()
	}
	return people
}

// start starts a router and stops it with the test, and then looks for
// secrets in what it has left behind.
func start(t testing.TB, s setup) *router {
	t.Helper()
	h := prepare(t, s)
	h.launch(t)
	if !s.waiting && !s.down {
		h.log.wait(t, `"sign-in provider found"`)
	}
	return h
}

// prepare makes all but the process.
func prepare(t testing.TB, s setup) *router {
	t.Helper()
	h := &router{owner: t, secrets: &secrets{values: map[string]string{}}, key: make([]byte, 32), dir: t.TempDir(), log: &logBuffer{}}
	_, _ = rand.Read(h.key) // never fails
	h.data = filepath.Join(h.dir, "data")
	if s.people == nil {
		s.people = defaultPeople()
	}
	clientSecret := rand.Text()
	h.secrets.add("client secret", clientSecret)
	console := consoleURL
	if v, ok := s.config["console_url"]; ok && v == nil {
		console = chatURL
	}
	var err error
	h.provider, err = provider.New(provider.Options{
		Issuer: issuer, People: s.people,
		Clients: []provider.Client{
			{
				ID: "hux", Secret: clientSecret, RedirectURIs: []string{console + "/hux/auth/callback"},
				PostLogoutURIs: []string{console + "/hux/api/ui/signed-out"},
				BackchannelURI: console + "/hux/auth/backchannel", Audience: []string{"hux"},
			},
			{ID: "hux-cli", Audience: []string{"hux"}},
			{ID: "other", Secret: rand.Text(), RedirectURIs: []string{"https://other.hux.test/callback"}},
		},
		TokenClient: "hux-cli", AccessLifetime: s.access,
		HTTP: &http.Client{Transport: h.transport("h1"), Timeout: 5 * time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.provider.SetDown(s.down)
	provider := h.secrets.watchTokens(h.provider)
	h.sso = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if until := h.silent.Load(); until != nil {
			select {
			case <-*until:
			case <-r.Context().Done():
			}
		}
		provider.ServeHTTP(w, r)
	}))
	t.Cleanup(h.sso.Close)
	for _, who := range s.people {
		h.secrets.add("subject of "+who.Name, h.provider.Subject(who.Name))
		h.secrets.add("name of "+who.Name, who.FullName)
		h.secrets.add("e-mail of "+who.Name, who.Name+"@people.example")
	}

	config := map[string]any{
		"listen": "127.0.0.1:0", "public_url": chatURL, "console_url": consoleURL, "data": h.data,
		"oidc_issuer": issuer, "oidc_internal_url": h.sso.URL, "oidc_namespace": namespace,
		"oidc_bearer_clients": "hux-cli", "slot_health_path": healthPath, "slot_health_every": "200ms",
		"grace": "2s", "flags": "all", "oidc_scopes": "openid,profile,email",
	}
	if !s.plain {
		authority.write(t, 2, filepath.Join(h.dir, "tls.crt"), filepath.Join(h.dir, "tls.key"))
		config["tls_cert"], config["tls_key"] = filepath.Join(h.dir, "tls.crt"), filepath.Join(h.dir, "tls.key")
	}
	if s.slots == nil {
		s.slots = []slot{{id: "pool", up: newUpstream(t)}}
	}
	slots := []map[string]any{}
	for _, sl := range s.slots {
		m := map[string]any{"id": sl.id, "url": sl.url}
		if sl.up != nil {
			m["url"] = sl.up.url.String()
		}
		members := []string{}
		for _, name := range sl.members {
			members = append(members, h.user(name))
		}
		if len(members) > 0 {
			m["members"] = members
		}
		slots = append(slots, m)
	}
	config["slots"] = slots
	maps.Copy(config, s.config)
	maps.DeleteFunc(config, func(_ string, v any) bool { return v == nil })
	h.file = filepath.Join(h.dir, "hux.yaml")
	writeConfig(t, h.file, config)

	// Secrets come by file, as a deployment has them.
	h.env = append(os.Environ(),
		"HUX_KEY_FILE="+writeFile(t, filepath.Join(h.dir, "key"), base64.StdEncoding.EncodeToString(h.key)+"\n"),
		"HUX_OIDC_CLIENT_SECRET_FILE="+writeFile(t, filepath.Join(h.dir, "client-secret"), clientSecret+"\n"))
	h.env = append(h.env, s.env...)
	h.secrets.add("key", base64.StdEncoding.EncodeToString(h.key))
	return h
}

func writeConfig(t testing.TB, file string, config map[string]any) {
	t.Helper()
	content, err := json.MarshalIndent(config, "", "  ") // JSON is YAML
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, file, string(content))
}

func writeFile(t testing.TB, name, content string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// launch starts the process and waits until it is ready.
func (h *router) launch(t testing.TB) {
	t.Helper()
	before := h.log.len()
	h.cmd = exec.Command(binary, "serve", "--config", h.file)
	h.cmd.Dir, h.cmd.Env = h.dir, h.env
	h.cmd.Stdout, h.cmd.Stderr = h.log, h.log
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, exited := h.cmd, make(chan error, 1)
	h.exited = exited
	go func() { exited <- cmd.Wait() }()
	h.owner.Cleanup(func() {
		if h.cmd == cmd && h.running() {
			h.stop(h.owner)
		}
	})
	var ended bool
	eventually(t, 20*time.Second, "the router is ready", func() bool {
		select {
		case err := <-exited:
			exited <- err
			ended = true
			return true
		default:
		}
		h.addr.set(h.log.listening(before))
		if h.addr.get() == "" {
			return false
		}
		c, err := net.Dial("tcp", h.addr.get())
		if err != nil {
			return false
		}
		_ = c.Close()
		return true
	})
	if ended {
		h.cmd = nil
		t.Fatalf("the router ended at once:\n%s", h.log)
	}
}

func (h *router) running() bool {
	if h.cmd == nil {
		return false
	}
	select {
	case err := <-h.exited:
		h.exited <- err
		return false
	default:
		return true
	}
}

// stop ends the process as a service manager does and looks at what it leaves.
func (h *router) stop(t testing.TB) {
	t.Helper()
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("SIGTERM: %v", err)
	}
	h.waitExit(t, 10*time.Second)
	h.audit(t)
}

func (h *router) waitExit(t testing.TB, within time.Duration) {
	t.Helper()
	select {
	case err := <-h.exited:
		h.exited <- err
		if err != nil {
			t.Errorf("the router ended with %v\n%s", err, h.log.tail())
		}
	case <-time.After(within):
		_ = h.cmd.Process.Kill()
		t.Errorf("the router did not end within %v\n%s", within, h.log.tail())
		err := <-h.exited
		h.exited <- err
	}
}

// crash ends the process without a word.
func (h *router) crash(t testing.TB) {
	t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	err := <-h.exited
	h.exited <- err
}

// audit looks for secrets in the log and in the data directory.
func (h *router) audit(t testing.TB) {
	t.Helper()
	log := h.log.String()
	for _, bad := range []string{"DATA RACE", `"msg":"panic"`, "goroutine 1 ["} {
		if at := strings.Index(log, bad); at >= 0 {
			t.Errorf("the log has %q:\n%s", bad, log[at:])
		}
	}
	h.secrets.absent(t, "the log", []byte(log))
	err := filepath.WalkDir(h.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		h.secrets.absent(t, filepath.Base(path), content)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// user is the id that contracts 2.1 gives a person.
func (h *router) user(name string) string {
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(namespace + "\x00" + h.provider.Subject(name)))
	return "usr_" + hex.EncodeToString(mac.Sum(nil))[:40]
}

// token is an access token of a person as a command line tool would get it.
func (h *router) token(t testing.TB, name string) string {
	t.Helper()
	token, err := h.provider.Token(name)
	if err != nil {
		t.Fatal(err)
	}
	h.secrets.add("bearer token of "+name, token)
	return token
}

// run runs a command of the router's on its configuration.
func (h *router) run(t testing.TB, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	return runWith(t, append(slices.Clip(h.env), "HUX_CONFIG="+h.file), h.dir, args...)
}

func runWith(t testing.TB, env []string, dir string, args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Dir = env, dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), err == nil
}

// dial reaches the names of the tests.
func (h *router) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(addr)
	switch {
	case err != nil:
		return nil, err
	case host == "sso.hux.test":
		addr = h.sso.Listener.Addr().String()
	case port == "443" || strings.HasSuffix(host, ".hux.test"):
		addr = h.addr.get()
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}
