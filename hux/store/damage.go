package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Unreadable is one value of a database that is not what was written. It is an
// ErrCorrupt, but what else the database holds goes on.
type Unreadable struct {
	Bucket, Key string
	Cause       error
}

// Error names the record by its id alone: a key may hold more.
func (u *Unreadable) Error() string {
	return fmt.Sprintf("%s %s can't be read: %v", u.Bucket, recordID.FindString(u.Key), u.Cause)
}

var recordID = regexp.MustCompile(`^[a-z]{3}_[0-9a-f]{32}`)

// Is makes it an ErrCorrupt.
func (u *Unreadable) Is(target error) bool { return target == ErrCorrupt }

// Decode reads a value of bucket that was written as JSON; one that isn't is an
// *Unreadable.
func Decode(bucket, key string, value []byte, into any) error {
	if err := json.Unmarshal(value, into); err != nil {
		return &Unreadable{bucket, key, errors.New("no JSON of its kind")} // a parser's text may quote it
	}
	return nil
}
