package api_test

import (
	"errors"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

var entityTag = regexp.MustCompile(`^(?:W/)?"([^"]+):([0-9]+)(?:-gzip|-br|-zstd|;gzip)?"$`)

// An If-Match is malformed, or it stands for one revision of one record.
func FuzzIfMatch(f *testing.F) {
	for _, seed := range []string{`"cnv_1:3"`, `W/"cnv_1:3"`, `"cnv_1:3-gzip"`, `W/"cnv_1:3;gzip"`, "*", "", "foo", `"foo"`, `"cnv_1:"`, `"cnv_1:x"`, `"cnv_1:-1"`, `"cnv_1:2147483648"`, `"cnv_1:03"`, `"a:1","a:1"`, `"project:prj_1:0"`, `"a:1`, `":1"`, "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		r := httptest.NewRequest("PATCH", "/", nil)
		r.Header["If-Match"] = []string{value}
		p, err := api.IfMatch(r, false)
		m := entityTag.FindStringSubmatch(strings.TrimSpace(value))
		if err != nil {
			var e *hux.Error
			if !errors.As(err, &e) || e.Code != hux.BadPrecondition {
				t.Errorf("%q: %v, want bad_precondition", value, err)
			}
			if m != nil && len(m[2]) < 10 {
				t.Errorf("%q is refused", value)
			}
			return
		}
		if m == nil {
			t.Fatalf("%q is taken", value)
		}
		revision, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		same := p.Check(m[1], revision) == nil
		if same != (m[2] == strconv.Itoa(revision)) || p.Check(m[1], revision+1) == nil || p.Check(m[1]+"0", revision) == nil {
			t.Errorf("%q does not stand for %s at %d alone", value, m[1], revision)
		}
	})
}
