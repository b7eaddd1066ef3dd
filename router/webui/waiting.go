package webui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"bstein.dev/hux/hux"
)

// The list of sessions may be long, so it is read one session at a time.
const (
	maxList   = 4 << 20  // bytes that are read of it; the sessions that moved last come first
	maxMember = 64 << 10 // bytes of one session in it
	maxListed = 1024     // sessions that are taken from it
)

// listed is a session in the list.
type listed struct {
	ID        string `json:"session_id"`
	Attention *struct {
		Kind string `json:"kind"`
	} `json:"attention"`
}

// waiting lists the sessions that wait for an approval, as far as the list can
// be read. A session whose id has not the form of one is left out: no record
// could name it.
func (c *client) waiting(ctx context.Context) (ids []string, err error) {
	err = c.read(ctx, http.MethodGet, "/api/sessions", nil, nil, func(in io.Reader) error {
		return eachSession(in, func(s listed) bool {
			if s.Attention != nil && s.Attention.Kind == "approval" && hux.ValidForeignID(s.ID) {
				ids = append(ids, s.ID)
			}
			return len(ids) < maxListed
		})
	})
	if len(ids) > 0 {
		err = nil
	}
	return ids, err
}

// eachSession gives each session of the list to fn until fn returns false. It
// holds one session at a time.
func eachSession(in io.Reader, fn func(listed) bool) error {
	left := &io.LimitedReader{R: io.LimitReader(in, maxList)}
	d := json.NewDecoder(left)
	next := func(into any) error {
		left.N = maxMember
		if into == nil {
			var skipped json.RawMessage
			into = &skipped
		}
		return d.Decode(into)
	}
	token := func(want json.Delim) error {
		left.N = maxMember
		t, err := d.Token()
		if err == nil && t != want {
			err = fmt.Errorf("the list of sessions has %v where %v is due", t, want)
		}
		return err
	}
	more := func() bool { left.N = maxMember; return d.More() }
	if err := token('{'); err != nil {
		return err
	}
	for more() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if name != "sessions" {
			if err := next(nil); err != nil {
				return err
			}
			continue
		}
		if err := token('['); err != nil {
			return err
		}
		for more() {
			var s listed
			if err := next(&s); err != nil {
				return err
			}
			if !fn(s) {
				return nil
			}
		}
		return nil
	}
	return nil
}
