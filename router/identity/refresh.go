package identity

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	refreshTimeout  = 5 * time.Second  // that a request waits for a refresh
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
// the provider has ended it.
func (s *Service) renewed(ctx context.Context, sess *session) (*Identity, error) {
	id, due := sess.current(s.now())
	if !due {
		return id, nil
	}
	done := s.renewals.DoChan(sess.id, func() (any, error) {
		// It goes on if this client leaves: others may be waiting for it, and
		// a rotated token must not be lost.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
		defer cancel()
		return nil, s.renew(bounded, sess)
	})
	select {
	case <-ctx.Done():
	case result := <-done:
		if result.Err != nil {
			return nil, result.Err
		}
	}
	id, _ = sess.current(s.now())
	return id, nil
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
	err := s.exchangeRefresh(ctx, sess)
	switch {
	case err == nil:
		s.metrics.refreshes.WithLabelValues("ok").Inc()
		return nil
	case isFatal(err), errors.Is(err, errOtherUser):
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

// errOtherUser means that the provider answered a session's refresh with
// tokens of somebody else.
var errOtherUser = errors.New("the token is another user's")

func (s *Service) exchangeRefresh(ctx context.Context, sess *session) error {
	e, err := s.provider.ready()
	if err != nil {
		return err
	}
	sess.mu.Lock()
	old, user := sess.secrets.RefreshToken, sess.record.User
	sess.mu.Unlock()
	token, err := e.oauth.TokenSource(oidc.ClientContext(ctx, s.provider.client), &oauth2.Token{RefreshToken: old}).Token()
	if err != nil {
		return err
	}
	// The old refresh token may be spent now, so the new one comes first.
	if token.RefreshToken != old {
		if _, err := s.change(ctx, sess, func(_ *sessionRecord, secrets *sessionSecrets) {
			secrets.RefreshToken = token.RefreshToken
		}); err != nil {
			return err
		}
	}
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
		rec.Roles, rec.RefreshAt = roles, refreshAt(s.now(), token)
		if rawID != "" {
			secrets.IDToken = rawID
		}
	})
	return err
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
