package blackbox_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// address changes when the router starts again.
type address struct{ v atomic.Value }

func (a *address) set(addr string) { a.v.Store(addr) }

func (a *address) get() string {
	addr, _ := a.v.Load().(string)
	return addr
}

// metric reads the sum of a metric's series whose text contains all labels.
func metric(t testing.TB, addr, name string, labels ...string) float64 {
	t.Helper()
	res, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
next:
	for line := range strings.Lines(string(body)) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if series != name && !strings.HasPrefix(series, name+"{") {
			continue
		}
		for _, l := range labels {
			if !strings.Contains(series, l) {
				continue next
			}
		}
		var v float64
		if err := json.Unmarshal([]byte(value), &v); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		sum += v
	}
	return sum
}

// freeAddr is an address that is free at the moment.
func freeAddr(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// logBuffer collects what a process prints.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// tail is the end of it, for a failure's message.
func (l *logBuffer) tail() string {
	s := l.String()
	return s[max(0, len(s)-3000):]
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Len()
}

func (l *logBuffer) wait(t testing.TB, text string) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	eventually(t, 20*time.Second, "the log says "+text, func() bool {
		if time.Now().After(deadline) {
			t.Fatalf("the log never says %s:\n%s", text, l.tail())
		}
		return strings.Contains(l.String(), text)
	})
}

// listening is the address that the router says it serves on.
func (l *logBuffer) listening(from int) string {
	for line := range strings.Lines(l.String()[from:]) {
		var entry struct{ Msg, Listen string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "serving" {
			return entry.Listen
		}
	}
	return ""
}
