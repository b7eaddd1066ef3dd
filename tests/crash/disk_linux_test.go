package crash_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// padding makes an event of 8 KB.
var padding = strings.Repeat("x", 8000)

// A full disk: what can't be written is refused as 507, what was acknowledged
// can be read and replayed, and with room the same process writes on.
func TestDiskFull(t *testing.T) {
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			if err := os.Mkdir(data, 0o700); err != nil {
				t.Fatal(err)
			}
			fill, relieve := limit(t, data)
			p := newProcess(t, data)
			p.start(t)
			id := p.conversation(t, "c")
			fill(p)

			acked, full := fillUp(t, p, id)
			if len(acked) == 0 {
				t.Fatal("nothing could be written at all")
			}
			check := func(extra int) {
				t.Helper()
				all := p.events(t, id, 0)
				there := map[string]event{}
				for _, e := range all {
					there[e.Summary] = e
				}
				for key, want := range acked {
					if there[key] != want {
						t.Errorf("%s was acknowledged as %+v and is %+v", key, want, there[key])
					}
				}
				if len(all) != len(acked)+extra || len(there) != len(all) {
					t.Errorf("%d events, %d of them different, %d acknowledged and %d more", len(all), len(there), len(acked), extra)
				}
			}
			check(0)
			for key, want := range acked {
				if e, a, err := p.post(id, key, padding); err != nil || a.status != http.StatusCreated || !a.replayed || e != want {
					t.Errorf("a replay while the disk is full: %v %d %s", err, a.status, a.body)
				}
				break
			}
			if a, err := p.call("GET", "/conversations/"+id, "", ""); err != nil || a.status != http.StatusOK {
				t.Errorf("a record while the disk is full: %v %d", err, a.status)
			}

			relieve(p)
			e, a, err := p.post(id, full, padding)
			if err != nil || a.status != http.StatusCreated || a.replayed || e.Seq != uint64(len(acked)+1) {
				t.Fatalf("with room again: %v %d %.300s, %+v after %d", err, a.status, a.body, e, len(acked))
			}
			acked[full] = e
			check(0)
			p.kill(t)
			p.start(t)
			check(0)
			if e, _, err := p.post(id, "last", ""); err != nil || e.Seq != uint64(len(acked)+1) {
				t.Errorf("after a restart: %+v %v", e, err)
			}
			check(1)
			p.stop(t)
		})
	}
}

// fillUp writes from several writers until the disk refuses for good, and
// gives what was acknowledged and one key that was refused.
func fillUp(t *testing.T, p *process, id string) (acked map[string]event, refused string) {
	t.Helper()
	acked = map[string]event{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for n, misses := 0, 0; misses < 20; n++ {
				if n == 5000 {
					t.Error("the disk does not fill up")
					return
				}
				key := fmt.Sprintf("f-%d-%d", w, n)
				e, a, err := p.post(id, key, padding)
				mu.Lock()
				switch {
				case err == nil && a.status == http.StatusCreated:
					acked[key] = e
				case err == nil && a.status == http.StatusInsufficientStorage && bytes.Contains(a.body, []byte(`"quota_exceeded"`)):
					refused = key
					misses++
				default:
					t.Errorf("on a full disk: %v %d %s", err, a.status, a.body)
					misses = 20
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if refused == "" {
		t.Fatal("nothing was refused")
	}
	return acked, refused
}

// limits are the ways to let a disk be full: fill makes it so, with the process
// running, and relieve makes room.
var limits = func() map[string]func(t *testing.T, data string) (fill, relieve func(*process)) {
	all := map[string]func(t *testing.T, data string) (fill, relieve func(*process)){"file size": fileSize}
	if os.Geteuid() == 0 && canMount() {
		all["file system"] = fileSystem
	}
	return all
}()

// fileSize is a limit on the size of files, which anybody may set.
func fileSize(t *testing.T, _ string) (fill, relieve func(*process)) {
	set := func(p *process, soft string) {
		t.Helper()
		out, err := run("prlimit", "--pid", fmt.Sprint(p.cmd.Process.Pid), "--fsize="+soft+":unlimited")
		if err != nil {
			t.Fatalf("prlimit: %v: %s", err, out)
		}
	}
	return func(p *process) { set(p, "3000000") }, func(p *process) { set(p, "unlimited") }
}

// fileSystem is a small file system of its own, which takes root.
func fileSystem(t *testing.T, data string) (fill, relieve func(*process)) {
	if err := syscall.Mount("tmpfs", data, "tmpfs", 0, "size=4m,mode=0700"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		deadline := time.Now().Add(10 * time.Second)
		for err := syscall.Unmount(data, 0); err != nil; err = syscall.Unmount(data, 0) {
			if time.Now().After(deadline) {
				t.Error(err)
				return
			}
		}
	})
	return func(*process) {}, func(*process) {
		if err := syscall.Mount("tmpfs", data, "tmpfs", syscall.MS_REMOUNT, "size=64m,mode=0700"); err != nil {
			t.Fatal(err)
		}
	}
}

func canMount() bool {
	dir, err := os.MkdirTemp("", "hux-mount-")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k") != nil {
		return false
	}
	return syscall.Unmount(dir, 0) == nil
}
