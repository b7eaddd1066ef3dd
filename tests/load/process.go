package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a child of the driver; what it says goes to a file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// start runs a command with a small environment, so that nothing of the
// caller's configures it.
func start(dir, name string, env []string, command ...string) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }()
	p.cmd = exec.Command(command[0], command[1:]...)
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	p.cmd.Stdout, p.cmd.Stderr = out, out
	p.cmd.Dir = dir
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop ends the process, kindly at first.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// ready waits until something answers at addr.
func (p *process) ready(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-tick.C:
		case <-p.done:
			return fmt.Errorf("%s ended: %s", p.name, p.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("%s does not listen on %s: %s", p.name, addr, p.lastWords())
		}
	}
}

func (p *process) lastWords() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}

// tree is a process with all that descend from it.
func (p *process) tree() []int {
	tree := []int{p.cmd.Process.Pid}
	names, _ := filepath.Glob("/proc/[0-9]*/stat")
	parents := map[int]int{}
	for _, name := range names {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if f := statFields(pid); len(f) > 1 {
			parents[pid], _ = strconv.Atoi(f[1])
		}
	}
	for i := 0; i < len(tree); i++ {
		for pid, parent := range parents {
			if parent == tree[i] {
				tree = append(tree, pid)
			}
		}
	}
	return tree
}

// statFields are the fields of /proc/PID/stat from the third on, the state.
func statFields(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

// tick is the unit of CPU time in /proc: USER_HZ, 100 on every Linux that Go
// runs on.
const tick = 10 * time.Millisecond

// cpuOf is the CPU time that processes have used so far.
func cpuOf(pids []int) time.Duration {
	var sum int64
	for _, pid := range pids {
		if f := statFields(pid); len(f) > 12 {
			user, _ := strconv.ParseInt(f[11], 10, 64)
			system, _ := strconv.ParseInt(f[12], 10, 64)
			sum += user + system
		}
	}
	return time.Duration(sum) * tick
}

// cpuOfAll is the CPU time that everything on the machine has used so far,
// and how many CPUs there are.
func cpuOfAll() (busy time.Duration, cpus int) {
	f, err := os.Open("/proc/stat")
	if err != nil {
		return 0, 1
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) > 8 && fields[0] == "cpu":
			for _, i := range []int{1, 2, 3, 6, 7, 8} { // all but idle, waiting and guests, who are in user
				n, _ := strconv.ParseInt(fields[i], 10, 64)
				busy += time.Duration(n) * tick
			}
		case len(fields) > 0 && strings.HasPrefix(fields[0], "cpu"):
			cpus++
		}
	}
	return busy, max(cpus, 1)
}

// rss is the resident memory of processes in bytes.
func rss(pids []int) int64 { return statm(pids, 1) }

// rssOfFiles is what of it are pages of files, which the kernel can take back.
func rssOfFiles(pids []int) int64 { return statm(pids, 2) }

func statm(pids []int, field int) int64 {
	var sum int64
	for _, pid := range pids {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if f := strings.Fields(string(text)); len(f) > field {
			pages, _ := strconv.ParseInt(f[field], 10, 64)
			sum += pages * int64(os.Getpagesize())
		}
	}
	return sum
}

// cpuModel is the name that the CPU gives itself.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return "unknown CPU"
	}
	defer func() { _ = f.Close() }()
	r := bufio.NewReader(f)
	for {
		line, err := r.ReadString('\n')
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
		if errors.Is(err, io.EOF) || err != nil {
			return "unknown CPU"
		}
	}
}

// freeAddr is a loopback address that nobody listens on.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
