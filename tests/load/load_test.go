package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/demo"
	"bstein.dev/hux/router/server"
)

// listenUpstream serves the upstream in this process.
func listenUpstream(t testing.TB) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = newUpstream().serve(l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// TestClient reads what the two kinds of answers are that a proxy may send.
func TestClient(t *testing.T) {
	up := listenUpstream(t)
	chunked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		_, _ = w.Write(jsonBody())
	}))
	defer chunked.Close()
	refusing := httptest.NewServer(http.NotFoundHandler())
	defer refusing.Close()

	for _, test := range []struct {
		name, addr, path string
		size             int
		err              string
	}{
		{"JSON", up, jsonPath, jsonSize, ""},
		{"page", up, pagePath, pageSize, ""},
		{"chunks", strings.TrimPrefix(chunked.URL, "http://"), jsonPath, jsonSize, ""},
		{"refused", strings.TrimPrefix(refusing.URL, "http://"), jsonPath, 0, "404"},
		{"another length", up, pagePath, jsonSize, "instead of"},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := &target{addr: test.addr, headers: []string{"Host: " + test.addr}}
			took, err := closedLoop(t.Context(), to.addr, to.request(test.path), test.size, 2, 0, 50*time.Millisecond)
			switch {
			case test.err == "" && (err != nil || len(took) == 0):
				t.Errorf("%d requests, error %v", len(took), err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v does not say %q", err, test.err)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	up := listenUpstream(t)
	streams, err := openStreams(t.Context(), &target{addr: up, headers: []string{"Host: " + up}}, 10)
	if err != nil || len(streams) != 10 {
		t.Errorf("%d streams, error %v", len(streams), err)
	}
	for _, s := range streams {
		s.close()
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		sorted []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{1, 3}, 2}, {[]float64{1, 2, 9}, 2}} {
		if got := median(test.sorted); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.sorted, got, test.want)
		}
	}
}

// The benchmarks have everything in one process, to be profiled: driver and
// upstream allocate nothing, so that what is counted is the proxy's. The
// figures that count come from the driver.

func BenchmarkBare(b *testing.B) {
	to, err := url.Parse("http://" + listenUpstream(b))
	if err != nil {
		b.Fatal(err)
	}
	s := httptest.NewServer(newBare(to))
	b.Cleanup(s.Close)
	addr := strings.TrimPrefix(s.URL, "http://")
	t := &target{addr: addr, headers: []string{"Host: " + addr}}
	b.Run("json", func(b *testing.B) { perRequest(b, t, jsonPath) })
	b.Run("page", func(b *testing.B) { perRequest(b, t, plainPagePath) })
}

func BenchmarkHux(b *testing.B) {
	t := serveHux(b)
	b.Run("json", func(b *testing.B) { perRequest(b, t, jsonPath) })
	b.Run("page", func(b *testing.B) { perRequest(b, t, plainPagePath) })
	b.Run("injected", func(b *testing.B) { perRequest(b, t, pagePath) })
}

// serveHux runs the router in this process, with a person signed in.
func serveHux(b *testing.B) *target {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{hux: l.Addr().String(), secret: "secret"}
	issuer := httptest.NewUnstartedServer(nil)
	provider, err := demo.NewProvider(demo.ProviderOptions{
		Issuer:  "http://" + issuer.Listener.Addr().String(),
		Clients: []demo.Client{{ID: "hux", Secret: r.secret, RedirectURIs: []string{r.site("console") + "/hux/auth/callback"}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	issuer.Config.Handler = provider
	issuer.Start()
	b.Cleanup(issuer.Close)
	c, _, problems, err := config.Load(config.Source{Defaults: map[string]string{
		"public_url": r.site("chat"), "console_url": r.site("console"), "data": b.TempDir(), "access_log": "false",
		"key":         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"oidc_issuer": issuer.URL, "oidc_client_secret": r.secret, "slots": "load=http://" + listenUpstream(b),
	}})
	if err != nil || len(problems) > 0 {
		b.Fatal(err, problems)
	}
	s, err := server.New(c, server.Options{})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, l) }()
	b.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.Error(err)
		}
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	cookie, err := signInSoon(ctx, r.site("chat")+"/", person)
	if err != nil {
		b.Fatal(err)
	}
	return &target{addr: r.hux, headers: []string{"Host: " + strings.TrimPrefix(r.site("chat"), "http://"), "Cookie: " + cookie}}
}

// perRequest measures one request at a time on each of 16 connections.
func perRequest(b *testing.B, t *target, path string) {
	request := t.request(path)
	b.ReportAllocs()
	self := []int{os.Getpid()}
	before := cpuOf(self)
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		c, err := dial(b.Context(), t.addr)
		if err != nil {
			b.Error(err)
			return
		}
		defer c.close()
		for pb.Next() {
			if _, err := c.get(request); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(micros(cpuOf(self)-before)/float64(b.N), "cpu-µs/op")
}
