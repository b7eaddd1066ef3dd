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
	"bstein.dev/hux/router/demo/provider"
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

// TestFollower tells events that never come, come twice or come late.
func TestFollower(t *testing.T) {
	for _, test := range []struct {
		name string
		seqs []uint64
		want faults
	}{
		{"as it should be", []uint64{1, 2, 3, 4}, faults{}},
		{"lost in the middle", []uint64{1, 4}, faults{lost: 2}},
		{"lost at the end", []uint64{1, 2}, faults{lost: 2}},
		{"doubled", []uint64{1, 2, 2, 3, 4, 1}, faults{doubled: 2}},
		{"reordered", []uint64{1, 3, 2, 4}, faults{reordered: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := &follower{missing: map[uint64]bool{}}
			for _, seq := range test.seqs {
				f.count(seq)
			}
			var got faults
			if got.add(f, 4); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestAudience posts to followers of a router in this process.
func TestAudience(t *testing.T) {
	to := serveHux(t)
	path, err := conversation(t.Context(), to.bearer)
	if err != nil {
		t.Fatal(err)
	}
	if err := write(t.Context(), to.bearer, path, 10, 0, 3); err != nil {
		t.Fatal(err)
	}
	a, err := gather(t.Context(), to.bearer, path, 4, 5)
	if err != nil {
		t.Fatal(err)
	}
	a.want.Store(5 * (6 + 20))
	if err := write(t.Context(), to.bearer, path, 20, 0, 4); err != nil {
		t.Fatal(err)
	}
	if _, err := a.await(t.Context()); err != nil {
		t.Error(err)
	}
	if faults := a.dismiss(); faults.lost+faults.doubled+faults.reordered > 0 {
		t.Errorf("lost, doubled, reordered: %v", faults)
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
	t := serveHux(b).session
	b.Run("json", func(b *testing.B) { perRequest(b, t, jsonPath) })
	b.Run("page", func(b *testing.B) { perRequest(b, t, plainPagePath) })
	b.Run("injected", func(b *testing.B) { perRequest(b, t, pagePath) })
}

// BenchmarkAppend is one event at a time on each of 16 connections.
func BenchmarkAppend(b *testing.B) {
	t := serveHux(b).bearer
	path, err := conversation(b.Context(), t)
	if err != nil {
		b.Fatal(err)
	}
	if err := write(b.Context(), t, path, 100, 0, 16); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if err := write(b.Context(), t, path, b.N, 0, 16); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkFanout is an event to 1,000 followers, 16 at a time.
func BenchmarkFanout(b *testing.B) {
	t := serveHux(b).bearer
	path, err := conversation(b.Context(), t)
	if err != nil {
		b.Fatal(err)
	}
	a, err := gather(b.Context(), t, path, 0, 1000)
	if err != nil {
		b.Fatal(err)
	}
	defer a.dismiss()
	b.ReportAllocs()
	b.ResetTimer()
	a.expect(b.N)
	if err := write(b.Context(), t, path, b.N, 0, 16); err != nil {
		b.Fatal(err)
	}
	if _, err := a.await(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// inProcess is a router in this process, as both targets.
type inProcess struct{ session, bearer *target }

// serveHux runs the router in this process, with a person signed in.
func serveHux(b testing.TB) inProcess {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	r := &rig{hux: l.Addr().String(), secret: "secret"}
	issuer := httptest.NewUnstartedServer(nil)
	provider, err := provider.New(provider.Options{
		Issuer:  "http://" + issuer.Listener.Addr().String(),
		Clients: []provider.Client{{ID: "hux", Secret: r.secret, RedirectURIs: []string{r.site("console") + "/hux/auth/callback"}}},
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
		"flags": "hux.foundation,hux.activity_timeline", "streams_per_user": "100000", "oidc_bearer_clients": "hux",
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
	cookie, err := signInSoon(ctx, r.site("chat")+"/")
	if err != nil {
		b.Fatal(err)
	}
	token, err := provider.Token(person)
	if err != nil {
		b.Fatal(err)
	}
	return inProcess{
		session: &target{addr: r.hux, headers: []string{"Host: " + strings.TrimPrefix(r.site("chat"), "http://"), "Cookie: " + cookie}},
		bearer:  &target{name: huxBearerName, addr: r.hux, headers: []string{"Host: " + r.hux, "Authorization: Bearer " + token}},
	}
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
