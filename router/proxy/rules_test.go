package proxy

import (
	"strings"
	"testing"
)

func TestDefaultRules(t *testing.T) {
	r := DefaultRules()
	for _, c := range []struct {
		method, path string
		want         string // allow, deny, none, method
	}{
		{"GET", "/", "allow"},
		{"HEAD", "/", "allow"},
		{"GET", "/session/0a1b2c3d4e5f", "allow"},
		{"GET", "/session/x/y", "allow"},
		{"GET", "/api/sessions/0a1b2c3d4e5f/events", "allow"},
		{"GET", "/api/sessions//events", "none"},
		{"GET", "/api/settings", "allow"},
		{"POST", "/api/settings", "deny"},
		{"POST", "/API/Settings/", "deny"},
		{"POST", "/api/%73ettings", "deny"},
		{"GET", "/api/terminal/output", "deny"},
		{"GET", "/api/terminal/", "deny"},
		{"POST", "/Api/terminal/start", "deny"},
		{"GET", "/api/sessions/x", "none"},
		{"GET", "/unknown", "none"},
		{"PUT", "/api/prompts", "method"},
		{"POST", "/health", "method"},
	} {
		d := r.decide(c.method, c.path)
		got := "none"
		switch {
		case d.deny != nil:
			got = "deny"
		case d.allow != nil:
			got = "allow"
		case d.methods != nil:
			got = "method"
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.method, c.path, got, c.want)
		}
	}
}

func TestQueryDenied(t *testing.T) {
	r := DefaultRules()
	for query, want := range map[string]bool{
		"": false, "a=1": false, "q=all_profiles": false,
		"all_profiles=1": true, "a=1&all_profiles": true, "a;ALL_profiles=": true,
		"all%5fprofiles=1": true, "all%255fprofiles=1": true, "+all_profiles=1": true,
	} {
		if r.deniesQuery(query) != want {
			t.Errorf("%q: want %v", query, want)
		}
	}
}

func TestLoadRulesNamesTheEntry(t *testing.T) {
	const head = `{"format":1,"upstream":{"name":"x"},`
	for rules, want := range map[string]string{
		`{"format":2}`:              "format 2",
		`{"format":1,"surprise":1}`: "surprise",
		head + `"allow":[{"methods":["GET"],"paths":["/"]}]} x`: "follows",
		head + `"allow":[]}`: "allow is empty",
		head + `"allow":[{"methods":["GET"],"paths":["x"]}]}`:                                                                                   "allow[0]",
		head + `"allow":[{"methods":["GET"],"paths":["/"]},{"methods":["GET"],"paths":["/"]}]}`:                                                 "allow[1]: path \"/\": GET is there twice",
		head + `"allow":[{"methods":["TRACE"],"paths":["/"]}]}`:                                                                                 "TRACE",
		head + `"allow":[{"methods":["GET"],"paths":["/a/../b"]}]}`:                                                                             "bad segment",
		head + `"allow":[{"methods":["GET"],"paths":["/a//b"]}]}`:                                                                               "bad segment",
		head + `"allow":[{"methods":["GET"],"paths":["/{a"]}]}`:                                                                                 "bad segment",
		head + `"allow":[{"methods":["POST"],"paths":["/a"],"inject":true}]}`:                                                                   "GET alone",
		head + `"allow":[{"methods":["GET"],"paths":["/a"],"inject":true,"stream":true}]}`:                                                      "more than one",
		head + `"allow":[{"methods":["GET"],"paths":["/a"],"body":{"x":{"in":[1]}}}]}`:                                                          "methods that have one",
		head + `"allow":[{"methods":["POST"],"paths":["/a"],"body":{"x":{"in":[1]}}}]}`:                                                         "strings, booleans",
		head + `"deny":[{"paths":["/a"]}],"allow":[{"methods":["GET"],"paths":["/a"]}]}`:                                                        "deny[0]: reason",
		head + `"query_denied":["A"],"allow":[{"methods":["GET"],"paths":["/a"]}]}`:                                                             "query_denied[0]",
		`{"format":1,"upstream":{"name":"x","landmarks":[{"path":"/a"}]},"allow":[{"methods":["GET"],"paths":["/a"]}]}`:                         "landmarks[0]",
		`{"format":1,"upstream":{"name":"x","login":"//x"},"allow":[{"methods":["GET"],"paths":["/a"]}]}`:                                       "login",
		`{"format":1,"upstream":{"name":"x","version":{"path":"/v"}},"allow":[{"methods":["GET"],"paths":["/a"]}]}`:                             "version",
		head + `"deny":[{"paths":["/A"],"reason":"x"}],"allow":[{"methods":["GET"],"paths":["/a"]}]}`:                                           "lower case",
		head + `"allow":[{"methods":["GET"],"paths":["/{x}/b"]},{"methods":["POST"],"paths":["/a/*"]},{"methods":["GET"],"paths":["/{y}/b"]}]}`: "allow[2]",
	} {
		_, err := LoadRules(strings.NewReader(rules))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rules, err, want)
		}
	}
}

func TestDenyBeatsAllow(t *testing.T) {
	r, err := LoadRules(strings.NewReader(`{"format":1,"upstream":{"name":"x"},
		"deny":[{"methods":["GET"],"paths":["/a/{x}/secret","/b/*"],"reason":"x"}],
		"allow":[{"methods":["GET","POST"],"paths":["/*"]},{"methods":["GET"],"paths":["/b/c"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/a/1/secret", "/A/1/Secret/", "/a/%31/%73ecret", "/b/c", "/b/", "/B/c/d"} {
		for _, method := range []string{"GET", "HEAD"} {
			if d := r.decide(method, path); d.deny == nil {
				t.Errorf("%s %s is not denied", method, path)
			}
		}
		if d := r.decide("POST", path); d.allow == nil {
			t.Errorf("POST %s is denied", path)
		}
	}
	for _, path := range []string{"/", "/b", "/a/secret", "/a/1/2/secret"} {
		if d := r.decide("GET", path); d.allow == nil {
			t.Errorf("%s is denied", path)
		}
	}
}

func TestLoggable(t *testing.T) {
	for path, want := range map[string]string{
		"/api/new": "/api/new", "/a/0a1b2c3d": "/a/0a1b2c3d", "/share/0123456789abcdef0123456789abcdef": "-",
		"/a@b.c": "-", "/a%20b": "-", "/" + strings.Repeat("a/", 60): "-",
	} {
		if got := loggable(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
