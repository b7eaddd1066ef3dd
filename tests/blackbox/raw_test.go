package blackbox_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// raw is a request of which every byte is the test's: names, targets and
// framing that no client library would send.
type raw struct {
	method  string // GET if ""
	target  string // as it stands on the request line, or in :path
	host    string // chat's if ""
	header  []string
	body    string
	trailer []string
	chunked bool // in HTTP/1.1; in HTTP/2: without a length
	pseudo  []string
}

// rawAnswer is what came back. status is 0 where the connection or the stream
// was ended without an answer.
type rawAnswer struct {
	status int
	header http.Header
	body   string
	closed bool // HTTP/1.1: the server ended the connection
}

// send sends a raw request on a connection of its own.
func (h *router) send(t testing.TB, proto string, q raw) rawAnswer {
	t.Helper()
	q = q.whole()
	c := h.dialTLS(t, proto)
	defer c.Close()
	if proto == "h2" {
		return sendH2(t, c, q)
	}
	return sendH1(t, c, q)
}

func (q raw) whole() raw {
	if q.method == "" {
		q.method = http.MethodGet
	}
	if q.host == "" {
		q.host = "chat.hux.test"
	}
	return q
}

func (q raw) h1() string {
	q = q.whole()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", q.method, q.target, q.host)
	for _, line := range q.header {
		b.WriteString(line + "\r\n")
	}
	switch {
	case q.chunked || len(q.trailer) > 0:
		b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
		if q.body != "" {
			fmt.Fprintf(&b, "%x\r\n%s\r\n", len(q.body), q.body)
		}
		b.WriteString("0\r\n")
		for _, line := range q.trailer {
			b.WriteString(line + "\r\n")
		}
		b.WriteString("\r\n")
	case q.body != "":
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(q.body), q.body)
	default:
		b.WriteString("\r\n")
	}
	return b.String()
}

func sendH1(t testing.TB, c *tls.Conn, q raw) rawAnswer {
	t.Helper()
	go func() { _, _ = io.WriteString(c, q.h1()) }() // an answer may come before all is sent
	r := bufio.NewReader(c)
	return readH1(r, q.method)
}

func readH1(r *bufio.Reader, method string) rawAnswer {
	for {
		res, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			return rawAnswer{closed: true}
		}
		if res.StatusCode == http.StatusContinue {
			continue
		}
		if res.StatusCode == http.StatusSwitchingProtocols {
			return rawAnswer{status: res.StatusCode, header: res.Header}
		}
		body, _ := io.ReadAll(res.Body)
		return rawAnswer{status: res.StatusCode, header: res.Header, body: string(body), closed: res.Close}
	}
}

func sendH2(t testing.TB, c *tls.Conn, q raw) rawAnswer {
	t.Helper()
	fields := [][2]string{{":method", q.method}, {":scheme", "https"}, {":authority", q.host}, {":path", q.target}}
	for _, line := range q.pseudo {
		name, value, _ := strings.Cut(line, "=")
		fields = append(fields, [2]string{name, value})
	}
	for _, line := range q.header {
		name, value, _ := strings.Cut(line, ": ")
		fields = append(fields, [2]string{strings.ToLower(name), value})
	}
	if q.body != "" && !q.chunked && len(q.trailer) == 0 {
		fields = append(fields, [2]string{"content-length", strconv.Itoa(len(q.body))})
	}
	f := http2.NewFramer(c, c)
	if _, err := io.WriteString(c, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 24}); err != nil {
		t.Fatal(err)
	}
	block := func(fields [][2]string) []byte {
		var b bytes.Buffer
		e := hpack.NewEncoder(&b)
		for _, field := range fields {
			_ = e.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]})
		}
		return b.Bytes()
	}
	last := q.body == "" && len(q.trailer) == 0
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(fields), EndStream: last, EndHeaders: true})
	if !last {
		for body := q.body; body != ""; {
			n := min(len(body), 16<<10)
			_ = f.WriteData(1, n == len(body) && len(q.trailer) == 0, []byte(body[:n]))
			body = body[n:]
		}
	}
	if len(q.trailer) > 0 {
		var trailer [][2]string
		for _, line := range q.trailer {
			name, value, _ := strings.Cut(line, ": ")
			trailer = append(trailer, [2]string{strings.ToLower(name), value})
		}
		_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block(trailer), EndStream: true, EndHeaders: true})
	}
	return readH2(f)
}

func readH2(f *http2.Framer) rawAnswer {
	a := rawAnswer{header: http.Header{}}
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return a
		}
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				_ = f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			for _, field := range frame.Fields {
				if field.Name == ":status" {
					a.status, _ = strconv.Atoi(field.Value)
				} else {
					a.header.Add(field.Name, field.Value)
				}
			}
			if frame.StreamEnded() {
				return a
			}
		case *http2.DataFrame:
			a.body += string(frame.Data())
			if frame.StreamEnded() {
				return a
			}
		case *http2.RSTStreamFrame, *http2.GoAwayFrame:
			return a
		}
	}
}
