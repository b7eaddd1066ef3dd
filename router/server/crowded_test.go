package server

import (
	"errors"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/router/config"
)

func TestCrowdedRequestsAreFreedOfTheirCookies(t *testing.T) {
	s := &Server{config: &config.Config{
		PublicURL:  &url.URL{Scheme: "https", Host: "chat.example.org"},
		ConsoleURL: &url.URL{Scheme: "https", Host: "hux.example.org"},
	}}
	r := httptest.NewRequest("GET", "/hux/auth/accept", nil)
	r.Header.Set("Cookie", "__Host-hux_chat=keep; hux_last=keep; bomb="+strings.Repeat("x", 40<<10)+"; second=1; __Host-hux_bomb=1; ba d=1; =none")
	if !crowded(r) {
		t.Fatal("40 KiB of cookies are not too many")
	}
	w := httptest.NewRecorder()
	var e *hux.Error
	if err := s.uncrowd(w, r); !errors.As(err, &e) || e.Code.Status() != 431 {
		t.Errorf("answered with %v", err)
	}
	set := strings.Join(w.Header()["Set-Cookie"], "\n")
	for _, want := range []string{"bomb=; Max-Age=0; Path=/\n", "bomb=; Max-Age=0; Path=/; Domain=example.org", "bomb=; Max-Age=0; Path=/hux/auth/accept; Domain=example.org", "second=;", "__Host-hux_bomb=; Max-Age=0; Path=/; Secure"} {
		if !strings.Contains(set+"\n", want) {
			t.Errorf("no %q in\n%s", want, set)
		}
	}
	if strings.Contains(set, "keep") || strings.Contains(set, "hux_chat") || strings.Contains(set, "ba d") {
		t.Errorf("too much is removed:\n%s", set)
	}
	r.Header.Set("Cookie", "__Host-hux_chat=keep; other=1")
	if crowded(r) {
		t.Error("two cookies are too many")
	}
}

func TestSharedDomain(t *testing.T) {
	for hosts, want := range map[[2]string]string{
		{"chat.example.org", "hux.example.org"}:                   "example.org",
		{"example.org", "hux.example.org"}:                        "example.org",
		{"chat.a.example.org", "a.example.org"}:                   "a.example.org",
		{"chat.hux.localhost:8080", "console.hux.localhost:8080"}: "hux.localhost",
	} {
		s := &Server{config: &config.Config{PublicURL: &url.URL{Host: hosts[0]}, ConsoleURL: &url.URL{Host: hosts[1]}}}
		if got := s.sharedDomain(); got != want {
			t.Errorf("%v share %q, want %q", hosts, got, want)
		}
	}
}
