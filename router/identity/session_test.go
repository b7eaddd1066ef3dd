package identity_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
	"bstein.dev/hux/router/identity"
)

func (rt *router) user(subject string) hux.User {
	return identity.NewUserID(testKey, rt.idp.issuer, subject)
}

// stream opens a stream and gives a channel that closes when it ends.
func (b *browser) stream(u string, headers ...string) <-chan struct{} {
	b.t.Helper()
	r, _ := http.NewRequest(http.MethodGet, u, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	if resp.StatusCode != 200 {
		b.t.Fatalf("stream: %d", resp.StatusCode)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer resp.Body.Close()
		_, _ = resp.Body.Read(make([]byte, 1))
	}()
	return ended
}

func ends(t *testing.T, stream <-chan struct{}) {
	t.Helper()
	select {
	case <-stream:
	case <-time.After(5 * time.Second):
		t.Error("the stream goes on")
	}
}

func open(stream <-chan struct{}) bool {
	select {
	case <-stream:
		return false
	default:
		return true
	}
}

func TestIdleAndAbsoluteLifetime(t *testing.T) {
	t.Parallel()
	short := func(o *identity.Options) { o.IdleLifetime, o.AbsoluteLifetime = time.Hour, 3*time.Hour }
	t.Run("idle", func(t *testing.T) {
		rt := newRouter(t, short)
		b := rt.browser()
		b.signIn()
		rt.clock.Advance(59 * time.Minute)
		if got := b.status(chatURL + "/who"); got != 200 {
			t.Errorf("within the hour: %d", got)
		}
		rt.clock.Advance(61 * time.Minute)
		if got := b.status(chatURL + "/who"); got != 401 {
			t.Errorf("after it: %d", got)
		}
		if got := b.status(consoleURL + "/who"); got != 401 {
			t.Errorf("on the console: %d", got)
		}
	})
	t.Run("absolute", func(t *testing.T) {
		rt := newRouter(t, short)
		b := rt.browser()
		b.signIn()
		for range 5 {
			rt.clock.Advance(35 * time.Minute)
			if got := b.status(chatURL + "/who"); got != 200 {
				t.Errorf("in use: %d", got)
			}
		}
		rt.clock.Advance(10 * time.Minute)
		if got := b.status(chatURL + "/who"); got != 401 {
			t.Errorf("after three hours: %d", got)
		}
	})
	t.Run("a stream", func(t *testing.T) {
		rt := newRouter(t, func(o *identity.Options) { o.AbsoluteLifetime = 2 * time.Second })
		b := rt.browser()
		b.signIn()
		ends(t, b.stream(chatURL+"/stream"))
	})
}

// Sessions outlive the process, and so does when they were last seen.
func TestSessionsSurviveReopening(t *testing.T) {
	rt := newRouter(t, func(o *identity.Options) { o.IdleLifetime = time.Hour })
	b := rt.browser()
	before := b.signIn().body
	rt.clock.Advance(50 * time.Minute)
	b.status(chatURL + "/who")
	rt.restart()
	rt.clock.Advance(50 * time.Minute)
	if a := b.get(chatURL + "/who"); a.StatusCode != 200 || a.body != before {
		t.Errorf("%d: %s, before %s", a.StatusCode, a.body, before)
	}
	rt.restart()
	rt.clock.Advance(61 * time.Minute)
	if got := b.status(chatURL + "/who"); got != 401 {
		t.Errorf("idle over a restart: %d", got)
	}
}

// What is over is cleared away, down to the last row.
func TestSweep(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	logout := rt.idp.logoutToken(nil, map[string]any{"sub": "s-nobody"})
	if a := b.post(apiURL+"/hux/auth/backchannel", url.Values{"logout_token": {logout}}); a.StatusCode != 200 {
		t.Fatalf("logout token: %d", a.StatusCode)
	}
	rows := func() (n int) {
		err := rt.db.View(t.Context(), func(tx *store.Tx) error {
			for _, bucket := range []string{"sessions", "session_handles", "session_users", "session_sids", "auth_logouts"} {
				n += len(tx.List(bucket, ""))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := rows(); got != 6 {
		t.Errorf("%d rows, not a session with two handles and two indexes, and a logout", got)
	}
	rt.clock.Advance(13 * time.Hour)
	rt.restart() // sweeps as it starts
	eventually(t, func() bool { return rows() == 0 })
}

func TestAnotherKeyEndsSessions(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	rt.options.Key = []byte(strings.Repeat("k", 32))
	rt.restart()
	if got := b.status(chatURL + "/who"); got != 401 {
		t.Errorf("%d", got)
	}
}

func TestNewIDAtSignIn(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	old := rt.browser()
	for _, u := range []string{chatURL, consoleURL} {
		old.Jar.SetCookies(mustURL(u), b.Jar.Cookies(mustURL(u)))
	}
	stream := old.stream(chatURL + "/stream")
	// A callback that was under way ends in a session of its own.
	other := rt.browser()
	callback := other.until(consoleURL+"/hux/auth/sign-in?next=/who", "/hux/auth/callback")
	b.Jar.SetCookies(mustURL(consoleURL), other.Jar.Cookies(mustURL(consoleURL)))
	if got := b.status(callback); got != 200 {
		t.Fatalf("sign-in: %d", got)
	}
	if got := old.status(consoleURL + "/who"); got != 401 {
		t.Errorf("the old handle is good: %d", got)
	}
	ends(t, stream)
}

func TestDuplicateCookie(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	handle := ""
	for _, c := range b.Jar.Cookies(mustURL(chatURL)) {
		if c.Name == "__Host-hux_chat" {
			handle = c.Name + "=" + c.Value
		}
	}
	other := rt.browser()
	for cookies, want := range map[string]int{
		handle: 200, "a=b; " + handle + ";c": 200, handle + "; " + handle: 401, handle + "; __Host-hux_chat=x": 401, "x" + handle: 401,
	} {
		if a := other.get(chatURL+"/who", "Cookie", cookies); a.StatusCode != want {
			t.Errorf("%d cookies: %d, want %d", strings.Count(cookies, ";")+1, a.StatusCode, want)
		}
	}
}

func TestEndAll(t *testing.T) {
	rt := newRouter(t)
	one, two, bob := rt.browser(), rt.browser(), rt.browser()
	one.signIn()
	two.signIn()
	rt.idp.set(func(p *idp) { p.subject = "s-bob" })
	bob.signIn()
	streams := []<-chan struct{}{one.stream(chatURL + "/stream"), two.stream(consoleURL + "/stream")}
	his := bob.stream(chatURL + "/stream")
	if err := rt.EndAll(context.Background(), rt.user("s-alice")); err != nil {
		t.Fatal(err)
	}
	for _, s := range streams {
		ends(t, s)
	}
	if one.status(chatURL+"/who") != 401 || two.status(consoleURL+"/who") != 401 {
		t.Error("a session goes on")
	}
	if !open(his) || bob.status(chatURL+"/who") != 200 {
		t.Error("another user's session ended")
	}
	rt.server.CloseClientConnections() // ends his stream
}

// Requests, refreshes, sign-ins and endings at once: for the race detector,
// and nobody gets anything but in or out.
func TestAtOnce(t *testing.T) {
	rt := newRouter(t)
	rt.idp.set(func(p *idp) { p.lifetime = time.Second })
	alice := identity.NewUserID(testKey, rt.idp.URL, "s-alice")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5 {
				b := rt.browser()
				b.get(chatURL + "/hux/auth/start?next=/who")
				for range 10 {
					rt.clock.Advance(100 * time.Millisecond)
					if got := b.status(chatURL + "/who"); got != 200 && got != 401 {
						t.Errorf("status %d", got)
					}
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
			if err := rt.EndAll(context.Background(), alice); err != nil {
				t.Error(err)
			}
		}
	}
}

// BenchmarkSignedIn is what a signed-in request costs: no disk, and little else.
func BenchmarkSignedIn(b *testing.B) {
	rt := newRouter(b)
	br := rt.browser()
	br.signIn()
	r, _ := http.NewRequest(http.MethodGet, chatURL+"/who", nil)
	for _, c := range br.Jar.Cookies(mustURL(chatURL)) {
		r.AddCookie(c)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			ctx, cancel := context.WithCancel(context.Background())
			if id, _, err := rt.Authenticate(r.WithContext(ctx), identity.Chat); id == nil || err != nil {
				b.Error(id, err)
			}
			cancel()
		}
	})
}

// A signed-in request needs no disk.
func TestNoDisk(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	if err := rt.db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Errorf("%d", got)
	}
}
