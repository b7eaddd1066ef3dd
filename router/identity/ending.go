package identity

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// endSession ends one session, on disk first; one that is gone is no error.
func (s *Service) endSession(ctx context.Context, id, reason string) error {
	return s.endSessions(ctx, reason, func(*store.Tx) ([]string, error) { return []string{id}, nil })
}

// endSessions ends the sessions that find names, in the transaction that
// removes them, and with them every request they have open.
func (s *Service) endSessions(ctx context.Context, reason string, find func(*store.Tx) ([]string, error)) error {
	var ended []string
	err := s.db.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		ids, err := find(tx)
		if err != nil {
			return err
		}
		ended = ended[:0]
		for _, id := range ids {
			removed, err := removeSession(tx, id)
			if err != nil {
				return err
			}
			if removed {
				ended = append(ended, id)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.sessions.Lock()
	defer s.sessions.Unlock()
	for _, id := range ended {
		s.metrics.ended.WithLabelValues(reason).Inc()
		if sess := s.sessions.byID[id]; sess != nil {
			sess.mu.Lock()
			s.sessions.remove(sess)
			sess.mu.Unlock()
			sess.deadline.Stop()
			sess.life.end()
		}
	}
	return nil
}

// removeSession deletes a session and every index row of it.
func removeSession(tx *store.Tx, id string) (bool, error) {
	var rec sessionRecord
	found, err := getJSON(tx, sessionBucket, id, &rec)
	if err != nil || !found {
		return false, err
	}
	err = errors.Join(tx.Delete(sessionBucket, id), tx.Delete(userBucket, string(rec.User)+"/"+id))
	for site, hash := range rec.handles() {
		err = errors.Join(err, tx.Delete(handleBucket, handleRow(site, hash)))
	}
	if rec.SID != "" {
		err = errors.Join(err, tx.Delete(sidBucket, rec.SID+"/"+id))
	}
	return true, err
}

// EndAll signs user out everywhere: every session ends, and every request that
// one of them has open. Bearer tokens are the provider's to revoke.
func (s *Service) EndAll(ctx context.Context, user hux.User) error {
	return s.endSessions(ctx, "ended", func(tx *store.Tx) ([]string, error) {
		return indexed(tx, userBucket, string(user)), nil
	})
}

// indexed lists the session ids under key in an index bucket.
func indexed(tx *store.Tx, bucket, key string) []string {
	var ids []string
	for _, e := range tx.List(bucket, key+"/") {
		ids = append(ids, e.Key[len(key)+1:])
	}
	return ids
}

// seenSessions writes down when sessions were last seen, and ends those in
// memory that have expired: they may have streams open.
func (s *Service) seenSessions(ctx context.Context) error {
	now := s.now()
	seen := map[string]time.Time{}
	var due []*session
	var expired []string
	s.sessions.RLock()
	for id, sess := range s.sessions.byID {
		sess.mu.Lock()
		if s.expired(&sess.record, sess.seen, now) {
			expired = append(expired, id)
		} else if sess.seen.Sub(sess.record.LastSeen) >= seenInterval {
			seen[id] = sess.seen
			due = append(due, sess)
		}
		sess.mu.Unlock()
	}
	s.sessions.RUnlock()
	if len(due) > 0 {
		if err := s.db.Update(ctx, func(tx *store.Tx) error { return putSeen(tx, due, seen) }); err != nil {
			return err
		}
		for _, sess := range due {
			sess.mu.Lock()
			sess.record.LastSeen = seen[sess.id]
			sess.mu.Unlock()
		}
	}
	return s.expire(ctx, expired)
}

// sweepSessions ends the sessions on disk that have expired, a part of them at
// a time, by the first character of their ids.
func (s *Service) sweepSessions(ctx context.Context) error {
	for _, first := range secretAlphabet {
		now := s.now()
		var expired []string
		err := s.db.View(ctx, func(tx *store.Tx) error {
			for _, e := range tx.List(sessionBucket, string(first)) {
				var rec sessionRecord
				if err := json.Unmarshal(e.Value, &rec); err != nil {
					return err
				}
				// Of an idle one in use, memory knows better than the disk.
				if s.expired(&rec, rec.LastSeen, now) && !s.inMemory(rec.ID) {
					expired = append(expired, rec.ID)
				}
			}
			return nil
		})
		if err == nil {
			err = s.expire(ctx, expired)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) inMemory(id string) bool {
	s.sessions.RLock()
	defer s.sessions.RUnlock()
	return s.sessions.byID[id] != nil
}

func (s *Service) expire(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	return s.endSessions(ctx, "expired", func(*store.Tx) ([]string, error) { return ids, nil })
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

// putSeen takes no session's lock: a holder of one may be waiting for the
// database. Records' ids never change.
func putSeen(tx *store.Tx, due []*session, seen map[string]time.Time) error {
	for _, sess := range due {
		id := sess.id
		var rec sessionRecord
		found, err := getJSON(tx, sessionBucket, id, &rec)
		if err != nil {
			return err
		}
		if !found {
			continue // it has ended meanwhile
		}
		rec.LastSeen = seen[id].UTC()
		if err := putJSON(tx, sessionBucket, id, rec); err != nil {
			return err
		}
	}
	return nil
}
