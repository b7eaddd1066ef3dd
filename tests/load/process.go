package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// process is a child of the driver; what it says goes to a file.
type process struct {
	name, dir, addr string
	env, command    []string
	tree            []procfs.Proc // itself and all that descend from it
	stop            func()        // kindly at first
	done            chan struct{}
}

// start runs the command until ctx ends, and waits until it listens. It has a
// small environment, so that nothing of the caller's configures it, and as many
// threads as the machine has CPUs.
func (p *process) start(ctx context.Context) {
	out := must(os.OpenFile(p.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))
	defer func() { _ = out.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, p.command[0], p.command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, fmt.Sprintf("GOMAXPROCS=%d", runtime.NumCPU())}, p.env...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = out, out, p.dir
	check(cmd.Start())
	done := make(chan struct{})
	p.done, p.stop = done, func() { cancel(); <-done }
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	p.soon(func() { check(must(net.Dial("tcp", p.addr)).Close()) })
	p.tree = descendants(cmd.Process.Pid)
}

// soon tries something until it is well, or the process has ended.
func (p *process) soon(try func()) {
	for late := time.Now().Add(20 * time.Second); ; {
		err := attempt(try)
		if err == nil {
			return
		}
		select {
		case <-p.done:
		case <-time.After(50 * time.Millisecond):
			if time.Now().Before(late) {
				continue
			}
		}
		text, _ := os.ReadFile(p.log())
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		check(fmt.Errorf("%s: %w; its last words: %s", p.name, err, lines[len(lines)-1]))
	}
}

func (p *process) log() string {
	return filepath.Join(p.dir, strings.ReplaceAll(p.name, " ", "-")+".log")
}

// descendants are a process and all that descend from it.
func descendants(pid int) []procfs.Proc {
	tree := []procfs.Proc{must(procfs.NewProc(pid))}
	children := map[int][]procfs.Proc{}
	for _, p := range must(procfs.AllProcs()) {
		if s, err := p.Stat(); err == nil { // it may have ended
			children[s.PPID] = append(children[s.PPID], p)
		}
	}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].PID]...)
	}
	return tree
}

// cpu is the CPU time that processes have used so far.
func cpu(procs ...procfs.Proc) (sum time.Duration) {
	for _, p := range procs {
		sum += seconds(must(p.Stat()).CPUTime())
	}
	return sum
}

// machineCPU is the CPU time that everything on the machine has used so far;
// that of guests is in their users'.
func machineCPU() time.Duration {
	c := must(must(procfs.NewDefaultFS()).Stat()).CPUTotal
	return seconds(c.User + c.Nice + c.System + c.IRQ + c.SoftIRQ + c.Steal)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// rss is the resident memory of processes in bytes, and what of it are pages of
// files, which the kernel can take back.
func rss(procs []procfs.Proc) (all, files int64) {
	for _, p := range procs {
		s := must(p.Statm())
		all += int64(s.ResidentBytes())                    //nolint:gosec // small
		files += int64(s.Shared) * int64(os.Getpagesize()) //nolint:gosec // small
	}
	return all, files
}

// freeAddr is a loopback address that nobody listens on.
func freeAddr() string {
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}
