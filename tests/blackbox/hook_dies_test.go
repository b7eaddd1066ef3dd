package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// blocks is what Hermes 0.20 and 0.21 make of a hook's end with fail_closed:
// status 2 blocks, and so does output that is no JSON object or says block.
// Nothing at all on standard output lets the call run, whatever the status.
func blocks(state *os.ProcessState, out []byte) bool {
	var answer map[string]any
	switch out = bytes.TrimSpace(out); {
	case state.ExitCode() == 2:
		return true
	case len(out) == 0:
		return false
	}
	return json.Unmarshal(out, &answer) != nil || answer == nil || answer["decision"] == "block"
}

// A hook that is ended at any time blocks its call, also in a Hermes that lets
// a call run whose hook has printed nothing.
func TestHookThatDies(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT, syscall.SIGSEGV} {
		for during, input := range map[string]string{"reading the call": "", "asking": *stdin("s", "t", "c", "terminal", `{"command":"true"}`)} {
			t.Run(fmt.Sprintf("%v while %s", signal, during), func(t *testing.T) {
				t.Parallel()
				cmd := exec.Command(binary, "hook")
				cmd.Env = []string{"HUX_URL=http://" + silent.Addr().String(), "HUX_AGENT_CREDENTIAL=hux_agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6_AAAA"}
				in, err := cmd.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				out, err := cmd.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill() })
				first := make([]byte, 1)
				if _, err := io.ReadFull(out, first); err != nil {
					t.Fatalf("nothing is printed at the start: %v", err)
				}
				if _, err := io.WriteString(in, input); err != nil {
					t.Fatal(err)
				}
				if input != "" {
					_ = in.Close()
				}
				if err := cmd.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				rest, err := io.ReadAll(out)
				if err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				if out := slices.Concat(first, rest); !blocks(cmd.ProcessState, out) {
					t.Errorf("it ends with %v and %q, and the call runs", cmd.ProcessState, out)
				}
			})
		}
	}
}

// What is no question prints nothing that could be taken for an answer.
func TestHookHelpIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"hook", "--help"}, {"hook", "-h"}, {"help", "hook"}} {
		out, err := exec.Command(binary, args...).Output()
		if err != nil || !strings.HasPrefix(string(out), "Usage:") {
			t.Errorf("hux %s: %v, %q", strings.Join(args, " "), err, out)
		}
	}
	misspelt := exec.Command(binary, "hok")
	if out, err := misspelt.Output(); err == nil || len(out) > 0 || !blocks(misspelt.ProcessState, out) {
		t.Errorf("hux hok: %v, %q", err, out)
	}
}

// A hook that could not print its first byte ends with the status that blocks.
func TestHookWithoutOutput(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	cmd := exec.Command(binary, "hook", "--timeout", "5s")
	cmd.Stdout = full
	start := time.Now()
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 || time.Since(start) > 4*time.Second {
		t.Errorf("it ends with %v", cmd.ProcessState)
	}
}
