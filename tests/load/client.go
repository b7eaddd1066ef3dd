package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"

	hux "bstein.dev/hux/hux/client"
)

// target is a way to the upstream, or a hub of events, that can be measured.
type target struct {
	name    string
	addr    string
	headers []string // of each request, Host first
	token   string   // the bearer token among them
	version string
	process *process // whose CPU time and memory count as the target's
	agent   bool     // whether it sends what an agent sends
	update  string   // of a hub alone: what is published at each post, as a form that lacks the topic
}

// with is the same target for somebody else.
func (t target) with(name, token string) *target {
	t.name, t.token = name, token
	t.headers = []string{t.headers[0], "Authorization: Bearer " + token}
	return &t
}

// request is a request as this target wants it.
func (t *target) request(method, path, body string, headers ...string) []byte {
	lines := append([]string{method + " " + path + " HTTP/1.1"}, t.headers...)
	lines = append(append(lines, "User-Agent: hux-load", "Accept: */*"), headers...)
	if body != "" {
		lines = append(lines, fmt.Sprintf("Content-Length: %d", len(body)))
	}
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + body)
}

func (t *target) get(path string) []byte { return t.request(http.MethodGet, path, "") }

// api is the router to a program with the target's token.
func (t *target) api() *hux.Client {
	return must(hux.New(hux.Options{BaseURL: "http://" + t.addr, Token: hux.Static(t.token), HTTPClient: apiClient}))
}

var apiClient = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: time.Minute}

// patience is how long all that is done on a connection may take.
const patience = 10 * time.Minute

// client is one keep-alive connection. It allocates next to nothing for a
// request, so that next to nothing of a measurement is its own.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	resp fasthttp.Response
}

func dial(addr string) *client {
	conn := must(net.Dial("tcp", addr))
	check(conn.SetDeadline(time.Now().Add(patience)))
	return &client{conn: conn, r: bufio.NewReaderSize(conn, 4<<10)}
}

func (c *client) close() { _ = c.conn.Close() }

// do sends a request and returns the body of the answer, which must be a
// success. The body is good until the next one.
func (c *client) do(request []byte) []byte {
	must(c.conn.Write(request))
	return c.answer()
}

func (c *client) answer() []byte {
	check(c.resp.Read(c.r))
	if status := c.resp.StatusCode(); status/100 != 2 {
		check(fmt.Errorf("the answer is %d: %.200s", status, c.resp.Body()))
	}
	return c.resp.Body()
}

// open sends a request and reads the head of the answer; its body comes yet.
func (c *client) open(request []byte) {
	must(c.conn.Write(request))
	check(c.resp.Header.Read(c.r))
	if status := c.resp.StatusCode(); status/100 != 2 {
		check(fmt.Errorf("the answer is %d", status))
	}
}

// hold opens n connections at a time, does something on each, and gives what
// closes them.
func hold(n int, addr string, begin func(i int, c *client)) (end func()) {
	var held []*client
	for i := range n {
		held = append(held, dial(addr))
		begin(i, held[i])
	}
	return func() {
		for _, c := range held {
			c.close()
		}
	}
}

// share does something n times on so many connections, each one after the other.
func share(n, connections int, addr string, do func(i int, c *client)) {
	next := make(chan int, n)
	for i := range n {
		next <- i
	}
	close(next)
	var g errgroup.Group
	for range connections {
		g.Go(func() error {
			return attempt(func() {
				c := dial(addr)
				defer c.close()
				for i := range next {
					do(i, c)
				}
			})
		})
	}
	check(g.Wait())
}
