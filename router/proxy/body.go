package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"bstein.dev/hux/hux"
)

const (
	memoryBody  = 1 << 20 // of a body without a length, what is kept in memory; the rest goes to a file
	ruledBody   = 1 << 20 // the largest body that a rule looks into
	maxMeasured = 4       // bodies without a length at a time and slot, which bounds what they take of the disk
)

// upload is a request's body as it goes up: always with a length, since the
// upstream knows no other framing.
type upload struct {
	reader io.Reader // nil until it is known
	length int64
	file   *os.File
	slot   *slot                 // where it counts as measured; else nil
	broken atomic.Pointer[error] // why the client's own body could not be read to its end
}

// Read is for the transport, which reads the body while it waits for an
// answer.
func (u *upload) Read(b []byte) (int, error) {
	n, err := u.reader.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		u.broken.Store(&err)
	}
	return n, err
}

// Close is for the transport; the body stays ours to free.
func (u *upload) Close() error { return nil }

// failed is the error of the client's body, or nil.
func (u *upload) failed() error {
	if err := u.broken.Load(); err != nil {
		return *err
	}
	return nil
}

func (u *upload) free() {
	if u.slot != nil {
		u.slot.measured.Add(-1)
	}
	if u.file != nil {
		_ = u.file.Close() // it has no name any more; closing it frees it
	}
}

// takeBody makes the request's body fit to be sent: within the limit, of
// known length, and as the rule wants it.
func (x *exchange) takeBody() error {
	r, limit := x.in, x.proxy.uploadLimit
	x.upload.length = r.ContentLength
	if r.ContentLength == 0 && len(x.rule.Body) == 0 {
		return nil
	}
	if r.ContentLength > limit {
		return x.tooLarge(limit)
	}
	if len(x.rule.Body) > 0 {
		return x.ruledBody()
	}
	if r.ContentLength < 0 {
		return x.measure(limit)
	}
	return nil
}

func (x *exchange) tooLarge(limit int64) error {
	x.w.Header().Set("Connection", "close")
	return hux.Errorf(hux.TooLarge, "At most %d bytes can be sent in one request.", limit)
}

// measure reads a body without a length, into memory and then into a file.
func (x *exchange) measure(limit int64) error {
	x.upload.slot = x.slot
	if x.slot.measured.Add(1) > maxMeasured {
		return hux.Errorf(hux.SlotBusy, "Too many requests without a length are under way to your workspace.").After(2 * time.Second)
	}
	body := io.LimitReader(x.in.Body, limit+1)
	var start bytes.Buffer
	n, err := io.CopyN(&start, body, memoryBody)
	x.upload.reader = &start
	if err == nil {
		if x.upload.file, err = tempFile(x.proxy.tempDir); err != nil {
			return spoolFailed(err)
		}
		var m int64
		if m, err = spool(x.upload.file, body); err != nil {
			return err
		}
		n += m
		x.upload.reader = io.MultiReader(&start, x.upload.file)
	} else if !errors.Is(err, io.EOF) {
		return unreadBody(err)
	}
	if n > limit {
		return x.tooLarge(limit)
	}
	x.upload.length = n
	return nil
}

// tempFile makes a file that is gone when it is closed.
func tempFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "hux-upload-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// spool writes what is left of a body to f, to be read from its start.
func spool(f *os.File, body io.Reader) (int64, error) {
	n, err := io.Copy(f, body)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if own := (*fs.PathError)(nil); errors.As(err, &own) {
		return n, spoolFailed(err)
	}
	if err != nil {
		return n, unreadBody(err)
	}
	return n, nil
}

// spoolFailed is the error for a file that can't be made or written.
func spoolFailed(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return hux.Errorf(hux.QuotaExceeded, "There is no room for this request just now; one that says its length needs none.").Because(err)
	}
	return err
}

// unreadBody is what a client is told whose body ended too early.
func unreadBody(err error) error {
	return hux.Errorf(hux.BadRequest, "The request's body could not be read.").Because(err)
}

// ruledBody reads a JSON body and holds it against the rule.
func (x *exchange) ruledBody() error {
	limit := min(x.proxy.uploadLimit, ruledBody)
	body, err := io.ReadAll(io.LimitReader(x.in.Body, limit+1))
	if err != nil {
		return unreadBody(err)
	}
	if int64(len(body)) > limit {
		return x.tooLarge(limit)
	}
	if !permitted(body, x.rule.Body) || len(x.in.Header["Content-Encoding"]) > 0 {
		x.logDenied("body")
		return hux.Errorf(hux.PolicyDenied, "This request asks for more than may be granted here.")
	}
	x.upload.reader, x.upload.length = bytes.NewReader(body), int64(len(body))
	return nil
}

// permitted reports whether body is one JSON object of which every member
// that a rule names, each time it stands there, has a permitted value.
// Readers differ on which of two equal names counts, and some on case.
func permitted(body []byte, members map[string]Member) bool {
	if !utf8.Valid(body) {
		return false
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	seen := make(map[string]bool, len(members))
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return false
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return false
		}
		for ruled, m := range members {
			if !strings.EqualFold(ruled, name) {
				continue
			}
			if ruled != name || !m.permits(raw) {
				return false
			}
			seen[ruled] = true
		}
	}
	if _, err := dec.Token(); err != nil {
		return false
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return false
	}
	for name, m := range members {
		if m.Required && !seen[name] {
			return false
		}
	}
	return true
}

func (m Member) permits(raw json.RawMessage) bool {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return false
	}
	switch v.(type) {
	case string, bool, nil:
	default:
		return false // comparing an object or a list would panic
	}
	for _, w := range m.In {
		if v == w {
			return true
		}
	}
	return false
}
