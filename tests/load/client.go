package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// sample is one target under load for a while.
type sample struct {
	requests int
	elapsed  time.Duration
	p50, p99 time.Duration
	cpu      time.Duration // of the target's processes
	ours     time.Duration // the same with driver and upstream
	foreign  float64       // share of all CPUs that went to others than driver, target and upstream
}

func (s sample) rate() float64 { return float64(s.requests) / s.elapsed.Seconds() }

// perRequest is a time of the whole sample shared among its requests, in µs.
func (s sample) perRequest(d time.Duration) float64 { return micros(d) / float64(s.requests) }

// closedLoop keeps conns connections to addr busy, each with one request at a
// time, and returns how long each request took that began after warm and
// ended within d from then on.
func closedLoop(ctx context.Context, addr string, request []byte, size, conns int, warm, d time.Duration) ([]time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, warm+d+10*time.Second)
	defer cancel()
	begin := time.Now().Add(warm)
	end := begin.Add(d)
	took := make([][]time.Duration, conns)
	errs := make([]error, conns)
	var wg sync.WaitGroup
	for i := range conns {
		wg.Go(func() {
			c, err := dial(ctx, addr)
			if err != nil {
				errs[i] = err
				return
			}
			defer c.close()
			took[i], errs[i] = c.loop(request, size, begin, end)
		})
	}
	wg.Wait()
	return slices.Concat(took...), errors.Join(errs...)
}

// client is one keep-alive connection.
type client struct {
	conn net.Conn
	r    *bufio.Reader
	stop func() bool
}

// dial connects; the connection breaks when ctx ends.
func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	return &client{conn: conn, r: bufio.NewReaderSize(conn, 64<<10), stop: stop}, nil
}

func (c *client) close() {
	c.stop()
	_ = c.conn.Close()
}

func (c *client) loop(request []byte, size int, begin, end time.Time) ([]time.Duration, error) {
	took := make([]time.Duration, 0, 1<<14)
	for now := time.Now(); now.Before(end); {
		n, err := c.get(request)
		if err != nil {
			return took, err
		}
		if n != size {
			return took, fmt.Errorf("an answer has %d bytes instead of %d", n, size)
		}
		done := time.Now()
		if !now.Before(begin) && !done.After(end) {
			took = append(took, done.Sub(now))
		}
		now = done
	}
	return took, nil
}

// get sends a request and reads the answer, which must be a success; it
// returns the length of the body.
func (c *client) get(request []byte) (int, error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	length, err := c.head()
	if err != nil {
		return 0, err
	}
	if length >= 0 {
		return c.r.Discard(length)
	}
	total := 0
	for {
		n, err := c.chunk()
		if n == 0 || err != nil {
			return total, err
		}
		total += n
	}
}

// head reads the head of an answer; the length is -1 for a chunked body.
func (c *client) head() (length int, err error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 2")) {
		return 0, fmt.Errorf("the answer is %q", bytes.TrimSpace(line))
	}
	length = -2
	for {
		if line, err = c.r.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		switch name, value, _ := bytes.Cut(line, []byte(":")); {
		case equalFold(name, "content-length"):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		case equalFold(name, "transfer-encoding"):
			length = -1
		}
	}
	if length == -2 {
		return 0, errors.New("an answer says nothing of its length")
	}
	return length, nil
}

// chunk reads one chunk; the last has no bytes.
func (c *client) chunk() (int, error) {
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(line)), 16, 31)
	if err != nil {
		return 0, err
	}
	_, err = c.r.Discard(int(n) + 2)
	return int(n), err
}

func equalFold(b []byte, lower string) bool {
	return len(b) == len(lower) && bytes.EqualFold(b, []byte(lower))
}
