package server

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// held serves requests as serve does, with a handler in the place of front.
func held(p patience, h func(rec *recorder, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := &recorder{ResponseWriter: w}
		rec.hold(r, p)
		defer rec.release()
		h(rec, r)
	}
}

// swallow reads a body and says how that went.
func swallow(rec *recorder, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		rec.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(rec, "thanks")
}

// pipes listens to one end of a pipe.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func TestPatience(t *testing.T) {
	own := func(rec *recorder, r *http.Request) {
		rec.within(usualPatience.own)
		swallow(rec, r)
	}
	refuse := func(rec *recorder, _ *http.Request) { rec.WriteHeader(http.StatusNotFound) }
	ignore := func(*recorder, *http.Request) {}
	chunked := "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n"
	for name, c := range map[string]struct {
		handler func(*recorder, *http.Request)
		request string
		every   time.Duration // a byte more of the body
		bytes   int
		status  int
		want    time.Duration // until the connection ends
	}{
		"no more comes":               {swallow, "Content-Length: 9\r\n\r\nx", 0, 0, 400, 35 * time.Second},
		"no more chunks come":         {swallow, chunked, 0, 0, 400, 30 * time.Second},
		"a little at a time":          {swallow, "Content-Length: 9\r\n\r\n", 29 * time.Second, 9, 200, 9*29*time.Second + 2*time.Minute},
		"half of it, a little a time": {swallow, "Content-Length: 9\r\n\r\n", 29 * time.Second, 4, 400, 4*29*time.Second + 35*time.Second},
		"our own":                     {own, "Content-Length: 9\r\n\r\nx", 0, 0, 400, 15 * time.Second},
		"our own, a little at a time": {own, "Content-Length: 99\r\n\r\nx", 3 * time.Second, 3, 400, 15 * time.Second},
		"refused":                     {refuse, "Content-Length: 99999\r\n\r\nx", 0, 0, 404, 5 * time.Second},
		"refused, chunked":            {refuse, chunked, 0, 0, 404, 5 * time.Second},
		"refused before it is sent":   {refuse, "Expect: 100-continue\r\nContent-Length: 9\r\n\r\n", 0, 0, 404, 5 * time.Second},
		"passed over":                 {ignore, "Content-Length: 9\r\n\r\nx", 0, 0, 200, 5 * time.Second},
		"passed over, whole":          {ignore, "Content-Length: 1\r\n\r\nx", 0, 0, 200, 2 * time.Minute},
		"no body":                     {swallow, "\r\n", 0, 0, 200, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := make(pipes)
				s := &http.Server{Handler: held(usualPatience, c.handler), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
				done := make(chan error)
				go func() { done <- s.Serve(l) }()
				client, server := net.Pipe()
				l <- server
				began := time.Now()
				go func() {
					_, _ = io.WriteString(client, "POST / HTTP/1.1\r\nHost: x\r\n"+c.request)
					for range c.bytes {
						time.Sleep(c.every) // of the bubble's clock
						_, _ = io.WriteString(client, "y")
					}
				}()
				r := bufio.NewReader(client)
				resp, err := http.ReadResponse(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, r)
				if took := time.Since(began); resp.StatusCode != c.status || took != c.want || c.status >= 400 && !resp.Close {
					t.Errorf("%s, the connection ends after %v; want %d, %v", resp.Status, took, c.status, c.want)
				}
				_ = client.Close()
				_ = s.Close()
				<-done
			})
		})
	}
}

// over serves h over TLS and dials it with one of the protocols.
func over(t *testing.T, h http.Handler) (address string, config *tls.Config) {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), s.Client().Transport.(*http.Transport).TLSClientConfig
}

func TestSlowBodyInHTTP2(t *testing.T) {
	failed := make(chan error, 1)
	for name, h := range map[string]func(*recorder, *http.Request){
		"no more comes": func(_ *recorder, r *http.Request) {
			_, err := io.Copy(io.Discard, r.Body)
			failed <- err
		},
		"our own": func(rec *recorder, r *http.Request) {
			rec.within(time.Millisecond)
			_, err := io.Copy(io.Discard, r.Body)
			failed <- err
		},
	} {
		p := patience{read: time.Millisecond, own: time.Hour, linger: time.Hour}
		if name == "our own" {
			p.read = time.Hour
		}
		address, config := over(t, held(p, h))
		transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
		body, more := io.Pipe()
		go func() { _, _ = more.Write([]byte("x")) }()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address, body)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || resp.ProtoMajor != 2 {
			t.Errorf("%s: %v over %s", name, err, resp.Proto)
		}
		_ = more.Close()
		transport.CloseIdleConnections()
	}
}

// A WebUI may refuse a body that is still read for it, and read further after
// the answer; the answer waits for neither.
func TestBodyIsReadElsewhere(t *testing.T) {
	read := make(chan error, 1)
	address, config := over(t, held(patience{read: time.Hour, own: time.Hour, linger: 300 * time.Millisecond}, func(rec *recorder, r *http.Request) {
		started := make(chan struct{})
		go func() {
			_, _ = r.Body.Read(make([]byte, 1))
			close(started)
			for {
				if _, err := r.Body.Read(make([]byte, 1)); err != nil {
					read <- err
					return
				}
			}
		}()
		<-started
		rec.WriteHeader(http.StatusForbidden)
		_ = r.Body.Close() // as a ReverseProxy does
	}))
	c, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\nx")
	answer, err := io.ReadAll(c)
	if !strings.HasPrefix(string(answer), "HTTP/1.1 403") || err != nil {
		t.Errorf("%q, %v", answer, err)
	}
	if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, http.ErrBodyReadAfterClose) {
		t.Errorf("the reader: %v", err)
	}
}

// Behind its body a request has no deadline: only the client's leaving ends
// it, and the connection can be used again.
func TestNoDeadlineBehindTheBody(t *testing.T) {
	const short = time.Millisecond
	left := make(chan struct{})
	address, config := over(t, held(patience{short * 500, short, short}, func(rec *recorder, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			t.Error(err)
		}
		if r.URL.Path == "/leave" {
			<-r.Context().Done()
			close(left)
			return
		}
		rec.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rec).Flush()
		select {
		case <-r.Context().Done():
			t.Error("the request ended")
		case <-time.After(600 * short):
		}
		_, _ = io.WriteString(rec, "late")
	}))
	c, err := tls.Dial("tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	reader := bufio.NewReader(c)
	for _, rest := range []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody", "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"} {
		_, _ = io.WriteString(c, rest)
		resp, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); string(got) != "late" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	_, _ = fmt.Fprint(c, "POST /leave HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nbody")
	_ = c.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("a client that left is not noticed")
	}
}
