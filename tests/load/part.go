package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
)

// parts are what the driver starts of itself as processes of their own: the
// upstream, and the bare proxy before it.
var parts = map[string]func(l net.Listener, upstream string) error{
	"upstream": func(l net.Listener, _ string) error { return newUpstream().Serve(l) },
	"bare":     func(l net.Listener, upstream string) error { return http.Serve(l, newBare(upstream)) }, //nolint:gosec // on loopback
}

func servePart(name, listen, upstream string) {
	check(parts[name](must(net.Listen("tcp", listen)), upstream))
}

// newBare is the yardstick: the standard library's proxy with all that makes
// it fast and nothing that makes it useful.
func newBare(upstream string) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: upstream})
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			MaxIdleConnsPerHost: 4096,
			IdleConnTimeout:     90 * time.Second,
			DisableCompression:  true,
		},
		BufferPool: &buffers{sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}},
		ErrorLog:   log.New(io.Discard, "", 0),
	}
}

type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte  { return *b.pool.Get().(*[]byte) }
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// The paths that the upstream has beside those of the WebUI's self-check. All
// are on the allow-list of the router; only the first page gets the bridge.
const (
	jsonPath      = "/api/sessions"
	pagePath      = "/"
	plainPagePath = "/static/page.html"
	streamPath    = "/api/sessions/events"
)

// The sizes of what is measured, in bytes.
const (
	jsonSize = 1 << 10
	pageSize = 30 << 10
)

// newUpstream answers from memory.
func newUpstream() *fasthttp.Server {
	const json, html = "application/json", "text/html; charset=utf-8"
	body, page := jsonBody(), pageBody()
	return &fasthttp.Server{NoDefaultServerHeader: true, ReadBufferSize: 16 << 10, Handler: func(c *fasthttp.RequestCtx) {
		answer := func(kind string, body []byte) {
			c.SetContentType(kind)
			c.Response.Header.Set("Cache-Control", "no-store")
			c.Response.SetBodyRaw(body)
		}
		switch string(c.Path()) {
		case jsonPath:
			answer(json, body)
		case pagePath, plainPagePath:
			answer(html, page)
		case "/health":
			answer(json, []byte(`{"status":"ok"}`))
		case streamPath: // one event, then silence until the reader leaves
			c.HijackSetNoResponse(true)
			c.Hijack(func(conn net.Conn) {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\nc\r\ndata: open\n\n\r\n")
				_, _ = conn.Read(make([]byte, 1))
			})
		default:
			c.NotFound()
		}
	}}
}

func jsonBody() []byte {
	const start, end = `{"sessions":["`, `"]}`
	return []byte(start + strings.Repeat("a", jsonSize-len(start)-len(end)) + end)
}

// pageBody is a page with a head of a usual size; the rest is in its body.
func pageBody() []byte {
	const end = "</body>\n</html>\n"
	b := []byte("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Load</title>\n")
	for i := range 12 {
		b = fmt.Appendf(b, "<link rel=\"stylesheet\" href=\"/static/part-%d.css\">\n<script src=\"/static/part-%d.js\" defer></script>\n", i, i)
	}
	b = append(b, "</head>\n<body>\n"...)
	for i := 0; len(b) < pageSize-len(end)-80; i++ {
		b = fmt.Appendf(b, "<p class=\"message\" id=\"m%d\">One line of the page, with <b>some</b> text.</p>\n", i)
	}
	return fmt.Appendf(b, "%*s", pageSize-len(b), end)
}
