package standin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// visitor is who a request is from.
type visitor struct {
	identity string // as the router's header says
	cookie   string // the value of the browser session's cookie
}

const sessionCookie = "hermes_session"

type visitorKey struct{}

func visitorOf(r *http.Request) visitor {
	v, _ := r.Context().Value(visitorKey{}).(visitor)
	return v
}

// public are the paths that need no identity.
func public(path string) bool {
	switch path {
	case "/login", "/health", "/favicon.ico", "/sw.js", "/api/auth/status", "/api/csp-report",
		"/manifest.json", "/manifest.webmanifest", "/session/manifest.json", "/session/manifest.webmanifest":
		return true
	}
	return strings.HasPrefix(path, "/static/") || strings.HasPrefix(path, "/session/static/")
}

// admit finds who asks, as the real WebUI does with a trusted header: the
// header must be on every request, the first one makes a session with a
// cookie, and another name or none ends that session. If it answers false it
// has answered the request.
func (u *WebUI) admit(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	identity := r.Header.Get(u.options.Header)
	value := ""
	if c, err := r.Cookie(sessionCookie); err == nil {
		value = c.Value
	}
	id := u.cookieID(value)
	u.mu.Lock()
	known, ok := u.visitors.Get(id)
	if ok && known != identity {
		u.visitors.Remove(id)
		ok = false
	}
	u.mu.Unlock()

	if identity == "" {
		if public(r.URL.Path) {
			return r, true
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			unauthenticated(w)
		} else {
			w.Header().Set("Location", "login?next="+url.QueryEscape(r.URL.Path))
			w.WriteHeader(http.StatusFound)
		}
		return nil, false
	}
	if !ok && !public(r.URL.Path) {
		id = newID(64)
		value = id + "." + u.mac("cookie", id)
		u.mu.Lock()
		u.visitors.Put(id, identity)
		u.mu.Unlock()
		http.SetCookie(w, &http.Cookie{
			Name: sessionCookie, Value: value, Path: "/", MaxAge: 30 * 24 * 3600,
			HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
		})
	}
	r = r.WithContext(context.WithValue(r.Context(), visitorKey{}, visitor{identity: identity, cookie: value}))
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		if problem := u.crossSite(r, value); problem != "" && r.URL.Path != "/api/csp-report" {
			u.fail(w, r, http.StatusForbidden, problem)
			return nil, false
		}
	}
	return r, true
}

func unauthenticated(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	_, _ = w.Write([]byte(`{"error": "Authentication required"}`))
}

// crossSite says why a change is refused, or "". Without Origin and Referer
// it is no browser's and the cookie is enough.
func (u *WebUI) crossSite(r *http.Request, cookie string) string {
	const mismatch = "Cross-origin request refused"
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return mismatch
	}
	from := r.Header.Get("Origin")
	if from == "" {
		from = r.Header.Get("Referer")
	}
	if from == "" {
		return ""
	}
	origin, err := url.Parse(from)
	if err != nil || !sameHost(origin, r.Host) {
		return mismatch
	}
	token := r.Header.Get("X-Hermes-CSRF-Token")
	if token == "" {
		token = r.Header.Get("X-CSRF-Token")
	}
	if !hmac.Equal([]byte(token), []byte(u.csrfToken(cookie))) {
		return "The page is from an earlier session; reload it"
	}
	return ""
}

// sameHost compares an origin with a Host header; a missing port is the one
// of the origin's scheme.
func sameHost(origin *url.URL, host string) bool {
	standard := "80"
	if origin.Scheme == "https" {
		standard = "443"
	}
	withPort := func(hostport string) string {
		if _, _, err := net.SplitHostPort(hostport); err != nil {
			return hostport + ":" + standard
		}
		return hostport
	}
	return origin.Host != "" && strings.EqualFold(withPort(origin.Host), withPort(host))
}

// csrfToken is the token that the page of a browser session carries.
func (u *WebUI) csrfToken(cookie string) string { return u.mac("csrf", cookie) }

// cookieID is the id in a cookie that we signed, or "".
func (u *WebUI) cookieID(cookie string) string {
	id, mac, _ := strings.Cut(cookie, ".")
	if !hmac.Equal([]byte(mac), []byte(u.mac("cookie", id))) {
		return ""
	}
	return id
}

func (u *WebUI) mac(purpose, value string) string {
	h := hmac.New(sha256.New, u.key)
	h.Write([]byte(purpose + "\x00" + value))
	return hex.EncodeToString(h.Sum(nil))
}

func (u *WebUI) serveAuthStatus(w http.ResponseWriter, r *http.Request) {
	identity := r.Header.Get(u.options.Header)
	u.json(w, r, http.StatusOK, map[string]any{
		"auth_enabled": true, "logged_in": identity != "", "user": identity, "bound_profile": nil,
	})
}
