package event

// Kinds are the kinds of event there are (contracts 3). A reader shows one
// that it does not know like the others.
var Kinds = []string{
	"run.started", "run.finished", "run.cancel_requested", "run.receipt",
	"message.committed", "message.corrected", "tool.started", "tool.finished", "attachment.added",
	"approval.requested", "approval.resolved", "grant.created", "grant.revoked", "policy.changed", "policy.bypassed",
	"mode.changed", "route.changed",
	"memory.proposed", "memory.approved", "memory.rejected", "memory.expired", "memory.forgotten", "memory.used",
	"artifact.created", "artifact.version", "artifact.promoted", "source.added", "source.changed", "citation.added",
	"privacy.notice", "privacy.control", "conversation.branched", "conversation.forgotten", "clarify.requested", "clarify.resolved",
}

// ClientKinds are those that a client may post; all others are the router's.
var ClientKinds = []string{
	"run.started", "run.finished", "message.committed", "message.corrected", "tool.started", "tool.finished", "attachment.added",
}
