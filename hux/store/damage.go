package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// Unreadable says that one value of a database is not what was written. It is an
// ErrCorrupt, but the rest of the database can be used.
type Unreadable struct {
	Bucket, Key string
	Cause       error
}

// Error names the record by its id alone, since a key may hold more than that.
func (u *Unreadable) Error() string {
	return fmt.Sprintf("%s %s can't be read: %v", u.Bucket, recordID.FindString(u.Key), u.Cause)
}

var recordID = regexp.MustCompile(`^[a-z]{3}_[0-9a-f]{32}`)

// Is makes it an ErrCorrupt.
func (u *Unreadable) Is(target error) bool { return target == ErrCorrupt }

// Decode reads a value that was written as JSON. The error is an *Unreadable.
func Decode(bucket, key string, value []byte, into any) error {
	if err := json.Unmarshal(value, into); err != nil {
		return &Unreadable{bucket, key, errors.New("no JSON of its kind")} // the parser's error may quote the value
	}
	return nil
}
