package record_test

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// A page reads so many records and no more, and the cursors lead to each that
// is asked for, once and newest first.
func TestAListReadsABoundedNumber(t *testing.T) {
	r := newRig(t)
	const all, bound = 11_000, 5000
	var rare []string // newest last
	if err := r.change(func(ch *record.Change) error {
		rare = nil
		for i := range all {
			l, err := r.create(ch)
			if err != nil {
				return err
			}
			if i == 0 || i == 300 || i == all-bound || i == all-1 {
				rare = append(rare, l.ID)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cursors := api.NewCursors([]byte(strings.Repeat("k", 32)))
	for _, limit := range []string{"1", "2", "200"} {
		var got []string
		for cursor, pages := "", 0; ; pages++ {
			q := url.Values{"limit": {limit}}
			if cursor != "" {
				q.Set("cursor", cursor)
			}
			l, err := cursors.List(httptest.NewRequest("GET", "/lamps?"+q.Encode(), nil), "ten_0123456789abcdef0123456789abcdef")
			if err != nil {
				t.Fatal(err)
			}
			asked := 0
			var page record.Page[*lamp]
			if err := r.call.DB.View(context.Background(), func(tx *store.Tx) (err error) {
				page, err = r.lamps.List(tx, r.call, l, func(l *lamp) bool {
					asked++
					return strings.Contains(strings.Join(rare, " "), l.ID)
				})
				return err
			}); err != nil {
				t.Fatal(err)
			}
			if asked > bound || len(page.Items) > l.Limit || pages > 10 {
				t.Fatalf("limit %s, page %d: %d records read for %d", limit, pages, asked, len(page.Items))
			}
			for _, l := range page.Items {
				got = append([]string{l.ID}, got...)
			}
			if page.Next == nil {
				break
			}
			cursor = *page.Next
		}
		if strings.Join(got, " ") != strings.Join(rare, " ") {
			t.Errorf("limit %s gives %v, want %v", limit, got, rare)
		}
	}
}
