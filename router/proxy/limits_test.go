package proxy_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/proxy"
)

func code(t testing.TB, body string) string {
	t.Helper()
	var problem struct{ Code string }
	if err := json.Unmarshal([]byte(body), &problem); err != nil {
		t.Errorf("%q is no JSON", body)
	}
	return problem.Code
}

func TestSlotIsFull(t *testing.T) {
	e := newEvents()
	full, other := upstream(t, e.ServeHTTP), newRecorder(t, false)
	toFull, toOther := mustURL(full), mustURL(other.URL())
	r := newRouter(t, full, func(o *proxy.Options) { o.MaxInFlight = 8 }, func(r *http.Request) proxy.Target {
		if r.Header.Get("X-Test") == "b" {
			return proxy.Target{Tenant: tenantB, Slot: "b", Upstream: toOther, User: bob}
		}
		return proxy.Target{Tenant: tenantA, Slot: "a", Upstream: toFull, User: alice}
	})
	c := r.client(true)
	var streams []*http.Response
	for range 8 {
		streams = append(streams, open(t, c, r.URL+"/stream"))
	}
	resp, body := do(t, c, "GET", r.URL+"/p", nil)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "2" || code(t, body) != "slot_busy" {
		t.Errorf("%s, %v, %s", resp.Status, resp.Header, body)
	}
	if resp, _ := do(t, c, "GET", r.URL+"/p", nil, "X-Test: b"); resp.StatusCode != 200 {
		t.Errorf("another tenant: %s", resp.Status)
	}
	for _, s := range streams {
		s.Body.Close()
	}
	eventually(t, "there is room again", func() bool {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL+"/stream", nil)
		resp, err := c.Do(req)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == 200
	})
}

func TestSlotIsDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	var down atomic.Int64
	r := newRouter(t, "http://"+address, func(o *proxy.Options) { o.OnDown = func(string) { down.Add(1) } }, nil)
	c := r.client(false)
	for i := range 6 {
		resp, body := do(t, c, "GET", r.URL+"/p", nil)
		status, name := 502, "slot_down"
		if i == 5 {
			status, name = 503, "slot_busy"
		}
		if resp.StatusCode != status || resp.Header.Get("Retry-After") == "" || code(t, body) != name || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%d: %s, %v, %s", i, resp.Status, resp.Header, body)
		}
	}
	if down.Load() != 5 {
		t.Errorf("told %d times", down.Load())
	}
	// It comes back by itself.
	if l, err = net.Listen("tcp", address); err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	eventually(t, "the breaker closes", func() bool {
		resp, _ := do(t, c, "GET", r.URL+"/p", nil)
		return resp.StatusCode == 200
	})
}

func TestSlotIsSilent(t *testing.T) {
	release := make(chan struct{})
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	r := newRouter(t, up, func(o *proxy.Options) { o.HeaderTimeout = 50 * time.Millisecond }, nil)
	c := r.client(false)
	for _, method := range []string{"GET", "POST"} {
		resp, body := do(t, c, method, r.URL+"/p", nil)
		if resp.StatusCode != 504 || resp.Header.Get("Retry-After") == "" || code(t, body) != "slot_timeout" {
			t.Errorf("%s: %s, %v, %s", method, resp.Status, resp.Header, body)
		}
	}
	// A slow rule waits on; clients that leave do not open the breaker.
	for range 10 {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+"/slow", nil)
		if resp, err := c.Do(req); err == nil {
			t.Errorf("slow: %s", resp.Status)
		}
		cancel()
	}
	if resp, _ := do(t, c, "GET", r.URL+"/p", nil); resp.StatusCode != 504 {
		t.Errorf("after clients left: %s", resp.Status)
	}
}

func TestRefusalsAreWrittenByTheServer(t *testing.T) {
	r := newRouter(t, "http://127.0.0.1:1", func(o *proxy.Options) {
		o.Refuse = func(w http.ResponseWriter, _ *http.Request, err error) {
			var e *hux.Error
			if !errors.As(err, &e) {
				t.Errorf("refused with %v", err)
				return
			}
			w.WriteHeader(e.Code.Status())
			_, _ = io.WriteString(w, "a page about "+string(e.Code))
		}
	}, nil)
	if resp, body := do(t, r.client(false), "GET", r.URL+"/p", nil); resp.StatusCode != 502 || body != "a page about slot_down" {
		t.Errorf("%s %s", resp.Status, body)
	}
}

func TestRefusedIdentity(t *testing.T) {
	up := newRecorder(t, false)
	r := newRouter(t, up.URL(), nil, nil)
	c := r.client(false)
	for _, reply := range []string{"401 Unauthorized\r\n", "302 Found\r\nLocation: login?next=%2Fp\r\n", "303 See Other\r\nLocation: /login\r\n",
		"302 Found\r\nLocation: https://chat.example.org/login?x\r\n"} {
		up.reply = "HTTP/1.1 " + reply + "Content-Length: 0\r\n\r\n"
		if resp, body := do(t, c, "GET", r.URL+"/p/x", nil); resp.StatusCode != 502 || code(t, body) != "slot_refused_identity" {
			t.Errorf("%q: %s %s", reply, resp.Status, body)
		}
	}
	up.reply = "HTTP/1.1 302 Found\r\nLocation: /session/x\r\nContent-Length: 0\r\n\r\n"
	if resp, _ := do(t, c, "GET", r.URL+"/p/x", nil); resp.StatusCode != 302 || resp.Header.Get("Location") != "/session/x" {
		t.Errorf("another redirect: %s", resp.Status)
	}
}

func TestHealth(t *testing.T) {
	up := newRecorder(t, false)
	var well atomic.Bool
	well.Store(true)
	r := newRouter(t, up.URL(), func(o *proxy.Options) { o.Health = func(proxy.Target) bool { return well.Load() } }, nil)
	c := r.client(false)
	if resp, body := do(t, c, "GET", r.URL+"/health?deep=1", nil); resp.StatusCode != 200 || body != `{"status":"ok"}` {
		t.Errorf("%s %s", resp.Status, body)
	}
	well.Store(false)
	if resp, body := do(t, c, "GET", r.URL+"/health", nil); resp.StatusCode != 503 || body != `{"status":"down"}` {
		t.Errorf("%s %s", resp.Status, body)
	}
	if got := up.taken(); len(got) > 0 {
		t.Errorf("the upstream was asked: %+v", got)
	}
}

func TestMovedSlot(t *testing.T) {
	first, second := newRecorder(t, false), newRecorder(t, false)
	var to atomic.Pointer[recorder]
	to.Store(first)
	r := newRouter(t, first.URL(), nil, func(*http.Request) proxy.Target {
		return proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(to.Load().URL()), User: alice}
	})
	c := r.client(false)
	do(t, c, "GET", r.URL+"/p", nil)
	to.Store(second)
	do(t, c, "GET", r.URL+"/p", nil)
	if len(first.taken()) != 1 || len(second.taken()) != 1 {
		t.Error("a slot that moved is not followed")
	}
}

func TestMetrics(t *testing.T) {
	up := newRecorder(t, false)
	registry := prometheus.NewRegistry()
	r := newRouter(t, up.URL(), func(o *proxy.Options) { o.Registry = registry }, nil)
	c := r.client(false)
	var all sync.WaitGroup
	for _, target := range []string{"/p", "/p/secret", "/", "/unknown", "/health"} {
		all.Go(func() { do(t, c, "GET", r.URL+target, nil) })
	}
	all.Wait()
	want := map[string]float64{"hux_proxy_requests_total plain 2xx": 2, "hux_proxy_requests_total page 2xx": 1, "hux_proxy_requests_total none 4xx": 1,
		"hux_proxy_requests_total health 2xx": 1, "hux_proxy_in_flight a": 0, "hux_proxy_streams a": 0, "hux_proxy_breaker_state a": 0}
	eventually(t, "all is counted", func() bool {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, f := range families {
			for _, m := range f.Metric {
				name, value := f.GetName(), m.GetGauge().GetValue()+m.GetCounter().GetValue()
				labels := map[string]string{}
				for _, l := range m.Label {
					labels[l.GetName()] = l.GetValue()
					if strings.Contains(l.GetValue(), "secret") || strings.Contains(l.GetValue(), "ten_") {
						t.Errorf("label %s is %s", l.GetName(), l.GetValue())
					}
				}
				for _, l := range []string{"kind", "class", "slot"} {
					if labels[l] != "" {
						name += " " + labels[l]
					}
				}
				if w, ok := want[name]; ok && w == value {
					found++
				}
			}
		}
		return found == len(want)
	})
}
