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
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ScriptNonce and StyleNonce stand in Options.Head where a nonce attribute
// goes, right behind another attribute: <script src="/x.js"{script-nonce}
// defer></script>. Each is taken out, or becomes ` nonce="…"` where the page's
// policy asks for one.
const (
	ScriptNonce = "{script-nonce}"
	StyleNonce  = "{style-nonce}"
)

// A page's beginning is read into memory before its first byte goes out, until
// its head is whole: at first as much as most heads need, then up to a limit.
const (
	firstRead = 40 << 10
	maxRead   = 256 << 10
	maxScans  = 100 // of a beginning that comes in pieces; then it is looked at each time it has doubled
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
	p := &page{body: body, closer: resp.Body, begun: make(chan struct{})}
	if decodes {
		p.decoders = x.proxy.decoders
	}
	resp.Body = p
	go p.begin(x.proxy, charset, nonce)
	length := int64(-1)
	select {
	case <-p.begun:
		switch {
		case p.err != nil:
			return p.err
		case p.ended:
			length = p.left()
		case resp.ContentLength >= 0 && !encoded:
			length = resp.ContentLength + int64(p.grown)
		}
	case <-time.After(flushAfter): // the answer's head goes out before
	}
	if encoded {
		delete(h, "Content-Encoding")
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
		open = gunzip
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

// gunzip reads one member after the other (RFC 1952, 2.2). What follows the
// last and is none is left out, as browsers do.
func gunzip(r io.Reader) (io.Reader, error) {
	m := &members{from: bufio.NewReader(r)}
	var err error
	if m.to, err = gzip.NewReader(m.from); err == nil {
		m.to.Multistream(false)
	}
	return m, err
}

type members struct {
	from *bufio.Reader
	to   *gzip.Reader
}

func (m *members) Read(b []byte) (int, error) {
	for {
		n, err := m.to.Read(b)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		if start, err := m.from.Peek(2); err != nil || start[0] != 0x1f || start[1] != 0x8b || m.to.Reset(m.from) != nil {
			return 0, io.EOF
		}
		m.to.Multistream(false)
	}
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

	begun  chan struct{} // closed when all below is known
	err    error         // why there is no beginning
	pool   *sync.Pool
	buffer *[]byte
	parts  [][]byte
	grown  int  // bytes more than the original
	ended  bool // parts are all of the page

	decoders decoders // where one is to be given back; nil without
}

// begin reads the beginning of the page, piece by piece as it comes, until it
// says enough, and cuts it into parts.
func (p *page) begin(proxy *Proxy, charset string, nonce nonces) {
	defer close(p.begun)
	p.pool, p.buffer = &firstBuffers, firstBuffers.Get().(*[]byte)
	metas := proxy.consoleOrigin != ""
	n, scans, scanned := 0, 0, 0
	for {
		m, err := p.body.Read((*p.buffer)[n:])
		n += m
		p.ended = errors.Is(err, io.EOF)
		if err != nil && !p.ended {
			p.err = err
			return
		}
		full := n == len(*p.buffer)
		if !p.ended && !full && (m == 0 || scans >= maxScans && n < 2*scanned) {
			continue
		}
		scans, scanned = scans+1, n
		raw := (*p.buffer)[:n]
		view, ok := viewOf(raw, charset)
		if !ok {
			p.parts = append(p.parts, raw)
			return
		}
		found := scanPage(view.text, p.ended, metas)
		if found.done || p.ended || n == maxRead {
			p.cut(raw, view, found, proxy, nonce)
			return
		}
		if full {
			p.enlarge()
		}
	}
}

// cut makes the parts: raw with the snippet and the changed policies in it.
func (p *page) cut(raw []byte, view pageView, found scan, proxy *Proxy, nonce nonces) {
	for _, m := range found.policies {
		nonce = nonce.or(policyNonces([]string{m.text}))
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

// enlarge goes on in a large buffer.
func (p *page) enlarge() {
	large := largeBuffers.Get().(*[]byte)
	copy(*large, *p.buffer)
	p.pool.Put(p.buffer)
	p.pool, p.buffer = &largeBuffers, large
}

func (p *page) left() int64 {
	n := 0
	for _, part := range p.parts {
		n += len(part)
	}
	return int64(n)
}

func (p *page) Read(b []byte) (int, error) {
	<-p.begun // what does not come ends with the request's context
	if p.err != nil {
		return 0, p.err
	}
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
	err := p.closer.Close() // ends a read that is under way
	<-p.begun
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
	return err
}
