package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/cards"
	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/identity"
	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/server"
)

const checkHelp = `Usage: hux check [--online] [--config FILE] [--name value …]

Validates the configuration and exits with status 1 if anything is wrong,
naming the line and the reason. --online also asks the sign-in provider for
its discovery document and each WebUI for its version and landmarks. The settings
are those that "hux serve --help" lists.
`

func check(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	online := slices.Contains(args, "--online")
	args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--online" })
	c, warnings, err := loadConfig(args, checkHelp, stdout, stderr)
	if err != nil {
		return err
	}
	rules, problems := checkParts(c)
	if online {
		unfit, worth := checkOnline(ctx, c, rules)
		problems, warnings = append(problems, unfit...), append(warnings, worth...)
	}
	unknown, err := printFlags(c, stdout)
	if err != nil {
		return err
	}
	warnings = append(warnings, unknown...)
	for _, w := range warnings {
		fmt.Fprintln(stdout, "warning:", w)
	}
	for _, p := range problems {
		fmt.Fprintln(stderr, "error:", p)
	}
	if len(problems) > 0 {
		return errSaid
	}
	if len(warnings) > 0 {
		fmt.Fprintf(stdout, "the configuration can be used, with %s\n", hux.Count(len(warnings), "warning"))
		return nil
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
	rules, err := proxy.OpenRules(c.RulesFile)
	if err != nil {
		problems = append(problems, "rules_file: "+err.Error())
	} else if _, flags, served, err := resolved(c); err != nil {
		problems = append(problems, err.Error())
	} else if err := server.SwitchRules(rules, flags, served); err != nil {
		problems = append(problems, err.Error())
	}
	if c.TLSCert != "" {
		if _, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey); err != nil {
			problems = append(problems, "tls_cert: "+err.Error())
		}
	}
	return rules, problems
}

// checkOnline asks the outside parties.
func checkOnline(ctx context.Context, c *config.Config, rules *proxy.Rules) (problems, warnings []string) {
	if err := identity.CheckProvider(ctx, identity.Options{
		PublicURL: c.PublicURL, ConsoleURL: c.ConsoleURL, Issuer: c.OIDCIssuer, InternalURL: c.OIDCInternalURL, ProxyURL: c.OIDCProxy,
	}); err != nil {
		problem := "oidc_issuer: " + err.Error()
		if unreached := net.Error(nil); errors.As(err, &unreached) {
			problem += "; is oidc_internal_url needed here?"
		}
		problems = append(problems, problem)
	}
	if rules == nil { // nothing to hold the WebUIs against; that is a problem already
		return problems, nil
	}
	for _, slot := range c.Slots {
		for _, f := range proxy.SelfCheck(ctx, slot.URL, rules) {
			text := fmt.Sprintf("slot %s at %s: %s", slot.ID, slot.URL, f)
			if f.Problem {
				problems = append(problems, text)
			} else {
				warnings = append(warnings, text)
			}
		}
	}
	return problems, warnings
}

// resolved is what becomes of the configuration's flags.
func resolved(c *config.Config) (registry []hux.Flag, flags hux.Flags, served map[string]bool, err error) {
	registry, err = hux.ParseFlagRegistry(contract.Flags)
	return registry, hux.ResolveFlags(registry, c.Flags), api.Served(cards.Routes(cards.Options{})), err
}

// printFlags says what becomes of each flag that is listed, and warns of those
// that are none.
func printFlags(c *config.Config, w io.Writer) (warnings []string, err error) {
	registry, flags, served, err := resolved(c)
	if err != nil {
		return nil, err
	}
	for _, f := range registry {
		state := flags.States[f.Name]
		switch {
		case state.Enabled && (served[f.Name] || f.Name == "hux.foundation"):
			fmt.Fprintf(w, "flag %s is on\n", f.Name)
		case state.Enabled:
			fmt.Fprintf(w, "flag %s is on, but this build has nothing behind it yet\n", f.Name)
		case state.Listed:
			fmt.Fprintf(w, "flag %s is blocked by %s\n", f.Name, strings.Join(state.BlockedBy, ", "))
		}
	}
	for _, name := range flags.Unknown {
		warnings = append(warnings, fmt.Sprintf("flag %s is not in the registry and is ignored; flags.json has the names", name))
	}
	return warnings, nil
}
