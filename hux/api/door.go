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

// Check holds a value, as schema.Parse gives it, against a schema and its rule.
// The error is a *hux.Error, as schema.Refused has it.
func (d *Door) Check(name string, value any) error { return d.schemas.Validate(name, value) }

// Read reads a request's JSON body against a schema and its rule into a value,
// and gives its text in one layout besides (schema.Request), which says whether
// a request comes again. Members that the schema does not
// know go no further; HUX-Ignored-Fields of the answer lists them.
func (d *Door) Read(w http.ResponseWriter, r *http.Request, name string, into any) (text []byte, err error) {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" && media != "application/merge-patch+json" {
		return nil, hux.Errorf(hux.UnsupportedMediaType, "Send a JSON body with Content-Type: application/json.")
	}
	limit := schema.BodyLimit(name)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, hux.Errorf(hux.TooLarge, "A body may have %d bytes.", limit)
	}
	if err != nil {
		return nil, hux.Errorf(hux.BadRequest, "The body could not be read.").Because(err)
	}
	in, err := d.schemas.Decode(name, body)
	if err != nil {
		return nil, err
	}
	if len(in.Ignored) > 0 {
		w.Header().Set("HUX-Ignored-Fields", strings.Join(in.Ignored, ", "))
	}
	return in.Text, in.Into(into)
}
