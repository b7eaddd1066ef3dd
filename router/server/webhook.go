package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/router/identity"
)

// A webhook has to be in memory whole before it is known whether its signature
// is good, so that few are at a time, of all agents together, and each for a
// short while.
const (
	maxWebhooks     = 32 // of at most 1 MiB each
	webhookPatience = 2 * time.Second
)

// signed lets a webhook through to its route if the agent that its path names
// has signed its body. All else that it says of its sender counts for nothing:
// headers are not signed.
func (s *Server) signed(rt api.Route, next handler) handler {
	return func(w http.ResponseWriter, r *http.Request, _ *identity.Identity) error {
		signer, err := s.identity.Signer(r, hux.Agent(mux.Vars(r)["agent_id"]))
		if err != nil {
			return err
		}
		body, err := s.webhookBody(w, r, rt.BodyLimit())
		if err != nil {
			return err
		}
		id, ctx, err := signer.Signed(r, body)
		if err != nil {
			return err
		}
		r = r.Clone(ctx)
		for _, name := range []string{"Hux-Surface", "Hux-Session", "Hux-Run"} {
			r.Header.Del(name)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		return next(w, r, id)
	}
}

// webhookBody reads a body of which nobody knows yet who sent it, once there is
// room for it.
func (s *Server) webhookBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, hux.Errorf(hux.TooLarge, "A body may have %d bytes.", limit)
	}
	full := time.NewTimer(webhookPatience)
	defer full.Stop()
	select {
	case s.webhooks <- struct{}{}:
	case <-full.C:
		return nil, hux.Errorf(hux.RateLimited, "More webhooks come in than there is room for.").After(time.Second)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	defer func() { <-s.webhooks }()
	if rec, ok := w.(*recorder); ok {
		rec.within(webhookPatience)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, hux.Errorf(hux.TooLarge, "A body may have %d bytes.", limit)
	}
	if err != nil {
		return nil, hux.Errorf(hux.BadRequest, "The body could not be read.").Because(err)
	}
	return body, nil
}
