package redact_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"bstein.dev/hux/hux/redact"
)

const sentinel = "S3NTINELvalue0123456789"

// leaks are texts with a secret in them, and the rule that finds it.
var leaks = []struct{ text, rule string }{
	{"FOO_TOKEN=" + sentinel, "assignment"},
	{"export FOO_TOKEN='" + sentinel + " with blanks'; make", "assignment"},
	{"FOO_TOKEN=ab\"" + sentinel + " x\"cd make", "assignment"},
	{"PGPASSWORD=" + sentinel + " psql -h db", "assignment"},
	{"AWS_SECRET_ACCESS_KEY: " + sentinel, "assignment"},
	{`{"password": "` + sentinel + `", "user": "alice"}`, "assignment"},
	{`{"password": "a\"` + sentinel + `", "user": "alice"}`, "assignment"},
	{`"{\"api_key\": \"` + sentinel + `\", \"n\": 1}"`, "assignment"},
	{`"{\\\"clientSecret\\\":\\\"` + sentinel + `\\\"}"`, "assignment"},
	{`{"cmd":"export MY_SECRET=` + sentinel + `"}`, "assignment"},
	{"password = " + sentinel, "assignment"},
	{"env['DB_PASS'] = '" + sentinel + "'", "assignment"},
	{"{:password=>\"" + sentinel + "\"}", "assignment"},
	{"secret := `" + sentinel + "`", "assignment"},
	{"cookies: [\"a=" + sentinel + "\"]", "assignment"},
	{"login --password " + sentinel + " --user alice", "assignment"},
	{"login --access-token='" + sentinel + "'", "assignment"},
	{"curl -H 'Authorization: Basic x " + sentinel + "' https://example.org/", "assignment"},
	{`curl -H "Cookie: a=b; sid=` + sentinel + `" https://example.org/`, "assignment"},
	{`{"cmd":"curl -H \"Cookie: a=b; sid=` + sentinel + `\" x"}`, "assignment"},
	{`curl -H "Cookie: a=\"b\"; sid=` + sentinel + `" x`, "assignment"},
	{"GET / HTTP/1.1\r\nCookie: a=\"b\"; sid=" + sentinel + "\r\nAccept: */*", "assignment"},
	{`"Authorization": Bearer ` + sentinel, "assignment"},
	{"token: Bearer " + sentinel, "assignment"},
	{"password: |\n  " + sentinel + "\n  more\nuser: alice", "assignment"},
	{"  secret:\n    - " + sentinel + "\n  user: alice", "assignment"},
	{"sent Bearer " + sentinel + " along", "bearer"},
	{"authorization%3A bearer%20" + sentinel, "bearer"},
	{"Proxy says Basic YWxpY2U6UzNOVElORUw= and no more", "basic"},
	{"curl -u alice:" + sentinel + " https://example.org/", "user_option"},
	{"https://alice:" + sentinel + "@example.org/path", "url_credentials"},
	{"https://" + sentinel + "@example.org/path", "url_credentials"},
	{"postgres://alice:a/" + sentinel + "@db:5432/hux", "url_credentials"},
	{"redis://:" + sentinel + "@cache", "url_credentials"},
	{"https://alice:p@" + sentinel + "@example.org/", "url_credentials"},
	{"https://example.org/?access_token=" + sentinel + "&page=2", "url_parameter"},
	{"https://example.org/?page=2&key=" + sentinel, "url_parameter"},
	{"https://example.org/?X-Amz-Signature=" + sentinel + "#top", "url_parameter"},
	{"https://example.org/callback?state=1&code=" + sentinel, "url_parameter"},
	{"see sk-" + sentinel + ".", "openai_key"},
	{"see ghp_" + sentinel, "github_token"},
	{"see github_pat_" + sentinel, "github_token"},
	{"see glpat-" + sentinel, "gitlab_token"},
	{"see xoxb-" + sentinel, "slack_token"},
	{"https://hooks.slack.com/services/T0/B0/" + sentinel, "webhook_url"},
	{"see AKIAS3NTINEL01234567", "aws_access_key"},
	{"see AIza" + sentinel, "google_key"},
	{"see sk_live_" + sentinel, "stripe_key"},
	{"see 123456789:AA" + sentinel, "telegram_token"},
	{"see hvs." + sentinel, "vault_token"},
	{"see npm_" + sentinel, "registry_token"},
	{"see hux_agt_0198f3a1c2d47b6e8f90a1b2c3d4e5f6_" + sentinel, "agent_credential"},
	{"see hux_whk_" + sentinel, "agent_credential"},
	{"see eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0." + sentinel, "jwt"},
	{"-----BEGIN RSA PRIVATE KEY-----\n" + sentinel + "\n-----END RSA PRIVATE KEY-----\nafter", "private_key"},
	{"-----BEGIN PRIVATE KEY-----\n" + sentinel + " and no end", "private_key"},
	{`-----BEGIN OPENSSH PRIVATE KEY-----\n` + sentinel + `\n-----END OPENSSH PRIVATE KEY-----\n`, "private_key"},
}

func survives(text string) bool {
	return strings.Contains(text, "S3NTINEL") || strings.Contains(text, "UzNOVElORUw")
}

func TestNoSentinelSurvives(t *testing.T) {
	for _, c := range leaks {
		for _, wrap := range []string{"%s", "x %s y", "{\"args\":\"%s", "one\n%s\ntwo", "ä%s", "a=1 %s b=2"} {
			if strings.HasPrefix(c.text, " ") && wrap != "%s" && wrap != "one\n%s\ntwo" {
				continue // indentation counts from the beginning of a line
			}
			text := fmt.Sprintf(wrap, c.text)
			masked, rules := redact.MaskText(text)
			if survives(masked) {
				t.Errorf("%q\n became %q", text, masked)
			}
			if wrap == "%s" && !slices.Contains(rules, c.rule) {
				t.Errorf("%q: rules %v, want %s (%q)", text, rules, c.rule, masked)
			}
			twice, again := redact.MaskText(masked)
			if twice != masked || len(again) != 0 {
				t.Errorf("%q\n masked once  %q\n masked twice %q, rules %v", text, masked, twice, again)
			}
		}
	}
}

// Pairs of leaks, so that what one rule leaves meets another.
func TestNoSentinelSurvivesBesideAnother(t *testing.T) {
	for _, a := range leaks {
		for _, b := range leaks {
			for _, between := range []string{" ", "\n", ", ", "; "} {
				if between != "\n" && strings.Contains(b.text, "\n  ") {
					continue // a block of lines belongs to a line of its own
				}
				text := a.text + between + b.text
				masked, _ := redact.MaskText(text)
				if survives(masked) {
					t.Fatalf("%q\n became %q", text, masked)
				}
				if twice, _ := redact.MaskText(masked); twice != masked {
					t.Fatalf("%q\n masked once  %q\n masked twice %q", text, masked, twice)
				}
			}
		}
	}
}

func TestOrdinaryTextStays(t *testing.T) {
	for _, text := range []string{
		"", "ok", "Ran the tests of the parser: 214 passed, 0 failed in 5.2 s",
		"alice@example.org asked bob@example.org", "mailto:alice@example.org",
		"git clone ssh://git@example.org/hux.git", "git@example.org:hux/hux.git",
		"https://example.org:8443/a@b?page=2&sort=name#top", "http://127.0.0.1:8080/hux/v1/capabilities",
		"max_tokens=4096, input_tokens: 120, tokens: 1.2k", "token_count=7 and tokens used: 12",
		"pass: 214, fail: 0", "a risk-assessment-of-everything, a task-management-tool",
		"sk-learn-pipeline", "bearer tokens are held by clients", "basic understanding of things",
		"TOKEN=$CI_JOB_TOKEN make", "password: null", "secret=true", "session_id=20260302_091455_a1b2c3",
		"cnv_0198f3a17c3e7d54b1a2c3d4e5f60718 sha256:3c5e7a9b1d2f40683c5e7a9b1d2f4068", "idempotency_key: k1",
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "docker run -u 1000:1000 image",
		"key=value; primary_key: id", "10:30: the build of 9b2f6c1de07a is done",
	} {
		if masked, rules := redact.MaskText(text); masked != text || len(rules) != 0 {
			t.Errorf("%q became %q by %v", text, masked, rules)
		}
	}
}

func TestMaskKeepsWhatStandsAround(t *testing.T) {
	for text, want := range map[string]string{
		`{"password": "abc", "user": "alice"}`:               `{"password": "[redacted]", "user": "alice"}`,
		"FOO_TOKEN=abc make test":                            "FOO_TOKEN=[redacted] make test",
		"https://alice:abc@example.org/x?token=abc&page=2":   "https://[redacted]@example.org/x?token=[redacted]&page=2",
		"curl -H 'Authorization: Bearer abc' https://x.test": "curl -H 'Authorization: [redacted]' https://x.test",
		`"{\"token\":\"abc\",\"n\":1}"`:                      `"{\"token\":\"[redacted]\",\"n\":1}"`,
	} {
		if masked, _ := redact.MaskText(text); masked != want {
			t.Errorf("%s became %s, want %s", text, masked, want)
		}
	}
}

func TestMaskByName(t *testing.T) {
	var v any
	err := json.Unmarshal([]byte(`{
		"auth": {"token": "abc"}, "user": "alice", "exit_code": 0, "ok": true, "none": null,
		"apiKey": "abc", "X-Api-Key": ["abc"], "set_cookie": {"sid": "abc", "n": 7}, "PIN_password": 1234,
		"usage": {"input_tokens": 12, "tokens": "40", "max_tokens": 4096}, "refresh_tokens": ["abc"],
		"env": [{"name": "DB_PASSWORD", "value": "abc"}, {"name": "HOME", "value": "/home/alice"}],
		"args": ["login", "--password", "abc", "--user", "alice"],
		"sk-abcdefgh1": 1, "sk-abcdefgh2": 2, "session_id": "20260302", "secret": true, "client_secret": ""
	}`), &v)
	if err != nil {
		t.Fatal(err)
	}
	before, _ := json.Marshal(v)
	masked, rules := redact.Mask(v)
	var want any
	err = json.Unmarshal([]byte(`{
		"auth": {"token": "[redacted]"}, "user": "alice", "exit_code": 0, "ok": true, "none": null,
		"apiKey": "[redacted]", "X-Api-Key": ["[redacted]"], "set_cookie": {"sid": "[redacted]", "n": "[redacted]"}, "PIN_password": "[redacted]",
		"usage": {"input_tokens": 12, "tokens": "40", "max_tokens": 4096}, "refresh_tokens": ["[redacted]"],
		"env": [{"name": "DB_PASSWORD", "value": "[redacted]"}, {"name": "HOME", "value": "/home/alice"}],
		"args": ["login", "--password", "[redacted]", "--user", "alice"],
		"[redacted]": 1, "[redacted] 2": 2, "session_id": "20260302", "secret": true, "client_secret": ""
	}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(masked, want) {
		got, _ := json.MarshalIndent(masked, "", " ")
		t.Errorf("%s", got)
	}
	if !slices.Equal(rules, []string{"openai_key", "secret_name"}) {
		t.Errorf("rules %v", rules)
	}
	if after, _ := json.Marshal(v); string(after) != string(before) {
		t.Error("the value given was changed")
	}
	if twice, again := redact.Mask(masked); !reflect.DeepEqual(twice, masked) || len(again) != 0 {
		t.Errorf("masked twice: %v, rules %v", twice, again)
	}
}

func TestMaskOfWhatIsNoJSON(t *testing.T) {
	var deep any = sentinel
	for range 1000 {
		deep = []any{deep}
	}
	loop := map[string]any{}
	loop["loop"] = loop
	for name, v := range map[string]any{
		"bytes": []byte(sentinel), "struct": struct{ Token string }{sentinel}, "deep": map[string]any{"password": deep},
		"strings": []string{"--token", sentinel}, "headers": map[string]string{"Cookie": sentinel}, "loop": loop,
	} {
		masked, rules := redact.Mask(v)
		text, err := json.Marshal(masked)
		if err != nil || strings.Contains(string(text), sentinel) || len(rules) == 0 {
			t.Errorf("%s: %.100s, %v, rules %v", name, text, err, rules)
		}
	}
}

// Text that was made to cost much takes no longer than its length allows.
func TestMaskTextIsLinear(t *testing.T) {
	const size = 128 << 10
	for _, part := range []string{"=", ":", "a=", "token=", "tokens=[", "password: ", "password:\n", "password:\n ", "://", "a://u:p@", "http://a:b/", "\\", "token=\\", "token=\\\"",
		"token=\"", "'", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY----------END x-----", "eyJ", "eyJhhhhhh.", "sk-", "bearer ", "--token ", "Cookie: ", "-u a:", "[redacted]", "token=[redacted]", "$A", " - "} {
		text := "token " + strings.Repeat(part, size/len(part))
		start := time.Now()
		masked, _ := redact.MaskText(text)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%q takes %v for %d bytes", part, took, len(text))
		}
		if twice, _ := redact.MaskText(masked); twice != masked {
			t.Errorf("%q masked twice is not masked once", part)
		}
	}
}

func FuzzMaskText(f *testing.F) {
	for _, c := range leaks {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		masked, _ := redact.MaskText(text)
		if twice, again := redact.MaskText(masked); twice != masked || len(again) != 0 {
			t.Fatalf("%q\n masked once  %q\n masked twice %q by %v", text, masked, twice, again)
		}
	})
}

func FuzzMask(f *testing.F) {
	f.Add(`{"auth":{"token":"abc"},"args":["--password","abc"],"env":[{"name":"A_KEY","value":"x"}]}`)
	f.Add(`{"sk-abcdefgh1":1,"sk-abcdefgh2":2,"[redacted]":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			return
		}
		masked, _ := redact.Mask(v)
		if twice, again := redact.Mask(masked); !reflect.DeepEqual(twice, masked) || len(again) != 0 {
			t.Fatalf("%s\n masked once  %v\n masked twice %v by %v", text, masked, twice, again)
		}
	})
}

func BenchmarkMask(b *testing.B) {
	data := map[string]any{"tool": "shell", "duration_ms": json.Number("5230"), "exit_code": json.Number("0"),
		"command": "go test -race ./hux/... && make lint", "path": "internal/parser/parse_test.go", "note": strings.Repeat("a line of what the tool said. ", 20)}
	b.ReportAllocs()
	for b.Loop() {
		redact.Mask(data)
	}
}

func BenchmarkMaskText(b *testing.B) {
	text := strings.Repeat("the tool said: path=internal/parser 12:30:01 https://example.org/a?b=c done\n", 110)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		redact.MaskText(text)
	}
}
