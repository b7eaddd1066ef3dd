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

// Signer is an agent that a webhook names, whose body has still to show that it
// is that agent's.
type Signer struct {
	s    *Service
	live *liveAgent
	mac  []byte // what the request carries
}

// Signer finds the agent that a request says has signed it, before anything is
// read of the request's body, which anybody may send. No signature that has the
// form of one, an agent that there is not and one that is revoked are one
// not_found.
func (s *Service) Signer(r *http.Request, id hux.Agent) (*Signer, error) {
	mac := signatureOf(r)
	if mac == nil || !id.Valid() {
		return nil, s.unsigned()
	}
	live, err := s.liveAgent(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if live == nil {
		return nil, s.unsigned()
	}
	return &Signer{s, live, mac}, nil
}

// unsigned is the one answer to a webhook that nobody has signed.
func (s *Service) unsigned() error {
	s.metrics.webhooks.WithLabelValues("refused").Inc()
	return hux.Errorf(hux.NotFound, "There is nothing here.")
}

// Signed says who has signed a request with this body; a signature that is not
// good is not_found, as an agent is that there is not. An agent that sends too
// much is rate_limited.
func (g *Signer) Signed(r *http.Request, body []byte) (*Identity, context.Context, error) {
	s := g.s
	mac := hmac.New(sha256.New, []byte(g.live.webhook))
	mac.Write(body)
	if !hmac.Equal(g.mac, mac.Sum(nil)) {
		return nil, r.Context(), s.unsigned()
	}
	if wait, ok := s.webhookLimit.take(string(g.live.record.ID)); !ok {
		s.metrics.webhooks.WithLabelValues("limited").Inc()
		return nil, r.Context(), hux.Errorf(hux.RateLimited, "This agent sends more webhooks than are taken.").After(wait)
	}
	s.metrics.webhooks.WithLabelValues("ok").Inc()
	s.useAgent(g.live)
	return g.live.identity, g.live.life.join(r.Context()), nil
}

// signatureOf is the MAC that a request carries, nil where it has none of the
// right form, or several.
func signatureOf(r *http.Request) []byte {
	headers := r.Header[signatureHeader]
	if len(headers) != 1 {
		return nil
	}
	digits, ok := strings.CutPrefix(headers[0], "sha256=")
	if !ok || len(digits) != hex.EncodedLen(sha256.Size) {
		return nil
	}
	mac, err := hex.DecodeString(digits)
	if err != nil {
		return nil
	}
	return mac
}
