package webui

import (
	"context"
	"errors"
	"net/http"
	"time"

	"bstein.dev/hux/hux"
)

var (
	errNoSlot  = errors.New("the tenant has no WebUI")
	errUnknown = errors.New("the WebUI knows no such run")
)

// Stop stops a turn of a slot's WebUI and returns once the WebUI says that the
// turn is over. stream is the name that the WebUI's page gives the turn. What
// fails is tried again until ctx ends. It is no error if the turn had ended
// before. It is one if the WebUI has never heard of the turn, which may then run
// elsewhere and go on.
//
// An agent's hook gives a turn another name than the page does. So where the
// WebUI does not know stream and a session is named, Stop stops the turn that is
// under way in that session.
func (s *Service) Stop(ctx context.Context, slot Slot, as hux.User, stream, session string) error {
	if slot.Upstream == nil {
		return errNoSlot
	}
	transport := s.o.Dial(slot, as)
	err := stop(ctx, transport, stream)
	if !errors.Is(err, errUnknown) || session == "" {
		return err
	}
	underWay, failed := newClient(transport).stream(ctx, session)
	if failed != nil || underWay == "" {
		return errors.Join(err, failed)
	}
	return stop(ctx, transport, underWay)
}

func stop(ctx context.Context, transport http.RoundTripper, stream string) error {
	c := newClient(transport)
	retry := backoff{least: 250 * time.Millisecond, most: 2 * time.Second}
	asked := false
	for {
		over, err := stopped(ctx, c, stream, &asked)
		if over || errors.Is(err, errUnknown) {
			return err
		}
		if !retry.wait(ctx) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// stopped asks the WebUI to stop the turn, unless it has taken that before, and
// reports whether the turn is over.
func stopped(ctx context.Context, c *client, stream string, asked *bool) (over bool, err error) {
	was := *asked
	if !*asked {
		if was, err = c.cancel(ctx, stream); err != nil {
			return false, err
		}
		*asked = was
	}
	active, known, err := c.status(ctx, stream)
	switch {
	case err != nil:
		return false, err
	case active:
		return false, nil
	case !was && !known:
		return false, errUnknown
	}
	return true, nil
}
