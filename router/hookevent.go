package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/client"
)

// told prints what Hermes reads of a hook that decides nothing, and why hux
// was not told if it was not. That is no failure of the tool, and is none of
// the hook.
func (c *hookCommand) told(err error) error {
	if err != nil {
		fmt.Fprintln(c.stderr, "hux hook event:", err)
	}
	_, err = fmt.Fprintln(c.stdout, "{}")
	return err
}

// tell sends what is on standard input as Hermes itself would by a webhook, but
// for the results. The errors are texts of ours, for people.
func (c *hookCommand) tell(ctx context.Context) error {
	body, err := readAll(ctx, os.Stdin)
	if err != nil {
		return errors.New("it was not told the call")
	}
	call, err := autonomy.ReadTold(body)
	if err != nil {
		return errors.New("it was not told a call that it can read")
	}
	call.DeliveryID, call.Timestamp = hux.NewID("hook"), time.Now().UTC().Format(time.RFC3339Nano)
	if body, err = json.Marshal(call); err != nil {
		return errors.New("the call has no JSON")
	}
	credential, err := secretFrom(c.credentialFile, "HUX_AGENT_CREDENTIAL")
	if err != nil {
		return errors.New("the agent's credential is not set up")
	}
	secret, err := secretFrom(c.secretFile, "HUX_HOOK_SECRET")
	if err != nil {
		return errors.New("the secret of webhooks is not set up")
	}
	err = report(ctx, c.url, credential, secret, body)
	var refused *client.Error
	switch {
	case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
		return errors.New("hux does not accept the secret of webhooks")
	case errors.As(err, &refused):
		return fmt.Errorf("hux has refused the event: status %d", refused.Status)
	case err != nil:
		return errors.New("hux does not answer")
	}
	return nil
}

// report sends a webhook of an agent, signed as Hermes signs one.
func report(ctx context.Context, at, credential, secret string, body []byte) error {
	api, err := client.New(client.Options{BaseURL: at, UserAgent: "hux-hook/" + hux.ContractVersion})
	if err != nil {
		return errors.New("the address of hux is not set up")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	_, err = api.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/ingest/hermes/" + url.PathEscape(agentOf(credential)), Body: body,
		Header: http.Header{"X-Hermes-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}},
	}, nil)
	return err
}

// agentOf is the agent's id in its credential, hux_<agt id>_<secret>.
func agentOf(credential string) string {
	rest := strings.TrimPrefix(credential, "hux_")
	if last := strings.LastIndexByte(rest, '_'); last >= 0 {
		return rest[:last]
	}
	return ""
}
