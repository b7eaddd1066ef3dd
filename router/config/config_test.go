package config_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/config"
)

var key = base64.StdEncoding.EncodeToString(make([]byte, 32))

const whole = `public_url: https://chat.example.org
console_url: https://hux.example.org
oidc_issuer: https://sso.example.org/realms/hux
trusted_proxies: [10.0.0.0/8, "fd00::/8"]
upload_limit: 2MiB
slots:
  - id: alice
    url: http://alice.webui:8787
    members: [usr_0123456789abcdef]
  - id: pool-1
    url: http://pool-1.webui:8787
`

func load(t *testing.T, file string, env, args []string) (*config.Config, []string, []config.Problem) {
	t.Helper()
	if file != "" {
		path := filepath.Join(t.TempDir(), "hux.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append([]string{"--config", path}, args...)
	}
	c, warnings, problems, err := config.Load(config.Source{Args: args, Environ: env})
	if err != nil {
		t.Fatal(err)
	}
	return c, warnings, problems
}

func TestLayersWinInOrder(t *testing.T) {
	env := []string{"HUX_KEY=" + key, "HUX_LISTEN=:1000", "HUX_SESSION_IDLE=1h", "PATH=/bin"}
	c, _, problems := load(t, whole+"listen: :999\nclock_skew: 10s\n", env, []string{"--listen", ":1001"})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if c.Listen != ":1001" || c.SessionIdle != time.Hour || c.ClockSkew != 10*time.Second || c.OIDCClientID != "hux" {
		t.Errorf("listen %s, idle %v, skew %v, client %s", c.Listen, c.SessionIdle, c.ClockSkew, c.OIDCClientID)
	}
	if len(c.TrustedProxies) != 2 || c.UploadLimit != 2<<20 || len(c.Slots) != 2 || c.Slots[0].Members[0] != "usr_0123456789abcdef" {
		t.Errorf("%+v", c)
	}
}

func TestSecretsComeFromFilesToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, _, problems := load(t, whole, []string{"HUX_KEY_FILE=" + path}, nil); len(problems) > 0 || len(c.Key) != 32 {
		t.Error(problems, len(c.Key))
	}
	if _, _, problems := load(t, whole, []string{"HUX_KEY_FILE=" + path, "HUX_KEY=" + key}, nil); len(problems) != 1 {
		t.Error(problems)
	}
	if _, _, _, err := config.Load(config.Source{Args: []string{"--key", key}}); err == nil {
		t.Error("a secret was taken from the command line")
	}
}

func TestProblemsNameTheirLineAndReason(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"unknown key":         {whole + "publicurl: x\n", "hux.yaml:12: publicurl: is no setting of hux; do you mean public_url?"},
		"bad duration":        {whole + "session_idle: soon\n", "hux.yaml:12: session_idle: must be a duration"},
		"twice":               {whole + "public_url: https://a.example.org\n", "hux.yaml:12: public_url: stands twice"},
		"a second document":   {whole + "---\nslots: []\n", "hux.yaml:12: config: begins a second document"},
		"an empty second one": {whole + "---\n", "hux.yaml:12: config: begins a second document"},
		"a broken second one": {whole + "---\na: [\n", "hux.yaml:1"},
		"twice in a slot":     {strings.Replace(whole, "id: pool-1", "id: pool-1\n    id: pool-2", 1), "hux.yaml:11: slots: id stands twice"},
		"twice in one line":   {"slots: [{id: a, id: b, url: \"http://a:1\"}]\n", "hux.yaml:1: slots: id stands twice"},
		"two lists of slots":  {whole + "slots: []\n", "hux.yaml:12: slots: stands twice"},
		"members twice":       {strings.Replace(whole, "    members:", "    members: []\n    members:", 1), "hux.yaml:10: slots: members stands twice"},
		"an octal number":     {whole + "slot_connections: 010\n", "hux.yaml:12: slot_connections: must be written as a plain number"},
		"a signed number":     {whole + "slot_connections: +10\n", "hux.yaml:12: slot_connections: must be written as a plain number"},
		"an octal size":       {whole + "tenant_quota: 010MiB\n", "hux.yaml:12: tenant_quota: must be a size"},
		"no value":            {whole + "listen: 127.0.0.1:1\nrules_file:\n", "hux.yaml:13: rules_file: has no value"},
		"null":                {whole + "session_idle: ~\n", "hux.yaml:12: session_idle: has no value"},
		"null in a list":      {whole + "flags:\n  - hux.foundation\n  - null\n", "hux.yaml:14: flags: has no value"},
		"null in a slot":      {strings.Replace(whole, "id: pool-1", "id: null", 1), "hux.yaml:10: slots: has no value"},
		"a list in a list":    {whole + "api_hosts: [a, [b]]\n", "hux.yaml:12: api_hosts: must be a single value"},
		"an alias":            {whole + "data: &d /srv/hux\ntemp_dir: *d\n", "hux.yaml:13: temp_dir: is an alias"},
		"an alias in a list":  {whole + "data: &d hux.foundation\nflags: [*d]\n", "hux.yaml:13: flags: is an alias"},
		"an alias in a slot":  {strings.Replace(whole+"  - {id: c, url: *u}\n", "url: http://alice", "url: &u http://alice", 1), "hux.yaml:12: slots: is an alias"},
		"a merge":             {whole + "<<: {data: /srv}\n", "hux.yaml:12: <<: is no setting of hux"},
		"an unknown anchor":   {whole + "data: *none\n", "hux.yaml:12: config: is no valid YAML"},
		"a forbidden byte":    {whole + "data: \"\x01\"\n", "hux.yaml:12: config: is no valid YAML"},
		"a tag":               {whole + "data: !!binary L3Nydg==\n", "hux.yaml:12: data: has a tag"},
		"unknown in a slot":   {strings.Replace(whole, "id: pool-1", "name: x\n    id: pool-1", 1), "hux.yaml:10: slots: name is no setting of a slot"},
		"not yaml":            {"listen: [\n", "config: is no valid YAML"},
		"a path":              {strings.Replace(whole, "https://chat.example.org", "https://chat.example.org/x", 1), "hux.yaml:1: public_url: must have a host"},
		"one url, two slots":  {strings.Replace(whole, "pool-1.webui", "alice.webui", 1), "two tenants would share a WebUI"},
		"member by e-mail":    {strings.Replace(whole, "usr_0123456789abcdef", "alice@example.org", 1), "hux.yaml:7: slots: slot alice: a member is named by the user id"},
		"other site":          {strings.Replace(whole, "hux.example.org", "hux.example.com", 1), "hux.yaml:2: console_url: must share a parent domain"},
		"HMAC algorithm":      {whole + "oidc_algorithms: [HS256]\n", "is no asymmetric algorithm"},
		"a list of one":       {whole + "oidc_client_id: [a, b]\n", "hux.yaml:12: oidc_client_id: must be a single value"},
		"secret in a URL":     {strings.Replace(whole, "https://sso", "https://u:p@sso", 1), "hux.yaml:3: oidc_issuer: must have no query, fragment or user"},
		"a port that is none": {strings.Replace(whole, "sso.example.org", "sso.example.org:99999", 1), "hux.yaml:3: oidc_issuer: has a port that is none"},
		"half of TLS":         {whole + "tls_cert: /etc/hostname\n", "and tls_key go together"},
	} {
		_, _, problems := load(t, c.file, []string{"HUX_KEY=" + key}, nil)
		if !slices.ContainsFunc(problems, func(p config.Problem) bool { return strings.Contains(p.String(), c.want) }) {
			t.Errorf("%s: %v, want %q", name, problems, c.want)
		}
	}
}

func TestEveryMissingSettingIsNamedAtOnce(t *testing.T) {
	_, _, problems := load(t, "", nil, nil)
	for _, k := range []string{"public_url", "oidc_issuer", "key", "slots"} {
		if !slices.ContainsFunc(problems, func(p config.Problem) bool { return p.Key == k && p.Reason == "is required" }) {
			t.Errorf("%s is missing and not named: %v", k, problems)
		}
	}
}

func TestWarningsSayWhatAChoiceCosts(t *testing.T) {
	file := strings.Replace(whole, "console_url: https://hux.example.org\n", "", 1)
	_, warnings, problems := load(t, strings.Replace(file, "alice.webui", "127.0.0.1", 1), []string{"HUX_KEY=" + key, "HUX_TYPO=1"}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{"one origin", "HUX_TYPO is no setting", "loopback"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning of %q in:\n%s", want, all)
		}
	}
}

func TestWarningsOfTheNetwork(t *testing.T) {
	plain := strings.Replace(strings.Replace(whole, "https://chat", "http://chat", 1), "https://hux", "http://hux", 1)
	for name, c := range map[string]struct {
		file   string
		env    []string
		warns  string
		silent bool
	}{
		"plain http":               {file: plain, warns: "six connections"},
		"https":                    {file: whole, warns: "six connections", silent: true},
		"a proxy nobody asked for": {file: whole, env: []string{"https_proxy=http://p.example.org:1"}, warns: "https_proxy is not heeded"},
		"a proxy of our own":       {file: whole + "oidc_proxy: http://p.example.org:3128\n", env: []string{"ALL_PROXY=http://p.example.org:1"}, warns: "not heeded", silent: true},
	} {
		_, warnings, problems := load(t, c.file, append([]string{"HUX_KEY=" + key}, c.env...), nil)
		if len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		if all := strings.Join(warnings, "\n"); strings.Contains(all, c.warns) == c.silent {
			t.Errorf("%s: the warnings are:\n%s", name, all)
		}
	}
}

func TestOneProblemNeverShowsASecret(t *testing.T) {
	_, _, problems := load(t, whole, []string{"HUX_KEY=c2VudGluZWw="}, nil)
	if len(problems) != 1 || strings.Contains(problems[0].String(), "c2VudGluZWw") {
		t.Error(problems)
	}
}

func TestAContainerNamesItsImage(t *testing.T) {
	env := []string{"HUX_KEY=" + key, "container=docker"}
	if _, _, problems := load(t, whole, env, nil); len(problems) != 1 || problems[0].Key != "image_digest" {
		t.Error(problems)
	}
	env = append(env, "HUX_IMAGE_DIGEST=sha256:"+strings.Repeat("0", 64))
	if _, _, problems := load(t, whole, env, nil); len(problems) != 0 {
		t.Error(problems)
	}
}

func TestProblemsComeAllAtOnceInTheOrderOfTheFile(t *testing.T) {
	file := "listen: nope\nsession_idle: soon\n" + strings.Replace(whole, "pool-1.webui", "alice.webui", 1) + "tls_cert: /none\n"
	var keys []string
	_, _, problems := load(t, file, nil, nil)
	for _, p := range problems {
		keys = append(keys, p.Key)
	}
	if want := []string{"listen", "session_idle", "slots", "tls_cert", "tls_cert", "key"}; !slices.Equal(keys, want) {
		t.Errorf("%v, want %v", keys, want)
	}
}

func TestACommandMayNeedButOneSetting(t *testing.T) {
	c, _, problems, err := config.Load(config.Source{Args: []string{"--data", "/d", "--session-idle", "soon"}, Only: []string{"data"}})
	if err != nil || len(problems) > 0 || c.Data != "/d" {
		t.Errorf("%+v %v %v", c, problems, err)
	}
}
