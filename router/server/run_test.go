package server

import (
	"net"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/config"
)

// A listener that fails under the router ends all of it.
func TestAFailedListenerEndsTheRouter(t *testing.T) {
	t.Parallel()
	c, _, problems, err := config.Load(config.Source{Defaults: map[string]string{
		"public_url": "http://chat.hux.localhost:8080", "console_url": "http://console.hux.localhost:8080", "data": t.TempDir(),
		"key": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "oidc_issuer": "http://127.0.0.1:1", "oidc_client_secret": "x",
		"slots": "a=http://127.0.0.1:1", "flags": "all",
	}})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	s, err := New(c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(t.Context(), l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = l.Close()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(2 * endWithin):
		t.Error("the router goes on")
	}
}
