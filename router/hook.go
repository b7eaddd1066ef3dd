package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/client"
	"bstein.dev/hux/router/hermes"
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

const (
	maxHookInput = 8 << 20          // bytes on standard input
	askWithin    = 15 * time.Second // for an answer to whether a call may run
	margin       = 10 * time.Second // between the end of an approval and of the time to wait for it
)

// hookCommand is a command line of hux hook.
type hookCommand struct {
	url, credentialFile, secretFile string
	timeout                         time.Duration
	stdout, stderr                  io.Writer
}

// hook is the command of the agent's side. It fails closed: no way out of it
// but an allowance prints anything else than a block.
func hook(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c := hookCommand{stdout: stdout, stderr: stderr, timeout: 290 * time.Second}
	telling := len(args) > 0 && args[0] == "event"
	if telling {
		args, c.timeout = args[1:], 5*time.Second
	}
	set := flag.NewFlagSet("hux hook", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&c.url, "url", os.Getenv("HUX_URL"), "")
	set.StringVar(&c.credentialFile, "credential-file", "", "")
	set.StringVar(&c.secretFile, "secret-file", "", "")
	set.DurationVar(&c.timeout, "timeout", c.timeout, "")
	words, err := parseMixed(set, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, hookHelp)
		return errHelped
	}
	if c.url == "" {
		c.url = "http://127.0.0.1:8080"
	}
	if !telling && c.begin() != nil {
		return exit(2)
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	switch misread := err != nil || len(words) > 0 || c.timeout <= 0; {
	case telling && misread:
		return c.told(errors.New("that command is not understood"))
	case telling:
		return c.told(c.tell(ctx))
	case misread:
		return c.answer(failed("the hook's command line is not understood"))
	}
	return c.answer(c.gate(ctx))
}

// verdict is what becomes of a tool call.
type verdict struct {
	allowed bool
	reason  string // why it is blocked, for the model that wanted it
	failed  bool   // nobody has decided that: something went wrong
}

// failed blocks a call because of something that has gone wrong. What went
// wrong is a text of ours: an error's own might tell of arguments or secrets.
func failed(what string) verdict {
	return verdict{failed: true, reason: "Not run: it could not be checked whether this is allowed (" + what + "). " +
		"Do not try it again and do not look for a way around; tell the person what you wanted to do, and that hux could not be asked."}
}

// begin prints the first byte of the answer. It is no JSON by itself: a hook
// that dies before its answer leaves what Hermes can't read, and so blocks,
// where nothing at all would let the call run.
func (c *hookCommand) begin() error {
	_, err := io.WriteString(c.stdout, "{")
	return err
}

// answer completes what begin has begun to a verdict as Hermes reads it: JSON,
// and for a failure the status and the line that block by themselves.
func (c *hookCommand) answer(v verdict) error {
	text := []byte("{}")
	if !v.allowed {
		var err error
		if text, err = json.Marshal(map[string]string{"decision": "block", "reason": v.reason}); err != nil {
			return exit(2)
		}
	}
	if _, err := fmt.Fprintf(c.stdout, "%s\n", text[1:]); err != nil || v.failed {
		fmt.Fprintln(c.stderr, v.reason)
		return exit(2)
	}
	return nil
}

// gate asks whether the call on standard input may run.
func (c *hookCommand) gate(ctx context.Context) verdict {
	body, err := readAll(ctx, os.Stdin)
	if err != nil {
		return failed("the hook was not told the call")
	}
	call, err := autonomy.ReadHook(body)
	var refused *hux.Error
	switch {
	case errors.As(err, &refused) && refused.Code == hux.TooLarge:
		return verdict{reason: tooLarge}
	case err != nil || call.HookEventName != "pre_tool_call":
		return failed("the hook was not told a call that it can read")
	case call.SessionID == nil || *call.SessionID == "":
		return failed("the hook was not told the session")
	}
	credential, err := secretFrom(c.credentialFile, "HUX_AGENT_CREDENTIAL")
	if err != nil {
		return failed("the agent's credential is not set up")
	}
	api, err := client.New(client.Options{
		BaseURL: c.url, Token: client.Static(credential), UserAgent: "hux-hook/" + hux.ContractVersion,
		Tries: 1000, // the time bounds them
	})
	if err != nil {
		return failed("the address of hux is not set up")
	}
	if *call.ToolName == hermes.TrialTool {
		return tryOut(ctx, api, call)
	}
	return ask(ctx, api.During(*call.SessionID, ""), call)
}

// tryOut answers the call of "hux agents check", which no tool would answer. It
// is blocked in any case.
func tryOut(ctx context.Context, api *client.Client, call *autonomy.HermesEvent) verdict {
	if call.ToolInput["do"] == "die" {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		<-ctx.Done()
	}
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if _, err := api.Do(asking, client.Request{Path: "/capabilities"}, nil); err != nil {
		return refusedVerdict(ctx, err)
	}
	return verdict{reason: hermes.TrialAnswer}
}

// ask puts the question, and waits for the person who has to answer it.
func ask(ctx context.Context, api *client.Client, call *autonomy.HermesEvent) verdict {
	args := call.ToolInput
	if args == nil {
		args = map[string]any{}
	}
	target := autonomy.Target(*call.ToolName, args)
	hash, err := autonomy.EvidenceHash(*call.ToolName, args, target)
	if err != nil {
		return failed("its arguments hold a number that has no one form")
	}
	callID := call.Detail("tool_call_id")
	if callID == "" {
		callID = hux.NewID("call") // two calls are never taken for one
	}
	turn := call.Detail("turn_id")
	if turn == "" {
		turn = callID
	}
	deadline, _ := ctx.Deadline()
	lives := max(time.Until(deadline)-margin, autonomy.MinApproval).Milliseconds()
	asking, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	question := client.DecisionCreate{
		Session: &client.SessionRef{System: "hermes_session", ID: *call.SessionID}, TurnID: &turn,
		Tool: *call.ToolName, Args: args, ToolCallID: callID, ExpiresInMS: &lives,
	}
	if target != "" {
		question.Target = &target
	}
	d, err := api.Decide(asking, question, client.Key(hux.ForeignID(strings.Join([]string{*call.SessionID, turn, callID, hash}, "\n"))))
	switch {
	case err != nil:
		return refusedVerdict(ctx, err)
	case d.EvidenceHash != hash:
		return failed("hux has answered about another call")
	case d.Effect == string(autonomy.Allow):
		return verdict{allowed: true}
	case d.Effect == string(autonomy.Deny):
		return verdict{reason: denied(d.Reason)}
	case d.Effect != string(autonomy.Ask) || d.ApprovalID == nil:
		return failed("hux has answered with something unknown")
	}
	return wait(ctx, api, *d.ApprovalID, hash)
}

// wait waits for a person's decision about a call with just this hash.
func wait(ctx context.Context, api *client.Client, approval, hash string) verdict {
	a, err := api.AwaitApproval(ctx, approval)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return verdict{reason: unanswered}
	case err != nil:
		return refusedVerdict(ctx, err)
	case a.Passes(hash):
		return verdict{allowed: true}
	case a.Status == "approved":
		return failed("hux has answered about another call")
	}
	return verdict{reason: settled(a)}
}

// refusedVerdict is what comes of a question that was not answered.
func refusedVerdict(ctx context.Context, err error) verdict {
	var refused *client.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return failed("the hook was stopped")
	case !errors.As(err, &refused):
		return failed("hux does not answer")
	case refused.Code == hux.RunEnded:
		return verdict{reason: stopped}
	case refused.Code == hux.TooLarge:
		return verdict{reason: tooLarge}
	case refused.Code == "":
		return failed(fmt.Sprintf("what answers is not hux: status %d", refused.Status))
	case refused.Status == http.StatusUnauthorized:
		return failed("hux does not accept the agent's credential")
	}
	return failed("hux has refused the question: " + string(refused.Code))
}

// readAll reads all of r, which must end before ctx does and within
// maxHookInput.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		body []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		body, err := io.ReadAll(io.LimitReader(r, maxHookInput+1))
		if err == nil && len(body) > maxHookInput {
			err = errors.New("too long")
		}
		read <- result{body, err}
	}()
	select {
	case r := <-read:
		return r.body, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// secretFrom reads a secret from a file, or else from the environment.
func secretFrom(file, variable string) (string, error) {
	secret := os.Getenv(variable)
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		secret = string(content)
	}
	if secret = strings.TrimSpace(secret); secret == "" || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("no secret")
	}
	return secret, nil
}
