package blackbox_test

import (
	"bufio"
	"context"
	"net/http"
	"testing"
	"time"
)

// Back-channel logout tokens.
func TestBackchannelLogout(t *testing.T) {
	t.Parallel()
	up := newUpstream(t)
	up.handle(func(x *exchange) {
		if x.path() != "/api/chat/stream" {
			x.ordinary()
			return
		}
		x.stream()
		x.write("data: first\n\n")
		x.gone()
	})
	h := start(t, setup{slots: []slot{{id: "a", up: up, members: []string{"alice"}}}})
	protocols(t, func(t *testing.T, proto string) {
		alice, elsewhere := h.signIn(t, proto, "alice"), h.signIn(t, proto, "alice")
		sids := h.provider.Sessions("alice") // newest first
		if len(sids) != 2 {
			t.Fatalf("alice has %d sessions at the provider", len(sids))
		}
		stream := alice.open(t, context.Background(), "GET", chatURL+"/api/chat/stream?stream_id=1", nil, "Accept: text/event-stream")
		defer stream.Body.Close()
		lines := bufio.NewReader(stream.Body)
		if line, err := lines.ReadString('\n'); line != "data: first\n" {
			t.Fatalf("the stream begins %q, %v", line, err)
		}
		send := func(change func(header, claims map[string]any)) int {
			claims, err := h.provider.LogoutClaims("hux", "alice", sids[1])
			if err != nil {
				t.Fatal(err)
			}
			header := map[string]any{"typ": "logout+jwt"}
			change(header, claims)
			token, err := h.provider.Sign(header, claims)
			if err != nil {
				t.Fatal(err)
			}
			h.secrets.add("logout token", token)
			status, err := h.provider.SendBackchannel(context.Background(), "hux", token)
			if err != nil {
				t.Fatal(err)
			}
			return status
		}
		for name, change := range map[string]func(header, claims map[string]any){
			"nonce":              func(_, c map[string]any) { c["nonce"] = "n" },
			"another audience":   func(_, c map[string]any) { c["aud"] = "other" },
			"no audience":        func(_, c map[string]any) { delete(c, "aud") },
			"another issuer":     func(_, c map[string]any) { c["iss"] = "http://sso.hux.test/realms/other" },
			"no events":          func(_, c map[string]any) { delete(c, "events") },
			"other events":       func(_, c map[string]any) { c["events"] = map[string]any{"x": map[string]any{}} },
			"no jti":             func(_, c map[string]any) { delete(c, "jti") },
			"neither sid or sub": func(_, c map[string]any) { delete(c, "sid"); delete(c, "sub") },
			"old":                func(_, c map[string]any) { c["iat"] = time.Now().Add(-time.Hour).Unix(); delete(c, "exp") },
			"expired":            func(_, c map[string]any) { c["exp"] = time.Now().Add(-time.Hour).Unix() },
			"ID token":           func(h, c map[string]any) { h["typ"] = "JWT"; c["typ"] = "ID"; delete(c, "events") },
			"access token":       func(h, _ map[string]any) { h["typ"] = "at+jwt" },
			"alg none":           func(h, _ map[string]any) { h["alg"] = "none" },
			"HS256":              func(h, _ map[string]any) { h["alg"] = "HS256" },
		} {
			if status := send(change); status != http.StatusBadRequest {
				t.Errorf("a logout token with %s: status %d, want 400", name, status)
			}
		}
		if alice.me(t, chatURL) == nil {
			t.Fatal("a refused logout token signed alice out")
		}
		jti := ""
		if status := send(func(_, c map[string]any) { jti, _ = c["jti"].(string) }); status != http.StatusOK {
			t.Errorf("a good logout token: status %d", status)
		}
		ended := make(chan struct{})
		go func() {
			for {
				if _, err := lines.ReadString('\n'); err != nil {
					close(ended)
					return
				}
			}
		}()
		select {
		case <-ended:
		case <-time.After(3 * time.Second):
			t.Error("the open stream of the session goes on")
		}
		if alice.me(t, chatURL) != nil || alice.me(t, consoleURL) != nil {
			t.Error("the session of that sid goes on")
		}
		if elsewhere.me(t, chatURL) == nil {
			t.Error("a session of another sid has ended")
		}
		if status := send(func(_, c map[string]any) { c["jti"] = jti }); status != http.StatusBadRequest {
			t.Errorf("a replayed logout token: status %d, want 400", status)
		}
		if err := h.provider.EndSessions(context.Background(), "alice"); err != nil {
			t.Fatal(err)
		}
		if elsewhere.me(t, chatURL) != nil {
			t.Error("alice is signed in after the provider ended all her sessions")
		}
	})
}
