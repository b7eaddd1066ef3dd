package conformance_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What the command line, or the environment, says of the server under test.
var (
	baseURL     = flag.String("url", os.Getenv("HUX_URL"), "where the server is, without /hux/v1; empty to build and start hux demo")
	token       = flag.String("token", os.Getenv("HUX_TOKEN"), "bearer token of a person")
	agentToken  = flag.String("agent-token", os.Getenv("HUX_AGENT_TOKEN"), "credential of an agent that works for that person")
	otherToken  = flag.String("other-token", os.Getenv("HUX_OTHER_TOKEN"), "bearer token of a person of another tenant")
	workerToken = flag.String("worker-token", os.Getenv("HUX_WORKER_TOKEN"), "bearer token of the release automation")
)

// own is true where the suite has started the server itself.
var own bool

// server is what the server under test says of itself.
var server *contract

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	flag.Parse()
	if *baseURL == "" {
		own = true
		stop, err := startOwn()
		if err != nil {
			fmt.Fprintln(os.Stderr, "conformance:", err)
			return 1
		}
		defer stop()
	}
	if *token == "" {
		fmt.Fprintln(os.Stderr, "conformance: -url needs -token, the bearer token of a person")
		return 1
	}
	*baseURL = strings.TrimSuffix(*baseURL, "/")
	var err error
	if server, err = loadContract(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %s says too little of itself to be tested: %v\n", *baseURL, err)
		return 1
	}
	code := m.Run()
	if _, _, err := get(context.Background(), *baseURL+prefix+"/capabilities", *token); err != nil {
		fmt.Fprintln(os.Stderr, "conformance: after the suite:", err)
		code = 1
	}
	if testing.Verbose() {
		findings.print(os.Stdout)
	}
	return code
}

// startOwn builds hux and starts its demo, which has a provider, slots and
// tokens of its own.
func startOwn() (stop func(), err error) {
	dir, err := os.MkdirTemp("", "hux-conformance-")
	if err != nil {
		return nil, err
	}
	d := &demo{dir: dir, binary: filepath.Join(dir, "hux"), exited: make(chan error, 1)}
	if err := d.start(); err != nil {
		d.stop()
		return nil, err
	}
	return d.stop, nil
}

// demo is the process of the suite's own server.
type demo struct {
	dir, binary string
	cmd         *exec.Cmd
	out         bytes.Buffer
	exited      chan error
}

func (d *demo) start() error {
	if text, err := exec.Command("go", "build", "-race", "-o", d.binary, "bstein.dev/hux/router").CombinedOutput(); err != nil {
		return fmt.Errorf("the router does not build: %w: %s", err, text)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	d.cmd = exec.Command(d.binary, "demo")
	d.cmd.Env = append(os.Environ(), "HUX_LISTEN="+addr, "HUX_DATA="+filepath.Join(d.dir, "data"))
	d.cmd.Stdout, d.cmd.Stderr = &d.out, &d.out
	if err := d.cmd.Start(); err != nil {
		return err
	}
	go func() { d.exited <- d.cmd.Wait() }()
	*baseURL = "http://" + addr
	for name, to := range map[string]*string{"alice": token, "bob": otherToken, "worker": workerToken} {
		if *to, err = d.token(name); err != nil {
			return err
		}
	}
	create := exec.Command(d.binary, "agents", "create", "alice", "conformance")
	create.Env = d.cmd.Env
	credential, err := create.Output()
	*agentToken = strings.TrimSpace(string(credential))
	return err
}

// token asks the demo for somebody's token until it is ready to give one that
// the router takes.
func (d *demo) token(name string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		text, _, err := get(ctx, *baseURL+"/demo/token?user="+name, "")
		if err == nil {
			_, _, err = get(ctx, *baseURL+"/hux/v1/capabilities", string(text))
		}
		if err == nil {
			return string(text), nil
		}
		select {
		case end := <-d.exited:
			d.exited <- end
			return "", fmt.Errorf("the demo ended: %w\n%s", errors.Join(end, err), d.out.String())
		case <-ctx.Done():
			return "", fmt.Errorf("the demo does not get ready: %w", err)
		case <-tick.C:
		}
	}
}

func (d *demo) stop() {
	if d.cmd != nil && d.cmd.Process != nil {
		_ = d.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-d.exited:
		case <-time.After(10 * time.Second):
			_ = d.cmd.Process.Kill()
			<-d.exited
		}
		lines := bufio.NewScanner(&d.out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "DATA RACE") {
				fmt.Fprintln(os.Stderr, "conformance: the server's race detector found something:\n", d.out.String())
				os.Exit(1)
			}
		}
	}
	_ = os.RemoveAll(d.dir)
}
