package identity_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/router/identity"
)

func TestCheckProvider(t *testing.T) {
	p := newIDP(t, time.Now)
	inside := httptest.NewServer(http.StripPrefix("/inside", p.Config.Handler))
	t.Cleanup(inside.Close)
	const realm = publicIssuer + "/realms/hux"
	for name, c := range map[string]struct{ calledItself, issuer, internal, says string }{
		"good":                  {p.URL, p.URL, "", ""},
		"another name":          {p.URL, publicIssuer, p.URL, "calls itself"},
		"inside, by a path":     {realm, realm, inside.URL + "/inside", ""},
		"inside, by the origin": {realm, realm, p.URL, "discovery document"},
		"not there":             {p.URL, "http://127.0.0.1:1", "", "refused"},
	} {
		p.set(func(p *idp) { p.issuer = c.calledItself })
		err := identity.CheckProvider(t.Context(), identity.Options{PublicURL: mustURL(chatURL), Issuer: c.issuer, InternalURL: c.internal})
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
