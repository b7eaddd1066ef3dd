// Package config turns a file, the environment and the command line into one
// validated struct before anything starts.
package config

import (
	"cmp"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"bstein.dev/hux/hux"
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
	TempDir        string // "": the system's
	Key            []byte
	Grace          time.Duration
	Drain          time.Duration
	AccessLog      bool
	Flags          []string
	ImageDigest    string

	OIDCIssuer        string
	OIDCInternalURL   string
	OIDCProxy         *url.URL // nil: none
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
	StopBypassed   bool
	StreamsPerUser int
}

// Slot is one upstream WebUI. A slot with members belongs to them; one
// without is in the pool, claimed by the first visit that needs one.
type Slot struct {
	ID      string
	URL     *url.URL
	Members []hux.User
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

// compare orders problems as a person would mend them: by source, and in a
// file from the top; what is missing comes last.
func (p Problem) compare(q Problem) int {
	file := func(p Problem) (name string, line int) {
		name, at, _ := strings.Cut(p.Where, ":")
		line, _ = strconv.Atoi(at)
		return name, line
	}
	a, aLine := file(p)
	b, bLine := file(q)
	missing := func(where string) int {
		if where == "" {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(missing(p.Where), missing(q.Where)), cmp.Compare(a, b), cmp.Compare(aLine, bLine), cmp.Compare(p.Key, q.Key))
}
