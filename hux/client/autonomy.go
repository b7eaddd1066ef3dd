package client

import (
	"context"
	"net/http"
	"net/url"
)

// Decide asks what applies to a tool call, before it runs. The same call of the
// same run is answered the same, and asked about once. Where a person has to be
// asked the answer names the approval to wait on. The error's code is run_ended
// where somebody has stopped the run.
func (c *Client) Decide(ctx context.Context, body DecisionCreate, options ...Option) (*Decision, error) {
	return send[Decision](ctx, c, Request{Method: http.MethodPost, Path: "/decisions", Body: body}, options)
}

// longPoll is how many seconds one request for an approval waits: less than the
// default client does.
const longPoll = "45"

// AwaitApproval waits until an approval is no longer pending, and gives it. A
// context that ends is an error.
func (c *Client) AwaitApproval(ctx context.Context, id string) (*Approval, error) {
	for {
		a, err := send[Approval](ctx, c, Request{Path: path("approvals", id), Query: url.Values{"wait": {longPoll}}}, nil)
		if err != nil || a.Status != "pending" {
			return a, err
		}
	}
}

// Passes reports whether a call may run because of the approval: a person
// allowed just the call with this evidence hash.
func (a *Approval) Passes(hash string) bool {
	if a.Status != "approved" {
		return false
	}
	for _, e := range a.Request.Evidence {
		if e.Hash == hash {
			return true
		}
	}
	return false
}
