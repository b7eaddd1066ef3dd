package identity

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

const (
	flowLifetime = 10 * time.Minute // to sign in at the provider
	flowKept     = 24 * time.Hour   // that a browser remembers to have begun: a sign-in form is left open over night
	flowsAtOnce  = 12               // in one browser: a sign-in in each of some tabs
	flowsKnown   = 60               // begun in one browser and remembered
)

// signInFlow is a sign-in under way, in a sealed cookie of the console host.
// Its cookie is named after the state, so that tabs do not disturb each other.
type signInFlow struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Fresh    bool      `json:"f,omitempty"` // the person is asked again, whatever sessions there are
	Anew     bool      `json:"a,omitempty"` // begun by itself, after an answer that asks for that
	Started  time.Time `json:"t"`

	origin `json:"-"`
}

// origin is where a sign-in was begun and leads to in the end. It is sealed in
// the state that the provider gets and sends back, and so is there when the
// cookie is not any more; it says nothing of who began.
type origin struct {
	next string // a path
	chat string // hash of the chat host's flow cookie; "" to stay on the console
}

// state is the one parameter that comes back from the provider.
func (s *Service) state(f signInFlow) string {
	return f.State + base64.RawURLEncoding.EncodeToString(s.sealed([]byte(f.chat+" "+f.next), originName(f.State)))
}

func originName(state string) string { return "origin of " + state }

// origin reads the one in a state; ok is false where that is not of our making.
func (s *Service) origin(state string) (o origin, ok bool) {
	if len(state) < secretLength {
		return o, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(state[secretLength:])
	if err != nil {
		return o, false
	}
	plain, err := s.opened(sealed, originName(state[:secretLength]))
	if err != nil {
		return o, false
	}
	o.chat, o.next, ok = strings.Cut(string(plain), " ")
	return o, ok
}

func (s *Service) flowCookie(state string) string { return s.consoleNames.flowOf(secretHash(state)) }

// signInURL is signIn's on the console.
func (s *Service) signInURL(flow, next string) string {
	return api.Origin(s.console) + "/hux/auth/sign-in?" + url.Values{"flow": {flow}, "next": {next}}.Encode()
}

// signIn (console) sends the browser to the provider, or straight back if it
// is signed in already. With fresh=1 the provider asks again who is there, for
// what needs a recent sign-in, and the session goes on.
func (s *Service) signIn(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	flow, ok := single(q, "flow")
	if !ok || (flow != "" && (s.chat == nil || !isHash(flow))) {
		return hux.Errorf(hux.BadRequest, "This link to sign in is damaged. Open the page again that you came from.")
	}
	next, _ := single(q, "next")
	again, _ := single(q, "fresh")
	f := signInFlow{
		origin: origin{CheckNext(next), flow},
		Fresh:  again == "1" && flow == "", // only a page of the console has use for it
	}
	if !f.Fresh {
		later, _ := single(q, "clear")
		if done, err := s.straightOn(w, r, f.origin, later == "later"); done || err != nil {
			return err
		}
	}
	if wait, ok := s.startLimit.takeAddr(s.o.ClientAddr(r)); !ok {
		err := hux.Errorf(hux.RateLimited, "Too many sign-ins from your network. Wait a little.").After(wait)
		return s.refuse("limited", backTo{err, s.page(f.origin)})
	}
	e, err := s.provider.ready(r.Context())
	if err == nil {
		err = s.provider.answers(r.Context())
	}
	if err != nil {
		return s.refuse("unavailable", backTo{err, s.page(f.origin)})
	}
	return s.begin(w, r, e, f)
}

// straightOn sends the browser of somebody who is signed in where o leads, by
// way of a page that clears the chat host if that has to be; later puts it off.
// done is false if nobody is.
func (s *Service) straightOn(w http.ResponseWriter, r *http.Request, o origin, later bool) (done bool, err error) {
	sess, err := s.sessionOf(r, Console)
	if sess == nil || err != nil {
		return false, err
	}
	id, err := s.renewed(r.Context(), sess)
	if id == nil || err != nil {
		return false, err
	}
	if s.mustClear(w, r, sess, id.User) && (o.chat != "" || !later) {
		s.clearForNext(w, r, sess.id, o)
		return true, nil
	}
	if o.chat != "" {
		s.metrics.signIns.WithLabelValues("handed_over").Inc()
	}
	return true, s.deliver(w, id.User, sess.id, o)
}

// begin sends the browser to the provider.
func (s *Service) begin(w http.ResponseWriter, r *http.Request, e *endpoints, f signInFlow) error {
	f.State, f.Nonce, f.Verifier, f.Started = newSecret(), newSecret(), oauth2.GenerateVerifier(), s.now().UTC()
	name := s.flowCookie(f.State)
	sealed, err := s.flows.Encode(name, f)
	if err != nil {
		return err
	}
	s.consoleNames.makeRoom(w, r, flowsAtOnce, flowsKnown)
	s.consoleNames.set(w, name, sealed, flowKept)
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if f.Fresh { // max_age makes auth_time a claim that must be there (OpenID Connect Core 3.1.2.1)
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	redirect(w, e.oauth.AuthCodeURL(s.state(f), options...))
	return nil
}

// callback (console, the only redirect_uri) takes the provider's answer. The
// state is checked first: a code that another browser asked for is not even
// redeemed. Nor is one that comes too late, or after too many others; but then
// whoever is signed in by now goes on to where that sign-in was to lead.
func (s *Service) callback(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	for name, values := range q {
		if len(values) > 1 && slices.Contains([]string{"state", "code", "iss", "error", "error_description"}, name) {
			return s.refuse("refused", errNotBegun)
		}
	}
	o, ok := s.origin(q.Get("state"))
	if !ok {
		return s.refuse("refused", errNotBegun)
	}
	f, mine, ok := s.takeFlow(w, r, q.Get("state")[:secretLength])
	if mine && !ok {
		sess, err := s.sessionOf(r, Console)
		if err != nil {
			return err
		}
		if sess != nil {
			redirect(w, s.page(o))
			return nil
		}
	}
	if !ok {
		return backTo{s.refuse("refused", errNotBegun), s.page(o)}
	}
	f.origin = o
	if err := s.redeem(w, r, f, q); err != nil {
		return backTo{err, s.page(o)}
	}
	return nil
}

// answersToBeginAnew are errors after which the person has only to be sent
// again (OpenID Connect Core 3.1.2.6; RFC 6749, 4.1.2.1). Keycloak's login page
// gives the last of them when it was open for too long, or another tab was
// faster; it means an outage only if it comes twice.
var answersToBeginAnew = []string{
	"login_required", "interaction_required", "account_selection_required", "consent_required", temporarilyUnavailable,
}

const (
	temporarilyUnavailable = "temporarily_unavailable"
	authenticationExpired  = "authentication_expired" // Keycloak's description beside it
)

// beginAnew sends the browser to the provider once more, after an answer that
// asks for that; a second such answer ends it.
func (s *Service) beginAnew(w http.ResponseWriter, r *http.Request, e *endpoints, f signInFlow, q url.Values) error {
	if !f.Fresh {
		if done, err := s.straightOn(w, r, f.origin, false); done || err != nil {
			return err
		}
	}
	switch {
	case !f.Anew:
		s.metrics.signIns.WithLabelValues("begun_anew").Inc()
		return s.begin(w, r, e, signInFlow{origin: f.origin, Fresh: f.Fresh, Anew: true})
	case q.Get("error") == temporarilyUnavailable && q.Get("error_description") != authenticationExpired:
		return s.refuse("unavailable", signInUnavailable(errors.New("the provider answered twice that it is not available")))
	default:
		return s.refuse("refused", errNotBegun)
	}
}

// redeem makes a session of the provider's answer to f.
func (s *Service) redeem(w http.ResponseWriter, r *http.Request, f signInFlow, q url.Values) error {
	e, err := s.provider.ready(r.Context())
	if err != nil {
		return s.refuse("unavailable", err)
	}
	if iss := q.Get("iss"); (iss != "" || e.sendsIss) && iss != s.o.Issuer { // RFC 9207
		return s.refuse("refused", errNotBegun)
	}
	switch code := q.Get("error"); {
	case code == "":
	case code == "access_denied":
		return s.refuse("denied", hux.Errorf(hux.PolicyDenied, "The sign-in was cancelled or not allowed."))
	case slices.Contains(answersToBeginAnew, code):
		return s.beginAnew(w, r, e, f, q)
	default:
		return s.refuse("unavailable", signInUnavailable(errors.New("the provider answered with an error")))
	}
	token, err := s.redeemed(r.Context(), e, f, q.Get("code"))
	if err != nil {
		var answer *oauth2.RetrieveError
		if errors.As(err, &answer) && answer.Response.StatusCode < http.StatusInternalServerError && answer.ErrorCode == "invalid_grant" {
			return s.refuse("refused", errNotBegun)
		}
		return s.refuse("unavailable", signInUnavailable(errors.New(safeCause(err))))
	}
	return s.finish(w, r, e, f, token)
}

// errNotBegun is the one answer to whatever does not belong to a sign-in that
// this browser began: which check it failed is no use to an honest one.
var errNotBegun = hux.Errorf(hux.BadRequest, "This sign-in was not begun in this browser, or it took too long. Begin again.")

// refuse counts a sign-in that ends here.
func (s *Service) refuse(outcome string, err error) error {
	s.metrics.signIns.WithLabelValues(outcome).Inc()
	return err
}

// takeFlow finds the sign-in that state belongs to, and takes its cookie away:
// it is good once. mine is whether this browser began it at all, which may be
// all that is left of it.
func (s *Service) takeFlow(w http.ResponseWriter, r *http.Request, state string) (f signInFlow, mine, ok bool) {
	name := s.flowCookie(state)
	sealed, mine := cookie(r.Header["Cookie"], name)
	if !mine {
		return f, false, false
	}
	s.consoleNames.set(w, name, "", -1)
	if err := s.flows.Decode(name, sealed, &f); err != nil {
		return f, true, false
	}
	recent := s.now().Sub(f.Started) < flowLifetime
	return f, true, recent && subtle.ConstantTimeCompare([]byte(f.State), []byte(state)) == 1
}

// idClaims is what we check of an ID token besides what go-oidc does.
type idClaims struct {
	Azp       string  `json:"azp"`
	Sid       string  `json:"sid"`
	AuthTime  float64 `json:"auth_time"`
	Name      string  `json:"name"`
	Preferred string  `json:"preferred_username"`
}

// checkIDToken verifies an ID token of the code flow (OpenID Connect Core
// 3.1.3.7).
func (s *Service) checkIDToken(ctx context.Context, e *endpoints, raw, nonce, accessToken string) (*oidc.IDToken, idClaims, error) {
	token, err := checked(ctx, e.idTokens.Verify, raw)
	if err != nil {
		return nil, idClaims{}, err
	}
	c, err := claimsOf[idClaims](token)
	if err != nil {
		return nil, c, err
	}
	why := ""
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		why = "nonce"
	case c.Azp != s.o.ClientID && (c.Azp != "" || len(token.Audience) > 1):
		why = "azp"
	case !validSubject(token.Subject):
		why = "sub"
	case token.IssuedAt.After(s.now().Add(s.o.ClockSkew)):
		why = "iat"
	case token.AccessTokenHash != "" && token.VerifyAccessToken(accessToken) != nil:
		why = "at_hash"
	}
	if why != "" {
		return nil, c, fmt.Errorf("%w: %s", errRefused, why)
	}
	return token, c, nil
}

// finish makes a session of the provider's tokens.
func (s *Service) finish(w http.ResponseWriter, r *http.Request, e *endpoints, f signInFlow, token *oauth2.Token) error {
	ctx := r.Context()
	rawID, _ := token.Extra("id_token").(string)
	idToken, c, err := s.checkIDToken(ctx, e, rawID, f.Nonce, token.AccessToken)
	if errors.Is(err, errUnavailable) {
		return s.refuse("unavailable", signInUnavailable(err))
	}
	if err != nil {
		s.log.LogAttrs(ctx, slog.LevelWarn, "an ID token was refused", slog.Any("cause", err))
		return s.refuse("refused", hux.Errorf(hux.Unauthenticated, "The sign-in provider's answer is not valid here. Begin again, or tell your operator."))
	}
	user := NewUserID(s.o.Key, s.o.Namespace, idToken.Subject)
	if wait, ok := s.userLimit.take(string(user)); !ok {
		return s.refuse("limited", hux.Errorf(hux.RateLimited, "You have signed in very often just now. Wait a little.").After(wait))
	}
	rec := sessionRecord{User: user, Roles: []string{}, AuthTime: instant(c.AuthTime), RefreshAt: refreshAt(s.now(), token)}
	rec.Roles, err = s.provider.roles(ctx, e, token, func(subject string) bool { return subject == idToken.Subject })
	if err != nil {
		// Signed in without any role, and asked again soon.
		s.log.LogAttrs(ctx, slog.LevelWarn, "roles could not be read", slog.String("cause", safeCause(err)))
		rec.Roles, rec.RefreshAt = []string{}, s.now().Add(refreshBackOff).UTC()
	}
	if token.RefreshToken == "" {
		rec.RefreshAt = time.Time{}
	}
	if c.Sid != "" {
		rec.SID = s.keyedHash("sid", c.Sid)
	}
	if f.Fresh && rec.AuthTime.Before(f.Started.Add(-s.o.ClockSkew).Truncate(time.Second)) {
		return s.refuse("refused", hux.Errorf(hux.Unauthenticated, "The sign-in provider did not ask you again, or does not say that it did. Tell your operator."))
	}
	replaced, err := s.sessionOf(r, Console)
	if err != nil {
		return err
	}
	secrets := sessionSecrets{Name: withDefault(c.Name, c.Preferred), RefreshToken: token.RefreshToken, IDToken: rawID}
	if f.Fresh && replaced != nil && replaced.user() == user {
		switch ok, err := s.proveAgain(w, r, replaced, rec, secrets); {
		case err != nil:
			return err
		case ok:
			return s.deliver(w, user, replaced.id, f.origin)
		}
		replaced = nil // it has ended meanwhile
	}
	old := ""
	if replaced != nil {
		if whose, since := replaced.begun(); whose == user && since.After(f.Started) && !f.Fresh { // another tab was faster, and may have much open
			if done, err := s.straightOn(w, r, f.origin, false); done || err != nil {
				return err
			}
		}
		old = replaced.id
	}
	id, handle, err := s.create(ctx, rec, secrets, old)
	if err != nil {
		return err
	}
	s.metrics.signIns.WithLabelValues("ok").Inc()
	s.consoleNames.set(w, s.consoleNames.session, handle, s.o.AbsoluteLifetime)
	switch known := s.isLast(r, user); {
	case known:
		s.setLast(w, user)
		return s.deliver(w, user, id, f.origin)
	case s.chat == nil:
		s.setLast(w, user)
		clearSiteData(w)
		return s.deliver(w, user, id, f.origin)
	default: // at an address without the provider's code
		clearSiteData(w)
		redirect(w, s.signInURL(f.chat, f.next))
		return nil
	}
}

// proveAgain notes that the person of a session has just proved who they are.
// The session goes on, with all that is open under it, under another handle on
// the console: whoever had the one before gains nothing by it. ok is false if
// the session has ended meanwhile.
func (s *Service) proveAgain(w http.ResponseWriter, r *http.Request, sess *session, proved sessionRecord, secrets sessionSecrets) (ok bool, err error) {
	handle, ok, err := s.newHandle(r.Context(), sess, Console, func(rec *sessionRecord, old *sessionSecrets) {
		rec.AuthTime, rec.Roles, rec.RefreshAt, rec.SID = proved.AuthTime, proved.Roles, proved.RefreshAt, proved.SID
		*old = secrets
	})
	if err != nil || !ok {
		return false, err
	}
	s.metrics.signIns.WithLabelValues("ok").Inc()
	s.consoleNames.set(w, s.consoleNames.session, handle, s.o.AbsoluteLifetime)
	return true, nil
}

// single is the one value of a parameter, "" for none; false for several.
func single(q url.Values, name string) (string, bool) {
	switch values := q[name]; len(values) {
	case 0:
		return "", true
	case 1:
		return values[0], true
	default:
		return "", false
	}
}

// redirect sends the browser on. Location is written as it is: http.Redirect
// would tidy the path up.
func redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusFound)
}
