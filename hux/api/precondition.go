package api

import (
	"net/http"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
)

// ETag is the strong entity tag of a record's revision (contracts 2.2).
func ETag(id string, revision int) string { return `"` + id + ":" + strconv.Itoa(revision) + `"` }

// Precondition is what If-Match asks for: a revision of a record, or just that
// there is one.
type Precondition struct {
	any bool
	tag string // without quotes
}

// precondition is what a request to the route asks of the record that it changes;
// nil for nothing. The first write of an Upsert route may say so by
// If-None-Match: *.
func (rt Route) precondition(r *http.Request) (*Precondition, error) {
	first := rt.Upsert && r.Header.Get("If-None-Match") == "*"
	if first || !rt.IfMatch && len(r.Header["If-Match"]) == 0 {
		return nil, nil
	}
	p, err := IfMatch(r, rt.Upsert)
	return &p, err
}

// IfMatch reads the If-Match header. A missing one is precondition_required, a
// malformed one bad_precondition. A weak prefix, and the suffix that a
// compressing proxy adds, are taken off: whatever the bytes of an answer, its
// tag stands for the record's revision.
// "*" is taken only where anyRevision allows it.
func IfMatch(r *http.Request, anyRevision bool) (Precondition, error) {
	values := r.Header["If-Match"]
	if len(values) == 0 {
		return Precondition{}, hux.Errorf(hux.PreconditionRequired, "Send the record's ETag as If-Match, so that nobody's change is lost.")
	}
	v := strings.TrimSpace(values[0])
	if v == "*" && anyRevision && len(values) == 1 {
		return Precondition{any: true}, nil
	}
	v = strings.TrimPrefix(v, "W/")
	tag, ok := strings.CutPrefix(v, `"`)
	tag, ok2 := strings.CutSuffix(tag, `"`)
	for _, suffix := range []string{"-gzip", "-br", "-zstd", ";gzip"} {
		tag = strings.TrimSuffix(tag, suffix)
	}
	colon := strings.LastIndexByte(tag, ':') // a policy's tag may name its scope, which has one too
	id, revision, ok3 := tag[:max(colon, 0)], tag[colon+1:], colon > 0
	if _, err := strconv.ParseUint(revision, 10, 31); !ok || !ok2 || !ok3 || strings.Contains(id, `"`) || err != nil || len(values) > 1 {
		return Precondition{}, hux.Errorf(hux.BadPrecondition, `If-Match must be an ETag as it was given, such as "cnv_…:3".`)
	}
	return Precondition{tag: tag}, nil
}

// Check holds a precondition against a record as it is: nil, or
// precondition_failed with the revision there is.
func (p Precondition) Check(id string, revision int) error {
	if p.any || `"`+p.tag+`"` == ETag(id, revision) {
		return nil
	}
	return Stale(id, revision)
}

// Stale is precondition_failed, with the revision that there is.
func Stale(id string, revision int) error {
	e := hux.Errorf(hux.PreconditionFailed, "The record was changed meanwhile; look at it again.")
	e.Members = map[string]any{"current_revision": revision}
	e.ETag = ETag(id, revision)
	return e
}

// NotModified reports whether If-None-Match names the record's revision.
func NotModified(r *http.Request, id string, revision int) bool {
	for _, v := range r.Header["If-None-Match"] {
		for tag := range strings.SplitSeq(v, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == ETag(id, revision) {
				return true
			}
		}
	}
	return false
}
