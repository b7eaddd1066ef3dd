package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	checkTimeout = 10 * time.Second
	checkBody    = 4 << 20 // bytes of a resource that are looked at
)

// Finding is something about an upstream that is not as the rules expect.
type Finding struct {
	Path    string // the resource that was looked at
	Text    string // what is off, in plain words; holds nothing of the resource but its version
	Problem bool   // the router or the bridge may not work; otherwise it is only to be known
}

func (f Finding) String() string { return f.Path + ": " + f.Text }

// SelfCheck compares a running upstream with the rules: its version and the
// landmarks in its public resources. It signs in as nobody, follows no
// redirect and reads a bounded part of each resource. No finding means that
// all is as expected. An upstream that does not answer at all is one finding.
func SelfCheck(ctx context.Context, upstream *url.URL, rules *Rules) []Finding {
	client := &http.Client{
		Transport:     newTransport(checkTimeout),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()

	type resource struct {
		body string
		err  error
	}
	read := make(map[string]resource)
	get := func(path string) (string, error) {
		r, ok := read[path]
		if !ok {
			r.body, r.err = fetch(ctx, client, upstream, path)
			read[path] = r
		}
		return r.body, r.err
	}

	var findings []Finding
	if v := rules.Upstream.Version; v.Path != "" {
		if body, err := get(v.Path); errors.Is(err, errUnreachable) {
			return []Finding{silent(v.Path)}
		} else if err != nil {
			findings = append(findings, Finding{v.Path, fmt.Sprintf("The version of the %s is not known: %v.", rules.Upstream.Name, err), true})
		} else if version, ok := v.in(body); !ok {
			findings = append(findings, Finding{v.Path, fmt.Sprintf("This does not look like the %s: its version is not where it should be.", rules.Upstream.Name), true})
		} else if !slices.Contains(v.Tested, version) {
			findings = append(findings, Finding{v.Path, fmt.Sprintf("The %s is version %s; the rules were made from %s and were not tried with it.",
				rules.Upstream.Name, version, rules.Upstream.Snapshot), false})
		}
	}
	for _, l := range rules.Upstream.Landmarks {
		body, err := get(l.Path)
		if errors.Is(err, errUnreachable) {
			return append(findings, silent(l.Path))
		}
		if err != nil {
			findings = append(findings, Finding{l.Path, fmt.Sprintf("A landmark could not be looked for (%s): %v.", l.Why, err), true})
			continue
		}
		for _, text := range l.Contains {
			if !strings.Contains(body, text) {
				findings = append(findings, Finding{l.Path, fmt.Sprintf("A landmark is missing: %q (%s).", text, l.Why), true})
			}
		}
	}
	return findings
}

var errUnreachable = errors.New("it is not reachable")

func silent(path string) Finding {
	return Finding{path, "It is not reachable, so nothing more was looked for.", true}
}

// in finds the version in a resource.
func (v Version) in(body string) (string, bool) {
	_, rest, ok := strings.Cut(body, v.Before)
	if !ok {
		return "", false
	}
	version, _, ok := strings.Cut(rest, v.After)
	if !ok || version == "" || len(version) > 64 || strings.ContainsFunc(version, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", false
	}
	return version, true
}

// fetch reads a public resource of an upstream.
func fetch(ctx context.Context, client *http.Client, upstream *url.URL, path string) (string, error) {
	u := *upstream
	u.Path, u.RawPath, u.RawQuery = path, "", ""
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", errors.New("it has no usable address")
	}
	resp, err := client.Do(req)
	switch {
	case timedOut(err):
		return "", errors.New("it does not answer in time")
	case err != nil:
		return "", errUnreachable
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("it answers with status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, checkBody))
	if err != nil {
		return "", errors.New("its answer broke off")
	}
	return string(body), nil
}
