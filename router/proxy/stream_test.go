package proxy_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"bstein.dev/hux/router/proxy"
)

// events is an upstream that streams what the test sends.
type events struct {
	send   chan string
	active atomic.Int64
}

func newEvents() *events { return &events{send: make(chan string, 16)} }

func (e *events) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.active.Add(1)
	defer e.active.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	rc := http.NewResponseController(w)
	_ = rc.Flush()
	for {
		select {
		case s, ok := <-e.send:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, s)
			_ = rc.Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func open(t *testing.T, c *http.Client, url string, headers ...string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func readLines(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	b := make([]byte, len(want))
	if _, err := io.ReadFull(r, b); err != nil || string(b) != want {
		t.Fatalf("%q, %v, want %q", b, err, want)
	}
}

func TestStreamIsImmediate(t *testing.T) {
	e := newEvents()
	var got atomic.Pointer[http.Request]
	r := newRouter(t, upstream(t, func(w http.ResponseWriter, r *http.Request) { got.Store(r); e.ServeHTTP(w, r) }), nil, nil)
	both(t, r, func(t *testing.T, c *http.Client) {
		for _, target := range []string{"/stream", "/p"} {
			resp := open(t, c, r.URL+target, "Accept: text/event-stream", "Accept-Encoding: gzip", "Last-Event-ID: s:4")
			body := bufio.NewReader(resp.Body)
			if resp.Header.Get("X-Accel-Buffering") != "no" || resp.Header.Get("Content-Encoding") != "" {
				t.Errorf("%v", resp.Header)
			}
			up := got.Load()
			if up.Header.Get("Accept-Encoding") != "identity" || up.Header.Get("Last-Event-Id") != "s:4" || !up.Close {
				t.Errorf("%v, close %v", up.Header, up.Close)
			}
			for i := range 3 {
				frame := fmt.Sprintf("id: s:%d\ndata: x\n\n", i)
				e.send <- frame // and nothing more: it has to come by itself
				readLines(t, body, frame)
			}
			e.send <- "data: half"
			readLines(t, body, "data: half")
			resp.Body.Close()
			eventually(t, "the upstream knows that the client left", func() bool { return e.active.Load() == 0 })
		}
	})
}

func TestEndOfStreamIsPassedOn(t *testing.T) {
	e := newEvents()
	r := newRouter(t, upstream(t, e.ServeHTTP), nil, nil)
	resp := open(t, r.client(false), r.URL+"/stream")
	e.send <- "data: x\n\n"
	close(e.send)
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "data: x\n\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestSessionEndCutsStreams(t *testing.T) {
	e := newEvents()
	up := upstream(t, e.ServeHTTP)
	p, err := proxy.New(proxy.Options{Rules: rules(t, testRules), PublicURL: mustURL(origin)})
	if err != nil {
		t.Fatal(err)
	}
	session, end := context.WithCancel(context.Background())
	defer end()
	s := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(session, cancel)()
		p.Serve(w, r.WithContext(ctx), proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(up), User: alice})
	})
	resp := open(t, s.client(false), s.URL+"/stream")
	body := bufio.NewReader(resp.Body)
	e.send <- "data: x\n\n"
	readLines(t, body, "data: x\n\n")
	end()
	if _, err := body.ReadByte(); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("the stream ended with %v, not cut", err)
	}
	eventually(t, "the upstream's stream ends too", func() bool { return e.active.Load() == 0 })
}

func TestSessionEndCutsReaderThatStalls(t *testing.T) {
	up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, "data: "+strings.Repeat("x", 1<<16)+"\n\n")
		}
	})
	p, err := proxy.New(proxy.Options{Rules: rules(t, testRules), PublicURL: mustURL(origin)})
	if err != nil {
		t.Fatal(err)
	}
	session, end := context.WithCancel(context.Background())
	defer end()
	var serving atomic.Int64
	s := serverOf(t, func(w http.ResponseWriter, r *http.Request) {
		serving.Add(1)
		defer serving.Add(-1)
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(session, cancel)()
		p.Serve(w, r.WithContext(ctx), proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(up), User: alice})
	})
	open(t, s.client(false), s.URL+"/stream") // and never read
	end()
	eventually(t, "the handler returns", func() bool { return serving.Load() == 0 })
}

func TestDrain(t *testing.T) {
	for name, test := range map[string]struct{ before, during, want string }{
		"between events": {"data: 1\n\n", "", "data: 1\n\n: closing\n\n"},
		"before any":     {"", "", ": closing\n\n"},
		"inside an event": {"data: 1\n\ndata: 2", "\n\n",
			"data: 1\n\ndata: 2\n\n: closing\n\n"},
		"carriage returns":   {"data: 1\r\n\r", "\n", "data: 1\r\n\r\n: closing\n\n"},
		"an endless event":   {"data: 1\n\ndata: 2", "", "data: 1\n\ndata: 2"},
		"after a keep-alive": {": keepalive\n\n", "", ": keepalive\n\n: closing\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEvents()
			r := newRouter(t, upstream(t, e.ServeHTTP), nil, nil)
			resp := open(t, r.client(false), r.URL+"/stream")
			body := bufio.NewReader(resp.Body)
			if test.before != "" {
				e.send <- test.before
				if _, err := body.Peek(len(test.before)); err != nil {
					t.Fatal(err)
				}
			}
			done := make(chan struct{})
			go func() { r.proxy.Drain(); close(done) }()
			if test.during != "" {
				e.send <- test.during
			}
			b, err := io.ReadAll(body)
			if err != nil || string(b) != test.want {
				t.Errorf("%q, %v, want %q", b, err, test.want)
			}
			<-done
			late := open(t, r.client(false), r.URL+"/stream")
			if b, err := io.ReadAll(late.Body); err != nil || string(b) != ": closing\n\n" {
				t.Errorf("a late one: %q, %v", b, err)
			}
			r.proxy.Drain()
		})
	}
}

func TestBrokenTransfers(t *testing.T) {
	for name, head := range map[string]string{
		"length": "Content-Length: 100000\r\n", "chunked": "Transfer-Encoding: chunked\r\n", "page": "Content-Type: text/html\r\nContent-Length: 100000\r\n",
		"stream": "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					c, err := l.Accept()
					if err != nil {
						return
					}
					_, _ = http.ReadRequest(bufio.NewReader(c))
					part := "<html><head><title></title></head>" + strings.Repeat("x", 60_000)
					if strings.Contains(head, "chunked") {
						part = fmt.Sprintf("%x\r\n%s\r\n", len(part), part)
					}
					_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+head+"\r\n"+part)
					_ = c.Close()
				}
			}()
			r := newRouter(t, "http://"+l.Addr().String(), nil, nil)
			both(t, r, func(t *testing.T, c *http.Client) {
				for _, target := range []string{"/p", "/", "/stream"} {
					resp, err := c.Get(r.URL + target)
					if err != nil || resp.StatusCode >= 500 {
						continue
					}
					_, err = io.ReadAll(resp.Body)
					resp.Body.Close()
					if err == nil {
						t.Errorf("%s: a broken transfer looks whole", target)
					}
				}
			})
		})
	}
}

func TestClientsThatLeave(t *testing.T) {
	e := newEvents()
	r := newRouter(t, upstream(t, e.ServeHTTP), nil, nil)
	c := r.client(true)
	open(t, c, r.URL+"/stream").Body.Close()
	eventually(t, "idle", func() bool { return e.active.Load() == 0 })
	base := runtime.NumGoroutine()
	for range 100 {
		open(t, c, r.URL+"/stream").Body.Close()
	}
	eventually(t, "upstream connections are back to base", func() bool { return e.active.Load() == 0 })
	eventually(t, "goroutines are back to base", func() bool { return runtime.NumGoroutine() <= base+2 })
}
