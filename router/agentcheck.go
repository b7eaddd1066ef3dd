package main

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	agenthook "bstein.dev/hux/router/hook"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/client"
	"bstein.dev/hux/router/hermes"
)

const agentCheckHelp = `Usage:

  hux agents check [FILE] [--python PATH]

Tries, where a Hermes agent runs and as its user, whether its hooks are at work:
what FILE says, its config.yaml ($HERMES_HOME/config.yaml, else that of
~/.hermes), which Hermes there is, whether hux answers and takes its credential,
and what its own runner makes of the hook, also of one that is killed. It runs
no tool and asks nobody. It ends with status 1 where anything is wrong.

  --python   the interpreter of Hermes, where it is not found
`

// maxSkew is how far the agent's clock may be from hux': a webhook whose time
// is five minutes off is refused.
const maxSkew = time.Minute

// agentCheck is a run of hux agents check.
type agentCheck struct {
	file, python string
	out          io.Writer
	wrong        bool
	hookOptions
}

func checkAgent(ctx context.Context, args []string, stdout io.Writer) error {
	c := agentCheck{out: stdout}
	set := flag.NewFlagSet("hux agents check", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&c.python, "python", "", "")
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, agentCheckHelp)
		return errHelped
	}
	if err != nil || len(words) > 1 {
		return misread("hux agents check", err)
	}
	if c.file = strings.Join(words, ""); c.file == "" {
		home := os.Getenv("HERMES_HOME")
		if home == "" {
			home = filepath.Join(os.Getenv("HOME"), ".hermes")
		}
		c.file = filepath.Join(home, "config.yaml")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if c.configured() {
		c.reached(ctx)
	}
	c.tried(ctx)
	if c.wrong {
		return errSaid
	}
	return nil
}

func (c *agentCheck) ok(format string, args ...any) {
	fmt.Fprintf(c.out, "ok     "+format+"\n", args...)
}

func (c *agentCheck) note(format string, args ...any) {
	fmt.Fprintf(c.out, "note   "+format+"\n", args...)
}

// bad says what is wrong, and what to do.
func (c *agentCheck) bad(what, todo string) {
	c.wrong = true
	fmt.Fprintf(c.out, "wrong  %s: %s\n", hux.Plain(what), hux.Plain(todo))
}

// configured looks at config.yaml, and reports whether our hook is in it.
func (c *agentCheck) configured() bool {
	install := "run: hux agents install " + hermes.Join(c.file)
	content, err := os.ReadFile(c.file)
	if err != nil {
		c.bad(c.file+" can't be read", "name the config.yaml of the agent, and run this as its user")
		return false
	}
	if c.hookOptions, err = optionsOf(content); err != nil {
		c.bad(c.file, err.Error())
		return false
	}
	if c.command == "" {
		c.bad("hooks.pre_tool_call has no hux hook, so nothing is asked", install)
		return false
	}
	_, changes, err := hermes.Merge(content, hermes.Setup{
		Program: c.program, URL: c.url, Agent: agenthook.AgentOf(c.credential), CredentialFile: c.credentialFile, SecretFile: c.secretFile,
	})
	switch {
	case err != nil:
		c.bad(c.file, err.Error())
	case len(changes) == 0:
		c.ok("config.yaml: both hooks and the webhook, fail_closed, hooks_auto_accept, and time for a person to answer")
	}
	for _, what := range changes {
		c.bad("config.yaml, "+what, install)
	}
	for name, file := range map[string]string{"the credential": c.credentialFile, "the secret of webhooks": c.secretFile} {
		if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
			c.bad("others can read the file of "+name, "chmod 600 "+hermes.Join(file))
		}
	}
	return true
}

// reached asks hux as the hook would.
func (c *agentCheck) reached(ctx context.Context) {
	api, err := client.New(client.Options{BaseURL: c.url, Token: client.Static(c.credential), UserAgent: "hux-check/" + hux.ContractVersion, Tries: 1})
	if err != nil || c.credential == "" {
		c.bad("the hook's address or its credential is not set up", "run: hux agents install "+hermes.Join(c.file)+" --from FILE")
		return
	}
	if at, _ := url.Parse(c.url); at.Scheme == "http" && !loopback(at.Hostname()) {
		c.note("%s is plain http: what tools are asked to do, and the credential, can be read on the way. Use https unless that way is within one machine", hux.Plain(c.url))
	}
	var capabilities struct {
		Flags map[string]struct{ Enabled bool }
	}
	asking, cancel := context.WithTimeout(ctx, agenthook.AskWithin)
	defer cancel()
	answer, err := api.Do(asking, client.Request{Path: "/capabilities"}, &capabilities)
	if err != nil {
		c.unreached(err)
		return
	}
	c.ok("hux answers at %s and takes the credential", hux.Plain(c.url))
	if !capabilities.Flags["hux.autonomy"].Enabled {
		c.bad("hux.autonomy is not switched on, so every call is blocked", "add it to flags in the configuration of hux")
	}
	if sent, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		if skew := time.Since(sent).Round(time.Second); skew.Abs() > maxSkew {
			c.bad(fmt.Sprintf("the clocks of this machine and of hux are %v apart", skew.Abs()), "set them by NTP; webhooks are refused from five minutes on")
		} else {
			c.ok("the clocks are within %v", maxSkew)
		}
	}
	secret, err := agenthook.Secret(c.secretFile, hermes.SecretVariable)
	if err == nil { // an event that hux leaves alone, once it has verified it
		body := fmt.Sprintf(`{"hook_event_name":%q,"delivery_id":%q,"timestamp":%q}`, hermes.TrialTool, hux.NewID("hook"), time.Now().UTC().Format(time.RFC3339Nano))
		err = agenthook.Report(ctx, c.url, c.credential, secret, []byte(body))
	}
	if err != nil {
		c.bad("hux does not take the secret of webhooks", "make new ones with: hux agents rotate AGENT --env; then run hux agents install")
		return
	}
	c.ok("hux takes the secret of webhooks")
}

// unreached says why hux could not be asked.
func (c *agentCheck) unreached(err error) {
	var refused *client.Error
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	what := "hux does not answer at " + c.url
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusUnauthorized:
		c.bad("hux does not accept the agent's credential", "make a new one with: hux agents rotate AGENT --env, or create where it is revoked; then run hux agents install")
	case errors.As(err, &refused) && refused.Code == "":
		c.bad(fmt.Sprintf("what answers at %s with status %d is not hux", c.url, refused.Status), "name where hux itself answers with: hux agents install --url")
	case errors.As(err, &refused):
		c.bad(fmt.Sprintf("hux refuses with status %d, %s", refused.Status, refused.Code), "its log and its page Status say more")
	case errors.As(err, &name):
		c.bad(what+", since this machine does not know the name "+name.Name, "name another with: hux agents install --url")
	case errors.As(err, &certificate):
		c.bad(what+" with a certificate that is trusted here", "name the authority's file in SSL_CERT_FILE, in the agent's environment too")
	case errors.Is(err, syscall.ECONNREFUSED):
		c.bad(what+", since nothing listens there", "is hux running, and is that its address as this machine sees it? hux agents install --url changes it")
	default:
		c.bad(what, "can this machine reach that address? A firewall or a container's network may be in between")
	}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// tried has Hermes itself run the hook.
func (c *agentCheck) tried(ctx context.Context) {
	home, err := filepath.Abs(filepath.Dir(c.file))
	if err != nil {
		c.bad("the folder of config.yaml is not known", "name the file by its whole path")
		return
	}
	if c.python == "" {
		c.python = hermes.Python(home)
	}
	if c.python == "" {
		c.bad("no Hermes was found here", "run this where the agent runs, and name its interpreter with --python")
		return
	}
	t, err := hermes.Try(ctx, c.python, home, c.command, c.telling)
	if err != nil {
		c.bad("Hermes could not be tried", "is "+c.python+" the interpreter that it is installed for?")
		return
	}
	if t.Version == "" || hermes.Older(t.Version, hermes.Least) {
		c.bad("Hermes "+t.Version+" is below "+hermes.Least+", the least version: it runs a call whose hook fails", "install a newer Hermes")
	} else {
		c.ok("Hermes %s", hux.Plain(t.Version))
	}
	for _, failed := range t.Failed {
		c.bad("Hermes' own code fails: "+failed, "run this as the agent's user and with its whole environment")
	}
	if c.command == "" {
		return
	}
	todo := "run this as the agent's user, and look for another config.yaml, a profile or HERMES_SAFE_MODE"
	switch {
	case t.SafeMode:
		c.bad("HERMES_SAFE_MODE switches all hooks off", "take it out of the agent's environment")
	case !t.Seen:
		c.bad("Hermes does not see the hook in "+c.file, todo)
	case !t.Consent:
		c.bad("Hermes starts no hook that nobody has accepted", "set hooks_auto_accept: true")
	case !t.EveryTool:
		c.bad("the hook is not asked about every tool", `set its matcher to ".*"`)
	default:
		c.ok("Hermes sees the hooks, and starts them")
	}
	if t.Callback != nil && *t.Callback != 0 && *t.Callback < hermes.CallbackTimeout {
		c.bad(fmt.Sprintf("Hermes ends a hook after %g s, while a person is asked", *t.Callback), fmt.Sprintf("set plugins.hook_callback_timeout to %d", hermes.CallbackTimeout))
	}
	if secret, err := agenthook.Secret(c.secretFile, hermes.SecretVariable); err == nil {
		if sum := sha256.Sum256([]byte(secret)); t.Secret != hex.EncodeToString(sum[:]) {
			c.bad("Hermes does not find the secret of webhooks", "it must stand as "+hermes.SecretVariable+" in .env beside config.yaml, or in its environment; Hermes needs python-dotenv to read the file")
		}
	}
	for _, trial := range []struct{ name, good, bad string }{
		{"asks", "the hook asks hux, and Hermes hears its answer", "the hook does not get an answer of hux"},
		{"killed", "a hook that is killed blocks its call", "this Hermes runs a call whose hook was killed"},
		{"missing", "a hook that can't be started blocks its call", "this Hermes runs a call whose hook can't be started"},
	} {
		outcome, ran := t.Trials[trial.name]
		switch {
		case !ran:
		case !outcome.Blocked || trial.name == "asks" && outcome.Said != hermes.TrialAnswer:
			todo := "install Hermes " + hermes.Least + " or newer, and set fail_closed: true"
			if trial.name == "asks" {
				todo = "it says: " + outcome.Said
			}
			c.bad(trial.bad, todo)
		default:
			c.ok("%s", trial.good)
		}
	}
}

// hookOptions are what the commands of our hooks in a config.yaml say.
type hookOptions struct {
	command, telling                         string
	program, url, credentialFile, secretFile string
	credential                               string
}

// optionsOf reads our commands in a config.yaml; what is not there is "".
func optionsOf(content []byte) (o hookOptions, err error) {
	if o.command, o.telling, err = hermes.Commands(content); err != nil {
		return o, err
	}
	words, _ := hermes.Split(o.command + " " + o.telling)
	if len(words) > 0 {
		o.program = words[0]
	}
	for i := range len(words) - 1 {
		switch words[i] {
		case "--url":
			o.url = words[i+1]
		case "--credential-file":
			o.credentialFile = words[i+1]
		case "--secret-file":
			o.secretFile = words[i+1]
		}
	}
	if o.url == "" {
		o.url = os.Getenv("HUX_URL")
	}
	o.credential, _ = agenthook.Secret(o.credentialFile, "HUX_AGENT_CREDENTIAL")
	return o, nil
}
