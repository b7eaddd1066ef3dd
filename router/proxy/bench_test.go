package proxy_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"bstein.dev/hux/router/proxy"
)

// The two benchmarks compare the proxy with what it must not be much slower
// than, at 16 connections: a bare tuned ReverseProxy, and itself without
// injection. Run them with -bench . -count 5 and compare the rates.

func BenchmarkJSON(b *testing.B) {
	body := strings.Repeat(`{"a":"b"},`, 102)
	up := mustURL(upstream(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body)
	}))
	copies := sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}
	bare := &httputil.ReverseProxy{
		Rewrite:    func(r *httputil.ProxyRequest) { r.SetURL(up); r.SetXForwarded() },
		Transport:  &http.Transport{DisableCompression: true, MaxIdleConns: 64, MaxIdleConnsPerHost: 64},
		BufferPool: pool{&copies},
	}
	b.Run("bare", func(b *testing.B) { load(b, bare, "/p/x") })
	b.Run("proxy", func(b *testing.B) { load(b, serving(b, up.String(), ""), "/p/x") })
}

func BenchmarkPage(b *testing.B) {
	page := "<!doctype html><html><head><meta charset=utf-8><title>x</title><link rel=icon href=x></head><body>" + strings.Repeat("<p>text of a page</p>\n", 1450) + "</body></html>"
	up := upstream(b, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'self'; script-src 'self' 'unsafe-inline'; frame-src 'self'")
		w.Header().Set("Content-Length", strconv.Itoa(len(page)))
		_, _ = io.WriteString(w, page)
	})
	b.Run("plain", func(b *testing.B) { load(b, serving(b, up, ""), "/p/x") })
	b.Run("injected", func(b *testing.B) { load(b, serving(b, up, head), "/") })
}

func serving(b *testing.B, up, head string) http.Handler {
	p, err := proxy.New(proxy.Options{Rules: rules(b, testRules), PublicURL: mustURL(origin), ConsoleURL: mustURL(console), Head: head})
	if err != nil {
		b.Fatal(err)
	}
	to := mustURL(up)
	addr := netip.MustParseAddr("192.0.2.7")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.Serve(w, r, proxy.Target{Tenant: tenantA, Slot: "a", Upstream: to, User: alice, ClientAddr: addr})
	})
}

type pool struct{ *sync.Pool }

func (p pool) Get() []byte  { return *p.Pool.Get().(*[]byte) }
func (p pool) Put(b []byte) { p.Pool.Put(&b) }

// load asks for a path over 16 connections.
func load(b *testing.B, h http.Handler, path string) {
	s := httptest.NewServer(h)
	defer s.Close()
	request := "GET " + path + " HTTP/1.1\r\nHost: chat.example.org\r\nUser-Agent: Mozilla/5.0\r\nAccept: */*\r\nAccept-Encoding: gzip\r\n" +
		"Accept-Language: en\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n" +
		"Cookie: __Host-hux_chat=0123456789abcdef0123456789abcdef\r\n\r\n"
	work := make(chan struct{}, 1024)
	var done sync.WaitGroup
	b.ReportAllocs()
	before := cpu(b)
	b.ResetTimer()
	for range 16 {
		done.Go(func() {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answers := newAnswers(conn)
			for range work {
				if _, err := io.WriteString(conn, request); err != nil {
					b.Error(err)
					return
				}
				if err := answers.skip(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	done.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric((cpu(b)-before).Seconds()*1e6/float64(b.N), "cpu-µs/req")
}

// cpu is the processor time of this process, which other processes on the
// machine disturb less than the clock.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkIdleStream reports the memory that an open event stream takes,
// with the upstream's goroutine (2 KiB of stack) in it.
func BenchmarkIdleStream(b *testing.B) {
	const streams = 500
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var buf [1024]byte
				_, _ = c.Read(buf[:])
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n: hello\n\n")
				_, _ = c.Read(buf[:])
			}()
		}
	}()
	p, err := proxy.New(proxy.Options{Rules: rules(b, testRules), PublicURL: mustURL(origin), MaxInFlight: streams})
	if err != nil {
		b.Fatal(err)
	}
	target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL("http://" + l.Addr().String()), User: alice}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.Serve(w, r, target) }))
	defer s.Close()
	for range b.N {
		before := memory()
		conns := make([]net.Conn, 0, streams)
		for range streams {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			conns = append(conns, c)
			_, _ = io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
		}
		for _, c := range conns {
			r := newAnswers(c)
			for line := ""; line != ": hello\n"; {
				if line, err = r.r.ReadString('\n'); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(memory()-before)/streams/1024, "KiB/stream")
		for _, c := range conns {
			_ = c.Close()
		}
	}
}

func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// answers reads answers with a Content-Length cheaply, so that the client
// takes little of the machine.
type answers struct{ r *bufio.Reader }

func newAnswers(r io.Reader) *answers { return &answers{bufio.NewReaderSize(r, 64<<10)} }

func (a *answers) skip() error {
	length := -1
	for first := true; ; first = false {
		line, err := a.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !strings.HasPrefix(string(line), "HTTP/1.1 200") {
			return errors.New(string(line))
		}
		if len(line) <= 2 {
			break
		}
		if v, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("an answer without a length")
	}
	_, err := a.r.Discard(length)
	return err
}
