package proxy

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// NonceMarker stands in Options.Head where a nonce attribute goes, right
// behind another attribute: <script src="/x.js"{nonce} defer></script>. It is
// taken out, or becomes ` nonce="…"` where the page's policy asks for one.
const NonceMarker = "{nonce}"

// A page's beginning is read into memory before its first byte goes out: at
// first as much as most heads need, then up to a limit.
const (
	firstRead = 40 << 10
	maxRead   = 256 << 10
)

var (
	firstBuffers = sync.Pool{New: func() any { b := make([]byte, firstRead); return &b }}
	largeBuffers = sync.Pool{New: func() any { b := make([]byte, maxRead); return &b }}
)

// askWhole makes a request for a page one that is answered with a whole page
// without encoding, since the one that the browser has is not the upstream's.
func askWhole(h http.Header) {
	h["Accept-Encoding"] = identityOnly
	for _, name := range [...]string{"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		delete(h, name)
	}
}

var identityOnly = []string{"identity"}

// maxDecoders is how many pages are decoded at once. A decoder keeps a window
// of up to 16 MiB as long as the client takes to read its page. Upstreams are
// asked not to encode pages, so that those that do it all the same wait on
// nobody: without a free decoder their pages stay as they are.
const maxDecoders = 8

// decoders counts those that are free, by its room.
type decoders chan struct{}

// take reports whether there was a free one, which is then to be given back.
func (d decoders) take() bool {
	select {
	case d <- struct{}{}:
		return true
	default:
		return false
	}
}

func (d decoders) give() { <-d }

// inject puts the snippet into an answer if it is a page.
func (x *exchange) inject(resp *http.Response) error {
	h := resp.Header
	if resp.StatusCode != http.StatusOK || len(h["Content-Disposition"]) > 0 {
		return nil
	}
	charset, ok := htmlCharset(h.Get("Content-Type"))
	if !ok {
		return nil
	}
	body, encoded, ok := decoded(resp)
	if !ok {
		return nil
	}
	head := x.in.Method == http.MethodHead
	decodes := encoded && !head
	if decodes && !x.proxy.decoders.take() {
		return nil // it passes as it came
	}
	for _, name := range [...]string{"Etag", "Last-Modified", "Accept-Ranges", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Expires"} {
		delete(h, name)
	}
	h["Cache-Control"] = noStore
	nonce := x.proxy.policies.apply(h, x.proxy.consoleOrigin)
	if head {
		delete(h, "Content-Length")
		delete(h, "Content-Encoding")
		resp.ContentLength = -1
		return nil
	}
	p := &page{body: body, closer: resp.Body}
	if decodes {
		p.decoders = x.proxy.decoders
	}
	resp.Body = p
	length := resp.ContentLength
	if encoded {
		delete(h, "Content-Encoding")
		length = -1
	}
	if err := p.build(x.proxy, charset, nonce); err != nil {
		return err
	}
	if p.ended {
		length = p.left()
	} else if length >= 0 {
		length += int64(p.grown)
	}
	resp.ContentLength = length
	if length < 0 {
		delete(h, "Content-Length")
	} else {
		h["Content-Length"] = []string{strconv.FormatInt(length, 10)}
	}
	return nil
}

var noStore = []string{"no-store"}

// htmlCharset gives the charset of a Content-Type that is HTML's.
func htmlCharset(contentType string) (charset string, ok bool) {
	mediaType, params, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(mediaType), "text/html") {
		return "", false
	}
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			return strings.Trim(value, " \t\"'"), true
		}
	}
	return "", true
}

// decoded gives the body of an answer without its Content-Encoding; ok is
// false for one that is not known.
func decoded(resp *http.Response) (body io.Reader, encoded, ok bool) {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(resp.Header["Content-Encoding"], ",")))
	if encoding == "" || encoding == "identity" {
		return resp.Body, encoding != "", true
	}
	var open func(io.Reader) (io.Reader, error)
	switch encoding {
	case "gzip", "x-gzip":
		open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		open = inflate
	case "br":
		open = func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }
	case "zstd":
		open = func(r io.Reader) (io.Reader, error) {
			// One goroutine-free decoder with the window that RFC 9659 allows.
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(8<<20))
		}
	default:
		return nil, false, false
	}
	return &lateReader{from: resp.Body, open: open}, true, true
}

// inflate reads what goes by the name of deflate: zlib, or flate alone.
func inflate(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	if start, err := b.Peek(2); err == nil && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0 {
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil
}

// lateReader opens its decoder at the first read, so that a HEAD opens none.
type lateReader struct {
	from io.Reader
	open func(io.Reader) (io.Reader, error)
	to   io.Reader
}

func (l *lateReader) Read(b []byte) (int, error) {
	if l.to == nil {
		to, err := l.open(l.from)
		if err != nil {
			return 0, err
		}
		l.to = to
	}
	return l.to.Read(b)
}

// page is the body of an answer with the snippet in it: the beginning from
// memory, the rest as it comes.
type page struct {
	body   io.Reader
	closer io.Closer
	pool   *sync.Pool
	buffer *[]byte
	parts  [][]byte
	grown  int  // bytes more than the original
	ended  bool // parts are all of the page

	decoders decoders // where one is to be given back; nil without
}

// build reads the beginning of the page, and more of it where that does not
// say enough, and cuts it into parts.
func (p *page) build(proxy *Proxy, charset, nonce string) error {
	p.pool, p.buffer = &firstBuffers, firstBuffers.Get().(*[]byte)
	n, err := p.fill(0)
	if err != nil {
		return err
	}
	raw, metas := (*p.buffer)[:n], proxy.consoleOrigin != ""
	view, ok := viewOf(raw, charset)
	found := scanPage(view.text, p.ended, metas)
	if ok && !found.done && !p.ended {
		if raw, err = p.more(n); err != nil {
			return err
		}
		view, ok = viewOf(raw, charset)
		found = scanPage(view.text, p.ended, metas)
	}
	if !ok {
		p.parts = append(p.parts, raw)
		return nil
	}
	p.cut(raw, view, found, proxy, nonce)
	return nil
}

// cut makes the parts: raw with the snippet and the changed policies in it.
func (p *page) cut(raw []byte, view pageView, found scan, proxy *Proxy, nonce string) {
	for _, m := range found.policies {
		if nonce == "" {
			nonce = policyNonce([]string{m.text})
		}
	}
	snippet := view.encode(proxy.snippet(nonce))
	at := view.raw(found.insert)
	p.parts = append(p.parts, raw[:at], snippet)
	p.grown = len(snippet)
	for _, m := range found.policies {
		text := framing(m.text, proxy.consoleOrigin)
		if text == m.text {
			continue
		}
		changed := view.encode(attribute(text))
		start, end := view.raw(m.start), view.raw(m.end)
		p.parts = append(p.parts, raw[at:start], changed)
		p.grown += len(changed) - (end - start)
		at = end
	}
	p.parts = append(p.parts, raw[at:])
}

// fill reads until the buffer is full or the body ends.
func (p *page) fill(n int) (int, error) {
	for n < len(*p.buffer) {
		m, err := p.body.Read((*p.buffer)[n:])
		n += m
		if errors.Is(err, io.EOF) {
			p.ended = true
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// more goes on reading into a large buffer.
func (p *page) more(n int) ([]byte, error) {
	large := largeBuffers.Get().(*[]byte)
	copy(*large, (*p.buffer)[:n])
	p.pool.Put(p.buffer)
	p.pool, p.buffer = &largeBuffers, large
	n, err := p.fill(n)
	return (*large)[:n], err
}

func (p *page) left() int64 {
	n := 0
	for _, part := range p.parts {
		n += len(part)
	}
	return int64(n)
}

func (p *page) Read(b []byte) (int, error) {
	n := 0
	for len(p.parts) > 0 && n < len(b) {
		m := copy(b[n:], p.parts[0])
		n += m
		if p.parts[0] = p.parts[0][m:]; len(p.parts[0]) == 0 {
			p.parts = p.parts[1:]
		}
	}
	if n > 0 || len(b) == 0 {
		return n, nil
	}
	if p.ended {
		return 0, io.EOF
	}
	return p.body.Read(b)
}

func (p *page) Close() error {
	if p.buffer != nil {
		p.parts = nil
		p.pool.Put(p.buffer)
		p.buffer = nil
		if l, ok := p.body.(*lateReader); ok {
			if z, ok := l.to.(*zstd.Decoder); ok {
				z.Close()
			}
		}
	}
	if p.decoders != nil {
		p.decoders.give()
		p.decoders = nil
	}
	p.ended = true
	return p.closer.Close()
}
