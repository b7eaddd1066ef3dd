package record

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

const (
	keysBucket  = "idempotency" // hash of who, where and key → keyRow
	keyLifetime = 24 * time.Hour
)

// Key is an idempotency key, bound to who sent it where, with what (contracts
// 2.3). The zero Key is none.
type Key struct {
	hash        string
	fingerprint []byte
}

// keyRow is what is kept of a key: never a body, or a forgotten record would
// live on in it.
type keyRow struct {
	Fingerprint []byte    `json:"fingerprint"`
	Status      int       `json:"status"`
	ID          string    `json:"id"`
	At          time.Time `json:"at"`
}

// Keys reads idempotency keys and fingerprints requests under a key that is
// not in the data directory.
type Keys struct{ secret []byte }

// NewKeys makes Keys.
func NewKeys(secret []byte) *Keys { return &Keys{secret} }

// Of reads a request's Idempotency-Key. Agents and workers, which retry by
// machine, must send one. canonical is the body in canonical form.
func (k *Keys) Of(r *http.Request, c *api.Call, canonical []byte) (Key, error) {
	values := r.Header["Idempotency-Key"]
	if len(values) == 0 {
		if c.Actor.Kind == hux.KindAgent || c.Actor.Kind == hux.KindWorker {
			return Key{}, hux.Errorf(hux.IdempotencyKeyRequired, "Send an Idempotency-Key, so that a retry does nothing twice.")
		}
		return Key{}, nil
	}
	v := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(v, `"`); ok { // sf-string and bare are the same key
		if inner, ok = strings.CutSuffix(inner, `"`); ok {
			v = inner
		}
	}
	if len(values) > 1 || v == "" || len(v) > 255 || strings.ContainsFunc(v, func(c rune) bool { return c < '!' || c > '~' }) {
		return Key{}, hux.Errorf(hux.BadRequest, "Idempotency-Key must be one value of 1 to 255 visible ASCII characters.")
	}
	return Key{
		hash:        base64.RawURLEncoding.EncodeToString(k.mac("key", string(c.Actor.Kind), c.Actor.ID, r.Method, r.URL.Path, v)),
		fingerprint: k.mac("fingerprint", r.URL.RawQuery, strings.Join(r.Header["If-Match"], ","), string(canonical)),
	}, nil
}

// Hash is a keyed hash of a value that must not be found by guessing, such as
// another system's id.
func (k *Keys) Hash(purpose string, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString(k.mac(append([]string{purpose}, parts...)...))
}

func (k *Keys) mac(parts ...string) []byte {
	m := hmac.New(sha256.New, k.secret)
	for _, p := range parts {
		var n [8]byte
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		m.Write(n[:])
		m.Write([]byte(p))
	}
	return m.Sum(nil)
}

// Outcome is what a request under a key came to.
type Outcome struct {
	Status int
	ID     string // of the record that it made or changed
}

// Replay gives the outcome of an earlier request under the key, or nil where
// this is the first. The same key on another request is refused.
func (k Key) Replay(tx *store.Tx) (*Outcome, error) {
	if k.hash == "" {
		return nil, nil
	}
	value := tx.Get(keysBucket, k.hash)
	if value == nil {
		return nil, nil
	}
	var row keyRow
	if err := json.Unmarshal(value, &row); err != nil {
		return nil, err
	}
	if time.Since(row.At) > keyLifetime {
		return nil, nil
	}
	if !bytes.Equal(row.Fingerprint, k.fingerprint) {
		return nil, hux.Errorf(hux.IdempotencyKeyReused, "This Idempotency-Key came with another request before; use a new one.")
	}
	return &Outcome{row.Status, row.ID}, nil
}

// Save keeps the outcome, in the transaction that brought it about.
func (k Key) Save(tx *store.Tx, o Outcome) error {
	if k.hash == "" {
		return nil
	}
	value, err := json.Marshal(keyRow{k.fingerprint, o.Status, o.ID, time.Now().UTC()})
	if err != nil {
		return err
	}
	return tx.Put(keysBucket, k.hash, value)
}

// Sweep drops keys whose life is over, a thousand at a time.
func Sweep(ctx context.Context, db *store.Lease) error {
	for {
		var old []string
		err := db.View(ctx, func(tx *store.Tx) error {
			return tx.Scan(keysBucket, "", "", func(key string, value []byte) bool {
				var row keyRow
				if json.Unmarshal(value, &row) != nil || time.Since(row.At) > keyLifetime {
					old = append(old, key)
				}
				return len(old) < 1000
			})
		})
		if err != nil || len(old) == 0 {
			return err
		}
		err = db.Update(ctx, func(tx *store.Tx) error {
			for _, key := range old {
				if err := tx.Delete(keysBucket, key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(old) < 1000 {
			return err
		}
	}
}
