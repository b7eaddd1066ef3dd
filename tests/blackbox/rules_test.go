package blackbox_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestRules(t *testing.T) {
	t.Parallel()
	for line, c := range map[string]struct {
		status int
		says   string
	}{
		"decide safe read":                       {0, "allow (matrix)"},
		"decide ask_first network":               {1, "ask (matrix)"},
		"decide safe network":                    {1, "deny (matrix)"},
		"decide ask_first network --allow-grant": {0, "allow (grant_allow)"},
		"decide --deny-grant autonomous write":   {1, "deny (grant_deny)"},
		"decide autonomous network --private":    {1, "deny (mode_private)"},
		"decide autonomous execute --no-budget":  {1, "ask (budget_exhausted)"},
		"decide autonomous deploy --allow-grant": {1, "ask (deploy_always_asks)"},
		"decide bold read":                       {2, "there is no such level; there are safe, ask_first, autonomous\n"},
		"decide safe fly":                        {2, "no such capability"},
		"decide safe":                            {2, "hux rules --help"},
		"move memory proposed active":            {0, "legal"},
		"move memory proposed forgotten":         {1, "illegal; from proposed it may go to active, rejected"},
		"move memory active active":              {1, "illegal"},
		"move memory forgotten active":           {1, "it may go nowhere"},
		"move memory proposed perhaps":           {2, "no such state"},
		"move wallet proposed active":            {2, "no such machine"},
		"move memory proposed":                   {2, "hux rules --help"},
		"machines":                               {0, "approval, which begins as pending"},
		"machines conversation":                  {0, "  forgotten → nowhere"},
		"machines wallet":                        {2, "no such machine"},
		"ponder":                                 {2, `no "ponder"; there are decide, `},
		"decide safe read --slowly":              {2, "no option --slowly"},
		"decide safe read --at noon":             {2, "hux rules --help"},
		"move memory proposed active --private":  {2, "hux rules --help"},
		"machines --allow-grant":                 {2, "hux rules --help"},
		"release-problems a b --no-budget":       {2, "hux rules --help"},
		"--json decide safe read":                {2, "hux rules --help"},
		"decide --help":                          {0, "Usage:"},
		"":                                       {2, "what is to be done?"},
		"--help":                                 {0, "Usage:"},
	} {
		stdout, stderr, status := command(t, "", append([]string{"rules"}, strings.Fields(line)...)...)
		said := stdout
		if c.status == 2 {
			said = stderr
		}
		if status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("hux rules %s: status %d, want %d and %q:\n%s%s", line, status, c.status, c.says, stdout, stderr)
		}
	}
}

func TestRulesForMachines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"decide safe network --json":            `{"effect":"deny","reason":"matrix"}`,
		"move memory proposed forgotten --json": `{"allowed":["active","rejected"],"from":"proposed","legal":false,"to":"forgotten"}`,
		"machines run_cancel --json":            `{"run_cancel":{"receipted":[],"requested":["receipted"]}}`,
	} {
		if stdout, _, _ := command(t, "", append([]string{"rules"}, strings.Fields(line)...)...); strings.TrimSpace(stdout) != want {
			t.Errorf("hux rules %s: %s, want %s", line, stdout, want)
		}
	}
	var machines map[string]map[string][]string
	if stdout, _, _ := command(t, "", "rules", "machines", "--json"); json.Unmarshal([]byte(stdout), &machines) != nil || len(machines) != 9 {
		t.Errorf("%d machines:\n%s", len(machines), stdout)
	}
}

// hux rules tells a worker of a transition what the router would.
func TestRulesOfReleases(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var release map[string]any
	if err := json.Unmarshal([]byte(workedExample(t, "hux.release.v1")), &release); err != nil {
		t.Fatal(err)
	}
	release["state"] = "verified"
	for _, step := range []string{"deployed", "converged", "live_verified"} {
		delete(release["steps"].(map[string]any), step)
	}
	release["flux"], release["pods"], release["checks"], release["current_check"], release["claim_allowed"] = nil, []any{}, []any{}, nil, false
	text, err := json.Marshal(release)
	if err != nil {
		t.Fatal(err)
	}
	file := writeFile(t, filepath.Join(dir, "release.json"), string(text))
	good := workedExample(t, "hux.release.transition.v1")
	notReady := strings.Replace(good, `"ready": true`, `"ready": false`, 1)
	for name, c := range map[string]struct {
		transition string
		args       []string
		status     int
		says       string
	}{
		"good":          {good, []string{file, "-"}, 0, "0 problems"},
		"not ready":     {notReady, []string{file, "-"}, 1, "/flux/ready: flux_not_ready: "},
		"as JSON":       {notReady, []string{file, "-", "--json"}, 1, `"code":"flux_not_ready"`},
		"good, as JSON": {good, []string{file, "-", "--json"}, 0, `{"problems":[]}`},
		"too early":     {good, []string{file, "-", "--at", "2026-03-01T14:00:00Z"}, 1, "/observed_at: observed_in_future: "},
		"no time":       {good, []string{file, "-", "--at", "noon"}, 2, "--at"},
		"no transition": {`{"to": "deployed"}`, []string{file, "-"}, 2, "hux.release.transition.v1"},
		"no release":    {good, []string{"-", "-"}, 2, "hux.release.v1"},
		"no file":       {good, []string{filepath.Join(dir, "none.json"), "-"}, 2, "none.json"},
		"one file":      {good, []string{file}, 2, "hux rules --help"},
	} {
		stdout, stderr, status := command(t, c.transition, append([]string{"rules", "release-problems"}, c.args...)...)
		said := stdout
		if c.status == 2 {
			said = stderr
		}
		if status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s: status %d, want %d and %q:\n%s%s", name, status, c.status, c.says, stdout, stderr)
		}
	}
}
