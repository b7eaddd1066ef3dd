package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"bstein.dev/hux/hux"
)

// Error is an answer that is no success.
type Error struct {
	Status     int
	Code       hux.Code // "" where what answered is not hux's API, such as a proxy in front of it
	Detail     string   // for people, and may change; untrusted text
	RequestID  string   // names the request in the router's log
	Retryable  bool
	RetryAfter time.Duration // 0 where nothing is said
	Errors     []Fault
	ETag       string          // of the record as it is, with precondition_failed
	Document   json.RawMessage // hux.error.v1 whole, with the members that some codes carry besides; nil where it is none
}

// Error says what was refused, and which request it was.
func (e *Error) Error() string {
	switch {
	case e.Code == "":
		return fmt.Sprintf("status %d, and not from hux's API", e.Status)
	case e.Detail == "":
		return fmt.Sprintf("%s (status %d, request %s)", e.Code, e.Status, e.RequestID)
	}
	return fmt.Sprintf("%s: %s (status %d, request %s)", e.Code, e.Detail, e.Status, e.RequestID)
}

// CodeOf is the code of the *Error in err's chain, "" where there is none.
func CodeOf(err error) hux.Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// refusal makes an Error of an answer that is no success.
func refusal(res *http.Response, body []byte) *Error {
	e := &Error{Status: res.StatusCode, Retryable: retryable[res.StatusCode], RequestID: res.Header.Get("HUX-Request-Id"), ETag: res.Header.Get("ETag")}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		e.RetryAfter = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(res.Header.Get("Retry-After")); err == nil {
		e.RetryAfter = max(0, time.Until(at))
	}
	var p Problem
	if json.Unmarshal(body, &p) != nil || p.Schema != "hux.error.v1" {
		return e
	}
	e.Code, e.RequestID, e.Retryable, e.Errors, e.Document = hux.Code(p.Code), p.RequestID, e.Retryable || p.Retryable, p.Errors, body
	if p.Detail != nil {
		e.Detail = *p.Detail
	}
	if p.RetryAfterMS != nil {
		e.RetryAfter = time.Duration(*p.RetryAfterMS) * time.Millisecond
	}
	return e
}

// refusalOf reads the body of an answer that is no success, and closes it.
func refusalOf(res *http.Response) *Error {
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10)) // what is cut is not read as a problem document
	return refusal(res, body)
}
