package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"bstein.dev/hux/hux"
)

// Capabilities says what the router can do for the one who asks, and who that
// is.
func (c *Client) Capabilities(ctx context.Context) (*Capabilities, error) {
	return get[Capabilities](ctx, c, "/capabilities")
}

// Manifest says what the router's contract consists of.
func (c *Client) Manifest(ctx context.Context) (*Manifest, error) {
	return get[Manifest](ctx, c, "/manifest")
}

// Conversations are the caller's, newest first. Filters are state, project_id
// and tag.
func (c *Client) Conversations(ctx context.Context, filters url.Values) iter.Seq2[*Conversation, error] {
	return List[Conversation](ctx, c, "/conversations", filters)
}

// Conversation reads one.
func (c *Client) Conversation(ctx context.Context, id string) (*Conversation, error) {
	return get[Conversation](ctx, c, path("conversations", id))
}

// OpenConversation makes one, or with an ExternalRef gives the one that has it.
func (c *Client) OpenConversation(ctx context.Context, body ConversationCreate, options ...Option) (*Conversation, error) {
	return send[Conversation](ctx, c, Request{Method: http.MethodPost, Path: "/conversations", Body: body}, options)
}

// PatchConversation changes the revision of a conversation that the caller has.
// Where somebody was faster the error's code is precondition_failed.
func (c *Client) PatchConversation(ctx context.Context, known *Conversation, patch ConversationPatch, options ...Option) (*Conversation, error) {
	r := Request{Method: http.MethodPatch, Path: path("conversations", known.ID), Body: patch, IfMatch: ETag(known.ID, known.Revision)}
	return send[Conversation](ctx, c, r, options)
}

// UpdateConversation reads a conversation and changes it as change says, which
// is asked again about the newer record where somebody was faster.
func (c *Client) UpdateConversation(ctx context.Context, id string, change func(*Conversation) (ConversationPatch, error)) (*Conversation, error) {
	for try := 1; ; try++ {
		known, err := c.Conversation(ctx, id)
		if err != nil {
			return nil, err
		}
		patch, err := change(known)
		if err != nil {
			return nil, err
		}
		changed, err := c.PatchConversation(ctx, known, patch)
		if CodeOf(err) != hux.PreconditionFailed || try == c.tries {
			return changed, err
		}
	}
}

// Events are a conversation's, from the one after a number to the newest.
func (c *Client) Events(ctx context.Context, conversation string, after int64) iter.Seq2[*Event, error] {
	query := url.Values{"after_seq": {strconv.FormatInt(after, 10)}, "limit": {"200"}}
	return pages[Event](ctx, c, path("conversations", conversation, "events"), query, "after_seq")
}

// PostEvent adds an event to a conversation, and gives it as it is in the log
// once it is durable.
func (c *Client) PostEvent(ctx context.Context, conversation string, body EventCreate, options ...Option) (*Event, error) {
	return send[Event](ctx, c, Request{Method: http.MethodPost, Path: path("conversations", conversation, "events"), Body: body}, options)
}

// Follow gives a conversation's events after o.After, and then each as it
// happens, as Stream does.
func (c *Client) Follow(ctx context.Context, conversation string, o StreamOptions) iter.Seq2[*Event, error] {
	return Stream[Event](ctx, c, path("conversations", conversation, "events", "stream"), o)
}

func get[T any](ctx context.Context, c *Client, path string) (*T, error) {
	return send[T](ctx, c, Request{Path: path}, nil)
}

func send[T any](ctx context.Context, c *Client, r Request, options []Option) (*T, error) {
	for _, o := range options {
		o(&r)
	}
	v := new(T)
	if _, err := c.Do(ctx, r, v); err != nil {
		return nil, err
	}
	return v, nil
}
