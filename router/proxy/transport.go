package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sony/gobreaker/v2"

	"bstein.dev/hux/hux"
)

const (
	dialTimeout  = 5 * time.Second
	slowTimeout  = 15 * time.Minute // until the headers of a slow rule's answer
	slotIdle     = 10 * time.Minute // a slot unused for so long is forgotten
	tripAfter    = 5                // failures in a row that open the breaker
	openFor      = 3 * time.Second  // until the breaker lets one request try again
	headerLimit  = 256 << 10
	streamBuffer = 2 << 10
)

// slotKey names a slot as one tenant's: no connection is ever shared.
type slotKey struct {
	tenant hux.Tenant
	name   string
}

// slot is what the proxy keeps for one tenant's upstream.
type slot struct {
	name     string
	upstream url.URL
	cookies  jar
	breaker  *gobreaker.TwoStepCircuitBreaker[struct{}]

	// The upstream leaves bodies unread and would take them for the next
	// request. So a connection is used again only for bodiless GET and HEAD
	// whose answers were read to their end; all else has one of its own.
	pooled, single, slow *http.Transport

	inFlight atomic.Int64
	streams  atomic.Int64
	measured atomic.Int64 // bodies without a length
	used     atomic.Int64 // Unix seconds
}

// slots are those in use.
type slots struct {
	mu    sync.RWMutex
	known map[slotKey]*slot
	swept time.Time
}

// get gives a target's slot, a new one if its upstream has changed.
func (s *slots) get(t Target, headerTimeout time.Duration) *slot {
	key := slotKey{t.Tenant, t.Slot}
	s.mu.RLock()
	found := s.known[key]
	s.mu.RUnlock()
	now := time.Now()
	if found == nil || found.upstream.Scheme != t.Upstream.Scheme || found.upstream.Host != t.Upstream.Host {
		found = s.add(key, t, headerTimeout, now)
	}
	found.used.Store(now.Unix())
	return found
}

func (s *slots) add(key slotKey, t Target, headerTimeout time.Duration, now time.Time) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.known[key]; old != nil {
		if old.upstream.Scheme == t.Upstream.Scheme && old.upstream.Host == t.Upstream.Host {
			return old
		}
		old.retire()
	}
	if now.Sub(s.swept) > time.Minute {
		s.swept = now
		for k, o := range s.known {
			if o.inFlight.Load() == 0 && now.Unix()-o.used.Load() > int64(slotIdle/time.Second) {
				o.retire()
				delete(s.known, k)
			}
		}
	}
	made := newSlot(t, headerTimeout)
	made.used.Store(now.Unix())
	if s.known == nil {
		s.known = make(map[slotKey]*slot)
	}
	s.known[key] = made
	return made
}

func newSlot(t Target, headerTimeout time.Duration) *slot {
	s := &slot{
		name:     t.Slot,
		upstream: *t.Upstream,
		cookies:  newJar(t.Tenant),
		pooled:   newTransport(headerTimeout),
		single:   newTransport(headerTimeout),
		slow:     newTransport(max(slowTimeout, headerTimeout)),
	}
	for _, t := range []*http.Transport{s.single, s.slow} {
		t.DisableKeepAlives = true
		t.DialContext = dialPatient
		t.ReadBufferSize, t.WriteBufferSize = streamBuffer, streamBuffer
	}
	s.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     openFor,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= tripAfter },
		IsExcluded:  func(err error) bool { return err != nil && !unreachable(err) },
	})
	return s
}

var dialer = net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}

func dialPatient(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return patientConn{c}, nil
}

// patientConn is a connection to an upstream that may answer, and close,
// before it has read a body. The failing write would hide the answer that
// waits to be read; so it does not fail, and the read tells how it ended.
type patientConn struct{ net.Conn }

func (c patientConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return len(b), nil
	}
	return n, err
}

func newTransport(headerTimeout time.Duration) *http.Transport {
	var http1 http.Protocols
	http1.SetHTTP1(true) // what an unread body does is known of HTTP/1.1 alone
	t := hux.NewTransport()
	t.DialContext = dialer.DialContext
	t.Protocols = &http1
	t.DisableCompression = true
	t.MaxIdleConns, t.MaxIdleConnsPerHost = 64, 64
	t.ResponseHeaderTimeout = headerTimeout
	t.MaxResponseHeaderBytes = headerLimit
	return t
}

// retire closes the connections that nobody uses.
func (s *slot) retire() { s.pooled.CloseIdleConnections() }

// unreachable reports whether err says that the upstream does not answer at
// all. A client that left says nothing of the upstream.
func unreachable(err error) bool {
	if errors.Is(err, context.Canceled) {
		return false
	}
	var op *net.OpError
	return timedOut(err) || errors.As(err, &op) && op.Op == "dial"
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// RoundTrip sends a request on a connection of the kind that it needs.
func (x *exchange) RoundTrip(out *http.Request) (*http.Response, error) {
	done, err := x.slot.breaker.Allow()
	if err != nil {
		return nil, hux.Errorf(hux.SlotBusy, "Your workspace does not answer; it is tried again in a moment.").After(openFor)
	}
	transport := x.slot.pooled
	switch {
	case x.rule.Slow:
		transport = x.slot.slow
	case x.alone():
		transport = x.slot.single
	}
	// With the context that came in, interim answers (1xx) end here: their
	// headers would go past everything that looks at an answer.
	resp, err := transport.RoundTrip(out.WithContext(x.ctx))
	if x.upload.failed() != nil {
		done(context.Canceled) // the client's failure, not the upstream's
	} else {
		done(err)
	}
	if err == nil && resp.ContentLength < 0 {
		// The transport writes trailers into its own response; they are not passed on.
		own := *resp
		own.Trailer = nil
		resp = &own
	}
	return resp, err
}

// alone reports whether the request has a connection to itself.
func (x *exchange) alone() bool {
	return x.rule.Slow || x.stream || x.websocket || x.upload.length != 0 ||
		x.in.Method != http.MethodGet && x.in.Method != http.MethodHead
}

// failed answers a request that got no answer.
func (x *exchange) failed(_ http.ResponseWriter, _ *http.Request, err error) {
	if x.ctx.Err() != nil {
		// The client has left or its session has ended: nobody is there to be told.
		panic(http.ErrAbortHandler)
	}
	var e *hux.Error
	if cause := x.upload.failed(); cause != nil {
		x.refuse(unreadBody(cause))
		return
	}
	switch {
	case errors.As(err, &e):
	case timedOut(err):
		e = hux.Errorf(hux.SlotTimeout, "Your workspace took too long to answer.").After(5 * time.Second).Because(err)
	default:
		e = hux.Errorf(hux.SlotDown, "Your workspace is not reachable.").After(5 * time.Second).Because(err)
	}
	if x.proxy.onDown != nil && unreachable(err) {
		x.proxy.onDown(x.target.Slot)
	}
	x.refuse(e)
}
