package conversation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/store"
)

// A turn keeps its run for two days, and a run that has finished is known as
// such and still its conversation's.
func TestTurnsAndRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		update := func(fn func(tx *store.Tx) error) {
			t.Helper()
			if err := r.call.DB.Update(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		var at time.Time
		turn := func() (run string) {
			update(func(tx *store.Tx) (err error) {
				run, at, err = r.service.RunOfTurn(tx, "cnv_1", "turn")
				return err
			})
			return run
		}
		update(func(tx *store.Tx) error { return r.service.StartRun(tx, "cnv_1", "stream") })
		if run := turn(); run != "stream" || time.Since(at) > time.Millisecond {
			t.Errorf("the turn is %s since %v", run, at)
		}
		update(func(tx *store.Tx) error { return r.service.FinishRun(tx, "cnv_1", "stream") })
		began := at
		for _, hours := range []time.Duration{47, 2} {
			time.Sleep(hours * time.Hour)
			if err := conversation.Sweep(ctx, r.call.DB); err != nil {
				t.Fatal(err)
			}
			run := turn()
			if early := hours == 47; early != (run == "stream") || early != at.Equal(began) {
				t.Errorf("%d hours later it is %s since %v", hours, run, at)
			}
		}

		update(func(tx *store.Tx) error {
			s := r.service
			if err := s.Runs(tx, "cnv_1", "run"); err != nil || s.HasFinished(tx, "cnv_1", "run") || s.HasFinished(tx, "cnv_1", "none") {
				t.Errorf("a run that began: %v", err)
			}
			if err := s.Finished(tx, "cnv_2", "run"); err != nil || s.HasFinished(tx, "cnv_1", "run") {
				t.Errorf("another conversation ended it: %v", err)
			}
			for range 2 {
				if err := s.Finished(tx, "cnv_1", "run"); err != nil || !s.HasFinished(tx, "cnv_1", "run") || s.RunOf(tx, "cnv_1", "run") != "cnv_1" {
					t.Errorf("a run that has finished: %v", err)
				}
			}
			if s.Runs(tx, "cnv_1", "run") != nil || s.Runs(tx, "cnv_2", "run") == nil {
				t.Error("it is no longer its conversation's alone")
			}
			if err := s.EndRun(tx, "cnv_1", "run"); err != nil || s.Runs(tx, "cnv_1", "run") == nil {
				t.Errorf("with its receipt: %v", err)
			}
			return s.Finished(tx, "cnv_1", "run")
		})
	})
}
