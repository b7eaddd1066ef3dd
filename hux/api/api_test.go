package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

func TestErrorsAreProblemDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		status int
		want   map[string]any
	}{
		"ours": {hux.Errorf(hux.ConsoleRequired, "On the console."), 403,
			map[string]any{"code": "console_required", "detail": "On the console.", "retryable": false, "status": 403.0, "schema": "hux.error.v1", "request_id": "r1"}},
		"later": {hux.Errorf(hux.SlotBusy, "Busy.").After(1500 * time.Millisecond), 503,
			map[string]any{"retryable": true, "retry_after_ms": 1500.0}},
		"members": {&hux.Error{Code: hux.InvalidTransition, Members: map[string]any{"from": "a", "code": "forged"}}, 409,
			map[string]any{"from": "a", "code": "invalid_transition"}},
		"foreign": {errors.New("open /secret/path: no"), 500,
			map[string]any{"code": "internal_error"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("GET", "/", nil)
			r = r.WithContext(api.WithRequestID(r.Context(), "r1"))
			w := httptest.NewRecorder()
			api.Handler(func(http.ResponseWriter, *http.Request) error { return c.err }).ServeHTTP(w, r)
			if w.Code != c.status || w.Header().Get("Content-Type") != "application/problem+json" || w.Header().Get("Cache-Control") != "no-store, no-transform" {
				t.Errorf("%d %v", w.Code, w.Header())
			}
			var got map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			for k, v := range c.want {
				if got[k] != v {
					t.Errorf("%s is %v, want %v", k, got[k], v)
				}
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("the cause is shown: %s", w.Body)
			}
		})
	}
}

func TestRetryAfterIsWholeSecondsUpwards(t *testing.T) {
	for d, want := range map[time.Duration]string{time.Millisecond: "1", time.Second: "1", 1500 * time.Millisecond: "2", time.Minute: "60"} {
		if got := api.RetryAfter(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

func TestGate(t *testing.T) {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	for listed, want := range map[string]struct{ code, contract string }{
		"":                            {"not_found", ""},
		"hux.projects":                {"not_found", ""},
		"hux.foundation":              {"feature_disabled", "1.1.0"},
		"hux.foundation,hux.projects": {"", "1.1.0"},
	} {
		w := httptest.NewRecorder()
		flags := hux.ResolveFlags(registry, strings.Split(listed, ","))
		route := api.Route{Flags: []string{"hux.projects"}, Handler: nothing}
		api.Gate(flags, map[string]bool{"hux.projects": true}, route, func(w http.ResponseWriter, _ *http.Request) error {
			return api.JSON(w, 200, map[string]string{})
		}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
		var got struct{ Code string }
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Code != want.code || w.Header().Get("HUX-Contract") != want.contract {
			t.Errorf("%q: %s %v", listed, w.Body, w.Header())
		}
	}
}

func TestCapabilitiesEnableOnlyWhatIsServed(t *testing.T) {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	served := api.Served([]api.Route{
		{Flags: []string{"hux.activity_timeline"}, Handler: nothing},
		{Flags: []string{"hux.projects", "hux.activity_timeline"}, Handler: nothing}, // no route of its own
		{Flags: []string{"hux.autonomy"}, Handler: nothing}, {Flags: []string{"hux.autonomy"}},
		{Flags: []string{"hux.privacy"}}, {Flags: []string{"hux.privacy"}, Handler: nothing},
	})
	c := api.NewCapabilities(hux.ResolveFlags(registry, []string{"all"}), served, &api.Call{Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_x"}})
	if len(c.Flags) != 12 {
		t.Errorf("%d flags", len(c.Flags))
	}
	for name, s := range c.Flags {
		if !s.Listed || s.Enabled != (name == "hux.activity_timeline") {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

func nothing(http.ResponseWriter, *http.Request, *api.Call) error { return nil }

func TestOriginIsWhatBrowsersWrite(t *testing.T) {
	for in, want := range map[string]string{
		"https://chat.example.org":          "https://chat.example.org",
		"HTTPS://Chat.Example.org:443/path": "https://chat.example.org",
		"http://chat.example.org:443":       "http://chat.example.org:443",
		"http://chat.hux.localhost:8080":    "http://chat.hux.localhost:8080",
		"http://[::1]:80":                   "http://[::1]",
	} {
		u, err := url.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := api.Origin(u); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}
