package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"debug/buildinfo"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"
	"time"

	"bstein.dev/hux/router/demo/provider"
)

// target is a way to the upstream that can be measured.
type target struct {
	name    string
	version string
	addr    string
	headers []string // of each request, Host first
	pids    []int    // whose CPU time and memory count as the target's; none for the upstream itself
	update  string   // of a hub alone: what is published at each post, as a form that lacks the topic
}

// request is a GET of path as this target wants it.
func (t *target) request(path string) []byte {
	return []byte("GET " + path + " HTTP/1.1\r\n" + strings.Join(t.headers, "\r\n") +
		"\r\nUser-Agent: hux-load\r\nAccept: */*\r\n\r\n")
}

// rig is all that runs beside the driver: the upstream, the provider that
// people sign in at, and the targets.
type rig struct {
	dir       string
	self      string // this program, for the parts that are processes of their own
	upstream  string
	upPIDs    []int
	provider  *provider.Provider
	issuer    string
	secret    string
	oauth2    string // where oauth2-proxy will listen
	oauth2Min string // and the one with the small cookie
	hux       string // where hux will listen
	metrics   string
	binary    string   // the router's
	env       []string // and its secrets
	router    *process
	processes []*process
	server    *http.Server
	targets   []*target
	notes     []string // what could not be measured
}

// person is who signs in. The provider knows her by default.
const person = "alice"

func newRig(ctx context.Context) (*rig, error) {
	r := &rig{secret: rand.Text()}
	if err := r.build(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) build(ctx context.Context) (err error) {
	if r.dir, err = os.MkdirTemp("", "hux-load-"); err != nil {
		return err
	}
	if r.self, err = os.Executable(); err != nil {
		return err
	}
	for _, addr := range []*string{&r.upstream, &r.oauth2, &r.oauth2Min, &r.hux, &r.metrics} {
		if *addr, err = freeAddr(); err != nil {
			return err
		}
	}
	p, err := r.start(ctx, "upstream", r.upstream, nil, r.self, "-as", "upstream", "-listen", r.upstream)
	if err != nil {
		return err
	}
	r.upPIDs = p.tree()
	r.targets = append(r.targets, &target{name: "upstream itself", addr: r.upstream, headers: []string{"Host: " + r.upstream}})
	return r.startProvider()
}

func (r *rig) startProvider() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r.issuer = "http://" + l.Addr().String()
	r.provider, err = provider.New(provider.Options{
		Issuer:         r.issuer,
		AccessLifetime: time.Hour,
		Clients: []provider.Client{
			{ID: "hux", Secret: r.secret, RedirectURIs: []string{r.site("console") + "/hux/auth/callback"}},
			{ID: "oauth2-proxy", Secret: r.secret, RedirectURIs: []string{
				"http://" + r.oauth2 + "/oauth2/callback", "http://" + r.oauth2Min + "/oauth2/callback"}},
			{ID: "hux-cli", Audience: []string{"hux"}},
		},
		TokenClient: "hux-cli",
	})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	r.server = &http.Server{Handler: r.provider, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(l) }()
	return nil
}

// site is the origin of one of the router's hosts.
func (r *rig) site(name string) string {
	_, port, _ := net.SplitHostPort(r.hux)
	return "http://" + name + domain + ":" + port
}

// start runs a command and waits until it listens. All get as many threads as
// the machine has CPUs.
func (r *rig) start(ctx context.Context, name, addr string, env []string, command ...string) (*process, error) {
	p, err := start(r.dir, name, append(env, fmt.Sprintf("GOMAXPROCS=%d", runtime.NumCPU())), command...)
	if err != nil {
		return nil, err
	}
	r.processes = append(r.processes, p)
	return p, p.ready(ctx, addr)
}

func (r *rig) close() {
	for _, p := range r.processes {
		p.stop()
	}
	if r.server != nil {
		_ = r.server.Close()
	}
	_ = os.RemoveAll(r.dir)
}

func (r *rig) addBare(ctx context.Context) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	p, err := r.start(ctx, "bare", addr, nil, r.self, "-as", "bare", "-listen", addr, "-upstream", "http://"+r.upstream)
	if err != nil {
		return err
	}
	r.targets = append(r.targets, &target{name: bareName, version: runtime.Version(), addr: addr, headers: []string{"Host: " + addr}, pids: p.tree()})
	return nil
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

// addHux starts the router and signs a person in to it. It is a target twice:
// with a session in a cookie, and with a bearer token.
func (r *rig) addHux(ctx context.Context, o options, version string) error {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	text := fmt.Sprintf(huxConfig, r.hux, r.metrics, r.site("chat"), r.site("console"), filepath.Join(r.dir, "data"), o.accessLog, r.issuer, r.upstream)
	if o.kind == "tenants" {
		for n := range tenants { // nobody listens there, and nobody has to
			text += fmt.Sprintf("- {id: load-%d, url: \"http://127.1.%d.%d:9\"}\n", n, n/250, n%250+1)
		}
	}
	if eventCases[o.kind] != nil {
		text += fmt.Sprintf(eventConfig, furtherFlags[o.kind])
	}
	if err := os.WriteFile(filepath.Join(r.dir, "hux.yaml"), []byte(text), 0o600); err != nil {
		return err
	}
	r.binary = o.hux
	r.env = []string{"HUX_KEY=" + base64.StdEncoding.EncodeToString(key), "HUX_OIDC_CLIENT_SECRET=" + r.secret}
	p, err := r.startHux(ctx)
	if err != nil {
		return err
	}
	cookie, err := signInSoon(ctx, r.site("chat")+"/")
	if err != nil {
		return fmt.Errorf("signing in to hux: %w; %s", err, p.lastWords())
	}
	token, err := r.provider.Token(person)
	if err != nil {
		return err
	}
	chat := strings.TrimPrefix(r.site("chat"), "http://")
	r.targets = append(r.targets,
		&target{name: huxName, version: version, addr: r.hux, headers: []string{"Host: " + chat, "Cookie: " + cookie}, pids: p.tree()},
		&target{name: huxBearerName, version: version, addr: r.hux, headers: []string{"Host: " + r.hux, "Authorization: Bearer " + token}, pids: p.tree()})
	return nil
}

func (r *rig) startHux(ctx context.Context) (p *process, err error) {
	r.router, err = r.start(ctx, "hux", r.hux, r.env, r.binary, "serve", "--config", filepath.Join(r.dir, "hux.yaml"))
	return r.router, err
}

//go:embed peers
var peerConfigs embed.FS

// peerConfig is what the files in peers/ are made with.
type peerConfig struct {
	Dir, Listen, Upstream, Issuer, Secret, CookieSecret string
	Minimal                                             bool
}

// peer is another program to measure: what it is called, its files in peers/,
// its command line.
type peer struct {
	name    string
	program string
	module  string // the Go module whose version it is known by, if not its program's
	files   []string
	args    []string
	signIn  bool
	minimal bool
}

var peers = []peer{
	{name: "nginx", program: "nginx", files: []string{"nginx.conf"}, args: []string{"-p", "{{.Dir}}", "-e", "stderr", "-c", "{{.Dir}}/nginx.conf"}},
	{name: "Traefik", program: "traefik", files: []string{"traefik.yaml", "traefik-routes.yaml"}, args: []string{"--configFile={{.Dir}}/traefik.yaml"}},
	{name: "Caddy", program: "caddy", files: []string{"Caddyfile"}, args: []string{"run", "--adapter", "caddyfile", "--config", "{{.Dir}}/Caddyfile"}},
	{name: "oauth2-proxy, session", program: "oauth2-proxy", files: []string{"oauth2-proxy.cfg"}, args: []string{"--config={{.Dir}}/oauth2-proxy.cfg"}, signIn: true},
	{name: "oauth2-proxy, session without tokens", program: "oauth2-proxy", files: []string{"oauth2-proxy.cfg"}, args: []string{"--config={{.Dir}}/oauth2-proxy.cfg"}, signIn: true, minimal: true},
}

// addPeer starts another program if its program is in one of dirs or in PATH.
func (r *rig) addPeer(ctx context.Context, p peer, dirs []string) error {
	program, err := find(p.program, dirs)
	if err != nil {
		r.notes = append(r.notes, p.name+" is not measured: "+err.Error())
		return nil //nolint:nilerr // the others are measured all the same
	}
	c := peerConfig{Dir: filepath.Join(r.dir, strings.ReplaceAll(p.name, " ", "-")), Upstream: r.upstream, Issuer: r.issuer, Secret: r.secret,
		CookieSecret: rand.Text() + "aaaaaa", Minimal: p.minimal}
	switch {
	case p.minimal:
		c.Listen = r.oauth2Min
	case p.signIn:
		c.Listen = r.oauth2
	default:
		if c.Listen, err = freeAddr(); err != nil {
			return err
		}
	}
	if err := os.Mkdir(c.Dir, 0o700); err != nil {
		return err
	}
	for _, file := range p.files {
		text, err := peerConfigs.ReadFile("peers/" + file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.Dir, file), c.fill(string(text)), 0o600); err != nil {
			return err
		}
	}
	command := []string{program}
	for _, arg := range p.args {
		command = append(command, string(c.fill(arg)))
	}
	child, err := r.start(ctx, filepath.Base(c.Dir), c.Listen, nil, command...)
	if err != nil {
		return err
	}
	t := &target{name: p.name, version: versionOf(program, p.module), addr: c.Listen, headers: []string{"Host: " + c.Listen}, pids: child.tree()}
	if p.signIn {
		cookie, err := signInSoon(ctx, "http://"+c.Listen+"/")
		if err != nil {
			return fmt.Errorf("signing in to %s: %w; %s", p.name, err, child.lastWords())
		}
		t.headers = append(t.headers, "Cookie: "+cookie)
	}
	r.targets = append(r.targets, t)
	return nil
}

func (c peerConfig) fill(text string) []byte {
	var b bytes.Buffer
	if err := template.Must(template.New("").Parse(text)).Execute(&b, c); err != nil {
		panic(err) // the templates are ours and embedded
	}
	return b.Bytes()
}

func find(program string, dirs []string) (string, error) {
	for _, dir := range append(dirs, "/usr/sbin") {
		if path, err := exec.LookPath(filepath.Join(dir, program)); err == nil {
			return filepath.Abs(path)
		}
	}
	return exec.LookPath(program)
}

var versionNumber = regexp.MustCompile(`v?\d+\.\d+\.\d+`)

// versionOf is what Go has put into the program, or what that says when asked.
func versionOf(program, module string) string {
	if info, err := buildinfo.ReadFile(program); err == nil {
		m := &info.Main
		if i := slices.IndexFunc(info.Deps, func(d *debug.Module) bool { return d.Path == module }); i >= 0 {
			m = info.Deps[i]
		}
		if m.Version != "" && m.Version != "(devel)" {
			return m.Version + ", " + info.GoVersion
		}
	}
	for _, arg := range []string{"-v", "version"} {
		text, err := exec.Command(program, arg).CombinedOutput() //nolint:gosec // a program that the caller named
		if v := versionNumber.Find(text); err == nil && v != nil {
			return string(v)
		}
	}
	return "unknown version"
}

// revision is the commit that the router is built from.
func revision() string {
	text, err := exec.Command("git", "describe", "--always", "--dirty=, changed", "--exclude=*").Output()
	if err != nil {
		return "unknown commit"
	}
	return strings.TrimSpace(string(text))
}
