// Package privacy is the card HUX-10: sensitive topics, notices with real
// controls, forgetting and the retention audit.
package privacy

import (
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.privacy"

// Routes are the card's lines of /hux/v1.
func Routes() []api.Route {
	flags := []string{Flag}
	person := []hux.Kind{hux.KindHuman}
	page := []string{"cursor", "limit"}
	return []api.Route{
		{
			Method: "GET", Path: "/privacy/policy", Summary: "The policy, and whether its rules were audited of late",
			Flags: flags, Record: PolicySchema, Headers: []string{"HUX-Audit-Stale", "HUX-Audit-Last"},
		},
		{Method: "GET", Path: "/privacy/notices", Summary: "The notices that the caller was shown, newest first", Flags: flags, Query: page, Record: NoticeSchema, Answer: api.Page},
		{
			Method: "POST", Path: "/privacy/notices", Summary: "Shows a notice in a conversation, or resolves one; only a person chooses",
			Flags: flags, Kinds: []hux.Kind{hux.KindHuman, hux.KindAgent}, Request: "hux.privacy_notice.create.v1",
			Status: []int{http.StatusOK, http.StatusCreated}, Record: NoticeSchema,
			Errors: []hux.Code{hux.UnknownReference, hux.ChoiceNotAllowed, hux.NoticeAlreadyResolved, hux.ConversationForgotten},
		},
		{
			Method: "POST", Path: "/conversations/{id}/forget", Summary: "Forgets a conversation; 202 while it goes on, and 200 once it is forgotten",
			Flags: flags, Kinds: person, Status: []int{http.StatusOK, http.StatusAccepted}, Record: ForgetSchema,
		},
		{Method: "GET", Path: "/conversations/{id}/forget", Summary: "What became of forgetting a conversation", Flags: flags, Record: ForgetSchema},
		{Method: "GET", Path: "/privacy/audit", Summary: "The retention audits, newest first", Flags: flags, Query: page, Record: AuditSchema, Answer: api.Page},
	}
}
