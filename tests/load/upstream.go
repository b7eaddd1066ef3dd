package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strings"
)

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

// upstream answers GET requests on keep-alive connections from memory, one
// write each, so that next to nothing of a measurement is its own.
type upstream struct {
	answers map[string][]byte
	other   []byte
}

func newUpstream() *upstream {
	page := answer("text/html; charset=utf-8", pageBody())
	return &upstream{
		answers: map[string][]byte{
			jsonPath:      answer("application/json", jsonBody()),
			pagePath:      page,
			plainPagePath: page,
			streamPath:    nil,
			"/health":     answer("application/json", []byte(`{"status":"ok"}`)),
		},
		other: []byte("HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nnot found\n"),
	}
}

func answer(contentType string, body []byte) []byte {
	head := fmt.Sprintf("HTTP/1.1 200 OK\r\nDate: Sun, 01 Nov 2026 00:00:00 GMT\r\nContent-Type: %s\r\nCache-Control: no-store\r\nContent-Length: %d\r\n\r\n",
		contentType, len(body))
	return append([]byte(head), body...)
}

func jsonBody() []byte {
	const start, end = `{"sessions":["`, `"]}`
	return []byte(start + strings.Repeat("a", jsonSize-len(start)-len(end)) + end)
}

// pageBody is a page with a head of a usual size; the rest is in its body.
func pageBody() []byte {
	var b bytes.Buffer
	b.WriteString("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>Load</title>\n")
	for i := range 12 {
		fmt.Fprintf(&b, "<link rel=\"stylesheet\" href=\"/static/part-%d.css\">\n<script src=\"/static/part-%d.js\" defer></script>\n", i, i)
	}
	b.WriteString("</head>\n<body>\n")
	const end = "</body>\n</html>\n"
	for i := 0; b.Len() < pageSize-len(end)-80; i++ {
		fmt.Fprintf(&b, "<p class=\"message\" id=\"m%d\">One line of the page, with <b>some</b> text.</p>\n", i)
	}
	b.WriteString(strings.Repeat(" ", pageSize-len(end)-b.Len()))
	b.WriteString(end)
	return b.Bytes()
}

// serve answers on l until it is closed.
func (u *upstream) serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go u.serveConn(conn)
	}
}

func (u *upstream) serveConn(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	r := bufio.NewReaderSize(conn, 16<<10)
	for {
		answer, err := u.read(r)
		if err != nil {
			return
		}
		if answer == nil {
			// One event, then silence until the reader leaves.
			const start = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"c\r\ndata: open\n\n\r\n"
			if _, err := conn.Write([]byte(start)); err == nil {
				_, _ = r.ReadByte()
			}
			return
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

// read reads the head of a request without a body and returns the answer to
// it, nil for a stream.
func (u *upstream) read(r *bufio.Reader) (answer []byte, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	_, path, _ := bytes.Cut(line, []byte(" "))
	path, _, _ = bytes.Cut(path, []byte(" "))
	path, _, _ = bytes.Cut(path, []byte("?"))
	answer, ok := u.answers[string(path)]
	if !ok {
		answer = u.other
	}
	for len(line) > 2 {
		if line, err = r.ReadSlice('\n'); err != nil {
			return nil, err
		}
	}
	return answer, nil
}
