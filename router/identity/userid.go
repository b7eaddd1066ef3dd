package identity

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"

	"bstein.dev/hux/hux"
)

// NewUserID derives the user id of a subject within a namespace: "usr_" and
// the first 40 hex digits of HMAC-SHA-256(key, namespace 0x00 subject)
// (contracts 2.1). The hash is keyed, since small spaces of subjects could
// otherwise be tried out one by one.
func NewUserID(key []byte, namespace, subject string) hux.User {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(namespace))
	mac.Write([]byte{0})
	mac.Write([]byte(subject))
	return hux.User("usr_" + hex.EncodeToString(mac.Sum(nil))[:40])
}
