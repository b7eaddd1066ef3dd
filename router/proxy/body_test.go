package proxy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"bstein.dev/hux/router/proxy"
)

func TestBodyRule(t *testing.T) {
	up := newRecorder(t, true)
	r := newRouter(t, up.URL(), nil, nil)
	c := r.client(false)
	for body, ok := range map[string]bool{
		`{"choice":"once"}`:                          true,
		`{"choice":"deny","yolo":false,"more":[1]}`:  true,
		`{"choice":"session","yolo":null}`:           true,
		` {"x":{"choice":"always"},"choice":"once"}`: true,
		`{"choice":"always"}`:                        false,
		`{"choice":"once","choice":"always"}`:        false,
		`{"choice":"always","choice":"once"}`:        false,
		`{"choice":"once","yolo":true}`:              false,
		`{"choice":"once","yolo":true,"yolo":false}`: false,
		`{"choice":"once","yolo":1}`:                 false,
		`{"choice":"once","yolo":"true"}`:            false,
		`{"choice":"once","yolo":{}}`:                false,
		`{"choice":"once","y\u006flo":true}`:         false,
		`{"choice":"once","YOLO":true}`:              false,
		`{"choice":["once"]}`:                        false,
		`{"yolo":false}`:                             false,
		`{"choice":"once"} {"choice":"always"}`:      false,
		`{"choice":"once"`:                           false,
		`[{"choice":"once"}]`:                        false,
		`choice=once`:                                false,
		``:                                           false,
		"\ufeff{\"choice\":\"once\"}":                false,
		"{\"choice\":\"once\",\"a\xff\":1}":          false,
		"{\"choice\":\"once\",\"a\":NaN}":            false,
	} {
		resp, _ := do(t, c, "POST", r.URL+"/respond", strings.NewReader(body))
		got := up.taken()
		if ok && (resp.StatusCode != http.StatusOK || len(got) != 1 || got[0].body != body) {
			t.Errorf("%s: %s, %+v", body, resp.Status, got)
		}
		if !ok && (resp.StatusCode != http.StatusForbidden || len(got) != 0) {
			t.Errorf("%s: %s, %d requests", body, resp.Status, len(got))
		}
	}
	resp, _ := do(t, c, "POST", r.URL+"/respond", strings.NewReader(`{"choice":"once"}`), "Content-Encoding: gzip")
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("an encoded body: %s", resp.Status)
	}
}

func TestClientsBrokenBody(t *testing.T) {
	up := upstream(t, func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) })
	p, err := proxy.New(proxy.Options{Rules: rules(t, testRules), PublicURL: mustURL(origin)})
	if err != nil {
		t.Fatal(err)
	}
	target := proxy.Target{Tenant: tenantA, Slot: "a", Upstream: mustURL(up), User: alice}
	for range 10 { // more than open a breaker
		for _, length := range []int64{1000, -1} {
			r := httptest.NewRequest("POST", "/p", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(os.ErrDeadlineExceeded)))
			r.ContentLength = length
			w := newDiscard()
			p.Serve(w, r, target)
			if w.Code != http.StatusBadRequest || code(t, w.Body.String()) != "bad_request" {
				t.Fatalf("length %d: %d %s", length, w.Code, w.Body)
			}
		}
	}
}
