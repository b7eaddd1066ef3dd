package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/config"
	"bstein.dev/hux/router/identity"
)

// Who may call a card's route: the kinds that it names, and an operator where
// it says so; one in a browser on the console alone.
func TestWhoMayCallACard(t *testing.T) {
	on := hux.FlagState{Enabled: true}
	console := &url.URL{Scheme: "https", Host: "console.example.org"}
	s := &Server{config: &config.Config{ConsoleURL: console}, flags: hux.Flags{States: map[string]hux.FlagState{"hux.foundation": on}}, served: map[string]bool{"hux.foundation": true}}
	who := func(kind hux.Kind, roles ...string) *identity.Identity {
		return &identity.Identity{Actor: hux.Actor{Kind: kind, ID: "x"}, Roles: roles}
	}
	human, operator, agent, worker := who(hux.KindHuman), who(hux.KindHuman, identity.RoleOperator), who(hux.KindAgent), who(hux.KindWorker)
	browser := who(hux.KindHuman, identity.RoleOperator)
	browser.Method = identity.Session
	for name, c := range map[string]struct {
		kinds    []hux.Kind
		operator bool
		id       *identity.Identity
		site     identity.Site
		want     hux.Code // "" where they may
	}{
		"anybody's":                         {nil, false, agent, identity.API, ""},
		"a person's, by a person":           {[]hux.Kind{hux.KindHuman}, false, human, identity.API, ""},
		"a person's, by an agent":           {[]hux.Kind{hux.KindHuman}, false, agent, identity.API, hux.HumanRequired},
		"the worker's, by a person":         {[]hux.Kind{hux.KindWorker}, false, human, identity.API, hux.AgentRequired},
		"the worker's, by an operator":      {[]hux.Kind{hux.KindWorker}, false, operator, identity.API, hux.AgentRequired},
		"an operator's too, by the worker":  {[]hux.Kind{hux.KindWorker}, true, worker, identity.API, ""},
		"an operator's too, by one":         {[]hux.Kind{hux.KindWorker}, true, operator, identity.API, ""},
		"an operator's too, on the chat":    {[]hux.Kind{hux.KindWorker}, true, browser, identity.Chat, hux.ConsoleRequired},
		"an operator's too, on the console": {[]hux.Kind{hux.KindWorker}, true, browser, identity.Console, ""},
		"an operator's too, by a person":    {[]hux.Kind{hux.KindWorker}, true, human, identity.API, hux.OperatorRequired},
		"an operator's too, by an agent":    {[]hux.Kind{hux.KindWorker}, true, who(hux.KindAgent, identity.RoleOperator), identity.API, hux.AgentRequired},
	} {
		called := false
		route := api.Route{
			Method: http.MethodGet, Flags: []string{"hux.foundation"}, Kinds: c.kinds, Operator: c.operator, Anyone: true,
			Handler: func(http.ResponseWriter, *http.Request, *api.Call) error { called = true; return nil },
		}
		err := s.card(c.site, route)(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), c.id)
		var refused *hux.Error
		if called != (c.want == "") || errors.As(err, &refused) != (c.want != "") || refused != nil && refused.Code != c.want {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// A card of which some handlers are missing is not there, as capabilities say;
// what it shares with others is.
func TestACardIsServedWhole(t *testing.T) {
	on := hux.FlagState{Enabled: true}
	called := func(http.ResponseWriter, *http.Request, *api.Call) error { return nil }
	route := func(path string, handler func(http.ResponseWriter, *http.Request, *api.Call) error, flags ...string) api.Route {
		return api.Route{Method: "GET", Path: path, Flags: flags, Anyone: true, Handler: handler}
	}
	whole, half, missing := route("/lamps", called, "hux.whole"), route("/rooms", called, "hux.half"), route("/rooms/{id}", nil, "hux.half")
	shared := route("/houses", called, "hux.whole", "hux.half")
	for _, c := range []struct {
		route api.Route
		flags []string
		there bool
	}{
		{whole, []string{"hux.whole", "hux.half"}, true}, {half, []string{"hux.whole", "hux.half"}, false},
		{missing, []string{"hux.whole", "hux.half"}, false}, {shared, []string{"hux.whole", "hux.half"}, true},
		{shared, []string{"hux.whole"}, true}, {shared, []string{"hux.half"}, false}, {shared, nil, false},
	} {
		flags := hux.Flags{States: map[string]hux.FlagState{"hux.foundation": on}}
		for _, f := range c.flags {
			flags.States[f] = on
		}
		s := &Server{config: &config.Config{}, flags: flags, served: api.Served([]api.Route{whole, half, missing, shared})}
		err := s.card(identity.API, c.route)(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), &identity.Identity{Actor: hux.Actor{Kind: hux.KindHuman, ID: "x"}})
		var refused *hux.Error
		if (err == nil) != c.there || err != nil && (!errors.As(err, &refused) || refused.Code != hux.FeatureDisabled) {
			t.Errorf("%s with %v: %v", c.route.Path, c.flags, err)
		}
	}
}

// A browser's cookie acts with our own origin and a body that no form can send:
// JSON, or where the route takes bytes, of their own media type.
func TestTheFenceReadsItsRoute(t *testing.T) {
	console := &url.URL{Scheme: "https", Host: "console.example.org"}
	s := &Server{config: &config.Config{ConsoleURL: console}}
	browser := &identity.Identity{Method: identity.Session}
	for _, c := range []struct {
		media string
		raw   bool
		want  hux.Code // "" where it passes
	}{
		{"application/json", false, ""}, {"application/json; charset=utf-8", false, ""}, {"image/png", false, hux.UnsupportedMediaType}, {"", false, hux.UnsupportedMediaType},
		{"image/png", true, ""}, {"application/octet-stream", true, ""}, {"application/json", true, ""}, {"", true, hux.UnsupportedMediaType},
		{"text/plain", true, hux.UnsupportedMediaType}, {"text/plain; charset=utf-8", true, hux.UnsupportedMediaType}, {"Multipart/Form-Data; boundary=x", true, hux.UnsupportedMediaType},
		{"application/x-www-form-urlencoded", true, hux.UnsupportedMediaType}, {"image/png, text/plain", true, hux.UnsupportedMediaType},
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Origin", console.String())
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if c.media != "" {
			r.Header.Set("Content-Type", c.media)
		}
		err := s.fence(r, identity.Console, browser, c.raw)
		var refused *hux.Error
		if errors.As(err, &refused) != (c.want != "") || refused != nil && refused.Code != c.want {
			t.Errorf("%q, raw %t: %v, want %q", c.media, c.raw, err, c.want)
		}
		r.Header.Set("Origin", "https://chat.example.org")
		if err := s.fence(r, identity.Console, browser, c.raw); !errors.As(err, &refused) || refused.Code != hux.CrossOrigin {
			t.Errorf("%q, raw %t, from another origin: %v", c.media, c.raw, err)
		}
	}
}
