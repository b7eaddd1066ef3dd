package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"
)

// Waits between the tries of a request.
const (
	firstWait   = 100 * time.Millisecond
	longestWait = 10 * time.Second
	patience    = 30 * time.Second // an answer that asks for a longer wait is given to the caller
)

// final is an error that no further try can mend.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// again says whether to send a request once more after an error, and when.
// Whether the router did it the first time does not matter, since every write
// has an Idempotency-Key.
func (c *Client) again(err error, try int) (time.Duration, bool) {
	if try >= c.tries {
		return 0, false
	}
	wait := backOff(firstWait, longestWait, try)
	var refused *Error
	if errors.As(err, &refused) {
		wait = max(wait, refused.RetryAfter)
		return wait, refused.Retryable && wait <= patience
	}
	return wait, passing(err)
}

// passing reports whether an error other than a refusal may pass: all that
// happens to a connection, but not a certificate that is not trusted.
func passing(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return !errors.As(err, new(final)) && !errors.As(err, &untrusted)
}

// backOff is the wait after so many failures in a row: twice as long each time,
// with jitter that spreads clients.
func backOff(first, longest time.Duration, failures int) time.Duration {
	wait := longest
	if failures < 20 {
		wait = min(longest, first<<(failures-1))
	}
	return wait/2 + rand.N(wait/2+1)
}

// retryable are the statuses after which another try may help, where what
// answers is not hux and does not say so.
var retryable = map[int]bool{
	http.StatusTooManyRequests: true, http.StatusBadGateway: true, http.StatusServiceUnavailable: true, http.StatusGatewayTimeout: true,
}

// pause waits, and gives the context's error if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
