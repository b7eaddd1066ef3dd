package blackbox_test

import (
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What fails once the databases are open ends the process with a reason,
// whatever runs beside it.
func TestServeThatFailsEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, h *router) []string // gives further words of the command line
		says  string
	}{
		"the port of the metrics is in use": {
			func(t *testing.T, _ *router) []string {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = l.Close() })
				return []string{"--metrics-listen", l.Addr().String()}
			}, "metrics_listen",
		},
		"the operators' socket is a directory": {
			func(t *testing.T, h *router) []string {
				if err := os.MkdirAll(filepath.Join(h.data, "admin.sock", "x"), 0o700); err != nil {
					t.Fatal(err)
				}
				return nil
			}, "operators' socket",
		},
		"nothing can be made in the data directory": {
			func(t *testing.T, h *router) []string {
				h.launch(t) // makes the database
				h.stop(t)
				if err := os.Chmod(h.data, 0o500); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Chmod(h.data, 0o700) })
				return nil
			}, "operators' socket",
		},
		"there is no certificate": {
			func(t *testing.T, h *router) []string {
				return []string{"--tls-cert", writeFile(t, filepath.Join(h.dir, "none.crt"), "none")}
			}, "tls_cert",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := prepare(t, setup{})
			words := append([]string{"serve", "--config", h.file}, c.spoil(t, h)...)
			cmd := exec.Command(binary, words...)
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = h.dir, h.env, h.log, h.log
			if os.Geteuid() == 0 { // root may write anywhere
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
				giveTo(t, 65534, h.dir)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			exited := make(chan error, 1)
			go func() { exited <- cmd.Wait() }()
			select {
			case err := <-exited:
				if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 1 {
					t.Errorf("it ends with %v", err)
				}
			case <-time.After(8 * time.Second):
				_ = cmd.Process.Kill()
				t.Errorf("it goes on: %v", <-exited)
			}
			if lines := strings.Split(strings.TrimSpace(h.log.String()), "\n"); !strings.Contains(lines[len(lines)-1], "hux: "+c.says) {
				t.Errorf("its last words do not name %s:\n%s", c.says, h.log)
			}
		})
	}
}

// giveTo makes a user the owner of a test's directory, and lets them reach it
// and the binary.
func giveTo(t *testing.T, uid int, dir string) {
	t.Helper()
	for _, above := range []string{filepath.Dir(dir), filepath.Dir(binary)} {
		if err := os.Chmod(above, 0o755); err != nil { //nolint:gosec // nothing secret is in there
			t.Fatal(err)
		}
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// At its end a router first says that it is not ready, and serves on until
// balancers had time to see that. A second signal ends it at once.
func TestReadinessGoesFirst(t *testing.T) {
	t.Parallel()
	h := start(t, setup{config: map[string]any{"drain": "30s"}})
	alice := h.signIn(t, "h1", "alice")
	probe := func(path string) int {
		res, err := alice.try(t, t.Context(), "GET", chatURL+path, nil)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := probe("/hux/readyz"); got != http.StatusOK {
		t.Fatalf("ready: %d", got)
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, 5*time.Second, "it is not ready", func() bool { return probe("/hux/readyz") == http.StatusServiceUnavailable })
	if got := probe("/hux/healthz"); got != http.StatusOK {
		t.Errorf("alive: %d", got)
	}
	if got := probe("/"); got != http.StatusOK {
		t.Errorf("the WebUI meanwhile: %d", got)
	}
	if c, err := net.Dial("tcp", h.addr.get()); err != nil {
		t.Errorf("a new connection meanwhile: %v", err)
	} else {
		_ = c.Close()
	}
	if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-h.exited:
		h.exited <- err
	case <-time.After(5 * time.Second):
		t.Error("a second signal does not end it")
	}
}
