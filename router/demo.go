package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/demo/provider"
	"bstein.dev/hux/router/demo/standin"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/server"
)

const demoHelp = `Usage: hux demo [--listen 127.0.0.1:8080] [--data DIR] [--verbose]

Starts the router with everything it needs inside: an OpenID provider with three
people and a worker, a stand-in WebUI for alice and one for bob, and a scripted
agent. With
--data (or HUX_DATA) it keeps sign-ins, user ids and slots there; the stand-ins'
chats are forgotten at the end in any case.
--verbose logs each request.
`

// demoSlots are the slots of the demo and whose they are.
var demoSlots = []string{"alice", "bob"}

func demo(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set := flag.NewFlagSet("hux demo", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	listen := set.String("listen", envOr("HUX_LISTEN", "127.0.0.1:8080"), "")
	data := set.String("data", os.Getenv("HUX_DATA"), "")
	verbose := set.Bool("verbose", false, "")
	if err := set.Parse(args); errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, demoHelp)
		return nil
	} else if err != nil || set.NArg() > 0 {
		return misread("hux demo", err)
	}
	level := slog.LevelWarn
	if *verbose {
		level = slog.LevelInfo
	}
	setLog(stderr, level)
	if *data == "" {
		dir, err := os.MkdirTemp("", "hux-demo-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }()
		*data = dir
	}
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		return fmt.Errorf("%w; HUX_LISTEN=127.0.0.1:PORT chooses another", err)
	}
	address := l.Addr().(*net.TCPAddr)
	if !address.IP.IsLoopback() {
		fmt.Fprintln(stderr, "warning: others on the network can reach this demo, and its passwords are no secret; use HUX_LISTEN=127.0.0.1:PORT")
	}
	d, err := newDemo(address.Port, *data)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer d.close()
	d.greet(stdout)
	return errors.Join(d.server.Run(ctx, l), d.server.Close())
}

func envOr(name, def string) string {
	if v := os.Getenv(name); v != "" {
		return v
	}
	return def
}

// theDemo is the router with the outside parties it needs, each on a socket
// of its own.
type theDemo struct {
	server    *server.Server
	config    *config.Config
	provider  *provider.Provider
	webUIs    map[string]*outside
	listeners []io.Closer
}

func newDemo(port int, data string) (*theDemo, error) {
	d := &theDemo{webUIs: map[string]*outside{}}
	if err := d.build(port, data); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *theDemo) build(port int, data string) error {
	key, err := demoKey(data)
	if err != nil {
		return err
	}
	chat, console := fmt.Sprintf("http://chat.hux.localhost:%d", port), fmt.Sprintf("http://console.hux.localhost:%d", port)
	sso, err := startOutside(nil)
	if err != nil {
		return err
	}
	d.listeners = append(d.listeners, sso)
	_, ssoPort, _ := net.SplitHostPort(sso.addr)
	issuer := "http://signin.localhost:" + ssoPort
	secret := rand.Text()
	d.provider, err = provider.New(provider.Options{
		Issuer: issuer,
		Clients: []provider.Client{
			{
				ID: "hux", Secret: secret,
				RedirectURIs:   []string{console + "/hux/auth/callback"},
				PostLogoutURIs: []string{console + "/hux/api/ui/signed-out"},
				BackchannelURI: fmt.Sprintf("http://127.0.0.1:%d/hux/auth/backchannel", port),
				Audience:       []string{"hux"},
			},
			{ID: "hux-cli", Audience: []string{"hux"}},
			{ID: "hux-worker", Secret: rand.Text(), Audience: []string{"hux"}, Service: "worker"},
		},
		TokenClient: "hux-cli",
	})
	if err != nil {
		return err
	}
	sso.setHandler(d.provider)

	var slots []string
	for _, name := range demoSlots {
		ui, err := startOutside(nil)
		if err != nil {
			return err
		}
		d.webUIs[name] = ui
		d.listeners = append(d.listeners, ui)
		slots = append(slots, name+"=http://"+ui.addr)
	}
	var problems []config.Problem
	d.config, _, problems, err = config.Load(config.Source{Defaults: map[string]string{
		"public_url": chat, "console_url": console, "data": data,
		"key": base64.StdEncoding.EncodeToString(key), "flags": "all",
		"oidc_issuer": issuer, "oidc_internal_url": "http://" + sso.addr, "oidc_namespace": "demo",
		"oidc_client_secret": secret, "oidc_bearer_clients": "hux-cli,hux-worker",
		"slots": strings.Join(slots, ","), "slot_health_every": "1s", "grace": "3s",
	}})
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("the demo's configuration: %v", problems)
	}
	for i, slot := range d.config.Slots {
		d.config.Slots[i].Members = []hux.User{identity.NewUserID(key, d.config.OIDCNamespace, d.provider.Subject(slot.ID))}
	}
	rules := proxy.DefaultRules()
	rules.Upstream.Version.Tested = []string{standin.WebUIVersion()}
	if d.server, err = server.New(d.config, server.Options{Version: version(), Rules: rules, Local: d.local()}); err != nil {
		return err
	}
	return d.staff(port)
}

// staff puts a stand-in WebUI with its scripted agent behind each slot. The
// agent gets a credential as hux agents gives one: a new one for the agent that
// an earlier demo on the same data left.
func (d *theDemo) staff(port int) error {
	stop, err := d.server.ServeAdmin()
	if err != nil {
		return errors.Join(err, d.server.Close())
	}
	defer stop()
	for _, name := range demoSlots {
		credential, err := d.credential(name)
		if err != nil {
			return errors.Join(err, d.server.Close())
		}
		api, err := client.New(client.Options{BaseURL: fmt.Sprintf("http://127.0.0.1:%d", port), Token: client.Static(credential)})
		if err != nil {
			return errors.Join(err, d.server.Close())
		}
		d.webUIs[name].setHandler(standin.New(standin.Options{Title: name, Router: api}))
	}
	return nil
}

func (d *theDemo) credential(slot string) (string, error) {
	const name = "scripted agent"
	ctx, socket := context.Background(), server.AdminSocket(d.config.Data)
	answer, err := post(ctx, socket, "/agents/list", server.AdminRequest{Slot: slot})
	if err != nil {
		return "", err
	}
	var agents []server.AgentView
	if err := json.Unmarshal(answer, &agents); err != nil {
		return "", err
	}
	path, command := "/agents/create", server.AdminRequest{Slot: slot, Name: name}
	for _, a := range agents {
		if a.Name == name && !a.Revoked {
			path, command = "/agents/rotate", server.AdminRequest{Agent: a.ID}
		}
	}
	if answer, err = post(ctx, socket, path, command); err != nil {
		return "", err
	}
	var credential identity.Credential
	err = json.Unmarshal(answer, &credential)
	return credential.Secret, err
}

func (d *theDemo) close() {
	for _, l := range d.listeners {
		_ = l.Close()
	}
}

// demoKey makes the router key at the first start with a data directory, and
// finds it again later, so that the same people keep their slots.
func demoKey(data string) ([]byte, error) {
	path := filepath.Join(data, demoMark)
	key, err := os.ReadFile(path)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(data, "router.db")); err == nil {
		return nil, fmt.Errorf("%s holds a router's data that no demo made; name another directory", data)
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	return key, os.WriteFile(path, key, 0o600)
}

// local answers under /demo/, for scripts on this machine: tokens to act as
// somebody, and a switch that takes a stand-in WebUI away.
func (d *theDemo) local() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /demo/token", func(w http.ResponseWriter, r *http.Request) {
		token, err := d.provider.Token(r.URL.Query().Get("user"))
		if err != nil {
			http.Error(w, "Ask with ?user= and one of: alice, bob, olga, worker.", http.StatusNotFound)
			return
		}
		_, _ = io.WriteString(w, token)
	})
	m.HandleFunc("POST /demo/slot", func(w http.ResponseWriter, r *http.Request) {
		ui := d.webUIs[r.URL.Query().Get("id")]
		if ui == nil {
			http.Error(w, "Ask with ?id=alice&up=false.", http.StatusNotFound)
			return
		}
		if err := ui.switchTo(r.URL.Query().Get("up") != "false"); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		if !fromThisMachine(r) {
			http.Error(w, "This is for commands on this machine, at 127.0.0.1.", http.StatusForbidden)
			return
		}
		m.ServeHTTP(w, r)
	})
}

// fromThisMachine refuses browsers, whatever page sends them, and other hosts.
func fromThisMachine(r *http.Request) bool {
	for name := range r.Header {
		if name == "Origin" || strings.HasPrefix(name, "Sec-Fetch-") {
			return false
		}
	}
	host, _, err := net.SplitHostPort(r.Host)
	peer, peerErr := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && host == "127.0.0.1" && peerErr == nil && peer.Addr().IsLoopback()
}

func (d *theDemo) greet(w io.Writer) {
	chat := d.config.PublicURL.String()
	local := "http://127.0.0.1:" + d.config.PublicURL.Port()
	data := d.config.Data
	if abs, err := filepath.Abs(data); err == nil {
		data = abs
	}
	fmt.Fprintf(w, `
hux demo

  Open     %s
  Console  %s

  Sign in as  alice   has a chat of her own     (each password is the name)
              bob     has another
              olga    operates the router; no chat

  As a command, as one of them or as worker, the release automation:
    curl -H "Authorization: Bearer $(curl -s '%s/demo/token?user=alice')" %s/hux/v1/capabilities

  An agent of your own, as docs/agents.md has it:
    HUX_DATA='%s' %s agents create alice "my agent" --env --url %s

  State is in %s. Ctrl-C ends it.

`, chat, d.config.ConsoleURL, local, local, data, os.Args[0], local, data)
}

// outside is one outside party on a loopback socket. It can go away and come
// back on the same address.
type outside struct {
	addr    string
	handler http.Handler

	mu     sync.Mutex
	server *http.Server
}

func startOutside(h http.Handler) (*outside, error) {
	o := &outside{addr: "127.0.0.1:0", handler: h}
	return o, o.switchTo(true)
}

// setHandler is for a party that must know its address first; call it before
// the first request.
func (o *outside) setHandler(h http.Handler) { o.handler = h }

func (o *outside) switchTo(up bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if up == (o.server != nil) {
		return nil
	}
	if !up {
		err := o.server.Close()
		o.server = nil
		return err
	}
	l, err := net.Listen("tcp", o.addr)
	if err != nil {
		return err
	}
	o.addr = l.Addr().String()
	o.server = &http.Server{ReadHeaderTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o.handler.ServeHTTP(w, r)
	})}
	go func(s *http.Server) { _ = s.Serve(l) }(o.server)
	return nil
}

func (o *outside) Close() error { return o.switchTo(false) }
