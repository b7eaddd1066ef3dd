// Package api holds the HTTP manners that every answer of ours shares:
// handlers that return an error, problem documents, request ids.
package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/store"
)

// Handler answers a request or returns why it did not. A returned error must
// come before the first byte of an answer.
type Handler func(w http.ResponseWriter, r *http.Request) error

// ServeHTTP runs h and turns its error into a problem document.
func (h Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		WriteError(w, r, err)
	}
}

type requestIDKey struct{}

// WithRequestID puts a request's id into its context.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is the id that WithRequestID put into ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// JSON answers with v as JSON, never stored and never transformed on the way.
func JSON(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	RawJSON(w, status, body)
	return nil
}

// RawJSON is JSON of what is JSON already.
func RawJSON(w http.ResponseWriter, status int, body []byte) {
	write(w, status, "application/json", body)
}

func write(w http.ResponseWriter, status int, contentType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store, no-transform")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that left is no error of ours
}

// WriteError answers with err as a problem document (RFC 9457,
// hux.error.v1), and logs it as LogError does. An error that is no *hux.Error
// is shown as what the store says of it, else as internal_error.
func WriteError(w http.ResponseWriter, r *http.Request, err error) {
	var e *hux.Error
	if !errors.As(err, &e) {
		e = told(err)
	}
	LogError(r, e)
	status := e.Code.Status()
	problem := map[string]any{}
	for k, v := range e.Members {
		problem[k] = v
	}
	problem["schema"] = "hux.error.v1"
	problem["type"] = "about:blank"
	problem["title"] = http.StatusText(status)
	problem["status"] = status
	problem["code"] = e.Code
	problem["request_id"] = RequestID(r.Context())
	problem["retryable"] = e.RetryAfter > 0
	if e.Detail != "" {
		problem["detail"] = e.Detail
	}
	if e.ETag != "" {
		w.Header().Set("ETag", e.ETag)
	}
	if e.RetryAfter > 0 {
		problem["retry_after_ms"] = e.RetryAfter.Milliseconds()
		w.Header().Set("Retry-After", RetryAfter(e.RetryAfter))
	}
	body, _ := json.Marshal(problem) // strings and numbers only
	write(w, status, "application/problem+json", body)
}

// told makes an error of the store, or one that nobody foresaw, one that may be
// shown.
func told(err error) *hux.Error {
	e := hux.Errorf(hux.InternalError, "Something went wrong on our side; the request id names it in the log.")
	switch {
	case errors.Is(err, store.ErrQuota):
		e = hux.Errorf(hux.QuotaExceeded, "Your records take all the space that they may. Delete some, or ask your operator for more.")
	case errors.Is(err, store.ErrFull):
		e = hux.Errorf(hux.QuotaExceeded, "There is no space left to write to. Your operator must make some.").After(time.Minute)
	case errors.Is(err, store.ErrCorrupt):
		e = hux.Errorf(hux.StoreCorrupt, "Your records can't be read. Your operator must restore them; the request id names it in the log.")
	case errors.Is(err, store.ErrFailed):
		e = hux.Errorf(hux.StoreBusy, "The disk did not confirm this. It may be stored or not: try again with the same Idempotency-Key, or look.").After(time.Second)
	case errors.Is(err, store.ErrLocked), errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled):
		e = hux.Errorf(hux.StoreBusy, "This could not be done just now.").After(time.Second)
	}
	return e.Because(err)
}

// LogError logs e once if anybody should look at it: a 5xx, or one with a
// cause.
func LogError(r *http.Request, e *hux.Error) {
	status := e.Code.Status()
	if status < 500 && e.Cause == nil {
		return
	}
	level := slog.LevelWarn
	if status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	slog.LogAttrs(r.Context(), level, "request failed",
		slog.String("request_id", RequestID(r.Context())), slog.String("code", string(e.Code)), slog.Any("cause", e.Cause))
}

// RetryAfter writes d in whole seconds, at least one, as Retry-After wants it.
func RetryAfter(d time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(d.Seconds()))))
}
