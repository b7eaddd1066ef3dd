package blackbox_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// The health check of an image asks where the router listens, whatever that is.
func TestHealthzAsksWhereTheRouterListens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		host  string
		plain bool
	}{{"127.0.0.5", true}, {"127.0.0.5", false}, {"::1", true}, {"::1", false}, {"::", true}, {"", true}, {"", false}, {"0.0.0.0", true}, {"localhost", false}} {
		name := c.host + " with TLS"
		if c.plain {
			name = c.host + " without TLS"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, port, err := net.SplitHostPort(freeAddr(t))
			if err != nil {
				t.Fatal(err)
			}
			h := prepare(t, setup{plain: c.plain, slots: []slot{{id: "a", up: newUpstream(t)}}, config: map[string]any{"listen": net.JoinHostPort(c.host, port)}})
			if _, stderr, ok := h.run(t, "healthz"); ok {
				t.Errorf("without a router it says that all is well: %s", stderr)
			}
			h.launch(t)
			if c.host == "127.0.0.5" { // somebody else's, on the same port
				l, err := net.Listen("tcp", "127.0.0.1:"+port)
				if err != nil {
					t.Fatal(err)
				}
				other := httptest.NewUnstartedServer(http.NotFoundHandler())
				other.Listener = l
				other.Start()
				t.Cleanup(other.Close)
			}
			if _, stderr, ok := h.run(t, "healthz"); !ok {
				t.Errorf("listening on %s: %s", h.addr.get(), stderr)
			}
		})
	}
}
