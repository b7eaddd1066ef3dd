package client

import (
	"context"
	"iter"
	"maps"
	"net/url"
)

// page is one answer of a list.
type page[T any] struct {
	Items []*T    `json:"items"`
	Next  *string `json:"next"`
}

// List goes through all items of a list route, page by page, as long as the
// caller takes them. The query may have the route's filters and a limit, which
// is the size of a page. An error is the last that it gives.
func List[T any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[*T, error] {
	return pages[T](ctx, c, path, query, "cursor")
}

// pages goes through a list whose next page is asked for by the named member of
// the query.
func pages[T any](ctx context.Context, c *Client, path string, query url.Values, next string) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		query := maps.Clone(query)
		if query == nil {
			query = url.Values{}
		}
		for {
			var p page[T]
			if _, err := c.Do(ctx, Request{Path: path, Query: query}, &p); err != nil {
				yield(nil, err)
				return
			}
			for _, item := range p.Items {
				if !yield(item, nil) {
					return
				}
			}
			if p.Next == nil {
				return
			}
			query[next] = []string{*p.Next}
		}
	}
}

// Collect gathers what a list or a stream gives, up to its first error.
func Collect[T any](items iter.Seq2[*T, error]) ([]*T, error) {
	var all []*T
	for item, err := range items {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}
