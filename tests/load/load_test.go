package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

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
		_ = newUpstream().Serve(l)
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
			took := newTimes()
			err := attempt(func() {
				took, _ = run(t.Context(), 2, reading(to, test.path, test.size).worker, plan{duration: 50 * time.Millisecond})
			})
			switch {
			case test.err == "" && (err != nil || took.TotalCount() == 0):
				t.Errorf("%d requests, error %v", took.TotalCount(), err)
			case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("error %v does not say %q", err, test.err)
			}
		})
	}
}

func TestStreams(t *testing.T) {
	up := listenUpstream(t)
	if err := attempt(func() { openStreams(&target{addr: up, headers: []string{"Host: " + up}}, 10)() }); err != nil {
		t.Error(err)
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
			var got faults
			if got.count(test.seqs, 0, 4); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestAudience posts to followers of a router in this process.
func TestAudience(t *testing.T) {
	to := serveHux(t)
	id := conversation(to.bearer)
	write(to.bearer, id, 10, 0, 3)
	a := gather(to.bearer, id, 4, 5)
	a.want.Store(5 * (6 + 20))
	write(to.bearer, id, 20, 0, 4)
	a.await()
	if faults := a.dismiss(); faults.lost+faults.doubled+faults.reordered > 0 {
		t.Errorf("lost, doubled, reordered: %v", faults)
	}
}

func TestSpread(t *testing.T) {
	for _, test := range []struct {
		sorted       spread
		median, ends string
	}{{spread{3}, "3.0", "3.0 to 3.0"}, {spread{1, 2}, "1.5", "1.0 to 2.0"}, {spread{1, 2, 9}, "2.0", "1.0 to 9.0"}} {
		if test.sorted.median(1) != test.median || test.sorted.ends(1) != test.ends {
			t.Errorf("%v: %s, %s", test.sorted, test.sorted.median(1), test.sorted.ends(1))
		}
	}
}

// TestRounds keeps the rounds that were disturbed least, and tells which.
func TestRounds(t *testing.T) {
	r := &rig{ctx: t.Context(), driver: must(procfs.Self())}
	r.plan = plan{rounds: 2, attempts: 3, calm: -1}
	n := 0
	rows := r.rounds("a test", func() [][]string {
		n++
		return [][]string{{fmt.Sprint("round ", n)}}
	})
	if n != 3 || len(rows) != 2 || rows[0][0] != "1" || rows[1][0] != "2" || rows[0][1] == rows[1][1] {
		t.Errorf("%d rounds measured, kept %v", n, rows)
	}
	if err := attempt(func() { r.rounds("", func() [][]string { panic(failure{io.EOF}) }) }); !errors.Is(err, io.EOF) {
		t.Errorf("a round that fails gives %v", err)
	}
}

// The benchmarks have everything in one process, to be profiled: driver and
// upstream allocate nothing, so that what is counted is the proxy's. The
// figures that count come from the driver.

func BenchmarkBare(b *testing.B) {
	s := httptest.NewServer(newBare(listenUpstream(b)))
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
	id := conversation(t)
	write(t, id, 100, 0, 16)
	b.ReportAllocs()
	b.ResetTimer()
	write(t, id, b.N, 0, 16)
}

// BenchmarkFanout is an event to 1,000 followers, 16 at a time.
func BenchmarkFanout(b *testing.B) {
	t := serveHux(b).bearer
	id := conversation(t)
	a := gather(t, id, 0, 1000)
	defer a.dismiss()
	b.ReportAllocs()
	b.ResetTimer()
	a.expect(b.N)
	write(t, id, b.N, 0, 16)
	a.await()
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
	const secret = "secret"
	addr := l.Addr().String()
	issuer := httptest.NewUnstartedServer(nil)
	signIns, err := provider.New(provider.Options{
		Issuer:  "http://" + issuer.Listener.Addr().String(),
		Clients: []provider.Client{{ID: "hux", Secret: secret, RedirectURIs: []string{site("console", addr) + "/hux/auth/callback"}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	issuer.Config.Handler = signIns
	issuer.Start()
	b.Cleanup(issuer.Close)
	c, _, problems, err := config.Load(config.Source{Defaults: map[string]string{
		"public_url": site("chat", addr), "console_url": site("console", addr), "data": b.TempDir(), "access_log": "false",
		"key":         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
		"oidc_issuer": issuer.URL, "oidc_client_secret": secret, "slots": "load=http://" + listenUpstream(b),
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
	hux := target{addr: addr, headers: []string{"Host: " + addr}, process: &process{dir: b.TempDir()}}
	return inProcess{session: signedIn(hux, "hux, session", site("chat", addr)), bearer: hux.with("hux, bearer token", must(signIns.Token(person)))}
}

// perRequest measures one request at a time on each of 16 connections.
func perRequest(b *testing.B, t *target, path string) {
	request := t.get(path)
	b.ReportAllocs()
	self := must(procfs.Self())
	before := cpu(self)
	b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		c := dial(t.addr)
		defer c.close()
		for pb.Next() {
			c.do(request)
		}
	})
	b.ReportMetric(float64((cpu(self)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}
