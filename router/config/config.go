// Package config turns a file, the environment and the command line into one
// validated struct before anything starts.
package config

import (
	"net/netip"
	"net/url"
	"time"
)

// Config is everything that hux can be told. The table in options.go says
// what each setting is for and what it is by default.
type Config struct {
	Listen         string
	MetricsListen  string
	TLSCert        string
	TLSKey         string
	PublicURL      *url.URL
	ConsoleURL     *url.URL // nil: one origin for everything
	APIHosts       []string
	TrustedProxies []netip.Prefix
	Data           string
	Key            []byte
	Grace          time.Duration
	AccessLog      bool
	Flags          []string
	ImageDigest    string

	OIDCIssuer        string
	OIDCInternalURL   string
	OIDCNamespace     string
	OIDCClientID      string
	OIDCClientSecret  string
	OIDCAudience      string
	OIDCBearerClients []string
	OIDCAlgorithms    []string
	OIDCScopes        []string
	OIDCRolesClaim    string
	ClockSkew         time.Duration
	SessionIdle       time.Duration
	SessionAbsolute   time.Duration

	Slots           []Slot
	IdentityHeader  string
	RulesFile       string
	UploadLimit     int64
	UpstreamTimeout time.Duration
	SlotConnections int
	SlotHealthPath  string
	SlotHealthEvery time.Duration

	TenantQuota    int64
	StreamsPerUser int
}

// Slot is one upstream WebUI. A slot with members belongs to them; one
// without is in the pool, claimed by the first sign-in that needs one.
type Slot struct {
	ID      string
	URL     *url.URL
	Members []string // user ids, "usr_…"
}

// Problem is one thing wrong with the configuration.
type Problem struct {
	Where  string // "hux.yaml:12", "HUX_PUBLIC_URL", "--listen", or "" for what is missing
	Key    string
	Reason string
}

func (p Problem) String() string {
	if p.Where == "" {
		return p.Key + ": " + p.Reason
	}
	return p.Where + ": " + p.Key + ": " + p.Reason
}
