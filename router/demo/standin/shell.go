package standin

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

// Version is the stand-in's version, where the real WebUI has its own.
const Version = "stand-in-1"

// gzipFrom is the size from which an answer is worth compressing.
const gzipFrom = 1 << 10

// permissive is the policy that the real WebUI's page has in what matters to
// a router: inline and same-origin scripts run, frames are its own, and nobody
// may frame it.
const permissive = "default-src 'self'; script-src 'self' 'unsafe-inline' blob:; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' http://127.0.0.1:* http://localhost:*; " +
	"worker-src 'self' blob:; manifest-src 'self'; frame-src 'self'; frame-ancestors 'none'; form-action 'self'; " +
	"base-uri 'self'; object-src 'none'"

// reportOnly is the stricter policy that is only reported on.
const reportOnly = "default-src 'self'; script-src 'self'; report-uri /api/csp-report"

//go:embed page
var webuiFiles embed.FS

// asset is an embedded file, ready to be sent.
type asset struct {
	body, gzipped []byte
	etag, kind    string
}

// What is made of the files is made when a stand-in first needs it: the router
// itself does not.
var (
	assets        = sync.OnceValue(loadAssets)
	bundle        = sync.OnceValue(bundleVersion)
	shellTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.ParseFS(webuiFiles, "page/index.html")) })
)

func loadAssets() map[string]asset {
	entries, err := webuiFiles.ReadDir("page")
	if err != nil {
		panic(err) // the files are compiled in
	}
	all := map[string]asset{}
	for _, e := range entries {
		body, err := webuiFiles.ReadFile("page/" + e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(body)
		a := asset{
			body: body,
			etag: `W/"` + strconv.FormatInt(int64(len(body)), 16) + "-" + hex.EncodeToString(sum[:6]) + `"`,
			kind: mime.TypeByExtension(path.Ext(e.Name())),
		}
		if path.Ext(e.Name()) == ".webmanifest" {
			a.kind = "application/manifest+json"
		}
		if len(body) > gzipFrom {
			a.gzipped = compress(body)
		}
		all[e.Name()] = a
	}
	return all
}

// bundleVersion changes whenever one of the files does.
func bundleVersion() string {
	h := sha256.New()
	for _, name := range []string{"style.css", "ui.js", "sessions.js", "chat.js", "boot.js", "sw.js"} {
		h.Write([]byte(assets()[name].etag))
	}
	return Version + "-" + hex.EncodeToString(h.Sum(nil)[:4])
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, 4) // a valid level
	_, _ = z.Write(body)
	_ = z.Close()
	return b.Bytes()
}

// serveShell sends the page. It carries the browser session's CSRF token, so
// nobody may keep it; it is never compressed.
func (u *WebUI) serveShell(w http.ResponseWriter, r *http.Request) {
	var page bytes.Buffer
	err := shellTemplate().Execute(&page, map[string]any{
		"Title": u.options.Title, "Bundle": bundle(), "CSRF": u.csrfToken(visitorOf(r).cookie), "MaxUpload": maxUpload, "Scenes": script(),
	})
	if err != nil {
		slog.Error("demo: the page does not render", "cause", err)
		u.fail(w, r, http.StatusInternalServerError, "internal error")
		return
	}
	secure(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(w, http.StatusOK, page.Bytes())
}

func (u *WebUI) serveLogin(w http.ResponseWriter, _ *http.Request) {
	secure(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	send(w, http.StatusOK, []byte("<!doctype html><html lang=\"en\"><title>Sign in</title><p>Nobody signs in here: "+
		"the router in front of this stand-in says who asks.</p></html>\n"))
}

// secure sets the headers of pages and JSON answers.
func secure(h http.Header) {
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Permissions-Policy", "microphone=(self), clipboard-write=(self)")
	h.Set("Content-Security-Policy", permissive)
	h.Set("Content-Security-Policy-Report-Only", reportOnly)
}

func send(w http.ResponseWriter, status int, body []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left is no error of ours
}

// serveStatic sends an embedded file.
func (u *WebUI) serveStatic(w http.ResponseWriter, r *http.Request, name string) {
	a, ok := assets()[name]
	if !ok || name == "index.html" {
		u.fail(w, r, http.StatusNotFound, "not found")
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy-Report-Only", reportOnly)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("ETag", a.etag)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "max-age=300")
	if r.URL.Query().Has("v") {
		h.Set("Cache-Control", "max-age=31536000, immutable")
	}
	if strings.Contains(r.Header.Get("If-None-Match"), a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", a.kind)
	body := a.body
	if a.gzipped != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = a.gzipped
	}
	send(w, http.StatusOK, body)
}

func acceptsGzip(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

func (u *WebUI) serveWorker(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/javascript; charset=utf-8")
	h.Set("Service-Worker-Allowed", "/")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy-Report-Only", reportOnly)
	send(w, http.StatusOK, bytes.ReplaceAll(assets()["sw.js"].body, []byte("{{version}}"), []byte(bundle())))
}

func (u *WebUI) serveManifest(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/manifest+json")
	w.Header().Set("Cache-Control", "no-cache")
	send(w, http.StatusOK, assets()["app.webmanifest"].body)
}

func (u *WebUI) serveIcon(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "max-age=300")
	send(w, http.StatusOK, assets()["icon.svg"].body)
}

func (u *WebUI) serveHealth(w http.ResponseWriter, r *http.Request) {
	u.mu.Lock()
	active := 0
	for _, run := range u.runs.NewestFirst() {
		if !run.done {
			active++
		}
	}
	sessions := u.conversations.Len()
	u.mu.Unlock()
	u.json(w, r, http.StatusOK, map[string]any{
		"status": "ok", "version": Version, "sessions": sessions, "active_streams": active, "stand_in": true,
	})
}

// json answers with v, compressed if that is worth it and wanted.
func (u *WebUI) json(w http.ResponseWriter, r *http.Request, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		slog.Error("demo: an answer does not encode", "cause", err)
		status, body = http.StatusInternalServerError, []byte(`{"error": "internal error"}`)
	}
	secure(w.Header())
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if len(body) > gzipFrom && acceptsGzip(r) {
		w.Header().Set("Content-Encoding", "gzip")
		body = compress(body)
	}
	send(w, status, body)
}

func (u *WebUI) fail(w http.ResponseWriter, r *http.Request, status int, message string) {
	u.json(w, r, status, map[string]any{"error": message})
}
