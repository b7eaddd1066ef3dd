package record_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/schema"
)

var visible = regexp.MustCompile(`^[!-~]{1,255}$`)

// An Idempotency-Key is malformed, or it is the same key bare and in quotes and
// no other; another actor's is another.
func FuzzIdempotencyKey(f *testing.F) {
	for _, seed := range []string{"k", `"k"`, `""`, "", `"`, "a b", " k ", strings.Repeat("k", 255), strings.Repeat("k", 256), "schlüssel", "\x00", `"k`, `"""`} {
		f.Add(seed, `{}`)
	}
	keys := record.NewKeys([]byte(strings.Repeat("k", 32)))
	of := func(actor, value, text string) (record.Key, error) {
		r := httptest.NewRequest("POST", "/conversations", nil)
		r.Header["Idempotency-Key"] = []string{value}
		call := &api.Call{Actor: hux.Actor{Kind: hux.KindHuman, ID: actor}, Body: &schema.Request{Text: []byte(text)}}
		err := api.Route{Method: r.Method, Handler: func(http.ResponseWriter, *http.Request, *api.Call) error { return nil }}.Serve(nil, nil, r, call)
		return keys.Of(r, call), err
	}
	f.Fuzz(func(t *testing.T, value, text string) {
		key, err := of("a", value, text)
		if err != nil {
			var e *hux.Error
			if !errors.As(err, &e) || e.Code != hux.BadRequest {
				t.Errorf("%q: %v, want bad_request", value, err)
			}
			if visible.MatchString(value) && value != `""` {
				t.Errorf("%q is refused", value)
			}
			return
		}
		if key == (record.Key{}) {
			t.Errorf("%q is no key", value)
		}
		if again, err := of("a", value, text); err != nil || again != key {
			t.Errorf("%q is another key the second time, %v", value, err)
		}
		if bare := strings.TrimSpace(value); visible.MatchString(bare) && !strings.HasPrefix(bare, `"`) {
			if quoted, err := of("a", `"`+bare+`"`, text); err != nil || quoted != key {
				t.Errorf("%q is another key in quotes, %v", value, err)
			}
		}
		if other, err := of("b", value, text); err != nil || other == key {
			t.Errorf("%q is one key of two actors, %v", value, err)
		}
		if other, err := of("a", value, text+" "); err != nil || other == key {
			t.Errorf("%q has one fingerprint for two bodies, %v", value, err)
		}
	})
}
