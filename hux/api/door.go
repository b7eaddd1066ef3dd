package api

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Door is where request bodies come in: it holds each against its schema.
type Door struct{ schemas *schema.Set }

// NewDoor makes a Door of the contract's schemas.
func NewDoor(schemas *schema.Set) *Door { return &Door{schemas} }

// Serve answers a request by the route's handler, once all that the route says of
// its body, its precondition and its Idempotency-Key has been held against it.
func (rt Route) Serve(d *Door, w http.ResponseWriter, r *http.Request, c *Call) (err error) {
	if rt.writes() && !rt.Signed {
		if c.IfMatch, err = rt.precondition(r); err != nil {
			return err
		}
	}
	if rt.Request != "" && !rt.Signed {
		if c.Body, err = d.read(w, r, rt); err != nil {
			return err
		}
	}
	if rt.Raw {
		r.Body = http.MaxBytesReader(w, r.Body, rt.MaxBody)
	}
	if rt.Idempotent() {
		if c.Key, err = idempotencyKey(r, c.Actor.Kind); err != nil {
			return err
		}
	}
	return rt.Handler(w, r, c)
}

// read reads a request's JSON body against the route's schema and its rule.
// Members that the schema does not know go no further; HUX-Ignored-Fields of the
// answer lists them.
func (d *Door) read(w http.ResponseWriter, r *http.Request, rt Route) (*schema.Request, error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" && media != "application/merge-patch+json" {
		return nil, hux.Errorf(hux.UnsupportedMediaType, "Send a JSON body with Content-Type: application/json.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, rt.BodyLimit()))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, hux.Errorf(hux.TooLarge, "A body may have %d bytes.", rt.BodyLimit())
	}
	if err != nil {
		return nil, hux.Errorf(hux.BadRequest, "The body could not be read.").Because(err)
	}
	in, err := d.schemas.Decode(rt.Request, body)
	if err != nil {
		return nil, err
	}
	if len(in.Ignored) > 0 {
		w.Header().Set("HUX-Ignored-Fields", strings.Join(in.Ignored, ", "))
	}
	return in, nil
}

// In is the body of a request that its door has let in.
func In[T any](c *Call) (in T, err error) {
	err = c.Body.Into(&in)
	return in, err
}

// idempotencyKey reads a request's Idempotency-Key, "" where it has none
// (contracts 2.3). Agents and workers, which retry by machine, must send one.
func idempotencyKey(r *http.Request, who hux.Kind) (string, error) {
	values := r.Header["Idempotency-Key"]
	if len(values) == 0 {
		if who == hux.KindAgent || who == hux.KindWorker {
			return "", hux.Errorf(hux.IdempotencyKeyRequired, "Send an Idempotency-Key, so that a retry does nothing twice.")
		}
		return "", nil
	}
	v := strings.TrimSpace(values[0])
	if inner, ok := strings.CutPrefix(v, `"`); ok { // sf-string and bare are the same key
		if inner, ok = strings.CutSuffix(inner, `"`); ok {
			v = inner
		}
	}
	if len(values) > 1 || v == "" || len(v) > 255 || strings.ContainsFunc(v, func(c rune) bool { return c < '!' || c > '~' }) {
		return "", hux.Errorf(hux.BadRequest, "Idempotency-Key must be one value of 1 to 255 visible ASCII characters.")
	}
	return v, nil
}
