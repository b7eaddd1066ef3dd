// Command hux is the front door of a self-hosted AI assistant: it signs
// people in, sends each to their own WebUI, and serves /hux/v1.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/config"
)

const usage = `hux is the front door of a self-hosted AI assistant.

Usage:

  hux demo                          everything on this machine, to look at
  hux serve   [--config FILE] …     the real thing
  hux check   [--config FILE] …     validate the configuration; --online also asks the
                                    sign-in provider and the WebUIs
  hux slots   list | assign | remove | free | restored
  hux agents  list | create | rotate | revoke | install | check
  hux tail    CONVERSATION          follow what happens in a conversation
  hux validate [FILE …]             hold records against the contract's schemas and rules
  hux rules   decide | move | machines | release-problems
  hux hook                          asks whether a tool may run, as a hook of an agent
  hux healthz                       is the router on this machine alive?
  hux version

"hux COMMAND --help" and "hux help COMMAND" tell more. Settings come from the file, from HUX_*
variables and from the command line, each winning over the one before.
`

func main() {
	stdout := &output{w: os.Stdout}
	err := run(context.Background(), os.Args[1:], stdout, os.Stderr)
	if stdout.err != nil && (err == nil || errors.Is(err, errHelped)) {
		err = fmt.Errorf("not all could be printed: %w", stdout.err)
	}
	var status exit
	switch {
	case err == nil || errors.Is(err, errHelped):
		return
	case errors.As(err, &status):
		os.Exit(int(status))
	case errors.As(err, &misused{}):
		fmt.Fprintln(os.Stderr, "hux:", err)
		os.Exit(2)
	case !errors.Is(err, errSaid):
		fmt.Fprintln(os.Stderr, "hux:", err)
	}
	os.Exit(1)
}

// output is standard output, which remembers the first failure: a disk that is
// full must not look like success.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.w.Write(b)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// exit is a failure that the command has told of, with the status that its help
// promises.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// misused is a command line that is not understood.
type misused struct {
	command string // whose help tells how it is meant: "hux rules"
	why     string
}

func (m misused) Error() string {
	return fmt.Sprintf("%s; \"%s --help\" tells more", m.why, m.command)
}

// misread is what the reader of options did not understand, if anything, and
// else that the words are not as the command takes them.
func misread(command string, err error) error {
	if err == nil {
		return misused{command, "too few words, or too many"}
	}
	why := hux.Plain(err.Error())
	if name, undefined := strings.CutPrefix(why, "flag provided but not defined: -"); undefined {
		why = "there is no option --" + name
	}
	return misused{command, why}
}

var (
	errSaid   = errors.New("said already")   // a failure whose reason is printed already
	errHelped = errors.New("help was given") // no failure: help was asked for
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command := ""
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	commands := map[string]func(context.Context, []string, io.Writer, io.Writer) error{
		"demo": demo, "serve": serve, "check": check, "slots": slots, "agents": agents, "tail": tail, "validate": validate, "rules": rules, "hook": hook, "healthz": healthz,
	}
	switch command {
	case "version", "--version":
		fmt.Fprintln(stdout, "hux", version())
		return nil
	case "", "help", "-h", "--help":
		if len(args) > 0 && args[0] != "help" && args[0] != "version" {
			return run(ctx, []string{args[0], "--help"}, stdout, stderr)
		}
		fmt.Fprint(stdout, usage)
		return nil
	}
	c, ok := commands[command]
	if !ok {
		return misused{"hux", fmt.Sprintf("there is no command %q", command)}
	}
	if command != "validate" && command != "rules" { // they only read, and a signal ends them even while they wait for more
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop) // a second signal ends what the first did not
	}
	return c(ctx, args, stdout, stderr)
}

// version is the module's version where it was built as one, else the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, commit := info.Main.Version, ""
	if c := api.ThisBuild("").Commit; c != nil {
		commit = (*c)[:min(12, len(*c))]
	}
	if v == "" || v == "(devel)" || strings.Contains(v, commit) && commit != "" { // a version that is made of the commit
		v = "development"
	}
	return strings.Join(strings.Fields(v+" "+commit+" "+info.GoVersion), " ")
}

// loadConfig reads the settings and prints what is wrong with them. A command
// that needs but a few names them in only.
func loadConfig(args []string, help string, stdout, stderr io.Writer, only ...string) (*config.Config, []string, error) {
	c, warnings, problems, err := config.Load(config.Source{Args: args, Environ: os.Environ(), Only: only})
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, help)
		return nil, nil, errHelped
	}
	if err != nil {
		return nil, nil, err
	}
	for _, p := range problems {
		fmt.Fprintln(stderr, "error:", p)
	}
	if len(problems) > 0 {
		fmt.Fprintf(stderr, "%s; docs/configuration.md lists all settings\n", hux.Count(len(problems), "problem"))
		return nil, nil, errSaid
	}
	return c, warnings, nil
}

// settings lists all of them, for a help.
func settings() string {
	var w strings.Builder
	fmt.Fprint(&w, "\nSettings (in the file, as HUX_NAME, or as --name):\n\n")
	for _, o := range config.Options {
		def := ""
		if o.Default != "" {
			def = " (" + o.Default + ")"
		}
		if o.Secret {
			def += " [" + o.Env() + " or " + o.Env() + "_FILE]"
		}
		fmt.Fprintf(&w, "  %-20s %s%s\n", o.Key, o.Usage, def)
	}
	return w.String()
}

// setLog sends the log to w, as JSON lines.
func setLog(w io.Writer, level slog.Level) {
	slog.SetDefault(slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})))
}
