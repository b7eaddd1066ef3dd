package hook

import (
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/client"
)

// Why a call is blocked, in words for the model that wanted it: what holds,
// that to try again is of no use, and what to do instead.
const (
	noRetry = " Do not try it again, and do not look for another way to do the same."

	unanswered = "Not run: nobody has answered in time." + noRetry +
		" Go on with what needs no permission, and tell the person what is left to decide."
	stopped  = "Not run: the person has stopped this run. Do nothing more, and end your turn."
	tooLarge = "Not run: the arguments of this call are too large to be checked (64 KiB). Do it in several smaller calls, such as a file in parts."
)

// denied says why a call that nobody was asked about may not run.
func denied(reason string) string {
	why := map[autonomy.Reason]string{
		autonomy.GrantDeny:   "the person has forbidden this.",
		autonomy.ModePrivate: "this conversation is private, and nothing of it may go to the network.",
		autonomy.ByMatrix:    "the level that the person has set does not allow this.",
	}[autonomy.Reason(reason)]
	if why == "" {
		why = "this is not allowed."
	}
	return "Not run: " + why + noRetry + " Tell the person what you wanted to do, and why."
}

// settled says what became of an approval that did not let the call pass.
func settled(a *client.Approval) string {
	switch a.Status {
	case "expired":
		return unanswered
	case "cancelled":
		return stopped
	}
	text := "Not run: the person has denied this."
	if a.Decision != nil && a.Decision.Reason != nil && *a.Decision.Reason != "" {
		text += " They say: “" + hux.Plain(*a.Decision.Reason) + "”."
	}
	return text + noRetry + " Ask them how to go on."
}
