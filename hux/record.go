package hux

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"github.com/google/uuid"
)

// TimeFormat is how records write time: RFC 3339, UTC, milliseconds
// (contracts 1).
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Time is a moment as records write it.
type Time struct{ time.Time }

// Now is this moment, to the millisecond.
func Now() Time { return Time{time.Now().UTC().Truncate(time.Millisecond)} }

// MarshalJSON writes t in TimeFormat.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimeFormat) + `"`), nil
}

// Provenance says where a record comes from (contracts 1).
type Provenance struct {
	Surface   Surface `json:"surface"`
	Actor     Actor   `json:"actor"`
	Time      Time    `json:"time"`
	SessionID *string `json:"session_id"`
	RunID     *string `json:"run_id"`
	Route     *Route  `json:"route"`
	Build     Build   `json:"build"`
}

// Route is the mode or route that a run asked for; never a vendor's model.
type Route struct {
	Requested string `json:"requested"`
	Locality  string `json:"locality"` // local, hosted or none
}

// Build says which build made a record. A member is null where it is not known.
type Build struct {
	Commit      *string `json:"commit"`       // 40 hex digits
	ImageDigest *string `json:"image_digest"` // sha256: and 64 hex digits
}

// EvidenceRef names evidence without holding any of it (contracts 1).
type EvidenceRef struct {
	Kind    string  `json:"kind"`
	ID      string  `json:"id"`
	Hash    *string `json:"hash,omitempty"`
	Owner   string  `json:"owner"`
	Version *int    `json:"version,omitempty"`
}

// Redaction says what was taken out of a record and how much of it may leave
// the tenant.
type Redaction struct {
	Level     string   `json:"level"` // none, partial or full
	Rules     []string `json:"rules,omitempty"`
	AppliedAt *Time    `json:"applied_at,omitempty"`
}

// Meta is the envelope that every mutable record has.
type Meta struct {
	Schema     string     `json:"schema"`
	ID         string     `json:"id"`
	Owner      User       `json:"owner,omitempty"` // none of what a tenant's members share: projects, artifacts in one, releases
	Revision   int        `json:"revision"`
	CreatedAt  Time       `json:"created_at"`
	UpdatedAt  Time       `json:"updated_at"`
	Provenance Provenance `json:"provenance"`
}

// NewID makes an id: the prefix and a UUIDv7 in 32 lower-case hex digits, so
// that ids sort by the time they were made.
func NewID(prefix string) string {
	id := uuid.Must(uuid.NewV7())
	const digits = "0123456789abcdef"
	b := make([]byte, 0, len(prefix)+1+32)
	b = append(append(b, prefix...), '_')
	for _, c := range id {
		b = append(b, digits[c>>4], digits[c&15])
	}
	return string(b)
}

// ValidID reports whether id is one that NewID may have made with prefix.
func ValidID(prefix, id string) bool {
	if len(id) != len(prefix)+33 || id[:len(prefix)] != prefix || id[len(prefix)] != '_' {
		return false
	}
	for _, c := range id[len(prefix)+1:] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// ForeignID is an id of the gateway in the one form that such ids have here
// (contracts 1): itself where it has that form, else its SHA-256, which stands
// for it everywhere; "" stays "".
func ForeignID(id string) string {
	if id == "" || ValidForeignID(id) {
		return id
	}
	return Digest([]byte(id))
}

// ValidForeignID reports whether id has that form: 1 to 128 letters and digits
// of ASCII and the marks _ . : and -, but not dots alone, which no path can name.
func ValidForeignID(id string) bool {
	return strings.Trim(id, ".") != "" && len(id) <= 128 && !strings.ContainsFunc(id, notForeign)
}

func notForeign(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_.:-", r)
}

// Digest is the SHA-256 of b as records write it: "sha256:" and 64 hex digits.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
