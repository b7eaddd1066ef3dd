package provider

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
)

// keysKept is how many signing keys stay published: the current one and those
// whose tokens may still be in use.
const keysKept = 3

func newKey() (jose.JSONWebKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	return jose.JSONWebKey{Key: private, KeyID: uuid.NewString(), Algorithm: string(jose.RS256), Use: "sig"}, nil
}

// RotateKey signs with a new key from now on. The two before it stay
// published, as a provider's passive keys do.
func (p *Provider) RotateKey() error {
	key, err := newKey()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append([]jose.JSONWebKey{key}, p.keys[:min(len(p.keys), keysKept-1)]...)
	return nil
}

// KeyFetches is how often the key set was asked for, failures included.
func (p *Provider) KeyFetches() int { return int(p.keyFetches.Load()) }

func (p *Provider) serveKeys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	set := jose.JSONWebKeySet{}
	for _, key := range p.keys {
		set.Keys = append(set.Keys, key.Public())
	}
	p.mu.Unlock()
	answer(w, http.StatusOK, set)
}

// Sign makes a token of any claims. It signs with the current key and RS256;
// header replaces or adds header members, so that a test can also make what a
// client must refuse: another "typ" or "kid", "alg" none (no signature), or
// "alg" HS256 (signed with the public key's PEM text as the secret).
func (p *Provider) Sign(header, claims map[string]any) (string, error) {
	p.mu.Lock()
	key := p.keys[0]
	p.mu.Unlock()
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	members := map[string]any{"alg": string(jose.RS256), "typ": "JWT", "kid": key.KeyID}
	maps.Copy(members, header)

	options := &jose.SignerOptions{}
	for name, value := range members {
		if name != "alg" {
			options.WithHeader(jose.HeaderKey(name), value)
		}
	}
	signing := jose.SigningKey{Algorithm: jose.RS256, Key: key.Key}
	switch alg := members["alg"]; alg {
	case string(jose.RS256):
	case "none":
		head, err := json.Marshal(members)
		if err != nil {
			return "", err
		}
		return base64.RawURLEncoding.EncodeToString(head) + "." + base64.RawURLEncoding.EncodeToString(payload) + ".", nil
	case string(jose.HS256):
		der, err := x509.MarshalPKIXPublicKey(key.Public().Key)
		if err != nil {
			return "", err
		}
		secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
		signing = jose.SigningKey{Algorithm: jose.HS256, Key: secret}
	default:
		return "", fmt.Errorf("demo: cannot sign with alg %v", alg)
	}
	signer, err := jose.NewSigner(signing, options)
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		return "", err
	}
	return signed.CompactSerialize()
}

// verify gives the claims of a token that one of the published keys signed.
// Lifetime and kind are the caller's to judge.
func (p *Provider) verify(token string) (map[string]any, error) {
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	keys := append([]jose.JSONWebKey(nil), p.keys...)
	p.mu.Unlock()
	for _, key := range keys {
		payload, err := signed.Verify(key.Public())
		if err != nil {
			continue
		}
		var claims map[string]any
		if err := json.Unmarshal(payload, &claims); err != nil {
			return nil, err
		}
		return claims, nil
	}
	return nil, fmt.Errorf("demo: no key of ours signed this token")
}
