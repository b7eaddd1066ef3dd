package identity

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/oauth2"
)

const (
	refreshTimeout  = 5 * time.Second  // that requests wait for a refresh
	refreshBackOff  = 15 * time.Second // after one that brought no answer
	defaultValidity = 5 * time.Minute  // of an access token that does not say
)

// fatal are the answers of a token endpoint (RFC 6749, 5.2) after which a
// refresh token is good for nothing. invalid_client and invalid_request are
// about us, not about the session, and may be mended; so is any 401, with which
// Keycloak calls a wrong client secret unauthorized_client.
var fatal = []string{"invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope"}

func isFatal(err error) bool {
	var answer *oauth2.RetrieveError
	return errors.As(err, &answer) && answer.Response.StatusCode == http.StatusBadRequest &&
		slices.Contains(fatal, answer.ErrorCode)
}

// renewed is who the session belongs to, after renewing what is due: nil if
// the provider has ended it. A provider that takes long holds nobody up for
// longer than refreshTimeout: the session goes on as it is until the answer
// comes.
func (s *Service) renewed(ctx context.Context, sess *session) (*Identity, error) {
	id, due := sess.current(s.now())
	if !due {
		return id, nil
	}
	if r := s.renewal(sess); r != nil {
		select {
		case <-ctx.Done():
		case <-r.waiting.Done():
		}
		if err := r.failed(); err != nil {
			return nil, err
		}
	}
	id, _ = sess.current(s.now())
	return id, nil
}

// renewal is a refresh under way, which all requests of a session share.
type renewal struct {
	waiting context.Context // ends with it, or when requests have waited long enough
	err     atomic.Pointer[error]
}

// failed is why a renewal that is over left it open how the session stands.
func (r *renewal) failed() error {
	if err := r.err.Load(); err != nil {
		return *err
	}
	return nil
}

// renewal is the one of sess that is under way, or begins one; nil at shutdown.
func (s *Service) renewal(sess *session) *renewal {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.renewal != nil {
		return sess.renewal
	}
	waiting, done := context.WithTimeout(context.Background(), refreshTimeout)
	r := &renewal{waiting: waiting}
	ok := s.exchanges.begin(func(ctx context.Context) {
		defer done()
		if err := s.renew(ctx, sess); err != nil {
			r.err.Store(&err)
		}
		sess.mu.Lock()
		defer sess.mu.Unlock()
		sess.renewal = nil
	})
	if !ok {
		done()
		return nil
	}
	sess.renewal = r
	return r
}

// current is the identity of a session, nil once it has ended, and whether its
// access token is due.
func (sess *session) current(now time.Time) (id *Identity, due bool) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	if sess.life.ended() {
		return nil, false
	}
	return sess.identity, !sess.record.RefreshAt.IsZero() && !now.Before(sess.record.RefreshAt)
}

// renew refreshes a session's access token for the roles in it. Whatever is
// not a clear refusal leaves the session as it was, to be tried again.
func (s *Service) renew(ctx context.Context, sess *session) error {
	if _, due := sess.current(s.now()); !due {
		return nil // the flight before this one did it
	}
	old := sess.refreshToken()
	err := s.exchangeRefresh(ctx, sess, old)
	switch {
	case err == nil:
		s.metrics.refreshes.WithLabelValues("ok").Inc()
		return nil
	case errors.Is(err, errOutdated):
		return nil
	case isFatal(err) && sess.refreshToken() == old, errors.Is(err, errOtherUser):
		s.metrics.refreshes.WithLabelValues("refused").Inc()
		return s.endSession(ctx, sess.id, "refresh_refused")
	default:
		s.metrics.refreshes.WithLabelValues("unavailable").Inc()
		s.log.LogAttrs(ctx, slog.LevelWarn, "a session could not be renewed and goes on", slog.String("cause", safeCause(err)))
		sess.mu.Lock()
		sess.record.RefreshAt = s.now().Add(refreshBackOff)
		sess.mu.Unlock()
		return nil
	}
}

// errOutdated means that the person has signed in again during a refresh: the
// session has newer tokens, or is over.
var errOutdated = errors.New("the session has other tokens by now")

// errOtherUser means that the provider answered a session's refresh with
// tokens of somebody else.
var errOtherUser = errors.New("the token is another user's")

func (s *Service) exchangeRefresh(ctx context.Context, sess *session, old string) error {
	e, err := s.provider.ready(ctx)
	if err != nil {
		return err
	}
	token, err := e.oauth.TokenSource(s.provider.patiently(ctx), &oauth2.Token{RefreshToken: old}).Token()
	if err != nil {
		return err
	}
	// The old refresh token may be spent now, so the new one comes first.
	if err := s.rotate(ctx, sess, old, token.RefreshToken); err != nil {
		return err
	}
	user := sess.user()
	owns := func(subject string) bool { return NewUserID(s.o.Key, s.o.Namespace, subject) == user }
	rawID, _ := token.Extra("id_token").(string)
	if rawID != "" { // OpenID Connect Core 12.2
		idToken, err := checked(ctx, e.idTokens.Verify, rawID)
		if err != nil {
			return err
		}
		if !owns(idToken.Subject) {
			return errOtherUser
		}
	}
	roles, err := s.provider.roles(ctx, e, token, owns)
	if err != nil {
		return err
	}
	_, err = s.change(ctx, sess, func(rec *sessionRecord, secrets *sessionSecrets) {
		if secrets.RefreshToken != token.RefreshToken {
			return
		}
		rec.Roles, rec.RefreshAt = roles, refreshAt(s.now(), token)
		if rawID != "" {
			secrets.IDToken = rawID
		}
	})
	return err
}

// rotate keeps the refresh token that took the place of old.
func (s *Service) rotate(ctx context.Context, sess *session, old, next string) error {
	if next == old {
		return nil
	}
	current := false
	ok, err := s.change(ctx, sess, func(_ *sessionRecord, secrets *sessionSecrets) {
		if current = secrets.RefreshToken == old; current {
			secrets.RefreshToken = next
		}
	})
	switch {
	case err != nil: // it could not be written, and is the one that works: as long as we run, and until the next write
		sess.mu.Lock()
		defer sess.mu.Unlock()
		if sess.secrets.RefreshToken == old {
			sess.secrets.RefreshToken = next
		}
		return err
	case !ok, !current:
		return errOutdated
	}
	return nil
}

// refreshToken is the session's, as of now.
func (sess *session) refreshToken() string {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.secrets.RefreshToken
}

// refreshAt is when to renew: a little before the access token expires.
func refreshAt(now time.Time, token *oauth2.Token) time.Time {
	validity := time.Duration(token.ExpiresIn) * time.Second
	if validity <= 0 {
		validity = defaultValidity
	}
	return now.Add(validity - min(10*time.Second, validity/5)).UTC()
}

// safeCause is what may be logged of a failed exchange: an answer's error code
// but neither its description nor its body, which are the provider's words.
func safeCause(err error) string {
	var answer *oauth2.RetrieveError
	if errors.As(err, &answer) {
		return "the token endpoint answered " + answer.Response.Status
	}
	if errors.Is(err, errUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		return errUnavailable.Error()
	}
	if errors.Is(err, errRefused) {
		return errRefused.Error()
	}
	return "the exchange with the provider failed"
}
