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
