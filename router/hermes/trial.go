package hermes

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed trial.py
var script string

// A trial asks our hook about a call of a tool that does not exist. The hook
// asks hux for its capabilities, or kills itself, and blocks the call in any
// case.
const (
	TrialTool   = "hux_check"
	TrialAnswer = "Not run: this was a trial, and hux has answered."
)

// Trial says what a Hermes did with its configuration and with our hooks.
type Trial struct {
	Version   string             `json:"version"`
	Failed    []string           `json:"failed"`     // what could not be tried, and why
	Secret    string             `json:"secret"`     // SHA-256 of the secret of webhooks that it finds; "" is none
	Seen      bool               `json:"seen"`       // it has read our hook in the configuration
	Consent   bool               `json:"consent"`    // it starts both hooks
	SafeMode  bool               `json:"safe_mode"`  // it starts none
	EveryTool bool               `json:"every_tool"` // the hook is asked about each tool
	Callback  *float64           `json:"callback"`   // seconds that a hook may take; nil: it has no such limit
	Trials    map[string]Outcome `json:"trials"`     // "asks", "killed", "missing"
}

// Outcome says what Hermes did after a hook had ended.
type Outcome struct {
	Blocked bool   `json:"blocked"`
	Said    string `json:"said"`
}

// Try has Hermes itself run our hooks, as its config.yaml in home says. python
// is the interpreter that has Hermes. No tool runs.
func Try(ctx context.Context, python, home, gate, tell string) (*Trial, error) {
	const mark = "hux-trial:"
	cmd := exec.CommandContext(ctx, python, "-", gate, tell, mark)
	cmd.Stdin = strings.NewReader(script)
	cmd.Env = append(os.Environ(), "HERMES_HOME="+home)
	out, err := cmd.Output()
	_, line, found := bytes.Cut(out, []byte("\n"+mark))
	if !found {
		return nil, errors.Join(errors.New("it did not end as it should"), err)
	}
	var t Trial
	return &t, json.Unmarshal(line, &t)
}

// Python finds the interpreter of the installed Hermes: the one that the
// command hermes names, the one beside it, or the one that its installer makes.
// "" if there is none.
func Python(home string) string {
	var candidates []string
	if command, err := exec.LookPath("hermes"); err == nil {
		if content, err := os.ReadFile(command); err == nil {
			first, _, _ := strings.Cut(string(content), "\n")
			if path, script := strings.CutPrefix(first, "#!"); script && strings.Contains(path, "python") {
				candidates = append(candidates, strings.Fields(path)[0])
			}
		}
		if real, err := filepath.EvalSymlinks(command); err == nil {
			candidates = append(candidates, filepath.Join(filepath.Dir(real), "python3"), filepath.Join(filepath.Dir(real), "python"))
		}
	}
	candidates = append(candidates, filepath.Join(home, "hermes-agent", "venv", "bin", "python"))
	if system, err := exec.LookPath("python3"); err == nil {
		candidates = append(candidates, system)
	}
	for _, path := range candidates {
		if exec.Command(path, "-c", "import hermes_cli, agent.shell_hooks").Run() == nil { //nolint:gosec // where Hermes is
			return path
		}
	}
	return ""
}

// Older reports whether a version is below another. What is no version counts as
// older.
func Older(version, than string) bool {
	a, b := numbers(version), numbers(than)
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			return i >= len(a) || a[i] < b[i]
		}
	}
	return false
}

// numbers are the numbers that a version begins with.
func numbers(version string) (n []int) {
	for part := range strings.SplitSeq(strings.TrimPrefix(version, "v"), ".") {
		i, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		n = append(n, i)
	}
	return n
}
