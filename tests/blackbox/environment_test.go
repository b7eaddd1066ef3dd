package blackbox_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// spyingProxy notes what it is asked for and answers nothing.
func spyingProxy(t *testing.T) (env []string, asked func() string) {
	t.Helper()
	var mu sync.Mutex
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Method+" "+r.RequestURI)
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(s.Close)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"="+s.URL, strings.ToLower(name)+"="+s.URL)
	}
	return append(env, "NO_PROXY=", "no_proxy="), func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(seen, "\n")
	}
}

// A proxy that the environment names for other programs sees nothing: neither
// what hook and tail send, nor what serve asks the provider and the WebUIs.
// 0.0.0.0 leads to this machine and is no loopback address, for which Go asks
// no proxy anyway.
func TestNoProxyOfTheEnvironment(t *testing.T) {
	t.Parallel()
	env, asked := spyingProxy(t)
	elsewhere := func(url string) string { return strings.Replace(url, "127.0.0.1", "0.0.0.0", 1) }
	h := prepare(t, setup{env: env, slots: []slot{{id: "a", url: elsewhere(newUpstream(t).url.String()), members: []string{"alice"}}},
		config: map[string]any{"api_hosts": "127.0.0.1,0.0.0.0"}})
	content, err := os.ReadFile(h.file)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, h.file, strings.Replace(string(content), h.sso.URL, elsewhere(h.sso.URL), 1))
	h.launch(t)
	h.log.wait(t, `"sign-in provider found"`)
	h.signIn(t, "h2", "alice")
	alice, agent := h.person(t, "h2", "alice"), h.hooked(t, "h2", "a")
	conversation := alice.conversation(t)
	alice.post(t, conversation, note("step"))

	hook := append(agent.hookEnv(t), env...)
	for i, v := range hook {
		if strings.HasPrefix(v, "HUX_URL=") {
			hook[i] = elsewhere(v)
		}
	}
	called := stdin("s", "t", "c", "read_file", `{"path":"a"}`)
	if said := startHook(t, hook, called).says(t, 20*time.Second); said != "allow" {
		t.Errorf("the hook: %s", said)
	}
	told := startHook(t, hook, called, "event")
	if <-told.exited; told.errors.Len() > 0 {
		t.Errorf("hook event: %s", &told.errors)
	}
	token := writeFile(t, filepath.Join(t.TempDir(), "token"), h.token(t, "alice"))
	tail := startTail(t, append(env, trusting(t)), conversation, "--url", elsewhere("https://"+h.addr.get()), "--token-file", token)
	tail.lines(t, 1)
	if _, stderr, ok := h.run(t, "check", "--online"); !ok && strings.Contains(stderr, "oidc_issuer") {
		t.Errorf("check --online: %s", stderr)
	}
	if seen := asked(); seen != "" {
		t.Errorf("the proxy was asked for:\n%s", seen)
	}
}

// A proxy that hux's own setting names is asked for the provider.
func TestProxyOfTheProvider(t *testing.T) {
	t.Parallel()
	env, asked := spyingProxy(t)
	proxy := strings.TrimPrefix(env[0], "HTTP_PROXY=")
	start(t, setup{waiting: true, config: map[string]any{"oidc_proxy": proxy, "oidc_internal_url": "http://sso.hux.test"}})
	eventually(t, 20*time.Second, "the proxy is asked", func() bool {
		return strings.Contains(asked(), "GET http://sso.hux.test/.well-known/openid-configuration")
	})
}
