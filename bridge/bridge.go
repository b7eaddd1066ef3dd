// Package bridge holds what a browser gets from us: what is put into the pages
// of the WebUI, which is a script and a stylesheet (inject/), and our own pages
// with their assets (pages/). The files are ES modules, style sheets and
// html/template templates, embedded and served as written.
package bridge

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"strings"

	"bstein.dev/hux/hux/api"
)

//go:embed inject pages
var files embed.FS

// Prefix is where Handler expects to be mounted, on every site.
const Prefix = "/hux/bridge/"

// Version names the embedded files by a short hash of their content. It is
// part of every URL of an asset, so an asset may be cached for ever.
var Version = version(files)

func version(files fs.FS) string {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, name)
		fmt.Fprintf(sum, "%s\x00%d\x00", name, len(content))
		sum.Write(content)
		return err
	})
	if err != nil {
		panic(err) // the files are part of the binary
	}
	return hex.EncodeToString(sum.Sum(nil))[:12]
}

// contentTypes are the kinds of file that Handler serves. Templates are not
// among them.
var contentTypes = map[string]string{
	".js":  "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// Handler serves the assets, GET and HEAD of /hux/bridge/{version}/{file}.
// They are public and never change: another version's URL is 404, so that no
// cache ever keeps one version's bytes under another's name.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, Prefix), "/")
		contentType := contentTypes[path.Ext(name)]
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		if version != Version || contentType == "" || !fs.ValidPath(name) {
			h.Set("Cache-Control", "no-store")
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		if _, err := fs.Stat(files, name); err != nil {
			h.Set("Cache-Control", "no-store")
			http.Error(w, "not found", http.StatusNotFound)
			return
		}
		h.Set("Content-Type", contentType)
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("ETag", `"`+Version+`"`)
		http.ServeFileFS(w, r, files, name)
	})
}

var head = template.Must(template.New("head").Parse(
	`<link rel="stylesheet" href="{{.Assets}}/hux.css">` +
		`<script type="module" src="{{.Assets}}/hux.js" data-hux-console="{{.Console}}" data-hux-version="{{.Version}}"></script>`))

// Head is the HTML to put into the head of the WebUI's pages: the stylesheet
// and the script, both from the page's own origin. The script frames pages of
// console, the origin of the console or, with one origin, of the WebUI.
func Head(console *url.URL) string {
	var b strings.Builder
	err := head.Execute(&b, map[string]string{
		"Assets":  Prefix + Version + "/inject",
		"Console": api.Origin(console),
		"Version": Version,
	})
	if err != nil {
		panic(err) // the template is constant and its data are strings
	}
	return b.String()
}
