package identity

import (
	"encoding/base64"
	"mime"
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Clearing is how what a browser keeps of the chat host goes, at a sign-out and
// before another user's sign-in. The WebUI's service worker answers whatever
// navigates to that host, so nothing that leads there can be relied on. What a
// page of the console fetches from it passes by no worker of its.
//
// The page POSTs a form with Ticket as the field ticket to /hux/auth/clear on
// the chat host, with credentials. On success (204) it goes on to Onward.
type Clearing struct {
	Ending    bool   // at a sign-out; else at a sign-in
	Ticket    string // "" at a sign-out
	Onward    string // URL
	Otherwise string // URL to offer where that failed, or without scripts; "" for none
}

const (
	clearBody  = 4 << 10 // bytes
	ticketName = "clear ticket"
)

// mustClear reports whether the browser of sess may still keep something of
// another user's on the chat host. Not knowing is as good as yes: a page of
// the chat can push our mark out of the browser with cookies of its own.
func (s *Service) mustClear(w http.ResponseWriter, r *http.Request, sess *session, user hux.User) bool {
	if s.chat == nil || s.isLast(r, user) {
		return false
	}
	if !sess.cleared.Load() {
		return true
	}
	s.setLast(w, user)
	return false
}

// clearForNext answers a sign-in with a page that clears the chat host first
// and comes back.
func (s *Service) clearForNext(w http.ResponseWriter, r *http.Request, session string, o origin) {
	c := Clearing{Ticket: s.ticket(session), Onward: s.signInURL(o.chat, o.next)}
	if o.chat == "" { // the console has no need of the chat host
		c.Otherwise = c.Onward + "&clear=later"
	}
	s.o.Clear(w, r, c)
}

// ticket names a session to clearChat. Only the console's page has it.
func (s *Service) ticket(session string) string {
	return base64.RawURLEncoding.EncodeToString(s.sealed([]byte(session), ticketName))
}

// clearChat (chat) ends what this browser has on the chat host: the session of
// its cookie, and all that it keeps. Pages of the console alone may ask for
// that. A ticket says for whose session it is; that one stays.
func (s *Service) clearChat(w http.ResponseWriter, r *http.Request) error {
	if !s.fromConsole(r, "same-site") {
		return hux.Errorf(hux.CrossOrigin, "Only a page of the console may ask for this.")
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", api.Origin(s.console))
	h.Set("Access-Control-Allow-Credentials", "true")
	r.Body = http.MaxBytesReader(w, r.Body, clearBody)
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return hux.Errorf(hux.BadRequest, "Send a form.")
	}
	var next *session
	if sealed, err := base64.RawURLEncoding.DecodeString(r.PostForm.Get("ticket")); err == nil && len(sealed) > 0 {
		if id, err := s.opened(sealed, ticketName); err == nil {
			if next, err = s.byID(r.Context(), string(id)); err != nil {
				return err
			}
		}
	}
	sess, err := s.sessionOf(r, Chat)
	if err != nil {
		return err
	}
	if sess != nil && sess != next {
		if err := s.endSession(r.Context(), sess.id, "cleared"); err != nil {
			return err
		}
	}
	if sess == nil || sess != next {
		s.chatNames.set(w, s.chatNames.session, "", -1)
	}
	clearSiteData(w)
	if next != nil {
		next.cleared.Store(true)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
