package config

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bstein.dev/hux/hux/api"
)

// Option is one setting: Key in the file, HUX_KEY in the environment (and
// HUX_KEY_FILE for a secret), --key on the command line.
type Option struct {
	Key     string
	Usage   string
	Default string
	Secret  bool
	Many    bool // a list
	set     func(*Config, string) error
}

// Env is the name of o's environment variable.
func (o Option) Env() string { return "HUX_" + strings.ToUpper(o.Key) }

// FlagName is the name of o on the command line, without dashes in front.
func (o Option) FlagName() string { return strings.ReplaceAll(o.Key, "_", "-") }

// Options lists every setting, in the order in which they are documented.
var Options = []Option{
	{Key: "listen", Default: "127.0.0.1:8080", Usage: "address to serve on", set: str(func(c *Config) *string { return &c.Listen })},
	{Key: "metrics_listen", Usage: "address for Prometheus metrics; empty for none", set: str(func(c *Config) *string { return &c.MetricsListen })},
	{Key: "tls_cert", Usage: "certificate chain file, PEM; with it hux ends TLS itself and reloads it when it changes", set: str(func(c *Config) *string { return &c.TLSCert })},
	{Key: "tls_key", Usage: "private key file of tls_cert, PEM", set: str(func(c *Config) *string { return &c.TLSKey })},
	{Key: "public_url", Usage: "origin where people open the chat, such as https://chat.example.org", set: origin(func(c *Config) **url.URL { return &c.PublicURL })},
	{Key: "console_url", Usage: "origin of hux's own pages and of sign-in, on another host of the site that public_url is on: https://hux.example.org for one", set: origin(func(c *Config) **url.URL { return &c.ConsoleURL })},
	{Key: "api_hosts", Default: "127.0.0.1,localhost,::1", Many: true, Usage: "further host names, where only bearer tokens are accepted", set: list(func(c *Config) *[]string { return &c.APIHosts })},
	{Key: "trusted_proxies", Many: true, Usage: "networks (CIDR) whose X-Forwarded-For is believed; empty for none", set: setPrefixes},
	{Key: "data", Default: "data", Usage: "directory for what must last", set: str(func(c *Config) *string { return &c.Data })},
	{Key: "temp_dir", Usage: "directory for long request bodies of unknown length while they are under way, 4 at a time and slot, each up to upload_limit; the system's temporary directory by default; on a read-only root mount an emptyDir or a tmpfs there, and never the data directory's disk", set: str(func(c *Config) *string { return &c.TempDir })},
	{Key: "key", Secret: true, Usage: "router key: at least 32 random bytes in base64; hashes user ids and seals sessions; keep it outside the data directory, and never change it", set: setKey},
	{Key: "grace", Default: "20s", Usage: "how long open requests may take to end at shutdown", set: duration(time.Second, 10*time.Minute, func(c *Config) *time.Duration { return &c.Grace })},
	{Key: "drain", Default: "0s", Usage: "how long /hux/readyz says 503 at shutdown before anything else changes, so that a load balancer looks elsewhere; twice the time between its probes", set: duration(0, 10*time.Minute, func(c *Config) *time.Duration { return &c.Drain })},
	{Key: "access_log", Default: "true", Usage: "log each request", set: boolean(func(c *Config) *bool { return &c.AccessLog })},
	{Key: "flags", Many: true, Usage: "capabilities to switch on, by name or \"all\"", set: list(func(c *Config) *[]string { return &c.Flags })},
	{Key: "image_digest", Usage: "digest of the running image, sha256:…, as the deployment pins it", set: setDigest},

	{Key: "oidc_issuer", Usage: "issuer URL exactly as in its tokens, such as https://sso.example.org/realms/hux", set: str(func(c *Config) *string { return &c.OIDCIssuer })},
	{Key: "oidc_internal_url", Usage: "where hux itself reaches the issuer, if not at its own URL: an origin such as http://keycloak.sso.svc:8080, or a URL with a path, which stands for all of the issuer's", set: str(func(c *Config) *string { return &c.OIDCInternalURL })},
	{Key: "oidc_proxy", Usage: "HTTP proxy on the way to the issuer, such as http://proxy.example.org:3128; none by default: HTTP_PROXY and its like are not heeded", set: setProxy},
	{Key: "oidc_namespace", Usage: "stable name that user ids are hashed with; the issuer by default; set it before the issuer's URL ever changes", set: str(func(c *Config) *string { return &c.OIDCNamespace })},
	{Key: "oidc_client_id", Default: "hux", Usage: "client id at the issuer", set: str(func(c *Config) *string { return &c.OIDCClientID })},
	{Key: "oidc_client_secret", Secret: true, Usage: "client secret at the issuer", set: str(func(c *Config) *string { return &c.OIDCClientSecret })},
	{Key: "oidc_audience", Default: "hux", Usage: "audience that a bearer token must carry", set: str(func(c *Config) *string { return &c.OIDCAudience })},
	{Key: "oidc_bearer_clients", Many: true, Usage: "clients (azp) whose bearer tokens are accepted; empty for none", set: list(func(c *Config) *[]string { return &c.OIDCBearerClients })},
	{Key: "oidc_algorithms", Default: "RS256,PS256,ES256,EdDSA", Many: true, Usage: "accepted signature algorithms, asymmetric only", set: setAlgorithms},
	{Key: "oidc_scopes", Default: "openid,profile", Many: true, Usage: "scopes to ask for at sign-in", set: list(func(c *Config) *[]string { return &c.OIDCScopes })},
	{Key: "oidc_roles_claim", Default: "realm_access.roles", Usage: "claim that lists a user's roles", set: str(func(c *Config) *string { return &c.OIDCRolesClaim })},
	{Key: "clock_skew", Default: "30s", Usage: "how far the issuer's clock may be off", set: duration(time.Second, 5*time.Minute, func(c *Config) *time.Duration { return &c.ClockSkew })},
	{Key: "session_idle", Default: "12h", Usage: "a session ends after so long without a request", set: duration(time.Minute, 90*24*time.Hour, func(c *Config) *time.Duration { return &c.SessionIdle })},
	{Key: "session_absolute", Default: "168h", Usage: "a session ends so long after sign-in", set: duration(time.Minute, 365*24*time.Hour, func(c *Config) *time.Duration { return &c.SessionAbsolute })},

	{Key: "slots", Many: true, Usage: "the WebUIs: in the file a list of {id, url, members}; elsewhere id=url,id=url", set: setSlots},
	{Key: "identity_header", Default: "X-Hux-User", Usage: "header that tells a WebUI who its user is; its trusted-header setting must name the same", set: setHeaderName},
	{Key: "rules_file", Usage: "allow-list for the WebUI instead of the one shipped", set: str(func(c *Config) *string { return &c.RulesFile })},
	{Key: "upload_limit", Default: "64MiB", Usage: "largest request body that goes to a WebUI", set: size(func(c *Config) *int64 { return &c.UploadLimit })},
	{Key: "upstream_timeout", Default: "60s", Usage: "how long a WebUI may take to begin its answer", set: duration(100*time.Millisecond, time.Hour, func(c *Config) *time.Duration { return &c.UpstreamTimeout })},
	{Key: "slot_connections", Default: "120", Usage: "requests and streams under way at one WebUI at most", set: integer(1, 100_000, func(c *Config) *int { return &c.SlotConnections })},
	{Key: "slot_health_path", Default: "/health", Usage: "path that tells whether a WebUI is up", set: str(func(c *Config) *string { return &c.SlotHealthPath })},
	{Key: "slot_health_every", Default: "5s", Usage: "how often that is asked", set: duration(100*time.Millisecond, time.Hour, func(c *Config) *time.Duration { return &c.SlotHealthEvery })},

	{Key: "tenant_quota", Default: "1GiB", Usage: "how much one tenant's records may take", set: size(func(c *Config) *int64 { return &c.TenantQuota })},
	{Key: "on_bypass", Default: "stop", Usage: "what follows when an agent tells of a tool that ran and that nothing had allowed: stop (an alarm, and the run is asked to stop) or alarm", set: setOnBypass},
	{Key: "streams_per_user", Default: "32", Usage: "event streams that one user may follow at once", set: integer(1, 1_000_000, func(c *Config) *int { return &c.StreamsPerUser })},
}

func setOnBypass(c *Config, v string) error {
	if v != "stop" && v != "alarm" {
		return errors.New("must be stop or alarm")
	}
	c.StopBypassed = v == "stop"
	return nil
}

func str(field func(*Config) *string) func(*Config, string) error {
	return func(c *Config, v string) error {
		*field(c) = strings.TrimSpace(v)
		return nil
	}
}

func list(field func(*Config) *[]string) func(*Config, string) error {
	return func(c *Config, v string) error {
		*field(c) = split(v)
		return nil
	}
}

func split(v string) []string {
	var out []string
	for part := range strings.SplitSeq(v, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func boolean(field func(*Config) *bool) func(*Config, string) error {
	return func(c *Config, v string) error {
		b, err := strconv.ParseBool(v)
		if err != nil {
			return errors.New("must be true or false")
		}
		*field(c) = b
		return nil
	}
}

func integer(low, high int, field func(*Config) *int) func(*Config, string) error {
	return func(c *Config, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("must be a whole number from %d to %d", low, high)
		}
		if strconv.Itoa(n) != v { // 010 is ten to some and eight to YAML 1.1
			return errors.New("must be written as a plain number, without a sign or a zero in front")
		}
		*field(c) = n
		return nil
	}
}

func duration(low, high time.Duration, field func(*Config) *time.Duration) func(*Config, string) error {
	return func(c *Config, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < low || d > high {
			return fmt.Errorf("must be a duration from %v to %v, such as 30s or 12h", low, high)
		}
		*field(c) = d
		return nil
	}
}

func size(field func(*Config) *int64) func(*Config, string) error {
	return func(c *Config, v string) error {
		digits, factor := v, int64(1)
		for suffix, f := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
			if s, ok := strings.CutSuffix(v, suffix); ok {
				digits, factor = s, f
			}
		}
		digits = strings.TrimSpace(digits)
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n < 1 || n > (1<<40)/factor || strconv.FormatInt(n, 10) != digits {
			return errors.New("must be a size such as 500KiB or 64MiB, without a zero in front")
		}
		*field(c) = n * factor
		return nil
	}
}

// origin reads scheme://host[:port] and nothing more, since hux lives at the
// root of its hosts.
func origin(field func(*Config) **url.URL) func(*Config, string) error {
	return func(c *Config, v string) error {
		if v == "" {
			*field(c) = nil
			return nil
		}
		u, err := parseBase(v)
		if err != nil {
			return err
		}
		*field(c) = u
		return nil
	}
}

// httpURL reads a URL of http or https without anything secret in it.
func httpURL(v string) (*url.URL, error) {
	u, err := url.Parse(v)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return nil, errors.New("must be a URL such as https://chat.example.org")
	}
	if _, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && err != nil {
		return nil, errors.New("has a port that is none")
	}
	if u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, errors.New("must have no query, fragment or user")
	}
	return u, nil
}

// parseBase reads a URL without a path.
func parseBase(v string) (*url.URL, error) {
	u, err := httpURL(v)
	if err != nil {
		return nil, err
	}
	if u.Path != "" && u.Path != "/" {
		return nil, errors.New("must have a host and maybe a port, but no path")
	}
	return url.Parse(api.Origin(u)) // without the scheme's own port, as Host headers are
}

func setProxy(c *Config, v string) (err error) {
	c.OIDCProxy = nil
	if v != "" {
		c.OIDCProxy, err = parseBase(v)
	}
	return err
}

func setPrefixes(c *Config, v string) error {
	c.TrustedProxies = nil
	for _, part := range split(v) {
		p, err := netip.ParsePrefix(part)
		if err != nil {
			return fmt.Errorf("%q is no network such as 10.0.0.0/8", part)
		}
		c.TrustedProxies = append(c.TrustedProxies, p.Masked())
	}
	return nil
}

func setKey(c *Config, v string) error {
	if v == "" {
		c.Key = nil
		return nil
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(v))
	if err != nil || len(key) < 32 {
		return errors.New("must be at least 32 bytes in base64; make one with: openssl rand -base64 32")
	}
	c.Key = key
	return nil
}

func setDigest(c *Config, v string) error {
	hex, ok := strings.CutPrefix(v, "sha256:")
	if v != "" && (!ok || len(hex) != 64 || strings.Trim(hex, "0123456789abcdef") != "") {
		return errors.New("must be sha256: and 64 lower-case hex digits")
	}
	c.ImageDigest = v
	return nil
}

func setAlgorithms(c *Config, v string) error {
	c.OIDCAlgorithms = split(v)
	for _, a := range c.OIDCAlgorithms {
		switch a {
		case "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA":
		default:
			return fmt.Errorf("%q is no asymmetric algorithm such as RS256 or ES256", a)
		}
	}
	if len(c.OIDCAlgorithms) == 0 {
		return errors.New("must name at least one algorithm")
	}
	return nil
}

func setHeaderName(c *Config, v string) error {
	for _, r := range v {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", r) {
			return errors.New("must be a header name of letters, digits and dashes")
		}
	}
	if v == "" {
		return errors.New("must not be empty")
	}
	c.IdentityHeader = v
	return nil
}

func setSlots(c *Config, v string) error {
	c.Slots = nil
	for _, part := range split(v) {
		id, base, ok := strings.Cut(part, "=")
		if !ok {
			return fmt.Errorf("%q is not id=url", part)
		}
		s, err := newSlot(id, base, nil)
		if err != nil {
			return err
		}
		c.Slots = append(c.Slots, s)
	}
	return nil
}
