package identity

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// An agent's webhooks are signed with a secret that is made of the router key,
// the agent's id and how often it was rotated, so that nothing is stored for
// it (contracts 7).

// signatureHeader has "sha256=" and the HMAC-SHA-256 of the body in hex.
const signatureHeader = "X-Hermes-Signature-256"

// webhookPrefix tells the secret of a webhook from a credential.
const webhookPrefix = "hux_whk_"

// Webhook is where an agent's webhooks are signed and by what.
type Webhook struct {
	AgentInfo
	Secret string `json:"secret"` // the key of the HMAC, as text
}

// Webhook gives the secret of an agent's webhooks, for whoever sets them up.
func (s *Service) Webhook(ctx context.Context, id hux.Agent) (Webhook, error) {
	var a agentRecord
	err := s.db.View(ctx, func(tx *store.Tx) error {
		found, err := getJSON(tx, agentBucket, string(id), &a)
		if err == nil && (!found || a.Revoked) {
			err = hux.Errorf(hux.NotFound, "There is no such agent, or it is revoked.")
		}
		return err
	})
	if err != nil {
		return Webhook{}, err
	}
	return Webhook{a.AgentInfo, s.webhookSecret(id, a.Generation)}, nil
}

func (s *Service) webhookSecret(id hux.Agent, generation int) string {
	key, err := hkdf.Key(sha256.New, s.webhookKey, []byte(id), "webhook "+strconv.Itoa(generation), 32)
	if err != nil {
		panic(err) // only for a length that SHA-256 cannot give
	}
	return webhookPrefix + hex.EncodeToString(key)
}

// Signed says which agent has signed a request with this body. The id is what
// the request says; an agent that there is not, one that is revoked and a
// signature that is not good are one not_found, so that nobody learns who there
// is. An agent that sends too much is rate_limited.
func (s *Service) Signed(r *http.Request, id hux.Agent, body []byte) (*Identity, context.Context, error) {
	var live *liveAgent
	if id.Valid() {
		var err error
		if live, err = s.liveAgent(r.Context(), id); err != nil {
			return nil, r.Context(), err
		}
	}
	secret := s.webhookSecret(id, -1) // nobody's, so that it takes as long
	if live != nil {
		secret = live.webhook
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	if good := hmac.Equal(signatureOf(r), mac.Sum(nil)); !good || live == nil {
		s.metrics.webhooks.WithLabelValues("refused").Inc()
		return nil, r.Context(), hux.Errorf(hux.NotFound, "There is nothing here.")
	}
	if wait, ok := s.webhookLimit.take(string(id)); !ok {
		s.metrics.webhooks.WithLabelValues("limited").Inc()
		return nil, r.Context(), hux.Errorf(hux.RateLimited, "This agent sends more webhooks than are taken.").After(wait)
	}
	s.metrics.webhooks.WithLabelValues("ok").Inc()
	return live.identity, live.life.join(r.Context()), nil
}

// signatureOf is the MAC that a request carries, nil where it has none that can
// be read, or several.
func signatureOf(r *http.Request) []byte {
	headers := r.Header[signatureHeader]
	if len(headers) != 1 {
		return nil
	}
	digits, ok := strings.CutPrefix(headers[0], "sha256=")
	if !ok {
		return nil
	}
	mac, err := hex.DecodeString(digits)
	if err != nil {
		return nil
	}
	return mac
}
