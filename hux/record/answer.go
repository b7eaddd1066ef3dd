package record

import (
	"net/http"
	"time"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/store"
)

// Write answers a request with the record that fn makes or changes and with
// fn's status. All is one change, which also keeps the request's idempotency
// key. due is the Plan's. If the request was answered before, Write answers
// with the record as it is now, so it never shows what was forgotten since.
func (c *Collection[T]) Write(w http.ResponseWriter, r *http.Request, call *api.Call, due time.Time, fn func(*Change) (rec *T, status int, err error)) error {
	plan := Plan{Key: c.frame.Keys.Of(r, call), Due: due}
	var rec *T
	var status int
	var replayed bool
	err := c.frame.Change(r.Context(), call, plan, func(ch *Change) (err error) {
		before := ch.Replayed()
		if replayed = before != nil; replayed {
			status = before.Status
			rec, err = c.Load(ch, call, before.IDs[0])
		} else if rec, status, err = fn(ch); err == nil {
			ch.Outcome(status, c.spec.Meta(rec).ID)
		}
		if err != nil {
			return err
		}
		return c.Fill(ch, rec)
	})
	if err != nil {
		return err
	}
	if replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	m := c.spec.Meta(rec)
	w.Header().Set("ETag", api.ETag(m.ID, m.Revision))
	return api.JSON(w, status, rec)
}

// Answer answers a GET of one record. If moves is true, some members change
// while the revision stays. Then If-None-Match is ignored, and the ETag is of
// use for writes only.
func (c *Collection[T]) Answer(w http.ResponseWriter, r *http.Request, rec *T, moves bool) error {
	m := c.spec.Meta(rec)
	w.Header().Set("ETag", api.ETag(m.ID, m.Revision))
	if !moves && api.NotModified(r, m.ID, m.Revision) {
		w.Header().Set("Cache-Control", "no-store, no-transform")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	return api.JSON(w, http.StatusOK, rec)
}

// Get answers a GET of the record that the path names.
func (c *Collection[T]) Get(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	var rec *T
	err := call.DB.View(r.Context(), func(tx *store.Tx) (err error) {
		if rec, err = c.Load(tx, call, r.PathValue("id")); err != nil {
			return err
		}
		return c.Fill(tx, rec)
	})
	if err != nil {
		return err
	}
	return c.Answer(w, r, rec, c.spec.Fill != nil)
}

// Lists makes a handler that answers a GET with the records that the caller may
// see. filters are the names of the route's filters. keep reports whether a
// record passes them; the filter that an index served is passed already.
func (c *Collection[T]) Lists(cursors *api.Cursors, filters []string, keep func(*T, map[string]string) bool) func(http.ResponseWriter, *http.Request, *api.Call) error {
	return func(w http.ResponseWriter, r *http.Request, call *api.Call) error {
		l, err := cursors.List(r, call.Tenant(), filters...)
		if err != nil {
			return err
		}
		var page Page[*T]
		err = call.DB.View(r.Context(), func(tx *store.Tx) (err error) {
			page, err = c.List(tx, call, l, func(rec *T) bool { return keep(rec, l.Filters) })
			return err
		})
		if err != nil {
			return err
		}
		return api.JSON(w, http.StatusOK, page)
	}
}
