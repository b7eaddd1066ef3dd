package identity

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/securecookie"
	"golang.org/x/sync/singleflight"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Service is the one keeper of who is signed in. It is safe for concurrent use.
type Service struct {
	db      *store.DB
	o       Options
	now     func() time.Time
	log     *slog.Logger
	metrics *metrics

	console, chat *url.URL // chat is nil with one origin
	consoleNames  cookieNames
	chatNames     cookieNames
	shared        string // domain of the cookie that carries a hand-over

	provider   *provider
	flows      *securecookie.SecureCookie // seals the flow cookie, and nothing else
	seal       cipher.AEAD                // seals what a session's record keeps secret
	hashKey    []byte                     // for keyed hashes other than user ids
	webhookKey []byte                     // for the secrets of agents' webhooks

	sessions  liveSessions
	exchanges exchanges
	codes     singleflight.Group // each is redeemed once, whoever reloads
	handovers handovers
	tokens    tokenCache
	agents    liveAgents

	startLimit, userLimit, handoverLimit, logoutLimit, webhookLimit *limiter
}

// asymmetric are the signature algorithms that may be configured. None works
// with a shared secret, so that a public key can never pass for one.
var asymmetric = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

// New checks the options and makes a Service. It does not need the provider to
// be up: Run looks for it.
func New(o Options) (*Service, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Service{db: o.DB, o: o, now: o.Now, log: o.Log}
	s.console = o.PublicURL
	if o.ConsoleURL != nil {
		s.console, s.chat = o.ConsoleURL, o.PublicURL
		s.chatNames = namesFor(s.chat, "chat")
		s.shared = sharedDomain(s.chat.Hostname(), s.console.Hostname())
	}
	s.consoleNames = namesFor(s.console, "console")

	block, err := aes.NewCipher(s.derive("session seal"))
	if err != nil {
		return nil, err
	}
	if s.seal, err = cipher.NewGCM(block); err != nil {
		return nil, err
	}
	s.hashKey = s.derive("keyed hashes")
	s.webhookKey = s.derive("webhooks")
	s.flows = securecookie.New(s.derive("flow cookie mac"), s.derive("flow cookie seal"))
	s.flows.SetSerializer(securecookie.JSONEncoder{})
	s.flows.MaxAge(int(flowLifetime.Seconds()))

	if s.metrics, err = newMetrics(o.Registry); err != nil {
		return nil, err
	}
	if s.provider, err = newProvider(o, s.metrics); err != nil {
		return nil, err
	}
	s.exchanges.init()
	s.sessions.init()
	s.handovers.init()
	s.tokens.init()
	s.agents.init()
	s.startLimit = newLimiter(startRate, startBurst, s.now)
	s.userLimit = newLimiter(userRate, userBurst, s.now)
	s.handoverLimit = newLimiter(handoverRate, handoverBurst, s.now)
	s.logoutLimit = newLimiter(logoutRate, logoutBurst, s.now)
	s.webhookLimit = newLimiter(webhookRate, webhookBurst, s.now)
	return s, nil
}

// complete fills in the defaults and refuses what cannot work.
func (o *Options) complete() error {
	if o.DB == nil {
		return errors.New("no database")
	}
	if len(o.Key) < 32 {
		return errors.New("the key must have at least 32 bytes")
	}
	if err := checkOrigin(o.PublicURL); err != nil {
		return fmt.Errorf("public_url: %w", err)
	}
	if o.ConsoleURL != nil {
		if err := checkOrigin(o.ConsoleURL); err != nil {
			return fmt.Errorf("console_url: %w", err)
		}
		if strings.EqualFold(o.ConsoleURL.Hostname(), o.PublicURL.Hostname()) {
			return errors.New("public_url and console_url need different host names: cookies know no ports")
		}
		if sharedDomain(o.ConsoleURL.Hostname(), o.PublicURL.Hostname()) == "" {
			return errors.New("public_url and console_url need a domain in common, such as example.org of chat.example.org and hux.example.org")
		}
		if o.Clear == nil {
			return errors.New("two origins need a page that clears the chat's")
		}
	}
	if o.Issuer == "" || o.ClientID == "" {
		return errors.New("the issuer and the client id are needed")
	}
	o.Namespace = withDefault(o.Namespace, o.Issuer)
	o.Audience = withDefault(o.Audience, o.ClientID)
	o.RolesClaim = withDefault(o.RolesClaim, "realm_access.roles")
	if o.Scopes == nil {
		o.Scopes = []string{"profile"}
	}
	if !slices.Contains(o.Scopes, "openid") {
		o.Scopes = append([]string{"openid"}, o.Scopes...)
	}
	if len(o.Algorithms) == 0 {
		o.Algorithms = []string{"RS256", "PS256", "ES256", "EdDSA"}
	}
	for _, a := range o.Algorithms {
		if !slices.Contains(asymmetric, a) {
			return fmt.Errorf("signature algorithm %q is not an asymmetric one", a)
		}
	}
	o.IdleLifetime = withDefault(o.IdleLifetime, 12*time.Hour)
	o.AbsoluteLifetime = withDefault(o.AbsoluteLifetime, 7*24*time.Hour)
	o.ClockSkew = withDefault(o.ClockSkew, 30*time.Second)
	if o.IdleLifetime < 0 || o.AbsoluteLifetime < 0 || o.ClockSkew < 0 || o.ClockSkew > 5*time.Minute {
		return errors.New("a lifetime is negative, or the clock skew not within 0 to 5 minutes")
	}
	if o.Fail == nil {
		o.Fail = func(w http.ResponseWriter, r *http.Request, err error, _ string) { api.WriteError(w, r, err) }
	}
	if o.ClientAddr == nil {
		o.ClientAddr = peerAddr
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return nil
}

func withDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

func checkOrigin(u *url.URL) error {
	if u == nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("an http or https URL is needed")
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return errors.New("a scheme and a host are all it may have")
	}
	return nil
}

func peerAddr(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	addr, _ := netip.ParseAddr(host)
	return addr
}

// derive makes a key for one purpose out of the configured one (RFC 5869).
func (s *Service) derive(purpose string) []byte {
	key, err := hkdf.Key(sha256.New, s.o.Key, nil, "hux identity: "+purpose, 32)
	if err != nil {
		panic(err) // only for a length that SHA-256 cannot give
	}
	return key
}

// keyedHash hides a value of somebody else's that we only need to find again.
// The purpose keeps hashes of one value for two uses apart.
func (s *Service) keyedHash(purpose, value string) string {
	mac := hmac.New(sha256.New, s.hashKey)
	mac.Write([]byte(purpose))
	mac.Write([]byte{0})
	mac.Write([]byte(value))
	return hex.EncodeToString(mac.Sum(nil))
}

// secretHash is what is stored of a random secret of ours. It needs no key:
// the secrets have 128 bits and more.
func secretHash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// newSecret is a random text of at least 128 bits.
func newSecret() string { return rand.Text() }

// What crypto/rand.Text makes its texts of.
const (
	secretLength   = 26
	secretAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// Run looks for the provider until it is found, writes down what sessions and
// agents were last seen, and clears away what has expired, until ctx ends. Then
// it waits a few seconds for renewals that have no answer yet.
func (s *Service) Run(ctx context.Context) error {
	defer s.exchanges.end()
	var wg sync.WaitGroup
	wg.Go(func() { s.provider.discover(ctx, s.log) })
	defer wg.Wait()
	tick := time.NewTicker(seenTurn)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		last := ctx.Err() != nil
		// What was seen in the last turn must still be written.
		writing := context.WithoutCancel(ctx)
		err := errors.Join(s.seenSessions(writing), s.seenAgents(writing))
		s.handovers.sweep(s.now())
		if turn%sweepTurns == 0 {
			err = errors.Join(err, s.sweepSessions(writing), s.sweepLogouts(writing))
		}
		if err != nil {
			s.log.LogAttrs(ctx, slog.LevelError, "sessions were not swept", slog.Any("cause", err))
		}
		if last {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// Ready reports whether the sign-in provider has been found since the
// start: without it nobody new gets in.
func (s *Service) Ready() bool { return s.provider.current.Load() != nil }
