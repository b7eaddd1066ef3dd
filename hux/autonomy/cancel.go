package autonomy

import (
	"time"

	"bstein.dev/hux/hux"
)

// CancelStates is the state machine of the stop of a run.
var CancelStates = hux.Machine{Name: "run_cancel", Start: "requested", Moves: map[string][]string{
	"requested": {"receipted"}, "receipted": {},
}}

// ReceiptDeadline is how long after the request to stop the router writes the
// receipt itself, if there is none yet.
const ReceiptDeadline = 30 * time.Second

// Stopping is the state of a cancellation without a receipt.
const Stopping = "stopping"

// CancellationOf says how far a stop has come that was asked for at a moment.
// Its state is stopping until there is a receipt, and then the receipt's
// outcome.
func CancellationOf(requested hux.Time, receipt *Receipt) Cancellation {
	c := Cancellation{Schema: CancelSchema, State: Stopping, DeadlineAt: hux.Time{Time: requested.Add(ReceiptDeadline)}}
	if receipt != nil {
		c.State, c.ReceiptID = receipt.Outcome, &receipt.ID
	}
	return c
}
