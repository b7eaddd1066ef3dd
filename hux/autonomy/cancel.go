package autonomy

import (
	"time"

	"bstein.dev/hux/hux"
)

// CancelStates is the state machine of the stop of a run.
var CancelStates = hux.Machine{Name: "run_cancel", Start: "requested", Moves: map[string][]string{
	"requested": {"receipted"}, "receipted": {},
}}

// ReceiptDeadline is when the router writes the receipt if the hook has not.
const ReceiptDeadline = 30 * time.Second

// Stopping is the state of a cancellation without a receipt.
const Stopping = "stopping"

// CancellationOf is how far a stop is that was asked for at a moment: stopping,
// whatever anybody says, until the receipt is there.
func CancellationOf(requested hux.Time, receipt *Receipt) Cancellation {
	c := Cancellation{Schema: CancelSchema, State: Stopping, DeadlineAt: hux.Time{Time: requested.Add(ReceiptDeadline)}}
	if receipt != nil {
		c.State, c.ReceiptID = receipt.Outcome, &receipt.ID
	}
	return c
}
