package identity

import (
	"context"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

const (
	exchangeTimeout = time.Minute      // of a request to the token endpoint
	redeemTimeout   = 30 * time.Second // that a person's browser waits for a code to be redeemed
	lastExchange    = 5 * time.Second  // that a shutdown waits for answers still to come
)

// exchanges are the renewals under way. Each lives until it has its answer,
// whoever of those that asked for it has left: the answer may hold the one
// refresh token that is still good.
type exchanges struct {
	ctx    context.Context // of all of them
	cancel context.CancelFunc

	mu      sync.Mutex
	over    bool
	running sync.WaitGroup
}

func (x *exchanges) init() { x.ctx, x.cancel = context.WithCancel(context.Background()) }

// begin runs exchange by itself. After end it does nothing, and ok is false.
func (x *exchanges) begin(exchange func(context.Context)) (ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.over {
		return false
	}
	x.running.Go(func() {
		ctx, cancel := context.WithTimeout(x.ctx, exchangeTimeout)
		defer cancel()
		exchange(ctx)
	})
	return true
}

// end begins no more, and waits for those under way, some time.
func (x *exchanges) end() {
	x.mu.Lock()
	x.over = true
	x.mu.Unlock()
	defer time.AfterFunc(lastExchange, x.cancel).Stop()
	x.running.Wait()
	x.cancel()
}

// redeemed gives the tokens for a code. A browser that asks again while they
// are on their way, as at a reload, waits for the same answer: a code is good
// once, and providers take the tokens back if it comes twice (RFC 6749, 4.1.2).
func (s *Service) redeemed(ctx context.Context, e *endpoints, f signInFlow, code string) (*oauth2.Token, error) {
	done := s.codes.DoChan(f.State+code, func() (any, error) {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), redeemTimeout)
		defer cancel()
		return e.oauth.Exchange(s.provider.patiently(bounded), code, oauth2.VerifierOption(f.Verifier))
	})
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
		return result.Val.(*oauth2.Token), nil
	}
}
