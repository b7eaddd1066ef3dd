package blackbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	contract "bstein.dev/hux"
)

// command runs hux with text on its standard input, and gives its exit status.
func command(t *testing.T, stdin string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// workedExample is the contract's own example of a schema.
func workedExample(t *testing.T, name string) string {
	t.Helper()
	text, err := contract.Examples.ReadFile("examples/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	event := workedExample(t, "hux.event.v1")
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(event)); err != nil {
		t.Fatal(err)
	}
	line := compact.String() + "\n"
	bad := strings.Replace(line, `"seq":42`, `"seq":0`, 1)
	good := writeFile(t, filepath.Join(dir, "good.json"), event)
	pretty := writeFile(t, filepath.Join(dir, "bad.json"), strings.Replace(event, `"seq": 42`, `"seq": "SENTINEL"`, 1))
	body := `{"kind":"run.started","summary":"s"}`
	for name, c := range map[string]struct {
		stdin  string
		args   []string
		status int
		says   []string // on standard output
	}{
		"one record":               {"", []string{good}, 0, []string{"1 record, 0 faulty"}},
		"on standard input":        {event, nil, 0, []string{"1 record, 0 faulty"}},
		"the same, named":          {event, []string{"-"}, 0, []string{"1 record, 0 faulty"}},
		"a record a line":          {line + "\n" + line, nil, 0, []string{"2 records, 0 faulty"}},
		"laid out over lines":      {"", []string{pretty}, 1, []string{pretty + ":5: /seq: type: must be integer", "1 record, 1 faulty"}},
		"one bad line":             {line + bad + line, nil, 1, []string{"stdin:2: /seq: minimum: ", "3 records, 1 faulty"}},
		"one line that is no JSON": {line + "{\"seq\": SENTINEL}\n" + line, nil, 1, []string{"stdin:2: -: invalid_json: ", "3 records, 1 faulty"}},
		"its first line ends so":   {"{\"schema\": {}\n}\n", nil, 1, []string{"stdin:1: /schema: unknown_schema", "1 record, 1 faulty"}},
		"blank lines around":       {"\n \n" + bad + "\n\n" + line, nil, 1, []string{"stdin:3: /seq: minimum: ", "2 records, 1 faulty"}},
		"two files":                {"", []string{good, pretty}, 1, []string{pretty + ":5: /seq: ", "2 records, 1 faulty"}},
		"one that is not there":    {"", []string{good, filepath.Join(dir, "none.json")}, 2, []string{"1 record, 0 faulty"}},
		"nothing":                  {"", nil, 1, []string{"stdin:1: -: invalid_json"}},
		"no record of ours":        {`{"schema":"SENTINEL"}`, nil, 1, []string{"stdin:1: /schema: unknown_schema"}},
		"a body":                   {body, []string{"--as", "hux.event.create.v1"}, 0, []string{"1 record, 0 faulty"}},
		"a body with more":         {`{"colour":"SENTINEL",` + body[1:], []string{"--as", "hux.event.create.v1"}, 0, []string{"stdin:1: not stored: colour"}},
		"a body that says who":     {`{"user":"SENTINEL",` + body[1:], []string{"--as", "hux.event.create.v1"}, 1, []string{"/user: read_only_field"}},
		"a body as a record":       {body, nil, 1, []string{"/schema: required: is missing; a request's body? name it with --as NAME"}},
		"as what is no schema":     {body, []string{"--as", "hux.nothing.v1"}, 2, nil},
		"an option that is none":   {body, []string{"--fast"}, 2, nil},
		"help":                     {"", []string{"--help"}, 0, []string{"Usage: hux validate"}},
	} {
		stdout, stderr, status := command(t, c.stdin, append([]string{"validate"}, c.args...)...)
		if status != c.status {
			t.Errorf("%s: status %d, want %d:\n%s%s", name, status, c.status, stdout, stderr)
		}
		for _, word := range c.says {
			if !strings.Contains(stdout, word) {
				t.Errorf("%s: it does not say %q:\n%s", name, word, stdout)
			}
		}
		if strings.Contains(stdout+stderr, "SENTINEL") {
			t.Errorf("%s: it shows a value:\n%s%s", name, stdout, stderr)
		}
		if (status == 2) != (stderr != "") {
			t.Errorf("%s: status %d, and it says %q", name, status, stderr)
		}
	}
}

func TestValidateForMachines(t *testing.T) {
	t.Parallel()
	stdout, _, status := command(t, workedExample(t, "hux.event.v1")[:40], "validate", "--json")
	var got struct {
		Records int
		Faulty  int
		Faults  []struct {
			File, Pointer, Code, Message string
			Line                         int
		}
		Ignored []any
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || status != 1 {
		t.Fatalf("status %d, %v:\n%s", status, err, stdout)
	}
	if got.Records != 1 || got.Faulty != 1 || len(got.Faults) != 1 || got.Faults[0].Code != "invalid_json" || got.Faults[0].Line != 3 || got.Ignored == nil {
		t.Errorf("%+v", got)
	}
}

// What the contract says of each example hux validate says too.
func TestValidateKnowsTheExamples(t *testing.T) {
	t.Parallel()
	files, err := contract.Examples.ReadDir("examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".json")
		if !ok {
			continue
		}
		if stdout, stderr, status := command(t, workedExample(t, name), "validate", "--as", name); status != 0 {
			t.Errorf("%s: status %d:\n%s%s", name, status, stdout, stderr)
		}
	}
}
