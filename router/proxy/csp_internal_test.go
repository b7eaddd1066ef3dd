package proxy

import (
	"net/http"
	"testing"
)

func TestFraming(t *testing.T) {
	const c = "https://hux.example.org"
	for policy, want := range map[string]string{
		"":                                  "",
		"script-src 'self'":                 "script-src 'self'",
		"frame-src 'self'":                  "frame-src 'self' " + c,
		"frame-src 'self'; x y":             "frame-src 'self' " + c + "; x y",
		" Frame-Src  'self' ;x":             " Frame-Src  'self' " + c + " ;x",
		"frame-src":                         "frame-src " + c,
		"frame-src 'none'":                  "frame-src " + c,
		"frame-src *":                       "frame-src *",
		"frame-src " + c:                    "frame-src " + c,
		"frame-src a; frame-src b":          "frame-src a " + c + "; frame-src b",
		"child-src 'self'; default-src *":   "child-src 'self' " + c + "; default-src *",
		"default-src 'self' data:":          "default-src 'self' data:; frame-src 'self' data: " + c,
		"default-src 'none';":               "default-src 'none'; frame-src " + c,
		"default-src 'self'; frame-src 'x'": "default-src 'self'; frame-src 'x' " + c,
		"img-src *, default-src 'none'":     "img-src *, default-src 'none'; frame-src " + c,
	} {
		if got := readLine(policy, c).framed; got != want {
			t.Errorf("%q:\n%q, want\n%q", policy, got, want)
		}
	}
	if got := readLine("frame-src 'self'", "").framed; got != "frame-src 'self'" {
		t.Errorf("without a console: %q", got)
	}
}

func TestNonces(t *testing.T) {
	for policy, want := range map[string]nonces{
		"script-src 'self' 'unsafe-inline'":                                    {},
		"script-src 'self' 'nonce-abc'":                                        {},
		"script-src 'nonce-abc'":                                               {script: "abc"},
		"default-src 'none'; script-src 'nonce-a+/-_='; style-src 'self'":      {script: "a+/-_="},
		"default-src 'nonce-abc'":                                              {"abc", "abc"},
		"script-src 'nonce-a'; style-src 'nonce-b'":                            {"a", "b"},
		"default-src 'nonce-d'; style-src 'self'":                              {script: "d"},
		"script-src 'self' 'nonce-abc' 'strict-dynamic'":                       {script: "abc"},
		"script-src-elem 'nonce-e'; script-src 'self'":                         {script: "e"},
		"script-src 'self'; style-src 'nonce-s'":                               {style: "s"},
		"style-src-elem 'nonce-e'; style-src 'nonce-s', default-src 'nonce-d'": {"d", "e"},
		"img-src *, script-src 'NONCE-abC'":                                    {script: "abC"},
		`script-src 'nonce-"><x'`:                                              {},
		"script-src 'unsafe-inline'":                                           {},
		"script-src *; object-src 'none'; script-src 'nonce-second-one-loses'": {},
	} {
		if got := readLine(policy, "").nonces; got != want {
			t.Errorf("%q: %q, want %q", policy, got, want)
		}
	}
}

func TestPolicyMemo(t *testing.T) {
	var m policyMemo
	for _, page := range []string{"'nonce-1'", "'nonce-1'", "'nonce-2'"} {
		h := http.Header{policyHeaders[0]: {"frame-src 'self'", "script-src " + page}, policyHeaders[1]: {"script-src 'nonce-no'; frame-src x"}}
		needed := m.apply(h, "https://c")
		if "'nonce-"+needed.script+"'" != page || h[policyHeaders[0]][0] != "frame-src 'self' https://c" ||
			h[policyHeaders[1]][0] != "script-src 'nonce-no'; frame-src x https://c" {
			t.Errorf("%s: %q %v", page, needed, h)
		}
	}
}
