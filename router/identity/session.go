package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Buckets of the sessions. A handle is the secret in a cookie; only its hash
// is stored, together with the site it is good for.
const (
	sessionBucket = "sessions"        // session id → sessionRecord
	handleBucket  = "session_handles" // site:hash of handle → session id
	userBucket    = "session_users"   // user/session id → nothing
	sidBucket     = "session_sids"    // keyed hash of the provider's sid/session id → nothing
)

const (
	seenInterval = time.Minute      // how exactly "last seen" is kept on disk
	seenTurn     = 30 * time.Second // between two looks at what is due for that
	sweepTurns   = 20               // such turns between two sweeps of the disk
)

// sessionRecord is a session on disk.
type sessionRecord struct {
	ID        string    `json:"id"`
	User      hux.User  `json:"user"`
	Roles     []string  `json:"roles"`
	Created   time.Time `json:"created_at"`
	AuthTime  time.Time `json:"auth_time,omitzero"`
	LastSeen  time.Time `json:"last_seen"`
	Expires   time.Time `json:"expires_at"`          // absolute lifetime
	RefreshAt time.Time `json:"refresh_at,omitzero"` // when the access token is due; zero without a refresh token
	Console   string    `json:"console"`             // hash of the handle for the console
	Chat      string    `json:"chat,omitempty"`      // hash of the handle for chat, after a hand-over
	SID       string    `json:"sid,omitempty"`       // keyed hash of the provider's session id
	Sealed    []byte    `json:"sealed"`              // sealed sessionSecrets
}

// sessionSecrets is the part of a record that is kept encrypted.
type sessionSecrets struct {
	Name         string `json:"name,omitempty"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"` // the hint for the provider's sign-out
}

// session is a session in memory: the record, and what its requests share.
type session struct {
	id       string
	life     lifeline    // of the requests under it
	deadline *time.Timer // ends life at the absolute end
	cleared  atomic.Bool // the chat host of its browser; see clearChat

	mu       sync.Mutex
	record   sessionRecord
	secrets  sessionSecrets
	identity *Identity
	seen     time.Time // LastSeen on disk follows it
	renewal  *renewal  // under way, or nil
}

// liveSessions are the sessions in use, by site and hash of handle, so that a
// signed-in request needs no disk. The lock also orders reading a session from
// disk against ending it, so that an ended one cannot come back.
type liveSessions struct {
	sync.RWMutex
	byHandle map[handleKey]*session
	byID     map[string]*session
}

type handleKey struct {
	site Site
	hash [sha256.Size]byte
}

func (l *liveSessions) init() {
	l.byHandle, l.byID = map[handleKey]*session{}, map[string]*session{}
}

func (l *liveSessions) add(sess *session) {
	l.byID[sess.id] = sess
	for site, hash := range sess.record.handles() {
		l.byHandle[handleKeyOf(site, hash)] = sess
	}
}

func (l *liveSessions) remove(sess *session) {
	delete(l.byID, sess.id)
	for site, hash := range sess.record.handles() {
		delete(l.byHandle, handleKeyOf(site, hash))
	}
}

func (rec *sessionRecord) handles() map[Site]string {
	h := map[Site]string{Console: rec.Console}
	if rec.Chat != "" {
		h[Chat] = rec.Chat
	}
	return h
}

func handleKeyOf(site Site, hash string) handleKey {
	k := handleKey{site: site}
	_, _ = hex.Decode(k.hash[:], []byte(hash)) // written by us as 64 digits; anything else finds nothing
	return k
}

func handleRow(site Site, hash string) string { return string(site) + ":" + hash }

// bySession authenticates a request by the session cookie of site.
func (s *Service) bySession(r *http.Request, site Site) (*Identity, context.Context, error) {
	sess, err := s.sessionOf(r, site)
	if sess == nil || err != nil {
		return nil, r.Context(), err
	}
	id, err := s.renewed(r.Context(), sess)
	if id == nil || err != nil {
		return nil, r.Context(), err
	}
	return id, sess.life.join(r.Context()), nil
}

// sessionOf finds the live session that the cookie of site stands for, or nil.
func (s *Service) sessionOf(r *http.Request, site Site) (*session, error) {
	handle, ok := cookie(r.Header["Cookie"], s.names(site).session)
	if !ok || len(handle) != secretLength {
		return nil, nil
	}
	key := handleKey{site: site, hash: sha256.Sum256([]byte(handle))}
	s.sessions.RLock()
	sess := s.sessions.byHandle[key]
	s.sessions.RUnlock()
	if sess == nil {
		var err error
		if sess, err = s.load(r.Context(), key); sess == nil || err != nil {
			return nil, err
		}
	}
	now := s.now()
	sess.mu.Lock()
	expired := s.expired(&sess.record, sess.seen, now)
	if !expired {
		sess.seen = now
	}
	sess.mu.Unlock()
	if expired {
		return nil, s.endSession(r.Context(), sess.id, "expired")
	}
	return sess, nil
}

func (s *Service) expired(rec *sessionRecord, seen, now time.Time) bool {
	return !now.Before(rec.Expires) || now.Sub(seen) >= s.o.IdleLifetime
}

// load reads a session into memory by one of its handles; nil for none.
func (s *Service) load(ctx context.Context, key handleKey) (*session, error) {
	s.sessions.Lock()
	defer s.sessions.Unlock()
	if sess := s.sessions.byHandle[key]; sess != nil {
		return sess, nil
	}
	return s.read(ctx, func(tx *store.Tx) string {
		return string(tx.Get(handleBucket, handleRow(key.site, hex.EncodeToString(key.hash[:]))))
	})
}

// byID is the session of that id, from memory if it can be; nil for none.
func (s *Service) byID(ctx context.Context, id string) (*session, error) {
	s.sessions.Lock()
	defer s.sessions.Unlock()
	if sess := s.sessions.byID[id]; sess != nil {
		return sess, nil
	}
	return s.read(ctx, func(*store.Tx) string { return id })
}

// read reads the session that find names; the caller holds the lock.
func (s *Service) read(ctx context.Context, find func(*store.Tx) string) (*session, error) {
	var rec sessionRecord
	var found bool
	err := s.db.View(context.WithoutCancel(ctx), func(tx *store.Tx) (err error) {
		if id := find(tx); id != "" {
			found, err = getJSON(tx, sessionBucket, id, &rec)
		}
		return err
	})
	if err != nil || !found {
		return nil, err
	}
	secrets, err := s.unseal(&rec)
	if err != nil {
		// The key has changed; the people of the old one sign in again.
		return nil, nil //nolint:nilerr // no session, rather than an error for good
	}
	return s.admit(rec, secrets), nil
}

// admit puts a session into memory; the caller holds the lock.
func (s *Service) admit(rec sessionRecord, secrets sessionSecrets) *session {
	if live := s.sessions.byID[rec.ID]; live != nil {
		return live
	}
	sess := &session{id: rec.ID, record: rec, secrets: secrets, seen: rec.LastSeen}
	// The clock may be a test's, so the absolute end is told as time to go.
	sess.deadline = time.AfterFunc(rec.Expires.Sub(s.now()), sess.life.end)
	sess.identity = identityOf(&rec, &secrets)
	s.sessions.add(sess)
	return sess
}

func identityOf(rec *sessionRecord, secrets *sessionSecrets) *Identity {
	return &Identity{
		User: rec.User, Name: secrets.Name, Roles: rec.Roles, Actor: actorOf(rec.User, rec.Roles),
		Method: Session, SignedInAt: rec.Created, AuthTime: rec.AuthTime, ExpiresAt: rec.Expires,
	}
}

func actorOf(user hux.User, roles []string) hux.Actor {
	if slices.Contains(roles, RoleWorker) {
		return hux.Actor{Kind: hux.KindWorker, ID: string(user)}
	}
	return hux.Actor{Kind: hux.KindHuman, ID: string(user)}
}

// create begins a session, in place of the one that the browser had before,
// and returns its id and the handle for the console. The first request with
// that brings it into memory.
func (s *Service) create(ctx context.Context, rec sessionRecord, secrets sessionSecrets, replaced string) (id, handle string, err error) {
	handle = newSecret()
	now := s.now().UTC()
	rec.ID, rec.Console = newSecret(), secretHash(handle)
	rec.Created, rec.LastSeen, rec.Expires = now, now, now.Add(s.o.AbsoluteLifetime)
	if err := s.sealInto(&rec, &secrets); err != nil {
		return "", "", err
	}
	if replaced != "" {
		if err := s.endSession(ctx, replaced, "replaced"); err != nil {
			return "", "", err
		}
	}
	return rec.ID, handle, s.db.Update(ctx, func(tx *store.Tx) error {
		err := errors.Join(
			putJSON(tx, sessionBucket, rec.ID, rec),
			tx.Put(handleBucket, handleRow(Console, rec.Console), []byte(rec.ID)),
			tx.Put(userBucket, string(rec.User)+"/"+rec.ID, []byte{}))
		if rec.SID != "" {
			err = errors.Join(err, tx.Put(sidBucket, rec.SID+"/"+rec.ID, []byte{}))
		}
		return err
	})
}

// change rewrites the record of a session, unless it has ended meanwhile: then
// ok is false and nothing is written.
func (s *Service) change(ctx context.Context, sess *session, fn func(*sessionRecord, *sessionSecrets)) (ok bool, err error) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	rec, secrets := sess.record, sess.secrets
	fn(&rec, &secrets)
	rec.LastSeen = sess.seen.UTC()
	if err := s.sealInto(&rec, &secrets); err != nil {
		return false, err
	}
	err = s.db.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		ok = tx.Get(sessionBucket, rec.ID) != nil
		if !ok {
			return nil
		}
		return errors.Join(putJSON(tx, sessionBucket, rec.ID, rec), moveRows(tx, &sess.record, &rec))
	})
	if err != nil || !ok {
		return false, err
	}
	sess.record, sess.secrets, sess.identity = rec, secrets, identityOf(&rec, &secrets)
	return true, nil
}

// moveRows brings the rows by which a session is found in step with its record.
func moveRows(tx *store.Tx, before, after *sessionRecord) (err error) {
	old := before.handles()
	for site, hash := range after.handles() {
		if hash == old[site] {
			continue
		}
		if old[site] != "" {
			err = errors.Join(err, tx.Delete(handleBucket, handleRow(site, old[site])))
		}
		err = errors.Join(err, tx.Put(handleBucket, handleRow(site, hash), []byte(after.ID)))
	}
	if before.SID == after.SID {
		return err
	}
	if before.SID != "" {
		err = errors.Join(err, tx.Delete(sidBucket, before.SID+"/"+after.ID))
	}
	if after.SID != "" {
		err = errors.Join(err, tx.Put(sidBucket, after.SID+"/"+after.ID, []byte{}))
	}
	return err
}

// newHandle gives a session a new handle for a site, in place of the one
// before, and makes the further changes of more, which may be nil. ok is false
// if the session has ended meanwhile.
func (s *Service) newHandle(ctx context.Context, sess *session, site Site, more func(*sessionRecord, *sessionSecrets)) (handle string, ok bool, err error) {
	handle = newSecret()
	var before, after string
	ok, err = s.change(ctx, sess, func(rec *sessionRecord, secrets *sessionSecrets) {
		if more != nil {
			more(rec, secrets)
		}
		before, after = rec.handles()[site], secretHash(handle)
		if site == Chat {
			rec.Chat = after
		} else {
			rec.Console = after
		}
	})
	if err != nil || !ok {
		return "", false, err
	}
	s.sessions.Lock()
	defer s.sessions.Unlock()
	delete(s.sessions.byHandle, handleKeyOf(site, before))
	if sess.life.ended() {
		return "", false, nil
	}
	s.sessions.byHandle[handleKeyOf(site, after)] = sess
	return handle, true, nil
}

// begun is whose session it is, and when they signed in.
func (sess *session) begun() (hux.User, time.Time) {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.record.User, sess.record.Created
}

// user is whose session it is.
func (sess *session) user() hux.User {
	sess.mu.Lock()
	defer sess.mu.Unlock()
	return sess.record.User
}
