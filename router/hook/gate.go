// Package hook is the agent's side of hux: it asks whether a tool may run and
// waits for the answer, and tells what has run. It fails closed: nothing but an
// allowance lets a call run.
package hook

import (
	"context"
	"encoding/json"
	"errors"
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

// Limits of a hook.
const (
	maxInput  = 8 << 20          // bytes on standard input
	AskWithin = 15 * time.Second // for an answer to whether a call may run, unless a person is asked
	margin    = 10 * time.Second // between the end of an approval and of the time to wait for it
)

// Hook is where hux is, and as whom to speak to it.
type Hook struct {
	URL            string
	CredentialFile string // else HUX_AGENT_CREDENTIAL
	SecretFile     string // of webhooks, else HUX_HOOK_SECRET
}

// Verdict is what becomes of a tool call.
type Verdict struct {
	allowed bool
	reason  string // why it is blocked, for the model that wanted it
	failed  bool   // nobody has decided that: something went wrong
}

// Failed blocks a call because of something that has gone wrong. What went
// wrong is a text of ours: an error's own might tell of arguments or secrets.
func Failed(what string) Verdict {
	return Verdict{failed: true, reason: "Not run: it could not be checked whether this is allowed (" + what + "). " +
		"Do not try it again and do not look for a way around; tell the person what you wanted to do, and that hux could not be asked."}
}

// Begin prints the first byte of the answer. It is no JSON by itself: a hook that
// dies before its answer leaves what Hermes can't read, and so blocks, where
// nothing at all would let the call run.
func Begin(out io.Writer) error {
	_, err := io.WriteString(out, "{")
	return err
}

// Answer completes what Begin has begun to a Verdict as Hermes reads it: JSON,
// and for a failure a line besides. ok is false where the hook has to end with
// status 2, which blocks by itself.
func (v Verdict) Answer(out, errOut io.Writer) (ok bool) {
	text := []byte("{}")
	if !v.allowed {
		var err error
		if text, err = json.Marshal(map[string]string{"decision": "block", "reason": v.reason}); err != nil {
			return false
		}
	}
	if _, err := fmt.Fprintf(out, "%s\n", text[1:]); err != nil || v.failed {
		fmt.Fprintln(errOut, v.reason)
		return false
	}
	return true
}

// Gate asks whether the call that in tells of may run.
func (h Hook) Gate(ctx context.Context, in io.Reader) Verdict {
	body, err := readAll(ctx, in)
	if err != nil {
		return Failed("the hook was not told the call")
	}
	call, err := autonomy.ReadHook(body)
	var refused *hux.Error
	switch {
	case errors.As(err, &refused) && refused.Code == hux.TooLarge:
		return Verdict{reason: tooLarge}
	case err != nil || call.HookEventName != "pre_tool_call":
		return Failed("the hook was not told a call that it can read")
	case call.SessionID == nil || *call.SessionID == "":
		return Failed("the hook was not told the session")
	}
	credential, err := Secret(h.CredentialFile, "HUX_AGENT_CREDENTIAL")
	if err != nil {
		return Failed("the agent's credential is not set up")
	}
	api, err := client.New(client.Options{
		BaseURL: h.URL, Token: client.Static(credential), UserAgent: "hux-hook/" + hux.ContractVersion,
		Tries: 1000, // the time bounds them
	})
	if err != nil {
		return Failed("the address of hux is not set up")
	}
	if *call.ToolName == hermes.TrialTool {
		return tryOut(ctx, api, call)
	}
	return ask(ctx, api.During(*call.SessionID, ""), call)
}

// tryOut answers the call of "hux agents check", which no tool would answer. It
// is blocked in any case.
func tryOut(ctx context.Context, api *client.Client, call *autonomy.HermesEvent) Verdict {
	if call.ToolInput["do"] == "die" {
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		<-ctx.Done()
	}
	asking, cancel := context.WithTimeout(ctx, AskWithin)
	defer cancel()
	if _, err := api.Do(asking, client.Request{Path: "/capabilities"}, nil); err != nil {
		return unasked(ctx, err)
	}
	return Verdict{reason: hermes.TrialAnswer}
}

// ask puts the question, and waits for the person who has to answer it.
func ask(ctx context.Context, api *client.Client, call *autonomy.HermesEvent) Verdict {
	args := call.ToolInput
	if args == nil {
		args = map[string]any{}
	}
	target := autonomy.Target(*call.ToolName, args)
	hash, err := autonomy.EvidenceHash(*call.ToolName, args, target)
	if err != nil {
		return Failed("its arguments hold a number that has no one form")
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
	asking, cancel := context.WithTimeout(ctx, AskWithin)
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
		return unasked(ctx, err)
	case d.EvidenceHash != hash:
		return Failed("hux has answered about another call")
	case d.Effect == string(autonomy.Allow):
		return Verdict{allowed: true}
	case d.Effect == string(autonomy.Deny):
		return Verdict{reason: denied(d.Reason)}
	case d.Effect != string(autonomy.Ask) || d.ApprovalID == nil:
		return Failed("hux has answered with something unknown")
	}
	return wait(ctx, api, *d.ApprovalID, hash)
}

// wait waits for a person's decision about a call with just this hash.
func wait(ctx context.Context, api *client.Client, approval, hash string) Verdict {
	a, err := api.AwaitApproval(ctx, approval)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Verdict{reason: unanswered}
	case err != nil:
		return unasked(ctx, err)
	case a.Passes(hash):
		return Verdict{allowed: true}
	case a.Status == "approved":
		return Failed("hux has answered about another call")
	}
	return Verdict{reason: settled(a)}
}

// unasked is what comes of a question that was not answered.
func unasked(ctx context.Context, err error) Verdict {
	var refused *client.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return Failed("the hook was stopped")
	case !errors.As(err, &refused):
		return Failed("hux does not answer")
	case refused.Code == hux.RunEnded:
		return Verdict{reason: stopped}
	case refused.Code == hux.TooLarge:
		return Verdict{reason: tooLarge}
	case refused.Code == "":
		return Failed(fmt.Sprintf("what answers is not hux: status %d", refused.Status))
	case refused.Status == http.StatusUnauthorized:
		return Failed("hux does not accept the agent's credential")
	}
	return Failed("hux has refused the question: " + string(refused.Code))
}

// readAll reads all of r, which must end before ctx does and within
// maxInput.
func readAll(ctx context.Context, r io.Reader) ([]byte, error) {
	type result struct {
		body []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		body, err := io.ReadAll(io.LimitReader(r, maxInput+1))
		if err == nil && len(body) > maxInput {
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

// Secret reads a secret from a file, or else from the environment.
func Secret(file, variable string) (string, error) {
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
