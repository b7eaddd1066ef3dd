package proxy_test

import (
	"net/http"
	"strings"
	"testing"

	"bstein.dev/hux/router/proxy"
)

func TestSelfCheck(t *testing.T) {
	list := rules(t, `{"format":1,"upstream":{"name":"Web UI","snapshot":"abc",
		"version":{"path":"/sw.js","before":"shell-","after":"'","tested":["1.0"]},
		"landmarks":[{"path":"/sw.js","contains":["/api/"],"why":"a"},{"path":"/static/ui.js","contains":["one","two"],"why":"b"}]},
		"allow":[{"methods":["GET"],"paths":["/"]}]}`)
	for name, test := range map[string]struct {
		sw, ui string
		status int
		want   []string
	}{
		"as expected": {"c='shell-1.0'; /api/", "one two", 200, nil},
		"newer":       {"c='shell-1.1'; /api/", "one two", 200, []string{"version 1.1"}},
		"changed":     {"c='shell-1.0'", "two", 200, []string{`"/api/" (a)`, `"one" (b)`}},
		"another":     {"<html>", "", 200, []string{"does not look like the Web UI", "/api/", "one", "two"}},
		"redirects":   {"", "", 302, []string{"status 302", "status 302", "status 302"}},
	} {
		up := upstream(t, func(w http.ResponseWriter, r *http.Request) {
			if len(r.Cookies()) > 0 || r.Header.Get("X-Hux-User") != "" {
				t.Errorf("signed in: %v", r.Header)
			}
			if test.status == 302 {
				http.Redirect(w, r, "/elsewhere", 302)
				return
			}
			if r.URL.Path == "/sw.js" {
				_, _ = w.Write([]byte(test.sw))
			} else {
				_, _ = w.Write([]byte(test.ui))
			}
		})
		findings := proxy.SelfCheck(t.Context(), mustURL(up), list)
		if len(findings) != len(test.want) {
			t.Errorf("%s: %+v", name, findings)
			continue
		}
		for i, f := range findings {
			if !strings.Contains(f.Text, test.want[i]) || f.Problem != (name != "newer") {
				t.Errorf("%s: %+v, want %q", name, f, test.want[i])
			}
		}
	}
	findings := proxy.SelfCheck(t.Context(), mustURL("http://127.0.0.1:1"), list)
	if len(findings) != 1 || !strings.Contains(findings[0].Text, "not reachable") || strings.Contains(findings[0].Text, "127.0.0.1") {
		t.Errorf("nothing there: %+v", findings)
	}
}
