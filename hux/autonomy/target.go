package autonomy

import (
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/redact"
)

// maxTarget is the length of a target that a grant can name, in characters.
const maxTarget = 200

// aims are what a call is aimed at, as the catalogue finds it in the arguments.
type aims struct {
	targets []string // in the form in which grants are compared, each once
	unread  bool     // the call may have other targets, which could not be read for sure
}

// aimsOf finds what a call is aimed at: nothing if the catalogue has no target
// for the tool, as for a shell.
func aimsOf(tool string, args map[string]any) (a aims) {
	if !hasTarget(tool) {
		return a
	}
	known := catalogue.Tools[tool]
	hosts := known.HostOf != ""
	v, has := args[known.Target+known.HostOf]
	list, many := v.([]any)
	a.unread = !has || many && len(list) == 0
	if !many && has {
		list = []any{v}
	}
	for _, item := range list {
		text, ok := item.(string)
		if hosts && ok {
			text, ok = hostOf(text)
		} else if ok {
			ok = !many && !slices.Contains(strings.Split(text, "/"), "..") // after a symbolic link, .. leads elsewhere
			text = cleanTarget(tool, text)
		}
		if !ok || text == "" {
			a.unread = true
		} else if !slices.Contains(a.targets, text) {
			a.targets = append(a.targets, text)
		}
	}
	return a
}

// Target is the target of a call as the catalogue finds it, in the form in which
// grants name it: a host without its scheme's usual port, a clean path, or a
// recipient. It is "" if the tool has no target, if the arguments name none or
// several, and if the target looks like a secret.
func Target(tool string, args map[string]any) string {
	a := aimsOf(tool, args)
	if a.unread || len(a.targets) != 1 {
		return ""
	}
	target := a.targets[0]
	if utf8.RuneCountInString(target) > maxTarget || !utf8.ValidString(target) || strings.ContainsFunc(target, hux.Hidden) || redact.Secretive(target) {
		return ""
	}
	return target
}

// cleanTarget writes a target that somebody states in the form of Target.
func cleanTarget(tool, target string) string {
	known := catalogue.Tools[tool]
	switch {
	case target == "":
	case known.HostOf != "":
		address := target
		if !strings.Contains(address, "://") {
			address = "https://" + address
		}
		if host, ok := hostOf(address); ok {
			return host
		}
	case known.Target == "path":
		return path.Clean(target)
	}
	return strings.TrimSpace(target)
}

// grantTarget is the target that a grant names, in the form in which it is
// compared. It reports false for what can never be a target of the tool: a
// denial of that would deny nothing.
func grantTarget(m Match) (target string, ok bool) {
	if m.Target == "" {
		return "", true
	}
	target = cleanTarget(m.Tool, m.Target)
	if catalogue.Tools[m.Tool].HostOf == "" {
		return target, target != ""
	}
	host, ok := hostOf("https://" + target)
	return target, ok && host == target
}

// hostOf is the host of a web address in lower case, with its port unless that
// is the scheme's usual one. It reports false if programs may read the address
// differently.
func hostOf(address string) (string, bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" {
		return "", false
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.Unmap().String()
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
	} else if !hostName(host) {
		return "", false
	}
	if u.Port() == "" {
		return host, true
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	switch {
	case err != nil:
		return "", false
	case port == 443 && u.Scheme == "https", port == 80 && u.Scheme == "http":
		return host, true
	}
	return host + ":" + strconv.FormatUint(port, 10), true
}

// hostName reports whether host is a name that can't be read as an address.
func hostName(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last != "" && (last[0] < '0' || last[0] > '9') &&
		strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && !strings.Contains(host, "..")
}

// denied reports whether a denial of target is about the call: the call is
// aimed there, also if it has other targets too, names another port or spells
// the target otherwise; the agent states the target; or it can't be told what
// the call is aimed at.
func (c Call) denied(target string) bool {
	return target == c.Target || c.aims.unread || mayBe(c.Tool, target, cleanTarget(c.Tool, c.Claimed)) ||
		slices.ContainsFunc(c.aims.targets, func(t string) bool { return mayBe(c.Tool, target, t) })
}

// portless is a host without its port.
func portless(host string) string {
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		return host[:i]
	}
	return host
}

// Aimed is the call with the targets that its arguments name.
func (c Call) Aimed(args map[string]any) Call {
	c.Target, c.aims = Target(c.Tool, args), aimsOf(c.Tool, args)
	return c
}
