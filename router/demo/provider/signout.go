package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// logoutLifetime is how long a logout token is good for (OpenID Connect
// Back-Channel Logout section 2.4 recommends two minutes at most).
const logoutLifetime = 2 * time.Minute

// logoutEvent is what a logout token says happened.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// serveEndSession signs a person out at a client's wish (OpenID Connect
// RP-Initiated Logout). Without a token that shows which client and whose
// session it is, the person is asked first.
func (p *Provider) serveEndSession(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // what does not parse is missing, and then we ask
	var clientID, sid string
	if hint := r.Form.Get("id_token_hint"); hint != "" {
		claims, err := p.verify(hint) // an expired one will do: section 2
		if err != nil || claims["typ"] != "ID" || claims["iss"] != p.issuer {
			p.page(w, http.StatusBadRequest, pageData{Title: "Sign-out failed", Failed: "The id_token_hint is not a token of ours."})
			return
		}
		clientID, _ = claims["aud"].(string)
		sid, _ = claims["sid"].(string)
	}
	if named := r.Form.Get("client_id"); named != "" {
		if clientID != "" && clientID != named {
			p.page(w, http.StatusBadRequest, pageData{Title: "Sign-out failed", Failed: "The id_token_hint is another application's."})
			return
		}
		clientID = named
	}
	s := p.current(r)
	confirmed := r.Method == http.MethodPost && r.PostForm.Get("confirm") != "" && sameOrigin.Check(r) == nil
	if s != nil && s.sid != sid && !confirmed {
		p.page(w, http.StatusOK, pageData{Title: "Sign out", Confirm: true})
		return
	}
	if s != nil {
		sid = s.sid
	}
	if sid != "" {
		if err := p.endSession(r.Context(), sid); err != nil {
			slog.Warn("demo: a client was not told of a sign-out", "cause", err)
		}
	}
	p.setCookie(w, "", -1)
	client := p.clients[clientID]
	if after := r.Form.Get("post_logout_redirect_uri"); after != "" && slices.Contains(client.PostLogoutURIs, after) {
		target, err := url.Parse(after)
		if err == nil {
			if state := r.Form.Get("state"); state != "" {
				q := target.Query()
				q.Set("state", state)
				target.RawQuery = q.Encode()
			}
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, target.String(), http.StatusSeeOther)
			return
		}
	}
	p.page(w, http.StatusOK, pageData{Title: "Signed out", Done: "You are signed out here and at every application that you opened with this sign-in."})
}

// endSession forgets a session with its grants and tells its clients.
func (p *Provider) endSession(ctx context.Context, sid string) error {
	p.mu.Lock()
	var ended *session
	p.sessions.RemoveIf(func(s *session) bool {
		if s.sid != sid {
			return false
		}
		ended = s
		return true
	})
	subject, clients := "", []string(nil)
	if ended != nil {
		subject, clients = ended.subject, slices.Clone(ended.clients)
	}
	p.grants.RemoveIf(func(g *grant) bool {
		if g.sid != sid {
			return false
		}
		subject = g.subject
		if !slices.Contains(clients, g.client) {
			clients = append(clients, g.client)
		}
		return true
	})
	p.mu.Unlock()

	var errs []error
	for _, id := range clients {
		if p.clients[id].BackchannelURI == "" {
			continue
		}
		token, err := p.Sign(map[string]any{"typ": "logout+jwt"}, p.logoutClaims(id, subject, sid))
		if err != nil {
			return err
		}
		if status, err := p.SendBackchannel(ctx, id, token); err != nil {
			errs = append(errs, err)
		} else if status/100 != 2 {
			errs = append(errs, fmt.Errorf("demo: client %s answered %d to a logout token", id, status))
		}
	}
	return errors.Join(errs...)
}

// EndSessions signs a person out everywhere, as an administrator would, and
// sends logout tokens to the clients they used.
func (p *Provider) EndSessions(ctx context.Context, user string) error {
	subject := p.Subject(user)
	if subject == "" {
		return unknownPerson(user)
	}
	p.mu.Lock()
	var sids []string
	for _, s := range p.sessions.NewestFirst() {
		if s.subject == subject {
			sids = append(sids, s.sid)
		}
	}
	for _, g := range p.grants.NewestFirst() {
		if g.subject == subject && !slices.Contains(sids, g.sid) {
			sids = append(sids, g.sid)
		}
	}
	p.mu.Unlock()
	var errs []error
	for _, sid := range sids {
		errs = append(errs, p.endSession(ctx, sid))
	}
	return errors.Join(errs...)
}

// LogoutClaims are a logout token's claims for a client about a person, for a
// test to change, Sign (with "typ" "logout+jwt") and SendBackchannel. With an
// sid it names that session, without one the person alone.
func (p *Provider) LogoutClaims(client, user, sid string) (map[string]any, error) {
	subject := p.Subject(user)
	if subject == "" {
		return nil, unknownPerson(user)
	}
	return p.logoutClaims(client, subject, sid), nil
}

func (p *Provider) logoutClaims(client, subject, sid string) map[string]any {
	now := p.now()
	claims := map[string]any{
		"iss": p.issuer, "aud": client, "sub": subject, "jti": uuid.NewString(), "typ": "Logout",
		"iat": now.Unix(), "exp": now.Add(logoutLifetime).Unix(),
		"events": map[string]any{logoutEvent: map[string]any{}},
	}
	if sid != "" {
		claims["sid"] = sid
	}
	return claims
}

// SendBackchannel posts a logout token to a client's back channel and gives
// the status of the answer.
func (p *Provider) SendBackchannel(ctx context.Context, client, token string) (status int, err error) {
	c, ok := p.clients[client]
	if !ok || c.BackchannelURI == "" {
		return 0, fmt.Errorf("demo: client %q has no back channel", client)
	}
	body := url.Values{"logout_token": {token}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BackchannelURI, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := p.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10))
	return res.StatusCode, nil
}

// Sessions lists the sid of each session that a person has, newest first.
func (p *Provider) Sessions(user string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	who := p.person(user)
	var sids []string
	for _, s := range p.sessions.NewestFirst() {
		if who != nil && s.subject == who.Subject {
			sids = append(sids, s.sid)
		}
	}
	return sids
}
