package blackbox_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// However a proxy writes its clients' addresses, each of them has a limit of
// their own, and one that writes none is told of once.
func TestClientsBehindAProxyAreToldApart(t *testing.T) {
	t.Parallel()
	h := start(t, setup{
		slots:  []slot{{id: "a", up: newUpstream(t), members: []string{"alice"}}},
		config: map[string]any{"trusted_proxies": "127.0.0.0/8", "access_log": false},
	})
	b := h.browser(t, "h2")
	signIn := func(forwarded string) int {
		return b.visit(t, consoleURL+"/hux/auth/sign-in?next=/", "X-Forwarded-For: "+forwarded, "Cookie: none=").StatusCode
	}
	const clients = 420 // more than one address may begin at once
	for name, write := range map[string]func(n int) string{
		"a port":          func(n int) string { return fmt.Sprintf("203.0.%d.%d:5123", n/250, n%250) },
		"IPv6 and a port": func(n int) string { return fmt.Sprintf("[2001:db8:0:%x::1]:443", n) },
		"an empty hop":    func(n int) string { return fmt.Sprintf("198.51.%d.%d,", n/250, n%250) },
		"NAT64":           func(n int) string { return fmt.Sprintf("64:ff9b::c%03x:%x", n/250, n%250) },
		"no address":      func(n int) string { return fmt.Sprintf("client-%d", n) },
	} {
		for n := range clients {
			if status := signIn(write(n)); status != http.StatusFound {
				t.Errorf("%s: client %d gets status %d", name, n, status)
				break
			}
		}
	}
	if n := strings.Count(h.log.String(), "holds no address"); n != 1 {
		t.Errorf("an X-Forwarded-For without an address is told of %d times", n)
	}
	if strings.Contains(h.log.String(), "client-7") {
		t.Error("the log repeats what stood in the header")
	}
	limited := false
	for n := range clients {
		limited = limited || signIn(fmt.Sprintf("192.0.2.9:%d", 1024+n)) == http.StatusTooManyRequests
	}
	if !limited {
		t.Error("one client with a port for each connection is not limited")
	}
}
