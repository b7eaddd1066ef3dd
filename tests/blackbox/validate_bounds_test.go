package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// validated is hux validate of what a reader gives, and its memory at the most
// until it has been given all of it.
func validated(t *testing.T, stdin io.Reader, args ...string) (stdout string, status, resident int) {
	t.Helper()
	cmd := exec.Command(binary, append([]string{"validate"}, args...)...)
	var out bytes.Buffer
	cmd.Stdout = &out
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(in, stdin); err != nil {
		t.Error(err)
	}
	resident = peak(t, cmd.Process.Pid)
	_ = in.Close()
	_ = cmd.Wait() // faults are a status
	return out.String(), cmd.ProcessState.ExitCode(), resident
}

// A large file with a fault in each line takes little memory and little paper.
func TestValidateIsBounded(t *testing.T) {
	t.Parallel()
	const lines = 200_000
	text := strings.Repeat(`{"schema":"hux.nothing.v1","padding":"`+strings.Repeat("x", 400)+"\"}\n", lines)
	stdout, status, resident := validated(t, strings.NewReader(text))
	if want := fmt.Sprintf("… and %d more\n%d records, %d faulty\n", lines-1000, lines, lines); status != 1 || !strings.HasSuffix(stdout, want) || strings.Count(stdout, "\n") != 1002 {
		t.Errorf("status %d, %d bytes that end with %q", status, len(stdout), stdout[max(0, len(stdout)-100):])
	}
	if resident > 200<<20 {
		t.Errorf("%d MiB for %d MiB", resident>>20, len(text)>>20)
	}
	var got struct {
		Records, Faulty, More int
		Faults                []any
	}
	stdout, _, resident = validated(t, strings.NewReader(text), "--json")
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Records != lines || got.Faulty != lines || len(got.Faults) != 1000 || got.More != lines-1000 || resident > 200<<20 {
		t.Errorf("%d records, %d faulty, %d faults and %d more, in %d MiB", got.Records, got.Faulty, len(got.Faults), got.More, resident>>20)
	}
}

// What never ends is given up at the bound, as a file and as a line.
func TestValidateGivesUpWhatIsTooLong(t *testing.T) {
	t.Parallel()
	zero, err := os.Open("/dev/zero")
	if err != nil {
		t.Fatal(err)
	}
	defer zero.Close()
	for name, c := range map[string]struct {
		stdin io.Reader
		args  []string
		says  string
	}{
		"a file":              {nil, []string{"validate", "/dev/zero"}, "/dev/zero:1: a record of more than 64 MiB"},
		"a line":              {io.MultiReader(strings.NewReader("{}\n{}\n"), zero), []string{"validate"}, "stdin:3: a record of more than 64 MiB"},
		"a record over lines": {io.MultiReader(strings.NewReader("{\n"), strings.NewReader(strings.Repeat(strings.Repeat(" ", 999)+"\n", 70_000))), []string{"validate"}, "stdin:1: a record of more than 64 MiB"},
		"a release":           {nil, []string{"rules", "release-problems", "/dev/zero", "/dev/zero"}, "/dev/zero: a record of more than 64 MiB"},
	} {
		cmd := exec.Command(binary, c.args...)
		var stderr bytes.Buffer
		cmd.Stdin, cmd.Stderr = c.stdin, &stderr
		begun := time.Now()
		err := cmd.Start()
		if err != nil {
			t.Fatal(err)
		}
		watch := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		watch.Stop()
		if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%s: status %d after %v: %s", name, cmd.ProcessState.ExitCode(), time.Since(begun), stderr.String())
		}
	}
}

// A command that waits for its input ends at a signal as any filter does.
func TestASignalEndsWaitingForInput(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"validate": {"validate"}, "validate a FIFO": {"validate", "FIFO"},
		"rules": {"rules", "release-problems", "-", "-"}, "rules of a FIFO": {"rules", "release-problems", "FIFO", "FIFO"},
	} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			line := append([]string{}, args...)
			fed := false
			for i := range line {
				if line[i] == "FIFO" {
					line[i], fed = fifo, true
				}
			}
			cmd := exec.Command(binary, line...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			// A writer can be opened once the command has opened its end, and waits
			// for more.
			if fed {
				w, err := os.OpenFile(fifo, os.O_WRONLY, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			watch := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			_ = cmd.Wait()
			watch.Stop()
			in.Close()
			ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !ok || !ws.Signaled() || ws.Signal() != sig {
				t.Errorf("%s, %v: %v", name, sig, cmd.ProcessState)
			}
		}
	}
}
