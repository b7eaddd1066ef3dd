package server

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
)

func TestCrowdedRequestsAreFreedOfTheirCookies(t *testing.T) {
	r := httptest.NewRequest("GET", "/hux/auth/accept", nil)
	r.Header["Cookie"] = []string{"__Host-hux_chat=id; bomb=" + strings.Repeat("x", 20<<10), "second=" + strings.Repeat("x", 20<<10)}
	if !crowded(r) {
		t.Fatal("40 KiB of cookies are not too many")
	}
	w := httptest.NewRecorder()
	var e *hux.Error
	if err := uncrowd(w); !errors.As(err, &e) || e.Code.Status() != 431 || w.Header().Get("Clear-Site-Data") != `"cookies"` {
		t.Errorf("answered with %v and %v", err, w.Header())
	}
	r.Header.Set("Cookie", "__Host-hux_chat=id; other=1")
	if crowded(r) {
		t.Error("two cookies are too many")
	}
}
