package mirror

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

// Stop stops a turn of a slot's WebUI, which names its turns as its page
// reports runs, and returns once the WebUI says that it is over. What goes
// wrong on the way is tried again until ctx ends. A turn that has ended before
// is stopped; one that the WebUI has never heard of, such as a run that the
// agent was given elsewhere, is an error, since it may go on. Where a session is
// named it is the turn of that session then, since a hook names turns otherwise
// than a page does.
func (m *Mirror) Stop(ctx context.Context, s Slot, as hux.User, stream, session string) error {
	if s.Upstream == nil {
		return errNoSlot
	}
	way := m.o.Way(s, as)
	err := stop(ctx, way, stream)
	if !errors.Is(err, errUnknown) || session == "" {
		return err
	}
	under, failed := newWebUI(way).stream(ctx, session)
	if failed != nil || under == "" {
		return errors.Join(err, failed)
	}
	return stop(ctx, way, under)
}

func stop(ctx context.Context, way http.RoundTripper, stream string) error {
	u := newWebUI(way)
	retry := backoff{least: 250 * time.Millisecond, most: 2 * time.Second}
	asked := false
	for {
		over, err := stopped(ctx, u, stream, &asked)
		if over || errors.Is(err, errUnknown) {
			return err
		}
		if !retry.wait(ctx) {
			return errors.Join(ctx.Err(), err)
		}
	}
}

// stopped asks for the stop, unless that was taken before, and looks whether
// the turn is over.
func stopped(ctx context.Context, u *webUI, stream string, asked *bool) (over bool, err error) {
	was := *asked
	if !*asked {
		if was, err = u.cancel(ctx, stream); err != nil {
			return false, err
		}
		*asked = was
	}
	active, known, err := u.status(ctx, stream)
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
