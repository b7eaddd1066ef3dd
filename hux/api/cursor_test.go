package api_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

const tenant = hux.Tenant("ten_0123456789abcdef0123456789abcdef")

// A cursor gives the key that it was made from, to the list that it was made
// for alone; whatever else somebody sends is invalid_cursor.
func FuzzCursor(f *testing.F) {
	cursors := api.NewCursors([]byte(strings.Repeat("k", 32)))
	read := func(t hux.Tenant, path, cursor, state string) (api.List, error) {
		q := url.Values{"cursor": {cursor}, "state": {state}}
		return cursors.List(httptest.NewRequest("GET", path+"?"+q.Encode(), nil), t, "state", "tag")
	}
	first, err := cursors.List(httptest.NewRequest("GET", "/a?state=x", nil), tenant, "state", "tag")
	if err != nil {
		f.Fatal(err)
	}
	good := first.Next("cnv_0123456789abcdef0123456789abcdef")
	for _, seed := range []string{good, "", "x", good + "A", good[1:], "AAAA", strings.Repeat("A", 600)} {
		f.Add(seed, "cnv_1")
	}
	f.Fuzz(func(t *testing.T, cursor, key string) {
		l, err := read(tenant, "/a", cursor, "x")
		if err == nil && (cursor != good || l.After != "cnv_0123456789abcdef0123456789abcdef") {
			t.Errorf("%q is taken, as %q", cursor, l.After)
		}
		if e, ok := err.(*hux.Error); err != nil && (!ok || e.Code != hux.InvalidCursor || strings.Contains(e.Detail, cursor) && len(cursor) > 8) { //nolint:errorlint // made there
			t.Errorf("%q is refused with %v", cursor, err)
		}
		if len(key) > 200 {
			return
		}
		own := first.Next(key)
		if l, err := read(tenant, "/a", own, "x"); err != nil || l.After != key {
			t.Errorf("the cursor of %q gives %q, %v", key, l.After, err)
		}
		for _, other := range []struct {
			tenant      hux.Tenant
			path, state string
		}{{"ten_ffffffffffffffffffffffffffffffff", "/a", "x"}, {tenant, "/b", "x"}, {tenant, "/a", "y"}} {
			if _, err := read(other.tenant, other.path, own, other.state); err == nil {
				t.Errorf("a cursor of another list is taken: %+v", other)
			}
		}
	})
}

func TestLimit(t *testing.T) {
	for in, want := range map[string]int{"1": 1, "50": 50, "200": 200, "201": 200, "9999999999999999999999": 200, "0": 0, "-1": 0, "-9999999999999999999999": 0, "": 0, "x": 0, "1.5": 0, "1e2": 0, "0x1": 0} {
		got, err := api.ParseLimit(in)
		if got != want || (err != nil) != (want == 0) {
			t.Errorf("limit %q is %d, %v", in, got, err)
		}
	}
}
