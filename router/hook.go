package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	agenthook "bstein.dev/hux/router/hook"
)

const hookHelp = `Usage:

  hux hook       [--url URL] [--credential-file FILE] [--timeout 290s]
  hux hook event [--url URL] [--credential-file FILE] [--secret-file FILE] [--timeout 5s]

For the config.yaml of a Hermes agent, where "hux agents install" puts them.

"hux hook" is a pre_tool_call hook. It reads the call from standard input, asks
hux whether it may run, waits for a person where one has to be asked, and prints
{} to let it run or {"decision":"block","reason":…} not to. It blocks too when
nobody answers in time, and with status 2 when something goes wrong.

"hux hook event" is a post_tool_call hook. It tells hux that the tool has run,
prints {} and ends with status 0, told or not.

  --url               where hux answers programs (HUX_URL, else http://127.0.0.1:8080)
  --credential-file   the agent's credential (else HUX_AGENT_CREDENTIAL)
  --secret-file       the secret of its webhooks (else HUX_HOOK_SECRET)
  --timeout           what Hermes waits, less some seconds; Hermes waits 300 s at most
`

// hook is the command of the agent's side. It fails closed: no way out of it
// but an allowance prints anything else than a block.
func hook(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var h agenthook.Hook
	timeout, telling := 290*time.Second, len(args) > 0 && args[0] == "event"
	if telling {
		args, timeout = args[1:], 5*time.Second
	}
	set := flag.NewFlagSet("hux hook", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&h.URL, "url", os.Getenv("HUX_URL"), "")
	set.StringVar(&h.CredentialFile, "credential-file", "", "")
	set.StringVar(&h.SecretFile, "secret-file", "", "")
	set.DurationVar(&timeout, "timeout", timeout, "")
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, hookHelp)
		return errHelped
	}
	h.URL = cmp.Or(h.URL, "http://127.0.0.1:8080")
	misread := err != nil || len(words) > 0 || timeout <= 0
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if telling {
		return tellEvent(ctx, h, misread, stdout, stderr)
	}
	if agenthook.Begin(stdout) != nil {
		return exit(2)
	}
	verdict := agenthook.Failed("the hook's command line is not understood")
	if !misread {
		verdict = h.Gate(ctx, os.Stdin)
	}
	if !verdict.Answer(stdout, stderr) {
		return exit(2)
	}
	return nil
}

// tellEvent prints what Hermes reads of a hook that decides nothing, and why hux
// was not told if it was not. That is no failure of the tool, and is none of the
// hook.
func tellEvent(ctx context.Context, h agenthook.Hook, misread bool, stdout, stderr io.Writer) error {
	err := errors.New("that command is not understood")
	if !misread {
		err = h.Tell(ctx, os.Stdin)
	}
	if err != nil {
		fmt.Fprintln(stderr, "hux hook event:", err)
	}
	_, err = fmt.Fprintln(stdout, "{}")
	return err
}
