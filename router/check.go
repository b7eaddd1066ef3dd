package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/proxy"
)

const checkHelp = `Usage: hux check [--online] [--config FILE] [--name value …]

Validates the configuration and exits with status 1 if anything is wrong,
naming the line and the reason. --online also asks the sign-in provider for
its discovery document and each WebUI for its health and version.
`

func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	online := slices.Contains(args, "--online")
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--online" })
	c, warnings, err := loadConfig(args, checkHelp, stdout, stderr)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(stdout, "warning:", w)
	}
	rules, problems := checkParts(c)
	if online {
		problems = append(problems, checkOnline(ctx, c, rules, stdout)...)
	}
	if err := printFlags(c, stdout); err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Fprintln(stderr, "error:", p)
	}
	if len(problems) > 0 {
		return errSaid
	}
	fmt.Fprintln(stdout, "the configuration is good")
	return nil
}

// checkParts tries what only the parts themselves can tell.
func checkParts(c *config.Config) (*proxy.Rules, []string) {
	var problems []string
	if err := refuseDemo(c.Data); err != nil {
		problems = append(problems, err.Error())
	}
	rules := proxy.DefaultRules()
	if c.RulesFile != "" {
		f, err := os.Open(c.RulesFile)
		if err == nil {
			rules, err = proxy.LoadRules(f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			problems = append(problems, "rules_file: "+err.Error())
		}
	}
	if c.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
			problems = append(problems, "tls_cert: "+err.Error())
		}
	}
	return rules, problems
}

func checkOnline(ctx context.Context, c *config.Config, rules *proxy.Rules, stdout io.Writer) []string {
	var problems []string
	client := &http.Client{
		Timeout:       10 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if err := checkIssuer(ctx, c, client); err != nil {
		problems = append(problems, "oidc_issuer: "+err.Error())
	}
	for _, slot := range c.Slots {
		for _, f := range proxy.SelfCheck(ctx, slot.URL, rules, client) {
			text := "slot " + slot.ID + ": " + f.Path + ": " + f.Text
			if f.Problem {
				problems = append(problems, text)
			} else {
				fmt.Fprintln(stdout, "warning:", text)
			}
		}
	}
	return problems
}

func checkIssuer(ctx context.Context, c *config.Config, client *http.Client) error {
	issuer, err := url.Parse(c.OIDCIssuer)
	if err != nil {
		return err
	}
	ask := *issuer
	if c.OIDCInternalURL != "" {
		internal, err := url.Parse(c.OIDCInternalURL)
		if err != nil {
			return err
		}
		ask.Scheme, ask.Host = internal.Scheme, internal.Host
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ask.JoinPath("/.well-known/openid-configuration").String(), nil)
	if err != nil {
		return err
	}
	req.Host = issuer.Host
	res, err := client.Do(req)
	if err != nil {
		return errors.New("the provider does not answer; is oidc_internal_url needed here?")
	}
	defer func() { _ = res.Body.Close() }()
	var document struct {
		Issuer string `json:"issuer"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&document); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("no discovery document: status %d", res.StatusCode)
	}
	if document.Issuer != c.OIDCIssuer {
		return fmt.Errorf("the provider calls itself %q; the setting must be the same to the letter", document.Issuer)
	}
	return nil
}

func printFlags(c *config.Config, w io.Writer) error {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		return err
	}
	flags := hux.ResolveFlags(registry, c.Flags)
	for _, f := range registry {
		state := flags.States[f.Name]
		switch {
		case state.Enabled:
			fmt.Fprintf(w, "flag %s is on\n", f.Name)
		case state.Listed:
			fmt.Fprintf(w, "flag %s is blocked by %s\n", f.Name, strings.Join(state.BlockedBy, ", "))
		}
	}
	for _, name := range flags.Unknown {
		fmt.Fprintf(w, "warning: flag %s is not in the registry and is ignored\n", name)
	}
	return nil
}
