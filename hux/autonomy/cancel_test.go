package autonomy_test

import (
	"testing"
	"time"

	"bstein.dev/hux/hux/autonomy"
)

// A run is stopping until there is a receipt to say what came of it.
func TestCancellationOf(t *testing.T) {
	c := autonomy.CancellationOf(at(noon), nil)
	if c.State != autonomy.Stopping || c.ReceiptID != nil || !c.DeadlineAt.Equal(noon.Add(30*time.Second)) {
		t.Errorf("without a receipt: %+v", c)
	}
	for _, outcome := range []string{autonomy.Stopped, autonomy.CompletedBeforeStop, autonomy.PartiallyStopped, autonomy.FailedToStop, autonomy.Unknown} {
		c := autonomy.CancellationOf(at(noon), &autonomy.Receipt{ID: "rcp_1", Outcome: outcome})
		if c.State != outcome || *c.ReceiptID != "rcp_1" {
			t.Errorf("%s: %+v", outcome, c)
		}
	}
}
