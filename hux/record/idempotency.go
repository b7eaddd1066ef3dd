package record

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

const (
	keysBucket  = "idempotency" // conversation of the path, and hash of who, where and key → keyRow
	keyLifetime = 24 * time.Hour
)

// Key is an idempotency key together with its sender, the path and the request
// (contracts 2.3). The zero Key stands for none.
type Key struct {
	conversation string // that the path names, so that its keys stand together; "" for none
	hash         string
	fingerprint  [macSize]byte
}

// keyRow is what is kept of a key: never a body, or a forgotten record would
// live on in it. It is written in few bytes: each commit writes the pages of all
// the keys that it has.
type keyRow struct {
	fingerprint [macSize]byte
	status      int
	at          time.Time // to the second
	ids         []string
}

func (row keyRow) encode() []byte {
	b := append(make([]byte, 0, macSize+2+4), row.fingerprint[:]...)
	b = binary.BigEndian.AppendUint16(b, uint16(row.status))    //nolint:gosec // a status of HTTP
	b = binary.BigEndian.AppendUint32(b, uint32(row.at.Unix())) //nolint:gosec // good until 2106
	return append(b, strings.Join(row.ids, " ")...)
}

func decodeKey(b []byte) (row keyRow, err error) {
	if len(b) < macSize+2+4 {
		return row, &store.Unreadable{Bucket: keysBucket, Cause: errors.New("an idempotency key's row is cut")}
	}
	copy(row.fingerprint[:], b)
	b = b[macSize:]
	row.status, row.at, row.ids = int(binary.BigEndian.Uint16(b)), time.Unix(int64(binary.BigEndian.Uint32(b[2:])), 0), strings.Fields(string(b[6:]))
	return row, nil
}

// Keys makes Keys and hashes, with a secret that is not in the data directory.
type Keys struct{ secret []byte }

// NewKeys makes Keys.
func NewKeys(secret []byte) *Keys { return &Keys{secret} }

// Of is the key of a request that the route's door has let in.
func (k *Keys) Of(r *http.Request, c *api.Call) Key {
	if c.Key == "" {
		return Key{}
	}
	text := ""
	if c.Body != nil {
		text = string(c.Body.Text)
	}
	conversation := r.PathValue("id")
	if !hux.ValidID("cnv", conversation) {
		conversation = ""
	}
	return Key{
		conversation: conversation,
		hash:         string(k.mac("key", string(c.Actor.Kind), c.Actor.ID, r.Method, r.URL.Path, c.Key)[:macSize]),
		fingerprint:  [macSize]byte(k.mac("fingerprint", r.URL.RawQuery, strings.Join(r.Header["If-Match"], ","), text)),
	}
}

// Delivery is the key of a delivery, such as a webhook, that has an id instead
// of an Idempotency-Key. The id alone says that two deliveries are the same.
func (k *Keys) Delivery(c *api.Call, id string) Key {
	return Key{hash: string(k.mac("delivery", string(c.Actor.Kind), c.Actor.ID, id)[:macSize])}
}

// Hash is a keyed hash of a value that nobody must find by guessing, such as
// another system's id.
func (k *Keys) Hash(purpose string, parts ...string) string {
	return base64.RawURLEncoding.EncodeToString(k.mac(append([]string{purpose}, parts...)...))
}

// Short is Hash as 16 raw bytes, for keys that need to differ only within one
// tenant.
func (k *Keys) Short(purpose string, parts ...string) string {
	return string(k.mac(append([]string{purpose}, parts...)...)[:macSize])
}

// macSize is how many bytes of a MAC are kept. With 128 bits nobody finds two
// requests of one tenant that have the same.
const macSize = 16

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

// Outcome is what a request under a key led to.
type Outcome struct {
	Status int
	IDs    []string // of the records that it made or changed, in the order of the answer
}

// replay gives the outcome of an earlier request under the key; nil if this is
// the first. It refuses the key if the earlier request was another one.
func (k Key) replay(tx store.Reader) (*Outcome, error) {
	if k.hash == "" {
		return nil, nil
	}
	value := tx.Get(keysBucket, k.conversation+k.hash)
	if value == nil {
		return nil, nil
	}
	row, err := decodeKey(value)
	if err != nil {
		return nil, err
	}
	if time.Since(row.at) > keyLifetime {
		return nil, nil
	}
	if row.fingerprint != k.fingerprint {
		return nil, hux.Errorf(hux.IdempotencyKeyReused, "This Idempotency-Key came with another request before; use a new one.")
	}
	if row.status == forgottenStatus {
		return nil, hux.Errorf(hux.Gone, "What this request made was forgotten.")
	}
	return &Outcome{row.status, row.ids}, nil
}

// row is the row in which an outcome is kept.
func (k Key) row(o Outcome) (bucket, key string, value []byte) {
	return keysBucket, k.conversation + k.hash, keyRow{k.fingerprint, o.Status, time.Now(), o.IDs}.encode()
}

// Sweep deletes keys that are older than keyLifetime.
func Sweep(ctx context.Context, db *store.Lease) error {
	err := SweepBucket(ctx, db, keysBucket, func(_ store.Reader, _ string, value []byte) bool {
		row, err := decodeKey(value)
		return err != nil || time.Since(row.at) > keyLifetime
	})
	if err != nil {
		return err
	}
	return SweepBucket(ctx, db, pointersBucket, func(tx store.Reader, pointer string, _ []byte) bool {
		_, key, ofKey := strings.Cut(pointer, keysBucket+"\n")
		return ofKey && tx.Get(keysBucket, key) == nil
	})
}

// SweepBucket takes out of a bucket what has had its time, in transactions of a
// size that holds nobody up.
func SweepBucket(ctx context.Context, db *store.Lease, bucket string, old func(tx store.Reader, key string, value []byte) bool) error {
	const most = 1000
	for {
		var keys []string
		err := db.View(ctx, func(tx *store.Tx) error {
			keys = nil
			return tx.Scan(bucket, "", "", func(key string, value []byte) bool {
				if old(tx, key, value) {
					keys = append(keys, key)
				}
				return len(keys) < most
			})
		})
		if err != nil || len(keys) == 0 {
			return err
		}
		err = db.Update(ctx, func(tx *store.Tx) error {
			for _, key := range keys {
				if err := tx.Delete(bucket, key); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil || len(keys) < most {
			return err
		}
	}
}
