package proxy_test

import (
	"bufio"
	"io"
	"net"
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

func TestBodiesWithoutALengthAreFew(t *testing.T) {
	up := newRecorder(t, true)
	dir := t.TempDir()
	r := newRouter(t, up.URL(), func(o *proxy.Options) { o.TempDir = dir }, nil)
	head := "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	half := strings.Repeat("10000\r\n"+strings.Repeat("x", 0x10000)+"\r\n", 24) // a file is needed
	var conns []net.Conn
	for range 4 {
		c := r.dial(t)
		defer c.Close()
		conns = append(conns, c)
		if _, err := io.WriteString(c, head+half); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "a fifth is refused", func() bool {
		resp, body := r.raw(t, head+"1\r\nx\r\n0\r\n\r\n")
		up.taken()
		return resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "2" && code(t, body) == "slot_busy"
	})
	if resp, _ := do(t, r.client(false), "POST", r.URL+"/p", strings.NewReader("with a length")); resp.StatusCode != http.StatusOK {
		t.Errorf("a body with a length: %s", resp.Status)
	}
	up.taken()
	for _, c := range conns {
		if _, err := io.WriteString(c, "0\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("the first four: %v, %v", resp, err)
		}
	}
	for _, got := range up.taken() {
		if len(got.body) != 24*0x10000 {
			t.Errorf("%d bytes arrive", len(got.body))
		}
	}
	eventually(t, "there is room again", func() bool {
		resp, _ := r.raw(t, head+"1\r\nx\r\n0\r\n\r\n")
		return resp.StatusCode == http.StatusOK
	})
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestTempDirIsMissing(t *testing.T) {
	up := newRecorder(t, true)
	r := newRouter(t, up.URL(), func(o *proxy.Options) { o.TempDir = t.TempDir() + "/none" }, nil)
	resp, body := do(t, r.client(true), "POST", r.URL+"/p", io.MultiReader(strings.NewReader(strings.Repeat("x", 2<<20))))
	if resp.StatusCode != http.StatusInternalServerError || strings.Contains(body, "none") || len(up.taken()) > 0 {
		t.Errorf("%s %s", resp.Status, body)
	}
}
