package privacy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// StaleAfter is the age of the last audit from which on HUX-Audit-Stale is
// true: a day, and two hours' grace (contracts 2.7).
const StaleAfter = 26 * time.Hour

// The results of an audit.
const (
	Pass    = "pass"    // nothing overdue remains
	Partial = "partial" // some of it does
	Fail    = "fail"    // all of it does
)

// Stale reports whether the last audit finished too long ago; nil for none.
func Stale(finished *time.Time, now time.Time) bool {
	return finished == nil || now.Sub(*finished) > StaleAfter
}

// Result is the result of an audit by what became of its rules.
func Result(rules []Checked) string {
	removed, remaining := false, false
	for _, r := range rules {
		removed, remaining = removed || r.Removed > 0, remaining || r.Remaining > 0
	}
	switch {
	case !remaining:
		return Pass
	case removed:
		return Partial
	}
	return Fail
}

// Hash is the hash of an audit, as JSON: SHA-256 of its form by RFC 8785
// without the member hash. Members of later versions count.
func Hash(audit []byte) (string, error) {
	decoder := json.NewDecoder(bytes.NewReader(audit))
	decoder.UseNumber()
	var members map[string]any
	if err := decoder.Decode(&members); err != nil {
		return "", fmt.Errorf("no audit: %w", err)
	}
	delete(members, "hash")
	canonical, err := schema.Canonical(members)
	if err != nil {
		return "", err
	}
	return hux.Digest(canonical), nil
}

// Head is the end of the chain of audits, which is kept apart from them: so it
// shows when the last ones were taken away.
type Head struct {
	Seq  int    `json:"seq"`  // 0 for none
	Hash string `json:"hash"` // "" for none
}

// What a chain of audits may have against it.
const (
	unreadable = "audit_unreadable"
	wrongSeq   = "audit_seq"       // one is missing, or stands twice
	wrongPrev  = "audit_prev_hash" // it does not follow the one before
	wrongHash  = "audit_hash"      // it was changed
	gap        = "audit_gap"       // a time that nobody audited
	wrongHead  = "audit_head"      // the end was taken away, or is another
)

// Verify holds a whole chain of audits, as JSON, from the first one on, against
// its head. Pointers are into the list.
func Verify(chain []json.RawMessage, head Head) schema.Faults {
	faults := schema.Faults{}
	var before Audit
	for i, text := range chain {
		fault := func(member, code, message string) {
			faults.Add("/"+strconv.Itoa(i)+member, code, message)
		}
		var a Audit
		hash, err := Hash(text)
		if err == nil {
			err = json.Unmarshal(text, &a)
		}
		if err != nil {
			fault("", unreadable, "is no audit")
			before = Audit{Seq: before.Seq + 1}
			continue
		}
		if a.Hash != hash {
			fault("/hash", wrongHash, "is not that of the record")
		}
		if a.Seq != before.Seq+1 {
			fault("/seq", wrongSeq, "does not follow the one before")
		}
		if first := i == 0; first != (a.PrevHash == nil) || !first && *a.PrevHash != before.Hash {
			fault("/prev_hash", wrongPrev, "is not the hash of the one before")
		}
		if i > 0 && !a.Period.From.Equal(before.Period.To.Time) {
			fault("/period/from", gap, "is not where the one before ended")
		}
		before = a
	}
	if head != (Head{before.Seq, before.Hash}) {
		faults.Add("", wrongHead, "does not end where it should")
	}
	return faults
}
