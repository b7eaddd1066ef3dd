package identity

import (
	"crypto/subtle"
	"net/http"
	"sync"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

const (
	acceptPath       = "/hux/auth/accept"
	handoverLifetime = 30 * time.Second
	chatFlowsAtOnce  = 16     // in one browser: its tabs, when it opens them all again
	maxHandovers     = 10_000 // under way at once, of all users
)

// handover is a session on its way from the console to the chat host. The
// code that stands for it is in a cookie and never in a URL, which the chat's
// scripts and its service worker could read. It lives in memory alone: after
// a restart the sign-in begins again, without being asked anything.
type handover struct {
	flow    string // hash of the flow cookie of the browser that asked
	session string // the session to hand over
	next    string // where to after it, a path
	expires time.Time
}

// handovers are those under way, one for each session and flow.
type handovers struct {
	sync.Mutex
	byCode map[string]handover // by hash of the code
	codes  map[string]string   // session/flow → hash of the code
}

func (h *handovers) init() { h.byCode, h.codes = map[string]handover{}, map[string]string{} }

// put makes a code for o, in place of the one that its session and flow had.
func (h *handovers) put(o handover, now time.Time) (code string) {
	code = newSecret()
	h.Lock()
	defer h.Unlock()
	h.drop(h.codes[o.session+"/"+o.flow])
	if len(h.byCode) >= maxHandovers {
		h.dropExpired(now)
	}
	for hash := range h.byCode {
		if len(h.byCode) < maxHandovers {
			break
		}
		h.drop(hash) // any: most are used within a second, and one that is lost begins again
	}
	hash := secretHash(code)
	h.byCode[hash], h.codes[o.session+"/"+o.flow] = o, hash
	return code
}

// take uses a code up, whether it is then good or not. ok is false for one
// that never was, is used or is too old.
func (h *handovers) take(code string, now time.Time) (o handover, ok bool) {
	h.Lock()
	defer h.Unlock()
	hash := secretHash(code)
	o, ok = h.byCode[hash]
	h.drop(hash)
	return o, ok && now.Before(o.expires)
}

func (h *handovers) drop(hash string) {
	if o, ok := h.byCode[hash]; ok {
		delete(h.byCode, hash)
		delete(h.codes, o.session+"/"+o.flow)
	}
}

// sweep drops the codes that nobody came for.
func (h *handovers) sweep(now time.Time) {
	h.Lock()
	defer h.Unlock()
	h.dropExpired(now)
}

func (h *handovers) dropExpired(now time.Time) {
	for hash, o := range h.byCode {
		if !now.Before(o.expires) {
			h.drop(hash)
		}
	}
}

// setHandover sets the cookie that carries the code of the hand-over to flow.
// The console sets it and the chat host reads it, at one path. Its name cannot
// be known beforehand to whoever would plant another one like it.
func (s *Service) setHandover(w http.ResponseWriter, flow, code string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: s.handoverCookie(flow), Value: code, Domain: s.shared, Path: acceptPath, MaxAge: maxAge(life),
		Secure: s.chatNames.secure && s.consoleNames.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (s *Service) handoverCookie(flow string) string {
	name := "hux_handover_" + flow[:8]
	if s.chatNames.secure && s.consoleNames.secure {
		return "__Secure-" + name
	}
	return name
}

// start (chat) begins a sign-in: it sets the cookie that the hand-over is
// bound to, and sends the browser to the console. With one origin there is no
// hand-over, and signIn takes its place.
func (s *Service) start(w http.ResponseWriter, r *http.Request) error {
	next, _ := single(r.URL.Query(), "next")
	flow := newSecret() // never one that came: a script may have set it, and know it
	hash := secretHash(flow)
	s.chatNames.makeRoom(w, r, chatFlowsAtOnce, chatFlowsAtOnce)
	s.chatNames.set(w, s.chatNames.flowOf(hash), flow, flowLifetime)
	redirect(w, s.signInURL(hash, CheckNext(next)))
	return nil
}

// page is the URL that a sign-in of that origin leads to.
func (s *Service) page(o origin) string {
	if o.chat == "" {
		return api.Origin(s.console) + o.next
	}
	return api.Origin(s.chat) + o.next
}

// deliver sends the browser of a session where o leads: on the chat host, by
// way of a hand-over, if o names that host's cookie.
func (s *Service) deliver(w http.ResponseWriter, user hux.User, session string, o origin) error {
	if o.chat == "" {
		redirect(w, s.page(o))
		return nil
	}
	if wait, ok := s.handoverLimit.take(string(user)); !ok {
		err := hux.Errorf(hux.RateLimited, "The chat was opened very often just now. Wait a little.").After(wait)
		return s.refuse("limited", backTo{err, s.page(o)})
	}
	now := s.now()
	code := s.handovers.put(handover{o.chat, session, o.next, now.Add(handoverLifetime)}, now)
	s.setHandover(w, o.chat, code, handoverLifetime)
	redirect(w, api.Origin(s.chat)+acceptPath+"?flow="+o.chat)
	return nil
}

// accept (chat) takes a hand-over. Only the browser that began it can: anybody
// else's code would sign this one in as another.
func (s *Service) accept(w http.ResponseWriter, r *http.Request) error {
	hash, ok := single(r.URL.Query(), "flow")
	if !ok || !isHash(hash) {
		return s.notAccepted(w)
	}
	flow, hasFlow := cookie(r.Header["Cookie"], s.chatNames.flowOf(hash))
	code, hasCode := cookie(r.Header["Cookie"], s.handoverCookie(hash))
	s.chatNames.set(w, s.chatNames.flowOf(hash), "", -1)
	s.setHandover(w, hash, "", -1)
	h, ok := s.handovers.take(code, s.now())
	if !ok || !hasCode {
		return s.notAccepted(w)
	}
	sess, err := s.byID(r.Context(), h.session)
	if err != nil {
		return err
	}
	before, err := s.sessionOf(r, Chat)
	if err != nil {
		return err
	}
	if sess == nil {
		return s.notAccepted(w)
	}
	if before != sess { // else the cookie is right as it is; another tab was first
		if !hasFlow || subtle.ConstantTimeCompare([]byte(secretHash(flow)), []byte(h.flow)) != 1 {
			return s.notAccepted(w)
		}
		if before != nil {
			if err := s.endSession(r.Context(), before.id, "replaced"); err != nil {
				return err
			}
		}
		handle, ok, err := s.newHandle(r.Context(), sess, Chat, nil)
		if err != nil {
			return err
		}
		if !ok {
			return s.notAccepted(w)
		}
		s.chatNames.set(w, s.chatNames.session, handle, s.o.AbsoluteLifetime)
	}
	redirect(w, api.Origin(s.chat)+h.next)
	return nil
}

// notAccepted sends a browser whose hand-over was refused to a page that says
// so, which can be loaded again.
func (s *Service) notAccepted(w http.ResponseWriter) error {
	redirect(w, api.Origin(s.chat)+"/hux/auth/failed")
	return nil
}

// failed (chat) is where a hand-over that was refused ends.
func (s *Service) failed(http.ResponseWriter, *http.Request) error {
	return errNotBegun
}

// isHash reports whether v has the shape of secretHash's results.
func isHash(v string) bool {
	if len(v) != 64 {
		return false
	}
	for _, c := range v {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
