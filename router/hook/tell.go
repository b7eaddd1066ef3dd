package hook

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/client"
)

// Tell sends what in tells of as Hermes itself would by a webhook, but
// for the results. The errors are texts of ours, for people.
func (h Hook) Tell(ctx context.Context, in io.Reader) error {
	body, err := readAll(ctx, in)
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
	credential, err := Secret(h.CredentialFile, "HUX_AGENT_CREDENTIAL")
	if err != nil {
		return errors.New("the agent's credential is not set up")
	}
	secret, err := Secret(h.SecretFile, "HUX_HOOK_SECRET")
	if err != nil {
		return errors.New("the secret of webhooks is not set up")
	}
	err = Report(ctx, h.URL, credential, secret, body)
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

// Report sends a webhook of an agent, signed as Hermes signs one.
func Report(ctx context.Context, at, credential, secret string, body []byte) error {
	api, err := client.New(client.Options{BaseURL: at, UserAgent: "hux-hook/" + hux.ContractVersion})
	if err != nil {
		return errors.New("the address of hux is not set up")
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	_, err = api.Do(ctx, client.Request{
		Method: http.MethodPost, Path: "/ingest/hermes/" + url.PathEscape(AgentOf(credential)), Body: body,
		Header: http.Header{"X-Hermes-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}},
	}, nil)
	return err
}

// AgentOf is the agent's id in its credential, hux_<agt id>_<secret>.
func AgentOf(credential string) string {
	rest := strings.TrimPrefix(credential, "hux_")
	if last := strings.LastIndexByte(rest, '_'); last >= 0 {
		return rest[:last]
	}
	return ""
}
