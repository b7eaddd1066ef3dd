package record_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// A page of large records is short, and the cursors lead to all of them.
func TestAPageIsBoundedInBytes(t *testing.T) {
	r := newRig(t)
	large := strings.Repeat("x", 200<<10)
	const all = 40
	if err := r.change(func(ch *record.Change) error {
		for i := range all {
			state := large
			if i == 7 {
				state = strings.Repeat("y", record.PageBytes+1) // has a page of its own
			}
			if _, err := r.lamps.Create(ch, r.call.User, func(m hux.Meta) *lamp { return &lamp{Meta: m, State: state} }); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	cursors := api.NewCursors([]byte(strings.Repeat("k", 32)))
	seen := map[string]bool{}
	for cursor := ""; ; {
		q := url.Values{"limit": {"200"}}
		if cursor != "" {
			q.Set("cursor", cursor)
		}
		l, err := cursors.List(httptest.NewRequest("GET", "/lamps?"+q.Encode(), nil), "ten_0123456789abcdef0123456789abcdef")
		if err != nil {
			t.Fatal(err)
		}
		var page record.Page[*lamp]
		if err := r.call.DB.View(context.Background(), func(tx *store.Tx) (err error) {
			page, err = r.lamps.List(tx, r.call, l, func(*lamp) bool { return true })
			return err
		}); err != nil {
			t.Fatal(err)
		}
		size := 0
		for _, l := range page.Items {
			text, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			size += len(text)
			seen[l.ID] = true
		}
		if len(page.Items) == 0 || len(page.Items) > 1 && size > record.PageBytes {
			t.Fatalf("a page of %d records has %d bytes", len(page.Items), size)
		}
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if len(seen) != all {
		t.Errorf("%d of %d were listed", len(seen), all)
	}
}
