package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
)

// maxSocketPath is what Linux and macOS both take for a Unix socket's path.
const maxSocketPath = 103

var slotID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

func newSlot(id, base string, members []hux.User) (Slot, error) {
	if !slotID.MatchString(id) {
		return Slot{}, errors.New("a slot's id must be 1 to 63 lower-case letters, digits and dashes")
	}
	u, err := parseBase(base)
	if err != nil {
		return Slot{}, fmt.Errorf("slot %s: url %w", id, err)
	}
	for _, m := range members {
		if !m.Valid() {
			return Slot{}, fmt.Errorf("slot %s: a member is named by the user id that hux shows, usr_…, not by name or e-mail", id)
		}
	}
	return Slot{ID: id, URL: u, Members: members}, nil
}

func (l *loader) validate() {
	c := l.config
	require := func(key string, missing bool) {
		known := slices.ContainsFunc(l.problems, func(p Problem) bool { return p.Key == key })
		if missing && !known {
			l.problem(l.where[key], key, "is required")
		}
	}
	require("public_url", c.PublicURL == nil)
	require("oidc_issuer", c.OIDCIssuer == "")
	require("oidc_client_id", c.OIDCClientID == "")
	require("key", c.Key == nil)
	require("data", c.Data == "")
	require("slots", len(c.Slots) == 0)

	if (c.TLSCert == "") != (c.TLSKey == "") {
		l.problem(l.where["tls_cert"], "tls_cert", "and tls_key go together")
	}
	for key, path := range map[string]string{"tls_cert": c.TLSCert, "tls_key": c.TLSKey, "rules_file": c.RulesFile, "temp_dir": c.TempDir} {
		if path != "" {
			if _, err := os.Stat(path); err != nil {
				l.problem(l.where[key], key, "can't be read: "+reason(err))
			}
		}
	}
	for key, address := range map[string]string{"listen": c.Listen, "metrics_listen": c.MetricsListen} {
		_, port, err := net.SplitHostPort(address)
		if _, portErr := strconv.ParseUint(port, 10, 16); (err != nil || portErr != nil) && (address != "" || key == "listen") {
			l.problem(l.where[key], key, "must be host:port, such as 127.0.0.1:8080 or :8080")
		}
	}
	if c.OIDCClientSecret == "" {
		l.warnings = append(l.warnings, "oidc_client_secret is not set: sign-in works only if the provider has hux as a public client")
	}
	if l.proxy != "" && c.OIDCProxy == nil {
		l.warnings = append(l.warnings, l.proxy+" is not heeded; where the sign-in provider is reached through a proxy, oidc_proxy names it")
	}
	if c.PublicURL != nil && c.PublicURL.Scheme == "https" && c.TLSCert == "" && len(c.TrustedProxies) == 0 {
		l.warnings = append(l.warnings, "public_url is https, but hux neither ends TLS itself (tls_cert) nor trusts a proxy that does (trusted_proxies): everybody would share one client address")
	}
	for key, v := range map[string]string{"oidc_issuer": c.OIDCIssuer, "oidc_internal_url": c.OIDCInternalURL} {
		if _, err := httpURL(v); v != "" && err != nil {
			l.problem(l.where[key], key, err.Error())
		}
	}
	if path, err := filepath.Abs(filepath.Join(c.Data, "admin.sock")); err == nil && len(path) > maxSocketPath {
		l.problem(l.where["data"], "data", fmt.Sprintf("is too long a path for the socket in it, which may have %d bytes", maxSocketPath))
	}
	l.validateOrigins()
	l.validateSlots()
	if c.SessionIdle > c.SessionAbsolute {
		l.problem(l.where["session_idle"], "session_idle", "must not be longer than session_absolute")
	}
	if !strings.HasPrefix(c.SlotHealthPath, "/") {
		l.problem(l.where["slot_health_path"], "slot_health_path", "must begin with /")
	}
	if l.container && c.ImageDigest == "" {
		l.problem("", "image_digest", "is required in a container: set HUX_IMAGE_DIGEST to the digest that its image is pinned by")
	}
}

func (l *loader) validateOrigins() {
	c := l.config
	if c.PublicURL == nil {
		return
	}
	if c.PublicURL.Scheme == "http" {
		l.warnings = append(l.warnings, "public_url is plain http, over which a browser has six connections to a host: a few open tabs of the chat use them up, and the next one waits; HTTP/2, which has no such limit, needs https")
	}
	if plainHTTP(c.PublicURL) {
		l.warnings = append(l.warnings, "public_url is plain http: sessions can be read on the way; use https anywhere but on localhost")
	}
	if c.ConsoleURL == nil {
		l.warnings = append(l.warnings, "console_url is not set: chat and console share one origin, so that scripts of the chat can act as the person")
		return
	}
	switch {
	case c.ConsoleURL.Host == c.PublicURL.Host:
		l.problem(l.where["console_url"], "console_url", "must be another host name than public_url's; leave it out for one origin")
	case c.ConsoleURL.Scheme != c.PublicURL.Scheme:
		l.problem(l.where["console_url"], "console_url", "must have the same scheme as public_url")
	case !sameSite(c.ConsoleURL.Hostname(), c.PublicURL.Hostname()):
		l.problem(l.where["console_url"], "console_url", "must share a parent domain with public_url, as hux.example.org does with chat.example.org")
	}
	for _, h := range c.APIHosts {
		if h == c.PublicURL.Hostname() || h == c.ConsoleURL.Hostname() {
			l.problem(l.where["api_hosts"], "api_hosts", h+" is the host of public_url or console_url already")
		}
	}
}

func plainHTTP(u *url.URL) bool {
	h := u.Hostname()
	return u.Scheme == "http" && h != "localhost" && h != "127.0.0.1" && !strings.HasSuffix(h, ".localhost")
}

// sameSite asks for a shared parent of at least two labels. The public suffix
// list would say more, but would age inside the binary; a browser still
// decides by its own.
func sameSite(a, b string) bool {
	parent := func(h string) string {
		_, p, _ := strings.Cut(h, ".")
		return p
	}
	for _, shared := range []string{parent(a), parent(b), a, b} {
		inside := func(h string) bool { return h == shared || strings.HasSuffix(h, "."+shared) }
		if strings.Contains(shared, ".") && inside(a) && inside(b) {
			return true
		}
	}
	return false
}

func (l *loader) validateSlots() {
	ids, urls, members := map[string]bool{}, map[string]string{}, map[hux.User]string{}
	for _, s := range l.config.Slots {
		if ids[s.ID] {
			l.problem(l.where["slots"], "slots", "slot "+s.ID+" stands twice")
		}
		ids[s.ID] = true
		if other, ok := urls[s.URL.String()]; ok {
			l.problem(l.where["slots"], "slots", fmt.Sprintf("slots %s and %s have one url: two tenants would share a WebUI", other, s.ID))
		}
		urls[s.URL.String()] = s.ID
		for _, m := range s.Members {
			if other, ok := members[m]; ok {
				l.problem(l.where["slots"], "slots", fmt.Sprintf("%s is a member of slot %s and of slot %s", m, other, s.ID))
			}
			members[m] = s.ID
		}
		if ip := net.ParseIP(s.URL.Hostname()); ip != nil && ip.IsLoopback() || s.URL.Hostname() == "localhost" {
			l.warnings = append(l.warnings, "slot "+s.ID+" is on loopback: its WebUI trusts every process of this machine")
		}
	}
}
