package main

import (
	"crypto/rand"
	"debug/buildinfo"
	"embed"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"
)

//go:embed peers
var peerConfigs embed.FS

// peer is another program to measure: what it is called, its files in peers/,
// its command line, which are templates.
type peer struct {
	name    string
	program string
	module  string // the Go module whose version it is known by, if not its program's
	files   []string
	args    []string
	signIn  bool
	minimal bool
}

var proxies = []peer{
	{name: "nginx", program: "nginx", files: []string{"nginx.conf"}, args: []string{"-p", "{{.Dir}}", "-e", "stderr", "-c", "{{.Dir}}/nginx.conf"}},
	{name: "Traefik", program: "traefik", files: []string{"traefik.yaml", "traefik-routes.yaml"}, args: []string{"--configFile={{.Dir}}/traefik.yaml"}},
	{name: "Caddy", program: "caddy", files: []string{"Caddyfile"}, args: []string{"run", "--adapter", "caddyfile", "--config", "{{.Dir}}/Caddyfile"}},
	{name: "oauth2-proxy, session", program: "oauth2-proxy", files: []string{"oauth2-proxy.cfg"}, args: []string{"--config={{.Dir}}/oauth2-proxy.cfg"}, signIn: true},
	{name: "oauth2-proxy, session without tokens", program: "oauth2-proxy", files: []string{"oauth2-proxy.cfg"}, args: []string{"--config={{.Dir}}/oauth2-proxy.cfg"}, signIn: true, minimal: true},
}

// Mercure is a hub of server-sent events (mercure.rocks): a POST of a form
// publishes an update to a topic, a GET follows topics. Here a topic stands for
// a conversation.
var mercure = peer{name: "Mercure", program: "mercure", module: "github.com/dunglas/mercure", files: []string{"Mercure.Caddyfile"},
	args: []string{"run", "--adapter", "caddyfile", "--config", "{{.Dir}}/Mercure.Caddyfile"}}

const hubPath = "/.well-known/mercure"

// addPeer starts another program, if it is installed; else the target is nil.
func (r *rig) addPeer(p peer) *target {
	if r.peers == "-" {
		return nil
	}
	program, err := exec.LookPath(p.program)
	if err != nil {
		r.notes = append(r.notes, p.name+" is not measured: "+err.Error())
		return nil
	}
	dir, listen := filepath.Join(r.dir, strings.ReplaceAll(p.name, " ", "-")), r.places[p.name]
	check(os.Mkdir(dir, 0o700))
	fill := func(text string) string {
		var b strings.Builder
		check(template.Must(template.New("").Parse(text)).Execute(&b, map[string]any{"Dir": dir, "Listen": listen, "Upstream": r.upstream.addr,
			"Issuer": r.issuer.URL, "Secret": r.secret, "CookieSecret": rand.Text() + "aaaaaa", "Minimal": p.minimal}))
		return b.String()
	}
	for _, file := range p.files {
		text := must(peerConfigs.ReadFile("peers/" + file))
		check(os.WriteFile(filepath.Join(dir, file), []byte(fill(string(text))), 0o600))
	}
	command := []string{program}
	for _, arg := range p.args {
		command = append(command, fill(arg))
	}
	t := target{name: p.name, version: versionOf(program, p.module), addr: listen, headers: []string{"Host: " + listen},
		process: r.start(p.name, listen, nil, command...)}
	if p.signIn {
		return signedIn(t, p.name, "http://"+listen)
	}
	return &t
}

// addMercure starts the hub, if it is installed, to which data is published at
// each post.
func (r *rig) addMercure(data []byte) *target {
	t := r.addPeer(mercure)
	if t == nil {
		return nil
	}
	cmd := exec.CommandContext(r.ctx, mercure.program, "mercure-token", "--iss", r.issuer.URL, "--aud", "http://"+t.addr+hubPath,
		"--key", "@-", "--ttl", "24h", "--publish", "*", "--subscribe", "*")
	cmd.Stdin = strings.NewReader(r.secret)
	t = t.with(t.name, strings.TrimSpace(string(must(cmd.Output()))))
	t.update = url.Values{"data": {string(data)}}.Encode()
	r.notes = append(r.notes, t.name+" is "+t.version+".")
	return t
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
