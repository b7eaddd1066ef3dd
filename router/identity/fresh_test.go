package identity_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/identity"
)

// authTime is when the person of a session last proved who they are.
func authTime(t *testing.T, a answer) time.Time {
	t.Helper()
	var id struct{ AuthTime time.Time }
	if err := json.Unmarshal([]byte(a.body), &id); err != nil || a.StatusCode != 200 {
		t.Fatalf("%d %s: %v", a.StatusCode, a.body, err)
	}
	return id.AuthTime
}

const freshSignIn = consoleURL + "/hux/auth/sign-in?fresh=1&next=/who"

func TestSignInAgain(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	first := authTime(t, b.signIn())
	handle, chat := b.cookies(consoleURL, "console"), b.cookies(chatURL, "chat")
	stream := b.stream(chatURL + "/stream")
	rt.clock.Advance(time.Hour)
	asked := mustURL(b.until(freshSignIn, rt.idp.issuer+"/authorize")).Query()
	if asked.Get("prompt") != "login" || asked.Get("max_age") != "0" {
		t.Errorf("the provider is asked for %v", asked)
	}

	again := authTime(t, b.get(freshSignIn))
	if again.Sub(first) < time.Hour-time.Second {
		t.Errorf("auth_time %v after %v", again, first)
	}
	if got := authTime(t, b.get(chatURL+"/who")); !got.Equal(again) {
		t.Errorf("the chat's session says %v, the console's %v", got, again)
	}
	if b.cookies(chatURL, "chat") != chat || !open(stream) {
		t.Error("the chat did not go on as it was")
	}
	if got := rt.browser().get(consoleURL+"/who", "Cookie", handle).StatusCode; got != 401 {
		t.Errorf("the old handle: %d", got)
	}

	// It is the same session: what ends it ends all of it.
	if a := b.post(consoleURL+"/hux/auth/backchannel", url.Values{"logout_token": {rt.idp.logoutToken(nil, map[string]any{"sid": "sid-s-alice"})}}); a.StatusCode != 200 {
		t.Fatalf("logout: %d %s", a.StatusCode, a.body)
	}
	ends(t, stream)
	for _, site := range []string{chatURL, consoleURL} {
		if got := b.status(site + "/who"); got != 401 {
			t.Errorf("%s after the logout: %d", site, got)
		}
	}
}

func TestSignInAgainLasts(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	old := b.cookies(consoleURL, "console")
	rt.clock.Advance(time.Hour)
	again := authTime(t, b.get(freshSignIn))
	rt.restart()
	if got := authTime(t, b.get(consoleURL+"/who")); !got.Equal(again) {
		t.Errorf("after a restart %v, not %v", got, again)
	}
	if got := b.status(chatURL + "/who"); got != 200 {
		t.Errorf("the chat after a restart: %d", got)
	}
	if got := rt.browser().get(consoleURL+"/who", "Cookie", old).StatusCode; got != 401 {
		t.Errorf("the old handle after a restart: %d", got)
	}
}

// What a provider does not say it has asked counts for nothing.
func TestSignInAgainWithoutProof(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	first := authTime(t, b.signIn())
	rt.clock.Advance(time.Hour)
	for name, claim := range map[string]any{"none": nil, "of the sign-in before": first.Unix(), "of a minute before": rt.clock.Now().Add(-2 * time.Minute).Unix()} {
		rt.idp.set(func(p *idp) { p.idClaims = map[string]any{"auth_time": claim} })
		if a := b.get(freshSignIn); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("auth_time %s: %d %s", name, a.StatusCode, a.body)
		}
		if got := authTime(t, b.get(consoleURL+"/who")); !got.Equal(first) {
			t.Errorf("auth_time %s: the session says %v", name, got)
		}
	}
}

func TestSignInAgainAsAnother(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	b.signIn()
	rt.idp.set(func(p *idp) { p.subject = "s-bob" })
	b.get(freshSignIn)
	if a := b.get(consoleURL + "/who"); a.StatusCode != 200 || !strings.Contains(a.body, string(rt.user("s-bob"))) {
		t.Errorf("the console: %d %s", a.StatusCode, a.body)
	}
	if a := b.get(chatURL + "/who"); a.StatusCode == 200 && strings.Contains(a.body, string(rt.user("s-alice"))) {
		t.Error("alice's session goes on in the chat")
	}
}

func TestSignInAgainWithoutSession(t *testing.T) {
	rt := newRouter(t)
	b := rt.browser()
	a := b.get(freshSignIn)
	if authTime(t, a); !strings.Contains(a.body, string(identity.NewUserID(testKey, rt.idp.issuer, "s-alice"))) {
		t.Errorf("%s", a.body)
	}
	// It is for the console alone: a hand-over takes what session there is.
	before := rt.idp.redemptions()
	if u := b.until(chatURL+"/hux/auth/start?next=/who", "/hux/auth/accept"); b.status(u) != 200 || rt.idp.redemptions() != before {
		t.Error("a hand-over asked again")
	}
	if flow := mustURL(rt.browser().until(chatURL+"/hux/auth/start?next=/who", "/hux/auth/sign-in")); flow.Query().Get("flow") == "" {
		t.Fatal("no flow")
	} else if got := mustURL(rt.browser().until(flow.String()+"&fresh=1", rt.idp.issuer+"/authorize")).Query().Get("prompt"); got != "" {
		t.Errorf("a hand-over asks for %q", got)
	}
}
