package autonomy

import (
	"net/http"
	"time"

	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/record"
)

// listApprovals answers GET /approvals, and notes that a person looks at what
// there is to decide.
func (s *Service) listApprovals() func(http.ResponseWriter, *http.Request, *api.Call) error {
	list := s.approvals.Lists(s.Cursors, []string{"status", "conversation_id", "run_id"}, func(a *Approval, filters map[string]string) bool {
		return record.Passes(filters, "status", a.StateAt(time.Now())) && record.Passes(filters, "conversation_id", a.ConversationID) &&
			record.Passes(filters, "run_id", a.RunID)
	})
	return func(w http.ResponseWriter, r *http.Request, call *api.Call) error {
		s.looked(call)
		return list(w, r, call)
	}
}
