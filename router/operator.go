package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/server"
	"bstein.dev/hux/router/tenant"
)

const slotsHelp = `Usage:

  hux slots list
  hux slots assign SLOT USER [--share]   give a slot to a user; --share: beside those who have it
  hux slots remove SLOT USER             take one member out of a shared slot
  hux slots free SLOT [--wiped]          take it from its members and end their sessions; it goes
                                         back to the pool once --wiped says that its WebUI was emptied
  hux slots restored SLOT                the tenant's records were put back from a backup: whoever
                                         follows them starts over

A user is named by the id that hux shows them, usr_…. The commands go to the
running router through a socket in its data directory; without one they work
on the data directory itself. --config and the HUX_* variables say where it is.
`

const agentsHelp = `Usage:

  hux agents list [SLOT]
  hux agents create SLOT NAME    make a credential for the agent of the slot's tenant; it is shown once
  hux agents rotate AGENT        make a new one; the old one stops at once
  hux agents revoke AGENT
  hux agents install FILE        put hux into the config.yaml of its Hermes
  hux agents check [FILE]        where it runs: are its hooks at work?

  --env   with create and rotate: print all that "install" needs, as NAME=value lines
  --url   with --env: where the agent reaches hux, if not where people chat

An agent signs in with "Authorization: Bearer CREDENTIAL" and can never act as
a person. docs/agents.md says how to connect one.
`

func slots(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	set := flag.NewFlagSet("hux slots", flag.ContinueOnError)
	share, wiped := set.Bool("share", false, ""), set.Bool("wiped", false, "")
	o := operatorCommand{help: slotsHelp, set: set, words: map[string][2]int{
		"list": {0, 0}, "assign": {2, 2}, "remove": {2, 2}, "free": {1, 1}, "restored": {1, 1},
	}}
	if err := o.parse(args, stdout); err != nil {
		return err
	}
	command := server.AdminRequest{Slot: o.word(0), User: hux.User(o.word(1)), Share: *share, Wiped: *wiped}
	answer, err := tell(ctx, o.config, "/slots/"+o.verb, command, stdout, stderr)
	if err != nil {
		return err
	}
	if o.verb != "list" {
		fmt.Fprintln(stdout, "done")
		return nil
	}
	var list []tenant.SlotStatus
	if err := json.Unmarshal(answer, &list); err != nil {
		return err
	}
	table := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "SLOT\tSTATE\tASSIGNMENT\tMEMBERS\tURL")
	for _, s := range list {
		members := make([]string, len(s.Members))
		for i, m := range s.Members {
			members[i] = string(m)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", s.ID, s.State, s.Assignment, dash(strings.Join(members, ",")), dash(s.URL))
	}
	return table.Flush()
}

func agents(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 { // what is done where the agent runs, with no router beside it
		switch args[0] {
		case "install":
			return installAgent(args[1:], stdout, stderr)
		case "check":
			return checkAgent(ctx, args[1:], stdout)
		}
	}
	set := flag.NewFlagSet("hux agents", flag.ContinueOnError)
	env, at := set.Bool("env", false, ""), set.String("url", "", "")
	o := operatorCommand{help: agentsHelp, set: set, words: map[string][2]int{
		"list": {0, 1}, "create": {2, 2}, "rotate": {1, 1}, "revoke": {1, 1}, "install": {1, 1}, "check": {0, 1},
	}}
	if err := o.parse(args, stdout); err != nil {
		return err
	}
	if *at != "" {
		u, err := origin(*at)
		if err != nil {
			return err
		}
		*at = u
	}
	command := server.AdminRequest{Slot: o.word(0), Name: o.word(1)}
	if o.verb == "rotate" || o.verb == "revoke" {
		command = server.AdminRequest{Agent: hux.Agent(o.word(0))}
	}
	answer, err := tell(ctx, o.config, "/agents/"+o.verb, command, stdout, stderr)
	if err != nil {
		return err
	}
	switch o.verb {
	case "revoke":
		fmt.Fprintln(stdout, "done")
	case "list":
		var list []server.AgentView
		if err := json.Unmarshal(answer, &list); err != nil {
			return err
		}
		table := tabwriter.NewWriter(stdout, 0, 8, 2, ' ', 0)
		fmt.Fprintln(table, "AGENT\tSLOT\tNAME\tCREATED\tLAST USED\tHOOK\tEVENTS\tWEBHOOK\tSTATE")
		for _, a := range list {
			state := "good"
			if a.Revoked {
				state = "revoked"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
				a.ID, a.Slot, a.Name, day(a.CreatedAt), day(a.LastUsed), since(a.Hook), since(a.Events), since(a.Webhook), state)
		}
		return table.Flush()
	default:
		var credential identity.Credential
		if err := json.Unmarshal(answer, &credential); err != nil {
			return err
		}
		fmt.Fprintf(stderr, "agent %s; its credential follows and is shown this once\n", credential.ID)
		if !*env {
			fmt.Fprintln(stdout, credential.Secret)
			return nil
		}
		var hook server.AgentHook
		answer, err := tell(ctx, o.config, "/agents/hook", server.AdminRequest{Agent: credential.ID}, stdout, stderr)
		if err == nil {
			err = json.Unmarshal(answer, &hook)
		}
		if err != nil {
			return err
		}
		if *at != "" {
			hook.URL = *at
		}
		fmt.Fprintf(stdout, "HUX_URL=%s\nHUX_AGENT_CREDENTIAL=%s\nHUX_HOOK_SECRET=%s\n", hook.URL, credential.Secret, hook.Secret)
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04")
}

func since(t *hux.Time) string {
	if t == nil {
		return "-"
	}
	return day(t.Time)
}

// operatorCommand is a command line of the form VERB WORD …, with flags
// anywhere behind the verb.
type operatorCommand struct {
	help  string
	set   *flag.FlagSet
	words map[string][2]int // by verb: how many words it takes, at least and at most

	verb   string
	given  []string
	config string // --config
}

// word is the i-th word behind the verb, or "".
func (o *operatorCommand) word(i int) string {
	if i < len(o.given) {
		return o.given[i]
	}
	return ""
}

// parse reads the command line.
func (o *operatorCommand) parse(args []string, stdout io.Writer) error {
	o.set.SetOutput(io.Discard)
	o.set.StringVar(&o.config, "config", "", "")
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		o.verb, args = args[0], args[1:]
	}
	var err error
	o.given, err = parseMixed(o.set, args)
	if errors.Is(err, flag.ErrHelp) || o.verb == "help" {
		fmt.Fprint(stdout, o.help)
		return errHelped
	}
	n, ok := o.words[o.verb]
	if !ok {
		return noVerb(o.set.Name(), o.verb, strings.Join(slices.Sorted(maps.Keys(o.words)), ", "))
	}
	if err != nil || len(o.given) < n[0] || len(o.given) > n[1] {
		return misread(o.set.Name(), err)
	}
	return nil
}

// noVerb is the error of a command whose first word is missing or is none that
// it knows.
func noVerb(command, verb, known string) error {
	why := "what is to be done? There are " + known
	if verb != "" {
		why = fmt.Sprintf("%s has no %q; there are %s", command, verb, known)
	}
	return misused{command, why}
}

// parseMixed parses flags wherever they stand among the words.
func parseMixed(set *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := set.Parse(args); err != nil {
			return nil, err
		}
		if set.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, set.Arg(0)), set.Args()[1:]
	}
}

// tell sends an operator's command to the running router, or, where none
// runs, to one that is there for this command alone.
func tell(ctx context.Context, configFile, path string, command server.AdminRequest, stdout, stderr io.Writer) ([]byte, error) {
	var args []string
	if configFile != "" {
		args = []string{"--config", configFile}
	}
	c, _, err := loadConfig(args, "", stdout, stderr, "data")
	if err != nil {
		return nil, err
	}
	dir := c.Data
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	answer, err := post(ctx, server.AdminSocket(c.Data), path, command)
	if opErr := (*net.OpError)(nil); !errors.As(err, &opErr) || opErr.Op != "dial" {
		return answer, err
	}
	if c, _, err = loadConfig(args, "", stdout, stderr); err != nil {
		fmt.Fprintf(stderr, "No router runs with the data directory %s. HUX_DATA or --config names another;\nwithout a router the command needs the whole configuration.\n", dir)
		return nil, err
	}
	return withoutRouter(ctx, c, path, command)
}

// withoutRouter opens the state itself; its lock keeps a router from starting
// meanwhile.
func withoutRouter(ctx context.Context, c *config.Config, path string, command server.AdminRequest) (answer []byte, err error) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	if err := refuseDemo(c.Data); err != nil {
		return nil, err
	}
	s, err := server.New(c, server.Options{Version: version()})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	stop, err := s.ServeAdmin()
	if err != nil {
		return nil, err
	}
	defer stop()
	return post(ctx, server.AdminSocket(c.Data), path, command)
}

func post(ctx context.Context, socket, path string, command server.AdminRequest) ([]byte, error) {
	body, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://router"+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	transport := hux.NewTransport()
	transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: transport}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(res.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	if res.StatusCode == http.StatusOK {
		return answer, nil
	}
	var problem struct {
		Detail string `json:"detail"`
	}
	if json.Unmarshal(answer, &problem) != nil || problem.Detail == "" {
		return nil, fmt.Errorf("the router answered with status %d", res.StatusCode)
	}
	return nil, errors.New(problem.Detail)
}
