package identity

import (
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestNamesFor(t *testing.T) {
	for u, want := range map[string]string{
		"https://chat.example.test":         "__Host-hux_chat",
		"http://chat.hux.localhost:8080":    "__Host-hux_chat",
		"http://localhost":                  "__Host-hux_chat",
		"http://chat.example.test":          "hux_chat",
		"http://127.0.0.1:8080":             "hux_chat",
		"http://localhost.example.test":     "hux_chat",
		"http://chat.hux.notlocalhost:8080": "hux_chat",
		"HTTPS://chat.example.test":         "__Host-hux_chat",
	} {
		parsed, err := url.Parse(u)
		if err != nil {
			t.Fatal(err)
		}
		if got := namesFor(parsed, "chat").session; got != want {
			t.Errorf("%s: %s", u, got)
		}
	}
}

// FuzzCookie compares with net/http where that has an opinion, and holds the
// parser to one answer or none.
func FuzzCookie(f *testing.F) {
	for _, line := range []string{
		"", "a=b", "hux_chat=x", "hux_chat=x; hux_chat=y", "hux_chat", "hux_chat=", ";;hux_chat=1", "xhux_chat=1", "hux_chat =1", "a=b;hux_chat=\"q\"",
	} {
		f.Add(line, line)
	}
	f.Fuzz(func(t *testing.T, one, two string) {
		value, ok := cookie([]string{one, two}, "hux_chat")
		if !ok && value != "" {
			t.Fatalf("%q of no cookie", value)
		}
		if strings.ContainsAny(value, ";") {
			t.Fatalf("%q is more than a value", value)
		}
		r := http.Request{Header: http.Header{"Cookie": {one, two}}}
		found := 0
		for _, c := range r.Cookies() {
			if c.Name == "hux_chat" && c.Value != "" { // net/http takes a bare word for a name
				found++
			}
		}
		if found > 1 && ok {
			t.Fatalf("one of %d was chosen", found)
		}
		if found == 1 && ok && len(value) == secretLength && !strings.ContainsAny(value, `" `) {
			if c, err := r.Cookie("hux_chat"); err == nil && c.Value != value {
				t.Fatalf("%q, net/http says %q", value, c.Value)
			}
		}
	})
}

func TestAddrKey(t *testing.T) {
	for a, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "64:ff9b::c000:201": "192.0.2.1", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := addrKey(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %s", a, got)
		}
	}
}

func TestLimiter(t *testing.T) {
	now := time.Unix(0, 0)
	l := newLimiter(1, 2, func() time.Time { return now })
	take := func(key string) bool { _, ok := l.take(key); return ok }
	for i, want := range []bool{true, true, false} {
		if take("a") != want {
			t.Errorf("number %d of a burst of two: %v", i+1, !want)
		}
	}
	if !take("b") {
		t.Error("one client's bucket is another's")
	}
	if wait, _ := l.take("a"); wait <= 0 || wait > time.Second {
		t.Errorf("wait %v", wait)
	}
	now = now.Add(time.Second)
	if !take("a") {
		t.Error("the wait was too short")
	}
	for i := range 2 * limitShards * limitPerShard {
		l.take(strconv.Itoa(i))
	}
	for i := range l.shard {
		if n := len(l.shard[i].buckets); n > limitPerShard {
			t.Errorf("shard %d has %d buckets", i, n)
		}
	}
	if _, ok := l.takeAddr(netip.Addr{}); !ok {
		t.Error("clients without an address share a bucket")
	}
}

func TestSharedDomain(t *testing.T) {
	for hosts, want := range map[[2]string]string{
		{"chat.example.org", "hux.example.org"}:         "example.org",
		{"Chat.Example.org", "hux.example.ORG"}:         "example.org",
		{"example.org", "hux.example.org"}:              "example.org",
		{"chat.a.example.org", "b.a.example.org"}:       "a.example.org",
		{"chat.a.example.org", "hux.b.example.org"}:     "example.org",
		{"chat.hux.localhost", "console.hux.localhost"}: "hux.localhost",
		{"chat.localhost", "console.localhost"}:         "",
		{"chat.example.org", "hux.example.net"}:         "",
		{"chat.example.org", "hux.badexample.org"}:      "",
		{"10.0.0.1", "11.0.0.1"}:                        "",
		{"localhost", "localhost"}:                      "",
	} {
		if got := sharedDomain(hosts[0], hosts[1]); got != want {
			t.Errorf("%v share %q, want %q", hosts, got, want)
		}
	}
}

func TestHandoversBounded(t *testing.T) {
	var h handovers
	h.init()
	now := time.Unix(0, 0)
	put := func(flow string) string {
		return h.put(handover{flow: flow, session: "s", expires: now.Add(handoverLifetime)}, now)
	}
	first, second := put("f"), put("f")
	if _, ok := h.take(first, now); ok {
		t.Error("two codes of one session and flow")
	}
	if _, ok := h.take(second, now); !ok {
		t.Error("the newer code is not good")
	}
	for i := range maxHandovers + 10 {
		put(strconv.Itoa(i))
	}
	if len(h.byCode) != maxHandovers || len(h.codes) != maxHandovers {
		t.Errorf("%d codes, %d of flows", len(h.byCode), len(h.codes))
	}
	h.sweep(now.Add(handoverLifetime))
	if len(h.byCode) != 0 || len(h.codes) != 0 {
		t.Errorf("%d codes, %d of flows are left", len(h.byCode), len(h.codes))
	}
}
