package identity

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

const (
	logoutBucket = "auth_logouts"  // keyed hash of a logout token's jti → when it may be forgotten
	logoutMaxAge = 2 * time.Minute // of a logout token; one stolen later is worth nothing
	logoutBody   = 64 << 10        // bytes
)

// signOut (console) ends the session of this browser, has the chat host clear
// its own, and sends the browser to the provider's sign-out. A form on any page
// can send the cookie here, so the exact origin is what counts.
func (s *Service) signOut(w http.ResponseWriter, r *http.Request) error {
	if !s.fromConsole(r) {
		return hux.Errorf(hux.CrossOrigin, "Sign out on the page that is made for it.")
	}
	sess, err := s.sessionOf(r, Console)
	if err != nil {
		return err
	}
	idToken := ""
	if sess != nil {
		sess.mu.Lock()
		idToken = sess.secrets.IDToken
		sess.mu.Unlock()
		if err := s.endSession(r.Context(), sess.id, "sign_out"); err != nil {
			return err
		}
	}
	s.consoleNames.set(w, s.consoleNames.session, "", -1)
	clearSiteData(w)
	onward := s.afterSignOut(r.Context(), idToken)
	if s.chat != nil {
		c := Clearing{Ending: true, Onward: onward, Otherwise: onward}
		if sess == nil { // nothing has ended yet that the chat host's cookie may stand for
			c.Otherwise = s.signedOutURL() + "?chat=unknown"
		}
		s.o.Clear(w, r, c)
		return nil
	}
	w.Header().Set("Location", onward)
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

// fromConsole reports whether a browser sent r from a page of the console, to
// the console or, with sites that says so, to its sibling.
func (s *Service) fromConsole(r *http.Request, sites ...string) bool {
	from, site := r.Header["Origin"], r.Header["Sec-Fetch-Site"]
	return len(from) == 1 && from[0] == api.Origin(s.console) &&
		(len(site) == 0 || (len(site) == 1 && slices.Contains(append(sites, "same-origin"), site[0])))
}

func (s *Service) signedOutURL() string { return api.Origin(s.console) + "/hux/api/ui/signed-out" }

// afterSignOut is the provider's sign-out (OpenID Connect RP-Initiated Logout
// 1.0), or our own last page where there is none. That page is told when the
// provider is out of reach, and the sign-in there may go on.
func (s *Service) afterSignOut(ctx context.Context, idToken string) string {
	e, err := s.provider.ready(ctx)
	if err == nil {
		err = s.provider.answers(ctx)
	}
	switch {
	case err != nil:
		return s.signedOutURL() + "?provider=unreachable"
	case e.endSession == "":
		return s.signedOutURL()
	}
	u, err := url.Parse(e.endSession)
	if err != nil {
		return s.signedOutURL()
	}
	q := u.Query()
	q.Set("client_id", s.o.ClientID)
	q.Set("post_logout_redirect_uri", s.signedOutURL())
	if idToken != "" {
		q.Set("id_token_hint", idToken)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// backchannel takes a logout token from the provider (OpenID Connect
// Back-Channel Logout 1.0).
func (s *Service) backchannel(w http.ResponseWriter, r *http.Request) error {
	if wait, ok := s.logoutLimit.takeAddr(s.o.ClientAddr(r)); !ok {
		return hux.Errorf(hux.RateLimited, "Too many logout tokens.").After(wait)
	}
	refused := func() error {
		return api.JSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_request"})
	}
	r.Body = http.MaxBytesReader(w, r.Body, logoutBody)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return refused()
	}
	raw, ok := single(r.PostForm, "logout_token")
	if !ok || raw == "" {
		return refused()
	}
	e, err := s.provider.ready(r.Context())
	if err != nil {
		return err
	}
	token, err := s.checkLogoutToken(r.Context(), e, raw)
	switch {
	case errors.Is(err, errUnavailable):
		return signInUnavailable(err)
	case err != nil:
		s.log.LogAttrs(r.Context(), slog.LevelWarn, "a logout token was refused", slog.String("cause", safeCause(err)))
		return refused()
	}
	err = s.endSessions(r.Context(), "backchannel", func(tx *store.Tx) ([]string, error) {
		jti := s.keyedHash("jti", token.TokenID)
		if tx.Get(logoutBucket, jti) != nil {
			return nil, errRefused // a replay
		}
		// Once its age refuses it, the replay needs no remembering.
		until := token.IssuedAt.Add(logoutMaxAge + 2*s.o.ClockSkew)
		if err := putJSON(tx, logoutBucket, jti, until.UTC()); err != nil {
			return nil, err
		}
		return s.loggedOut(tx, token)
	})
	if errors.Is(err, errRefused) {
		return refused()
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// checkLogoutToken checks what VerifyLogout leaves open: that the token says
// it is one, if it says anything, that its event is an object, and its age.
func (s *Service) checkLogoutToken(ctx context.Context, e *endpoints, raw string) (*oidc.LogoutToken, error) {
	header, err := headerType(raw)
	if err != nil {
		return nil, err
	}
	token, err := checked(ctx, e.idTokens.VerifyLogout, raw)
	if err != nil {
		return nil, err
	}
	c, err := claimsOf[struct {
		Typ    string         `json:"typ"`
		Events map[string]any `json:"events"`
	}](token)
	if err != nil {
		return nil, err
	}
	// Other members may be anything: Keycloak has a boolean among them.
	_, isLogout := c.Events["http://schemas.openid.net/event/backchannel-logout"].(map[string]any)
	now, skew := s.now(), s.o.ClockSkew
	switch {
	case !isLogout,
		header != "" && header != "jwt" && header != "logout+jwt",
		c.Typ != "" && !strings.EqualFold(c.Typ, "Logout"), // Keycloak's tokens say in their payload what they are
		token.IssuedAt.Before(now.Add(-logoutMaxAge - skew)),
		token.IssuedAt.After(now.Add(skew)):
		return nil, errRefused
	}
	return token, nil
}

// loggedOut finds the sessions that a logout token ends: those of its sid,
// else all of its subject. Sessions of the subject without a sid cannot be
// told apart and end with either.
func (s *Service) loggedOut(tx *store.Tx, token *oidc.LogoutToken) ([]string, error) {
	user := ""
	if token.Subject != "" {
		user = string(NewUserID(s.o.Key, s.o.Namespace, token.Subject))
	}
	var ids []string
	if token.SessionID != "" {
		ids = indexed(tx, sidBucket, s.keyedHash("sid", token.SessionID))
	}
	if user == "" {
		return ids, nil
	}
	for _, id := range indexed(tx, userBucket, user) {
		var rec sessionRecord
		if _, err := getJSON(tx, sessionBucket, id, &rec); err != nil {
			return nil, err
		}
		if token.SessionID == "" || rec.SID == "" {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// sweepLogouts forgets logout tokens that are too old to be replayed.
func (s *Service) sweepLogouts(ctx context.Context) error {
	now := s.now()
	return s.sweepBucket(ctx, logoutBucket, func(value []byte) bool {
		var until time.Time
		return json.Unmarshal(value, &until) != nil || now.After(until)
	})
}
