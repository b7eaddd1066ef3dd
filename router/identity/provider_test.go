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
	const at = "/.well-known/openid-configuration"
	refused := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "words of the provider", http.StatusForbidden)
	}))
	t.Cleanup(refused.Close)
	moved := httptest.NewServer(http.RedirectHandler("/elsewhere", http.StatusMovedPermanently))
	t.Cleanup(moved.Close)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	t.Cleanup(page.Close)
	keysDown := func(p *idp) { p.keysDown = true }
	for name, c := range map[string]struct {
		calledItself, issuer, internal string
		trouble                        func(*idp)
		says                           []string // nil for a good one
	}{
		"good":                  {p.URL, p.URL, "", nil, nil},
		"another name":          {p.URL, publicIssuer, p.URL, nil, []string{"calls itself", p.URL + at}},
		"inside, by a path":     {realm, realm, inside.URL + "/inside", nil, nil},
		"inside, by the origin": {realm, realm, p.URL, nil, []string{"discovery document", p.URL + "/realms/hux" + at, "status 404"}},
		"not there":             {p.URL, "http://127.0.0.1:1", "", nil, []string{"http://127.0.0.1:1" + at, "refused"}},
		"refused":               {p.URL, refused.URL, "", nil, []string{refused.URL + at, "status 403"}},
		"refused inside":        {p.URL, publicIssuer, refused.URL + "/x/", nil, []string{refused.URL + "/x" + at, "status 403"}},
		"moved":                 {p.URL, moved.URL, "", nil, []string{moved.URL + at, "status 301"}},
		"a page":                {p.URL, page.URL, "", nil, []string{page.URL + at, "status 200"}},
		"no keys":               {p.URL, p.URL, "", keysDown, []string{"keys", p.URL + "/keys", "status 503"}},
	} {
		p.set(func(p *idp) { p.issuer, p.keysDown = c.calledItself, false })
		if c.trouble != nil {
			p.set(c.trouble)
		}
		err := identity.CheckProvider(t.Context(), identity.Options{PublicURL: mustURL(chatURL), Issuer: c.issuer, InternalURL: c.internal})
		if (err == nil) != (c.says == nil) {
			t.Errorf("%s: %v", name, err)
		}
		for _, says := range c.says {
			if err != nil && (!strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "words of")) {
				t.Errorf("%s: %v does not say %q", name, err, says)
			}
		}
	}
}
