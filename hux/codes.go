package hux

import (
	"cmp"
	"maps"
	"slices"
)

// Codes lists every code, by status and then by name.
func Codes() []Code {
	return slices.SortedFunc(maps.Keys(codeStatus), func(a, b Code) int {
		return cmp.Or(cmp.Compare(a.Status(), b.Status()), cmp.Compare(a, b))
	})
}

// Meaning says when a client is told c, in the words of docs/api.md, where
// names of members and headers stand between backquotes; "" for a code that is
// not in the table.
func (c Code) Meaning() string { return codeMeaning[c] }

var codeMeaning = map[Code]string{
	BadRequest:             "a target that can be read in two ways, a query that the route does not take, a body where there is none, a sign-in that does not belong to this browser",
	InvalidJSON:            "a body that is no JSON of the kind that is asked for",
	BadIdentity:            "two `Authorization` headers, or a `HUX-Session` or `HUX-Run` that is no id",
	BadPrecondition:        "an `If-Match` that is no ETag of ours",
	InvalidCursor:          "a cursor of another list, or an event's number that is none",
	IdempotencyKeyRequired: "agents and workers send an `Idempotency-Key` with each write",
	UnknownContext:         "a context that no suggestion knows",
	Unauthenticated:        "nobody is signed in, or the credential is not valid here; see `WWW-Authenticate`",
	HumanRequired:          "only a person may do this",
	AgentRequired:          "only a program with its own credential may do this",
	SurfaceForbidden:       "the credential does not act on the surface in `HUX-Surface`",
	ConsoleRequired:        "from a browser this is done on the console",
	OperatorRequired:       "the role `hux-operator` is missing",
	CrossOrigin:            "another origin's page sent it",
	RecentSignIn:           "this needs a sign-in of the last 15 minutes; sign in again on the console",
	PolicyDenied:           "a policy does not allow it; of a sign-in, that it was cancelled, or tried in a frame",
	PathDenied:             "the WebUI's path is not on the allow-list",
	NotFound:               "there is nothing here",
	FeatureDisabled:        "the capability's flag is off",
	MethodNotAllowed:       "see `Allow`",
	NotAcceptable:          "none of the forms in `Accept` is to be had",
	InvalidTransition:      "the record, or the slot, can't go from its state to that one; see `allowed`",
	ApprovalAlreadyDecided: "somebody decided first; `decision` says how",
	ApprovalExpired:        "its time was over",
	EvidenceMismatch:       "what is decided is not what was shown",
	RunActive:              "the conversation has a run under way",
	RunEnded:               "the run is over, or was stopped, and nothing of it comes after that",
	PrivateHistory:         "a Private conversation stays so, has no branches, and gives nothing away that outlasts it",
	MemoryDisabled:         "memory is off in this conversation",
	MessageNotCommitted:    "no event has named the message yet",
	SourceNotReady:         "the source is not fetched yet, or could not be",
	NoticeAlreadyResolved:  "a control was chosen before",
	IdempotencyInProgress:  "the request with this key is still under way",
	ModeUnenforceable:      "nothing that runs the conversation can keep to the mode",
	ConversationForgotten:  "the conversation was forgotten",
	Gone:                   "what is asked for, or what the request with this key made, was forgotten",
	PreconditionFailed:     "the record was changed meanwhile; `ETag` and `current_revision` say how it is",
	VersionConflict:        "the artifact has a newer version than `base_version`; see `head`",
	TooLarge:               "the body is longer than `upload_limit`, or than a record of its kind may be",
	UnsupportedMediaType:   "a body of a media type that is not taken here: JSON is `application/json`, bytes are of any type but one that a page of another site could send",
	Misdirected:            "no site of this router has this host name",
	SchemaInvalid:          "the body breaks a rule of its schema; `errors` says which and where",
	ReadOnlyField:          "the body sets what only the server may",
	UnknownReference:       "the body names a record that is not there for the caller",
	IdempotencyKeyReused:   "the key came with another request before",
	MemoryTopicForbidden:   "a topic that is never remembered, or a rule that would have it remembered",
	SelfSourced:            "a memory that has another memory for its source and does not correct it",
	RetentionRequired:      "what is sensitive must end within 30 days",
	ChoiceNotAllowed:       "the approval does not offer this choice",
	DeployNotGrantable:     "a deploy is asked for each time, and never granted",
	ModeRouteConflict:      "the mode does not allow this route",
	UnknownRoute:           "the catalogue has no such route",
	VendorName:             "a vendor's or model's name where a mode or route belongs, in whatever body",
	PassageNotInSource:     "the quote is not in the source's snapshot",
	MetadataKept:           "private data in the file, such as a place, can't be taken out of a format like this",
	OrdinalsNotContiguous:  "a message's citations count on from the last, without a gap",
	NoChange:               "the new version is the old one",
	PatchDoesNotApply:      "the patch was made for another text",
	LineageCycle:           "a lineage that leads back to where it began, or names the same thing twice",
	ReleaseProblems:        "evidence is missing or does not fit; `problems` says which",
	PreconditionRequired:   "send the record's ETag as `If-Match`",
	RateLimited:            "too many of them of late, such as sign-ins, logout tokens or webhooks, or too many open streams",
	HeadersTooLarge:        "a browser sent more than 32 KiB of cookies; all cookies of the site are taken away",
	InternalError:          "hux's fault; the log has the request id",
	StoreCorrupt:           "the tenant's database is damaged; other tenants are not affected",
	SlotDown:               "the WebUI is not reachable",
	SlotRefused:            "the WebUI does not accept who hux says it is",
	NoSlot:                 "there is no slot of the caller's: none is free, the own one is not configured, or the chat was never visited, which alone claims one; the member `user`, if any, is the id for the operator",
	SlotBusy:               "too many requests under way at the WebUI, or it has just failed several times",
	StoreBusy:              "the tenant's database could not be used just now",
	RouteUnavailable:       "nothing that may run this mode is to be had just now",
	SignInUnavailable:      "the sign-in provider does not answer",
	SlotTimeout:            "the WebUI took too long",
	QuotaExceeded:          "there are as many of a kind as there may be, such as branches, versions or memories; the tenant's records take all of `tenant_quota`; or a disk is full, or `temp_dir` is",
}
