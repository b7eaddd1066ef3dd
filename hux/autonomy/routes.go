// Package autonomy is the card HUX-05: what an agent may do: levels, grants, budgets, approvals and receipts.
package autonomy

import (
	"net/http"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Flag is the card's flag.
const Flag = "hux.autonomy"

// Routes are the card's lines of /hux/v1.
func (s *Service) Routes() []api.Route {
	flags := []string{Flag}
	person, agent := []hux.Kind{hux.KindHuman}, []hux.Kind{hux.KindAgent}
	either := []int{http.StatusOK, http.StatusCreated}
	asked := []hux.Code{hux.UnknownReference, hux.RunEnded}
	const cancel = "/conversations/{id}/runs/{run_id}/cancel"
	return []api.Route{
		{
			Method: "GET", Path: "/policy", Summary: "The policy of a scope, be it the one that applies while nobody has set one",
			Flags: flags, Query: []string{"scope"}, Record: PolicySchema, Handler: s.getPolicy,
		},
		{
			Method: "PUT", Path: "/policy", Summary: "Sets the policy of a scope",
			Flags: flags, Kinds: person, Query: []string{"scope"}, Request: "hux.policy.put.v1", IfMatch: true, Upsert: true, Status: either, Record: PolicySchema, Handler: s.putPolicy,
			Errors: []hux.Code{hux.UnknownReference},
		},
		{
			Method: "POST", Path: "/decisions", Summary: "What applies to a tool call; where it is to be asked, the approval is there already",
			Flags: flags, Kinds: agent, Request: "hux.decision.create.v1", Record: DecisionSchema, Errors: asked, Handler: s.decide,
		},
		{
			Method: "GET", Path: "/approvals", Summary: "Approvals, newest first",
			Flags: flags, Query: []string{"cursor", "limit", "status", "conversation_id", "run_id"}, Record: ApprovalSchema, Answer: api.Page, Handler: s.listApprovals(),
		},
		{
			Method: "POST", Path: "/approvals", Summary: "Asks a person about a tool call; the same call of the same run is asked about once",
			Flags: flags, Kinds: agent, Request: "hux.approval.create.v1", Status: either, Record: ApprovalSchema, Errors: append(asked, hux.EvidenceMismatch), Handler: s.request,
		},
		{
			Method: "GET", Path: "/approvals/{id}", Summary: "An approval; with wait, once it is decided or the time is over",
			Flags: flags, Query: []string{"wait"}, Waits: true, Record: ApprovalSchema, Handler: s.getApproval,
		},
		{
			Method: "POST", Path: "/approvals/{id}", Summary: "Decides an approval; the first decision counts",
			Flags: flags, Kinds: person, Request: "hux.approval.decide.v1", Record: ApprovalSchema, Handler: s.decideApproval,
			Errors: []hux.Code{
				hux.BadPrecondition, hux.PreconditionFailed, hux.InvalidTransition,
				hux.ApprovalAlreadyDecided, hux.ApprovalExpired, hux.EvidenceMismatch, hux.ChoiceNotAllowed,
			},
		},
		{
			Method: "GET", Path: "/grants", Summary: "The caller's grants, newest first",
			Flags: flags, Query: []string{"cursor", "limit", "state"}, Record: GrantSchema, Answer: api.Page, Handler: s.listGrants(),
		},
		{
			Method: "POST", Path: "/grants", Summary: "Grants or forbids something that no approval asked about",
			Flags: flags, Kinds: person, Request: "hux.grant.create.v1", Status: []int{http.StatusCreated}, Record: GrantSchema, Handler: s.createGrant,
			Errors: []hux.Code{hux.DeployNotGrantable, hux.UnknownReference},
		},
		{
			Method: "POST", Path: "/grants/{id}/revoke", Summary: "Takes a grant back",
			Flags: flags, Kinds: person, Record: GrantSchema, Errors: []hux.Code{hux.BadPrecondition, hux.PreconditionFailed, hux.InvalidTransition}, Handler: s.revokeGrant,
		},
		{
			Method: "POST", Path: cancel, Summary: "Asks for the stop of a run, which is done once there is a receipt",
			Flags: flags, Status: []int{http.StatusOK, http.StatusAccepted}, Record: CancelSchema, Handler: s.cancel,
		},
		{Method: "GET", Path: cancel, Summary: "How far the stop of a run is", Flags: flags, Record: CancelSchema, Handler: s.getCancel},
		{
			Method: "GET", Path: "/receipts", Summary: "Receipts, newest first",
			Flags: flags, Query: []string{"cursor", "limit", "conversation_id", "run_id"}, Record: ReceiptSchema, Answer: api.Page, Handler: s.listReceipts(),
		},
		{
			Method: "POST", Path: "/receipts", Summary: "Tells how a cancelled run ended; a second report is given the first receipt",
			Flags: flags, Kinds: agent, Request: "hux.receipt.create.v1", Status: either, Record: ReceiptSchema, Handler: s.postReceipt,
			Errors: []hux.Code{hux.UnknownReference, hux.InvalidTransition},
		},
		{Method: "GET", Path: "/receipts/{id}", Summary: "A receipt", Flags: flags, Record: ReceiptSchema, Handler: s.getReceipt},
		{
			Method: "POST", Path: "/ingest/hermes/{agent_id}", Summary: "Takes a webhook of Hermes, which X-Hermes-Signature-256 signs",
			Flags: flags, Signed: true, Request: "hux.ingest.hermes.v1", Status: []int{http.StatusNoContent}, Handler: s.ingest,
			Errors: []hux.Code{hux.RateLimited, hux.HumanRequired, hux.ConversationForgotten, hux.RunEnded, hux.UnknownReference},
		},
	}
}
