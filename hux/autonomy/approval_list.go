package autonomy

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/store"
)

// listApprovals answers GET /approvals. What waits for a decision is asked for
// all the time, and is read without what was decided.
func (s *Service) listApprovals(w http.ResponseWriter, r *http.Request, call *api.Call) error {
	l, err := s.Cursors.List(r, call.Tenant(), "status", "conversation_id", "run_id")
	if err != nil {
		return err
	}
	s.looked(call)
	now := time.Now()
	keep := func(a *Approval) bool {
		a.Status = a.StateAt(now)
		return passes(l.Filters, "status", a.Status) && passes(l.Filters, "conversation_id", a.ConversationID) && passes(l.Filters, "run_id", a.RunID)
	}
	list := s.approvals.List
	if l.Filters["status"] == ApprovalStates.Start {
		list = s.listPending
	}
	var page record.Page[*Approval]
	err = call.DB.View(r.Context(), func(tx *store.Tx) (err error) {
		page.Items, page.Next, err = list(tx, call, l, keep)
		return err
	})
	if err != nil {
		return err
	}
	return api.JSON(w, http.StatusOK, page)
}

// listPending is a list of the pending approvals alone, newest first.
func (s *Service) listPending(tx *store.Tx, call *api.Call, l api.List, keep func(*Approval) bool) (items []*Approval, next *string, err error) {
	hash := len(s.Keys.Short("run"))
	var ids []string
	for _, row := range tx.List(pendingBucket, "") {
		ids = append(ids, row.Key[hash:])
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	items = []*Approval{}
	size := 0
	for _, id := range ids {
		if l.After != "" && id >= l.After {
			continue
		}
		a, err := s.approvals.Read(tx, id)
		if err != nil {
			return nil, nil, err
		}
		if a == nil || !call.Sees(a.Owner) || !keep(a) {
			continue
		}
		if size += len(tx.Get(ApprovalSchema, id)); len(items) == l.Limit || len(items) > 0 && size > record.PageBytes {
			cursor := l.Next(items[len(items)-1].ID)
			return items, &cursor, nil
		}
		items = append(items, a)
	}
	return items, nil, nil
}

// passes reports whether a value is what a filter asks for, if it is asked.
func passes(filters map[string]string, name, value string) bool {
	want, asked := filters[name]
	return !asked || want == value
}
