package identity

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"bstein.dev/hux/hux"
)

const (
	maxToken      = 8 << 10 // bytes; longer than any header a server takes by default
	tokenCacheFor = time.Minute
	tokenCacheMax = 4096
)

var errInvalidToken = hux.Errorf(hux.Unauthenticated, "The credential in the Authorization header is not valid here.")

// Challenge is what goes into WWW-Authenticate with err (RFC 6750), or "" if
// err is no failed authentication.
func Challenge(err error) string {
	var e *hux.Error
	switch {
	case !errors.As(err, &e) || e.Code != hux.Unauthenticated:
		return ""
	case e == errInvalidToken:
		return `Bearer realm="hux", error="invalid_token"`
	default:
		return `Bearer realm="hux"`
	}
}

// authorize authenticates a request by its Authorization header.
func (s *Service) authorize(r *http.Request, header string) (*Identity, context.Context, error) {
	scheme, token, _ := strings.Cut(header, " ")
	token = strings.Trim(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken || strings.ContainsFunc(token, notPlain) {
		return nil, r.Context(), errInvalidToken
	}
	if strings.HasPrefix(token, agentPrefix) {
		return s.byAgent(r, token)
	}
	id, err := s.byToken(r.Context(), token)
	if err != nil {
		return nil, r.Context(), err
	}
	left := id.ExpiresAt.Sub(s.now())
	if left <= 0 {
		left += s.o.ClockSkew // taken after its end, for the provider's clock may be behind
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), left, errEnded)
	context.AfterFunc(r.Context(), cancel)
	return id, ctx, nil
}

// byToken checks an access token, or remembers having checked it.
func (s *Service) byToken(ctx context.Context, token string) (*Identity, error) {
	key := sha256.Sum256([]byte(token))
	if id := s.tokens.get(key, s.now()); id != nil {
		return id, nil
	}
	e, err := s.provider.ready(ctx)
	if err != nil {
		return nil, err
	}
	id, err := s.verifyBearer(ctx, e, token)
	switch {
	case errors.Is(err, errUnavailable):
		return nil, signInUnavailable(err)
	case err != nil:
		return nil, errInvalidToken
	}
	s.tokens.put(key, id, s.now())
	return id, nil
}

// bearerClaims is what decides on an access token besides what go-oidc checks.
type bearerClaims struct {
	Typ       string          `json:"typ"`
	Azp       string          `json:"azp"`
	ClientID  string          `json:"client_id"`
	Sub       string          `json:"sub"`
	Iat       float64         `json:"iat"`
	Nbf       float64         `json:"nbf"`
	AuthTime  float64         `json:"auth_time"`
	Name      string          `json:"name"`
	Preferred string          `json:"preferred_username"`
	Events    json.RawMessage `json:"events"`
	Cnf       json.RawMessage `json:"cnf"`
}

// verifyBearer checks an access token: signature, issuer, audience and expiry
// by go-oidc, then that it is an access token at all (RFC 9068 by its header,
// Keycloak's by its payload), of a client that may send them.
func (s *Service) verifyBearer(ctx context.Context, e *endpoints, raw string) (*Identity, error) {
	header, err := headerType(raw)
	if err != nil {
		return nil, err
	}
	token, err := checked(ctx, e.bearerTokens.Verify, raw)
	if err != nil {
		return nil, err
	}
	c, err := claimsOf[bearerClaims](token)
	if err != nil {
		return nil, err
	}
	now, skew := s.now(), s.o.ClockSkew
	switch {
	case header == "at+jwt" && c.Typ != "" && c.Typ != "Bearer",
		header != "at+jwt" && c.Typ != "Bearer",
		header != "at+jwt" && header != "" && header != "jwt",
		len(c.Events) > 0, // a logout token
		len(c.Cnf) > 0,    // bound to a key whose proof we do not check
		!slices.Contains(s.o.BearerClients, withDefault(c.Azp, c.ClientID)),
		c.ClientID != "" && !slices.Contains(s.o.BearerClients, c.ClientID),
		!validSubject(c.Sub),
		instant(c.Nbf).After(now.Add(skew)),
		instant(c.Iat).After(now.Add(skew)):
		return nil, errRefused
	}
	var claims map[string]any
	if err := token.Claims(&claims); err != nil {
		return nil, errRefused
	}
	roles, _ := rolesAt(claims, s.o.RolesClaim)
	user := NewUserID(s.o.Key, s.o.Namespace, c.Sub)
	return &Identity{
		User: user, Name: withDefault(c.Name, c.Preferred), Roles: keepRoles(roles), Actor: actorOf(user, roles),
		Method: Bearer, AuthTime: instant(c.AuthTime), ExpiresAt: token.Expiry,
	}, nil
}

// headerType is the typ in a JWT's header, lower case and without the prefix
// that RFC 7515 lets senders leave out.
func headerType(raw string) (string, error) {
	first, _, _ := strings.Cut(raw, ".")
	b, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		return "", errRefused
	}
	var header struct {
		Typ string `json:"typ"`
	}
	if json.Unmarshal(b, &header) != nil {
		return "", errRefused
	}
	return strings.TrimPrefix(strings.ToLower(header.Typ), "application/"), nil
}

// instant is a JWT's NumericDate; zero for none.
func instant(seconds float64) time.Time {
	if seconds <= 0 || seconds > 1<<40 {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0).UTC()
}

// validSubject holds a subject to OpenID Connect Core 2: ASCII, at most 255
// characters, and never empty.
func validSubject(sub string) bool {
	return sub != "" && len(sub) <= 255 && !strings.ContainsFunc(sub, func(r rune) bool { return r < 0x20 || r >= 0x7f })
}

// tokenCache remembers tokens that were found good, by their hash, for a
// minute at most: as long as a key that was withdrawn may still count.
type tokenCache struct {
	sync.RWMutex
	byHash map[[sha256.Size]byte]cachedToken
}

type cachedToken struct {
	identity *Identity
	until    time.Time
}

func (c *tokenCache) init() { c.byHash = map[[sha256.Size]byte]cachedToken{} }

func (c *tokenCache) get(key [sha256.Size]byte, now time.Time) *Identity {
	c.RLock()
	defer c.RUnlock()
	if t, ok := c.byHash[key]; ok && now.Before(t.until) {
		return t.identity
	}
	return nil
}

func (c *tokenCache) put(key [sha256.Size]byte, id *Identity, now time.Time) {
	until := now.Add(tokenCacheFor)
	if id.ExpiresAt.Before(until) {
		until = id.ExpiresAt
	}
	c.Lock()
	defer c.Unlock()
	if len(c.byHash) >= tokenCacheMax {
		for k, t := range c.byHash {
			if !now.Before(t.until) {
				delete(c.byHash, k)
			}
		}
	}
	for k := range c.byHash { // all still good: any one makes room
		if len(c.byHash) < tokenCacheMax {
			break
		}
		delete(c.byHash, k)
	}
	c.byHash[key] = cachedToken{id, until}
}
