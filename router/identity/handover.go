package identity

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

const (
	codeBucket   = "auth_codes" // hash of a one-time code → codeRecord
	codeLifetime = 30 * time.Second
)

// codeRecord is what a one-time code stands for, on its way from the console
// to the chat host. It is gone at the first look.
type codeRecord struct {
	For     string    `json:"for"`               // forAccept or forEnd
	Flow    string    `json:"flow,omitempty"`    // accept: hash of the flow cookie of the browser that asked
	Session string    `json:"session,omitempty"` // accept: the session to hand over
	Onward  []byte    `json:"onward"`            // where to after it, sealed: it holds an ID token, or a query that a person typed
	Expires time.Time `json:"expires_at"`
}

const forAccept, forEnd = "accept", "end"

// putCode stores c under a new code and returns that.
func (s *Service) putCode(ctx context.Context, c codeRecord) (string, error) {
	code := newSecret()
	c.Expires = s.now().Add(codeLifetime).UTC()
	return code, s.db.Update(ctx, func(tx *store.Tx) error { return putJSON(tx, codeBucket, secretHash(code), c) })
}

// takeCode consumes a code, whether it is then good or not. ok is false for
// one that never was, is used, is too old or is for something else.
func (s *Service) takeCode(ctx context.Context, code, purpose string) (c codeRecord, ok bool, err error) {
	if len(code) != secretLength {
		return c, false, nil
	}
	key := secretHash(code)
	var found bool
	// A look first: guesses must not cost a write each.
	if err := s.db.View(ctx, func(tx *store.Tx) error { found = tx.Get(codeBucket, key) != nil; return nil }); err != nil || !found {
		return c, false, err
	}
	err = s.db.Update(context.WithoutCancel(ctx), func(tx *store.Tx) (err error) {
		c = codeRecord{}
		if found, err = getJSON(tx, codeBucket, key, &c); err != nil {
			return err
		}
		return tx.Delete(codeBucket, key)
	})
	return c, err == nil && found && c.For == purpose && s.now().Before(c.Expires), err
}

// sweepCodes drops the codes that nobody came for.
func (s *Service) sweepCodes(ctx context.Context) error {
	now := s.now()
	return s.sweepBucket(ctx, codeBucket, func(value []byte) bool {
		var c codeRecord
		return json.Unmarshal(value, &c) != nil || !now.Before(c.Expires)
	})
}

// sweepBucket deletes the entries of bucket that are over.
func (s *Service) sweepBucket(ctx context.Context, bucket string, over func([]byte) bool) error {
	var keys []string
	err := s.db.View(ctx, func(tx *store.Tx) error {
		for _, e := range tx.List(bucket, "") {
			if over(e.Value) {
				keys = append(keys, e.Key)
			}
		}
		return nil
	})
	if err != nil || len(keys) == 0 {
		return err
	}
	return s.db.Update(ctx, func(tx *store.Tx) error {
		for _, key := range keys {
			if err := tx.Delete(bucket, key); err != nil {
				return err
			}
		}
		return nil
	})
}

// start (chat) begins a sign-in: it sets the cookie that the hand-over is
// bound to, and sends the browser to the console. With one origin there is no
// hand-over, and signIn takes its place.
func (s *Service) start(w http.ResponseWriter, r *http.Request) error {
	next, _ := single(r.URL.Query(), "next")
	// A second tab keeps the first one's cookie, or it would spoil its code.
	flow, ok := cookie(r.Header["Cookie"], s.chatNames.flow)
	if !ok || len(flow) != secretLength {
		flow = newSecret()
	}
	s.chatNames.set(w, s.chatNames.flow, flow, flowLifetime)
	redirect(w, api.Origin(s.console)+"/hux/auth/sign-in?"+url.Values{
		"flow": {secretHash(flow)}, "next": {CheckNext(next)},
	}.Encode())
	return nil
}

// page is the URL of next on the host that a sign-in with flow began on.
func (s *Service) page(flow, next string) string {
	if flow == "" {
		return api.Origin(s.console) + next
	}
	return api.Origin(s.chat) + next
}

// deliver sends the browser of a session to next: on the chat host, with a
// one-time code for it, if flow names that host's cookie.
func (s *Service) deliver(w http.ResponseWriter, r *http.Request, session, flow, next string) error {
	if flow == "" {
		redirect(w, s.page(flow, next))
		return nil
	}
	code, err := s.putCode(r.Context(), codeRecord{For: forAccept, Flow: flow, Session: session, Onward: s.sealed([]byte(next), codeBucket)})
	if err != nil {
		return err
	}
	redirect(w, api.Origin(s.chat)+"/hux/auth/accept?code="+code)
	return nil
}

// accept (chat) takes a hand-over. Only the browser that began it can: anybody
// else's code would sign this one in as another. Whatever goes wrong ends at a
// URL without the code, since scripts on this host can read their own.
func (s *Service) accept(w http.ResponseWriter, r *http.Request) error {
	param, _ := single(r.URL.Query(), "code")
	code, ok, err := s.takeCode(r.Context(), param, forAccept)
	if err != nil {
		return err
	}
	flow, has := cookie(r.Header["Cookie"], s.chatNames.flow)
	if !ok || !has || subtle.ConstantTimeCompare([]byte(secretHash(flow)), []byte(code.Flow)) != 1 {
		redirect(w, api.Origin(s.chat)+"/hux/auth/failed")
		return nil
	}
	sess, err := s.byID(r.Context(), code.Session)
	if err != nil {
		return err
	}
	before, err := s.sessionOf(r, Chat)
	if err != nil {
		return err
	}
	if sess == nil {
		redirect(w, api.Origin(s.chat)+"/hux/auth/failed")
		return nil
	}
	if before != sess { // else the cookie is right as it is; another tab was first
		if before != nil {
			if err := s.endSession(r.Context(), before.id, "replaced"); err != nil {
				return err
			}
		}
		handle, ok, err := s.chatHandle(r.Context(), sess)
		if err != nil {
			return err
		}
		if !ok {
			redirect(w, api.Origin(s.chat)+"/hux/auth/failed")
			return nil
		}
		s.chatNames.set(w, s.chatNames.session, handle, s.o.AbsoluteLifetime)
	}
	s.signedIn(w, r, Chat, string(sess.record.User))
	next, err := s.opened(code.Onward, codeBucket)
	if err != nil {
		return err
	}
	redirect(w, api.Origin(s.chat)+CheckNext(string(next)))
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
