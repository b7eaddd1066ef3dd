package conversation_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/record"
)

// A turn keeps its run for two days, and a run that has finished is known as
// such and still its conversation's.
func TestTurnsAndRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		ctx := context.Background()
		update := func(fn func(ch *record.Change) error) {
			t.Helper()
			if err := r.frame.Change(ctx, &r.call, record.Plan{}, fn); err != nil {
				t.Fatal(err)
			}
		}
		var at time.Time
		turn := func() (run string) {
			update(func(ch *record.Change) error {
				run, at = r.service.RunOfTurn(ch, "cnv_1", "turn")
				return nil
			})
			return run
		}
		update(func(ch *record.Change) error { r.service.SetActive(ch, "cnv_1", "stream"); return nil })
		if run := turn(); run != "stream" || time.Since(at) > time.Millisecond {
			t.Errorf("the turn is %s since %v", run, at)
		}
		update(func(ch *record.Change) error { r.service.ClearActive(ch, "cnv_1", "stream"); return nil })
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

		update(func(ch *record.Change) error {
			s := r.service
			if err := s.ClaimRun(ch, "cnv_1", "run"); err != nil || s.HasFinished(ch, "cnv_1", "run") || s.HasFinished(ch, "cnv_1", "none") {
				t.Errorf("a run that began: %v", err)
			}
			if s.MarkFinished(ch, "cnv_2", "run"); s.HasFinished(ch, "cnv_1", "run") {
				t.Error("another conversation ended it")
			}
			for range 2 {
				if s.MarkFinished(ch, "cnv_1", "run"); !s.HasFinished(ch, "cnv_1", "run") || s.RunOf(ch, "cnv_1", "run") != "cnv_1" {
					t.Error("a run that has finished is none")
				}
			}
			if s.ClaimRun(ch, "cnv_1", "run") != nil || s.ClaimRun(ch, "cnv_2", "run") == nil {
				t.Error("it is no longer its conversation's alone")
			}
			if s.MarkEnded(ch, "cnv_1", "run"); s.ClaimRun(ch, "cnv_1", "run") == nil {
				t.Error("it goes on with its receipt")
			}
			s.MarkFinished(ch, "cnv_1", "run")
			return nil
		})
	})
}
