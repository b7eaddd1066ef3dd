package blackbox_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// healthPath is where the router under test asks whether an upstream is up.
const healthPath = "/is-it-up"

// upstream is a server that has the real WebUI's manners with bytes: it keeps
// connections alive and never reads a body that it does not want, so that what
// is left of one is parsed as the next request. It writes down all it reads.
type upstream struct {
	listener net.Listener
	url      *url.URL

	mu      sync.Mutex
	handler func(*exchange)
	log     []*seen
	conns   map[*upstreamConn]bool
	made    int
}

// seen is a request as the upstream parsed it.
type seen struct {
	conn           int // which connection, from 1
	method, target string
	header         [][2]string // as they came
	body           []byte      // what a handler read
	raw            string      // the head, byte for byte
}

// values are the values of a header, by a CGI-like reader's view of its name:
// letters and digits alone, in any case.
func (s *seen) values(name string) []string {
	var values []string
	for _, h := range s.header {
		if fold(h[0]) == fold(name) {
			values = append(values, h[1])
		}
	}
	return values
}

func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		}
		return -1
	}, name)
}

func (s *seen) get(name string) string {
	if v := s.values(name); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (s *seen) path() string {
	p, _, _ := strings.Cut(s.target, "?")
	return p
}

func (s *seen) String() string { return s.method + " " + s.target }

type upstreamConn struct {
	net.Conn
	number int
	raw    bytes.Buffer // every byte read
	mu     sync.Mutex
}

func (c *upstreamConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.mu.Lock()
	c.raw.Write(p[:n])
	c.mu.Unlock()
	return n, err
}

// exchange is one request that a handler answers.
type exchange struct {
	*seen
	up     *upstream
	conn   *upstreamConn
	reader *bufio.Reader
	closed bool // the connection ends after this answer
}

func newUpstream(t testing.TB) *upstream {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := &upstream{listener: l, url: &url.URL{Scheme: "http", Host: l.Addr().String()}, conns: map[*upstreamConn]bool{}}
	u.handle(func(x *exchange) { x.ordinary() })
	go u.accept(l)
	t.Cleanup(u.kill)
	return u
}

// handle makes h answer from now on, but for health and self-checks.
func (u *upstream) handle(h func(*exchange)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.handler = h
}

// kill closes the listener and every connection, as a process that dies does.
func (u *upstream) kill() {
	_ = u.listener.Close()
	u.cut()
}

// cut closes every connection.
func (u *upstream) cut() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for c := range u.conns {
		_ = c.Close()
	}
}

// revive listens again on the same address.
func (u *upstream) revive(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", u.url.Host)
	if err != nil {
		t.Fatal(err)
	}
	u.listener = l
	go u.accept(l)
}

func (u *upstream) accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		u.mu.Lock()
		u.made++
		conn := &upstreamConn{Conn: c, number: u.made}
		u.conns[conn] = true
		u.mu.Unlock()
		go u.serve(conn)
	}
}

func (u *upstream) serve(c *upstreamConn) {
	defer func() {
		if tcp, ok := c.Conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite() // as Python's socketserver ends a request
		}
		_ = c.Close()
		u.mu.Lock()
		delete(u.conns, c)
		u.mu.Unlock()
	}()
	r := bufio.NewReader(c)
	for {
		s, err := readHead(r)
		if err != nil {
			return
		}
		s.conn = c.number
		u.mu.Lock()
		u.log = append(u.log, s)
		h := u.handler
		u.mu.Unlock()
		x := &exchange{seen: s, up: u, conn: c, reader: r, closed: hasToken(s.values("Connection"), "close")}
		if own(s) {
			x.ordinary()
		} else {
			h(x)
		}
		if x.closed {
			return
		}
	}
}

// readHead parses like a server that is not strict: any line is a request.
func readHead(r *bufio.Reader) (*seen, error) {
	s := &seen{}
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	s.raw = line
	s.method, line, _ = strings.Cut(strings.TrimRight(line, "\r\n"), " ")
	s.target, _, _ = strings.Cut(line, " ")
	for {
		line, err := r.ReadString('\n')
		s.raw += line
		if strings.TrimRight(line, "\r\n") == "" {
			return s, nil
		}
		if err != nil {
			return s, nil //nolint:nilerr // what came so far is a request to a server that is not strict
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		s.header = append(s.header, [2]string{name, strings.TrimSpace(value)})
	}
}

func hasToken(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// own tells the router's own checks, and its wish to follow the WebUI's
// sessions, from what it passes on. No client can make a request that looks
// like one: those get X-Forwarded-Host and X-Forwarded-For.
func own(s *seen) bool {
	return s.path() == healthPath || s.target == "/api/sessions/events" && s.get("X-Forwarded-For") == "" || s.get("X-Forwarded-Host") == "" && slices.Contains(
		[]string{"/sw.js", "/static/ui.js", "/static/style.css", "/static/boot.js", "/manifest.json", "/health", "/api/auth/status", "/"}, s.target) &&
		s.method == "GET" && s.get("X-Hux-User") == ""
}

// readBody reads the body as it is framed.
func (x *exchange) readBody() []byte {
	var body io.Reader = http.NoBody
	if n, err := strconv.Atoi(x.get("Content-Length")); err == nil {
		body = io.LimitReader(x.reader, int64(n))
	} else if hasToken(x.values("Transfer-Encoding"), "chunked") {
		body = httputil.NewChunkedReader(x.reader)
	}
	read, _ := io.ReadAll(body)
	x.up.mu.Lock()
	x.body = read
	x.up.mu.Unlock()
	return read
}

// answer writes an answer with a length. Header lines are "Name: value".
func (x *exchange) answer(status int, body string, header ...string) {
	if !slices.ContainsFunc(header, func(h string) bool { return strings.HasPrefix(strings.ToLower(h), "content-type:") }) {
		header = append(header, "Content-Type: application/json")
	}
	x.start(status, append(header, "Content-Length: "+strconv.Itoa(len(body)))...)
	if x.method != http.MethodHead {
		x.write(body)
	}
}

// start writes the head of an answer and leaves the body to write.
func (x *exchange) start(status int, header ...string) {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", status, http.StatusText(status))
	for _, h := range header {
		b.WriteString(h + "\r\n")
	}
	if x.closed {
		b.WriteString("Connection: close\r\n")
	}
	b.WriteString("\r\n")
	x.write(b.String())
}

// stream begins an event stream that ends with the connection.
func (x *exchange) stream() {
	x.closed = true
	x.start(http.StatusOK, "Content-Type: text/event-stream; charset=utf-8", "Cache-Control: no-cache", "X-Accel-Buffering: no")
}

func (x *exchange) write(s string) bool {
	_, err := io.WriteString(x.conn, s)
	return err == nil
}

// gone blocks until the other end has closed the connection.
func (x *exchange) gone() { _, _ = io.Copy(io.Discard, x.reader) }

// ordinary answers like a small WebUI: a page, JSON, and refusals that leave
// the body unread.
func (x *exchange) ordinary() {
	switch {
	case x.path() == "/" || strings.HasPrefix(x.path(), "/session/"):
		x.answer(http.StatusOK, page, "Content-Type: text/html; charset=utf-8", "Cache-Control: no-store")
	case x.path() == "/api/session/clear": // refused, unread
		x.answer(http.StatusForbidden, `{"error":"csrf"}`)
	case x.method == http.MethodPost || x.method == http.MethodDelete:
		x.readBody()
		x.answer(http.StatusOK, `{"ok":true}`)
	default: // a body of a GET is never read
		x.answer(http.StatusOK, `{"path":`+strconv.Quote(x.path())+`}`)
	}
}

const page = `<!doctype html><html><head><title>WebUI</title></head><body><p>Hello</p></body></html>`

// requests are those that the router passed on, in the order of their arrival,
// and whatever else the upstream took for a request.
func (u *upstream) requests() []*seen {
	u.mu.Lock()
	defer u.mu.Unlock()
	var list []*seen
	for _, s := range u.log {
		if !own(s) {
			c := *s
			list = append(list, &c)
		}
	}
	return list
}

// forget empties the log.
func (u *upstream) forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.log = nil
}

// last is the request that came last; the test fails if there is none.
func (u *upstream) last(t testing.TB) *seen {
	t.Helper()
	all := u.requests()
	if len(all) == 0 {
		t.Fatal("no request reached the upstream")
	}
	return all[len(all)-1]
}

// open is how many connections there are now.
func (u *upstream) open() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.conns)
}

// untouched fails the test if anything was passed on.
func (u *upstream) untouched(t testing.TB) {
	t.Helper()
	for _, s := range u.requests() {
		t.Errorf("the upstream saw %s", s)
	}
}
