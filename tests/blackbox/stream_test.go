package blackbox_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const streamURL = chatURL + "/api/chat/stream?stream_id=1"

// streaming answers every stream with one event, then with what comes out of
// next, until that is closed or the client is gone.
func streaming(next chan string) func(*exchange) {
	return func(x *exchange) {
		if x.path() != "/api/chat/stream" {
			x.ordinary()
			return
		}
		x.stream()
		x.write("data: first\n\n")
		gone := make(chan struct{})
		go func() { x.gone(); close(gone) }()
		for {
			select {
			case s, ok := <-next:
				if !ok {
					return
				}
				x.write(s)
			case <-gone:
				return
			}
		}
	}
}

func openStream(t testing.TB, b *browser, header ...string) (*http.Response, *bufio.Reader) {
	t.Helper()
	res := b.open(t, context.Background(), "GET", streamURL, nil, append([]string{"Accept: text/event-stream"}, header...)...)
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		body, _ := io.ReadAll(res.Body)
		t.Fatalf("a stream: status %d: %s", res.StatusCode, body)
	}
	return res, bufio.NewReader(res.Body)
}

// within runs f, tells how long it took, and fails the test if that is too
// long.
func within(t testing.TB, limit time.Duration, what string, f func()) time.Duration {
	t.Helper()
	begun, done := time.Now(), make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Errorf("%s: not within %v", what, limit)
		<-done
	}
	return time.Since(begun)
}

// An event goes through at once, as it is, and so does the end.
func TestFirstEvent(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		next := make(chan string)
		up.handle(streaming(next))
		res, lines := openStream(t, alice, "Accept-Encoding: gzip, br")
		if line, err := lines.ReadString('\n'); line != "data: first\n" || err != nil {
			t.Fatalf("the stream begins %q, %v", line, err)
		}
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		head := res.Header
		if head.Get("Content-Encoding") != "" || !strings.HasPrefix(head.Get("Content-Type"), "text/event-stream") || head.Get("Content-Length") != "" {
			t.Errorf("the head of the stream: %v", head)
		}
		best := time.Hour
		for i := range 5 { // the best of a few: this machine has other things to do
			event := "data: " + strconv.Itoa(i) + "\n"
			begun := time.Now()
			next <- event
			line, err := lines.ReadString('\n')
			if err != nil || line != event {
				t.Fatalf("the event %q came as %q, %v", event, line, err)
			}
			best = min(best, time.Since(begun))
		}
		if best > 100*time.Millisecond {
			t.Errorf("an event takes %v", best)
		}
		close(next)
		within(t, time.Second, "the end of the stream", func() {
			if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
				t.Errorf("the stream ends with %q, %v", rest, err)
			}
		})
	})
}

// A transfer that breaks looks broken.
func TestUpstreamDiesMidBody(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	protocols(t, func(t *testing.T, proto string) {
		up.handle(func(x *exchange) { x.ordinary() })
		alice := h.signIn(t, proto, "alice")
		for name, c := range map[string]struct {
			path string
			head []string
			body string
		}{
			"length":          {"/api/list", []string{"Content-Type: application/json", "Content-Length: 1000"}, `{"half":`},
			"chunks":          {"/api/list", []string{"Content-Type: application/json", "Transfer-Encoding: chunked"}, "8\r\n{\"half\":\r\n"},
			"a page":          {"/session/x", []string{"Content-Type: text/html", "Content-Length: 100000"}, "<html><head></head><body>half"},
			"a chunked page":  {"/session/x", []string{"Content-Type: text/html", "Transfer-Encoding: chunked"}, "1d\r\n<html><head></head><body>half\r\n"},
			"a chunked event": {"/api/chat/stream", []string{"Content-Type: text/event-stream", "Transfer-Encoding: chunked"}, "d\r\ndata: half\n\n\n\r\n"},
		} {
			up.handle(func(x *exchange) {
				x.start(http.StatusOK, c.head...)
				x.write(c.body)
				x.closed = true
			})
			res, err := alice.try(t, context.Background(), "GET", chatURL+c.path, nil)
			if err != nil {
				continue // broken enough
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err == nil && res.StatusCode == http.StatusOK {
				t.Errorf("%s: a clean 200 with %q", name, body)
			}
		}
	})
}

// A hundred clients that leave mid-stream leave nothing behind.
func TestClientsLeave(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	metrics := freeAddr(t)
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"metrics_listen": metrics}})
	up.handle(streaming(make(chan string)))
	const idle = 2 // one connection kept for reuse, and a health check
	protocols(t, func(t *testing.T, proto string) {
		alice := h.signIn(t, proto, "alice")
		transport := alice.client.Transport.(*http.Transport)
		transport.CloseIdleConnections()
		var base float64
		eventually(t, 5*time.Second, "quiet", func() bool {
			base = metric(t, metrics, "go_goroutines")
			return up.open() <= idle
		})
		for range 10 {
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					ctx, leave := context.WithCancel(context.Background())
					res, err := alice.try(t, ctx, "GET", streamURL, nil, "Accept: text/event-stream")
					if err != nil {
						leave()
						t.Error(err)
						return
					}
					if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
						t.Error(err)
					}
					leave()
					_ = res.Body.Close()
				})
			}
			wg.Wait()
		}
		transport.CloseIdleConnections()
		eventually(t, 5*time.Second, "upstream connections back to none", func() bool { return up.open() <= idle })
		eventually(t, 5*time.Second, "goroutines back to base", func() bool { return metric(t, metrics, "go_goroutines") <= base+5 })
	})
}

// At SIGTERM streams are told and end, and requests under way finish.
func TestDrainAtSIGTERM(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, proto string) {
		t.Parallel()
		up := newUpstream(t)
		h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"grace": "5s"}})
		alice := h.signIn(t, proto, "alice")
		release, working := make(chan struct{}), make(chan struct{})
		stream := streaming(make(chan string))
		up.handle(func(x *exchange) {
			if x.path() == "/api/list" {
				close(working)
				<-release
			}
			stream(x)
		})
		_, lines := openStream(t, alice)
		if _, err := lines.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		finished := make(chan error, 1)
		go func() {
			res, err := alice.try(t, context.Background(), "GET", chatURL+"/api/list", nil)
			if err == nil {
				_, err = io.ReadAll(res.Body)
				_ = res.Body.Close()
				if res.StatusCode != http.StatusOK {
					err = errors.Join(err, errors.New(res.Status))
				}
			}
			finished <- err
		}()
		<-working
		begun := time.Now()
		if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		within(t, 3*time.Second, "the stream ends", func() {
			rest, err := io.ReadAll(lines)
			if err != nil {
				t.Errorf("the stream is cut: %v", err)
			}
			_ = rest
		})
		close(release)
		if err := <-finished; err != nil {
			t.Errorf("the request under way: %v", err)
		}
		h.waitExit(t, 5*time.Second)
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("the router took %v to end", took)
		}
		h.audit(t)
	})
}

// What does not end within the grace time is cut then.
func TestGraceIsTheLimit(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, proto string) {
		t.Parallel()
		up := newUpstream(t)
		h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"grace": "1s", "rules_file": withWebSocket(t)}})
		alice := h.signIn(t, proto, "alice")
		working := make(chan struct{})
		up.handle(func(x *exchange) {
			switch x.path() {
			case "/api/list":
				close(working)
				x.gone()
			case "/api/socket":
				echo(x)
			}
		})
		socket := h.dialTLS(t, "h1")
		if _, err := io.WriteString(socket, raw{target: "/api/socket", header: []string{
			"Cookie: " + alice.cookieHeader(t, chatURL), "Origin: " + chatURL, "Connection: Upgrade", "Upgrade: websocket",
			"Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="}}.h1()); err != nil {
			t.Fatal(err)
		}
		if a := readH1(bufio.NewReader(socket), "GET"); a.status != http.StatusSwitchingProtocols {
			t.Fatalf("the handshake: status %d", a.status)
		}
		ended := make(chan error, 1)
		go func() {
			res, err := alice.try(t, context.Background(), "GET", chatURL+"/api/list", nil)
			if err == nil {
				_ = res.Body.Close()
			}
			ended <- err
		}()
		<-working
		begun := time.Now()
		if err := h.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		h.waitExit(t, 6*time.Second)
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("with a grace time of 1s the router took %v to end", took)
		}
		<-ended
		h.audit(t)
	})
}

// A stream that a bearer token opened ends with the token.
func TestStreamsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	up.handle(streaming(make(chan string)))
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}, config: map[string]any{"clock_skew": "1s"}})
	protocols(t, func(t *testing.T, proto string) {
		t.Parallel()
		claims, err := h.provider.Claims("alice")
		if err != nil {
			t.Fatal(err)
		}
		claims["exp"] = time.Now().Add(6 * time.Second).Unix()
		token, err := h.provider.Sign(nil, claims)
		if err != nil {
			t.Fatal(err)
		}
		res := h.browser(t, proto).open(t, context.Background(), "GET", apiURL+"/api/chat/stream?stream_id=1", nil, "Accept: text/event-stream", bearer(token))
		defer res.Body.Close()
		lines := bufio.NewReader(res.Body)
		if line, err := lines.ReadString('\n'); line != "data: first\n" {
			t.Fatalf("the stream begins %q, %v", line, err)
		}
		within(t, 9*time.Second, "the stream ends with its token", func() {
			for {
				if _, err := lines.ReadString('\n'); err != nil {
					return
				}
			}
		})
	})
}

// What one tenant's upstream does is that tenant's trouble.
func TestUpstreamFullOrDown(t *testing.T) {
	t.Parallel()
	a, b := newUpstream(t), newUpstream(t)
	h := start(t, setup{
		slots:  []slot{{id: "a", up: a, members: []string{"alice"}}, {id: "b", up: b, members: []string{"bob"}}},
		config: map[string]any{"slot_connections": 128, "upstream_timeout": "3s"},
	})
	unaffected := func(t *testing.T, bob *browser) {
		t.Helper()
		bob.fetch(t, "GET", chatURL+"/api/sessions", "").want(t, 200, "")
	}
	unavailable := func(t *testing.T, res *answer, status int, code string) {
		t.Helper()
		res.want(t, status, code)
		if res.Header.Get("Retry-After") == "" {
			t.Errorf("%d %s without Retry-After", status, code)
		}
	}
	protocols(t, func(t *testing.T, proto string) {
		a.handle(streaming(make(chan string)))
		alice, bob := h.signIn(t, proto, "alice"), h.signIn(t, proto, "bob")
		ctx, leave := context.WithCancel(context.Background())
		defer leave()
		var wg sync.WaitGroup
		for range 128 {
			wg.Go(func() {
				res, err := alice.try(t, ctx, "GET", streamURL, nil, "Accept: text/event-stream")
				if err != nil {
					t.Error(err)
				} else if res.StatusCode != http.StatusOK {
					t.Errorf("a stream of 128: status %d", res.StatusCode)
				}
			})
		}
		wg.Wait()
		unavailable(t, alice.fetch(t, "GET", chatURL+"/api/sessions", ""), 503, "slot_busy")
		unavailable(t, alice.fetch(t, "GET", streamURL, ""), 503, "slot_busy")
		unaffected(t, bob)
		leave()
		eventually(t, 5*time.Second, "room again after the clients have left", func() bool {
			return alice.fetch(t, "GET", chatURL+"/api/sessions", "").StatusCode == http.StatusOK
		})

		silent := make(chan struct{})
		a.handle(func(*exchange) { <-silent })
		within(t, 8*time.Second, "a silent upstream is given up", func() {
			unavailable(t, alice.fetch(t, "GET", chatURL+"/api/sessions", ""), 504, "slot_timeout")
		})
		unaffected(t, bob)
		close(silent)

		a.kill()
		unavailable(t, alice.fetch(t, "GET", chatURL+"/api/sessions", ""), 502, "slot_down")
		page := alice.visit(t, chatURL+"/")
		if page.StatusCode != http.StatusBadGateway || !strings.Contains(page.Header.Get("Content-Type"), "text/html") || page.Header.Get("Retry-After") == "" || !strings.Contains(page.Header.Get("Cache-Control"), "no-store") {
			t.Errorf("the page of a slot that is down: %d %v", page.StatusCode, page.Header)
		}
		eventually(t, 5*time.Second, "the state says so", func() bool {
			m := alice.me(t, chatURL)
			return m.Tenant != nil && m.Tenant.State == "down"
		})
		unaffected(t, bob)
		a.revive(t)
		a.handle(func(x *exchange) { x.ordinary() })
		eventually(t, 5*time.Second, "the slot is back by itself", func() bool {
			return alice.fetch(t, "GET", chatURL+"/api/sessions", "").StatusCode == http.StatusOK
		})
		eventually(t, 5*time.Second, "the state says so", func() bool { return alice.me(t, chatURL).Tenant.State == "up" })
	})
}

// A health check that is redirected elsewhere is not passed, nor followed.
func TestHealthChecksFollowNoRedirect(t *testing.T) {
	t.Parallel()
	victim := newUpstream(t)
	liar := newUpstream(t)
	redirects := http.StatusFound
	h := start(t, setup{slots: []slot{{id: "a", up: liar, members: []string{"alice"}}}, config: map[string]any{"slot_health_path": "/redirected"}})
	liar.handle(func(x *exchange) {
		if x.path() == "/redirected" {
			x.answer(redirects, "", "Location: "+victim.url.String()+"/secret")
			return
		}
		x.ordinary()
	})
	alice := h.signIn(t, "h1", "alice")
	eventually(t, 5*time.Second, "the slot counts as down", func() bool { return alice.me(t, chatURL).Tenant.State == "down" })
	if victim.made > 0 {
		t.Error("a health check followed a redirect")
	}
}
