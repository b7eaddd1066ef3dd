package proxy

import (
	"net/http"
	"strings"
	"testing"
)

// FuzzCookies: what an upstream sets comes back to it under the same name and
// to no other tenant, and a browser's own cookies never go up.
func FuzzCookies(f *testing.F) {
	for _, s := range []string{"a=b; Path=/", "__Host-a=b; Secure", "=hux_chat=x", "a", "hxt00000000_a=b", "__host-Http-x=1; domain=x", "a=b;;;=;domain", "a\x00=b"} {
		f.Add(s, s)
	}
	mine, other := newJar("ten_1"), newJar("ten_2")
	f.Fuzz(func(t *testing.T, set, sent string) {
		h := http.Header{"Set-Cookie": {set}}
		mine.answer(h)
		for _, line := range h["Set-Cookie"] {
			pair, attributes, _ := strings.Cut(line, ";")
			name, value, ok := strings.Cut(pair, "=")
			prefix, rest := splitPrefix(name)
			if !ok || !strings.HasPrefix(rest, mine.tag) {
				t.Fatalf("%q sets %q", set, line)
			}
			for a := range strings.SplitSeq(attributes, ";") {
				key, _, _ := strings.Cut(a, "=")
				if strings.EqualFold(strings.TrimSpace(key), "domain") {
					t.Fatalf("%q keeps a Domain: %q", set, line)
				}
			}
			var foreign []string
			if got := mine.request([]string{name + "=" + value}, &foreign); got != prefix+rest[tagLength:]+"="+value || foreign != nil {
				t.Fatalf("%q comes back as %q", line, got)
			}
			if got := other.request([]string{name + "=" + value}, &foreign); got != "" || len(foreign) != 1 {
				t.Fatalf("%q goes to another: %q", line, got)
			}
		}
		var foreign []string
		up := mine.request([]string{sent}, &foreign)
		if up != "" && !strings.Contains(sent, mine.tag) {
			t.Fatalf("%q goes up as %q", sent, up)
		}
		for _, name := range foreign {
			if strings.Contains(name, mine.tag) && !strings.Contains(name, tagPrefix) || !cookieName(name) {
				t.Fatalf("%q would expire %q", sent, name)
			}
		}
	})
}
