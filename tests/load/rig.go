package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"github.com/valyala/fasthttp"

	"bstein.dev/hux/router/demo/provider"
)

// person is who signs in. The provider knows her by default.
const person = "alice"

// rig is all that runs beside the driver: the upstream, the provider that
// people sign in at, and the targets.
type rig struct {
	options
	ctx       context.Context // of everything; the processes end with it
	dir       string
	secret    string
	provider  *provider.Provider
	issuer    *httptest.Server
	places    map[string]string // where each program to compare with will listen
	metrics   string            // where the router tells its metrics
	driver    procfs.Proc
	processes []*process

	upstream *target
	session  *target // hux, to a person with a session in a cookie
	bearer   *target // hux, to a person with a bearer token
	notes    []string
}

func (r *rig) build(flags string) {
	r.secret, r.metrics, r.driver = rand.Text(), freeAddr(), must(procfs.Self())
	r.dir = must(os.MkdirTemp("", "hux-load-"))
	r.upstream = r.startPart("upstream itself", "upstream", "")
	hux := freeAddr()
	r.places = map[string]string{}
	var callbacks []string
	for _, p := range append(proxies, mercure) {
		r.places[p.name] = freeAddr()
		callbacks = append(callbacks, "http://"+r.places[p.name]+"/oauth2/callback")
	}
	r.issuer = httptest.NewUnstartedServer(nil)
	r.provider = must(provider.New(provider.Options{
		Issuer:         "http://" + r.issuer.Listener.Addr().String(),
		AccessLifetime: time.Hour,
		Clients: []provider.Client{
			{ID: "hux", Secret: r.secret, RedirectURIs: []string{site("console", hux) + "/hux/auth/callback"}},
			{ID: "oauth2-proxy", Secret: r.secret, RedirectURIs: callbacks},
			{ID: "hux-cli", Audience: []string{"hux"}},
		},
		TokenClient: "hux-cli",
	}))
	r.issuer.Config.Handler = r.provider
	r.issuer.Start()
	r.startHux(hux, flags)
}

func (r *rig) close() {
	for _, p := range r.processes {
		if p.stop != nil { // it began
			p.stop()
		}
	}
	if r.issuer != nil {
		r.issuer.Close()
	}
	_ = os.RemoveAll(r.dir)
}

func (r *rig) start(name, addr string, env []string, command ...string) *process {
	p := &process{name: name, dir: r.dir, addr: addr, env: env, command: command}
	r.processes = append(r.processes, p)
	p.start(r.ctx)
	return p
}

// startPart starts a part of this program.
func (r *rig) startPart(name, part, upstream string) *target {
	addr := freeAddr()
	return &target{name: name, version: "–", addr: addr, headers: []string{"Host: " + addr},
		process: r.start(part, addr, nil, must(os.Executable()), part, addr, upstream)}
}

// huxConfig keeps what is not measured out of the way: no access log, as with
// the others, and room for as many streams as are asked for.
const huxConfig = `listen: %s
metrics_listen: %s
public_url: %s
console_url: %s
data: %s
access_log: %v
oidc_issuer: %s
oidc_bearer_clients: hux-cli
slot_connections: 20000
slots:
- {id: load, url: "http://%s"}
`

// eventConfig is for the cases that need flags.
const eventConfig = `flags: %s
streams_per_user: 100000
tenant_quota: 1000GiB
slot_health_every: 1h
`

// startHux starts the router and signs a person in to it.
func (r *rig) startHux(addr, flags string) {
	chat, file := site("chat", addr), filepath.Join(r.dir, "hux.yaml")
	text := fmt.Sprintf(huxConfig, addr, r.metrics, chat, site("console", addr), filepath.Join(r.dir, "data"), r.accessLog, r.issuer.URL, r.upstream.addr)
	if r.kind == "tenants" {
		text += tenantSlots()
	}
	if flags != "" {
		text += fmt.Sprintf(eventConfig, flags)
	}
	check(os.WriteFile(file, []byte(text), 0o600))
	key := make([]byte, 32)
	must(rand.Read(key))
	env := []string{"HUX_KEY=" + base64.StdEncoding.EncodeToString(key), "HUX_OIDC_CLIENT_SECRET=" + r.secret}
	hux := target{version: revision(), addr: addr, headers: []string{"Host: " + addr},
		process: r.start("hux", addr, env, r.hux, "serve", "--config", file)}
	r.session = signedIn(hux, "hux, session", chat)
	r.bearer = hux.with("hux, bearer token", must(r.provider.Token(person)))
}

// revision is the commit that the router is made from.
func revision() string {
	text, _ := exec.Command("git", "describe", "--always", "--dirty=, changed", "--exclude=*").Output()
	return cmp.Or(strings.TrimSpace(string(text)), "unknown commit")
}

// signedIn is a target with the session of a person who signs in at a host.
// That may take a while: a proxy looks for its provider in the background.
func signedIn(t target, name, host string) *target {
	t.process.soon(func() {
		t.name, t.headers = name, []string{"Host: " + strings.TrimPrefix(host, "http://"), "Cookie: " + signIn(host, person)}
	})
	return &t
}

// metric is what the router says of itself, in bytes.
func (r *rig) metric(name string) int64 {
	_, text, err := fasthttp.Get(nil, "http://"+r.metrics+"/metrics")
	check(err)
	_, after, _ := strings.Cut(string(text), "\n"+name+" ")
	value, _, _ := strings.Cut(after, "\n")
	return int64(must(strconv.ParseFloat(value, 64)))
}
