package server

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/record"
)

// sweepEvery is how often what has had its time is taken out of the tenants'
// databases; until then nothing counts it any more.
const sweepEvery = 6 * time.Hour

// sweep takes expired idempotency keys, and turns and calls that are over for
// long, out of every tenant's database, until ctx ends.
func (s *Server) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		tenants, err := s.stores.Tenants()
		if err != nil {
			slog.Warn("looking for what to sweep", "cause", err)
		}
		for _, t := range tenants {
			db := s.stores.Lease(t)
			if err := errors.Join(record.Sweep(ctx, db), conversation.Sweep(ctx, db), autonomy.Sweep(ctx, db)); err != nil && ctx.Err() == nil {
				slog.Warn("sweeping a tenant's database", "tenant", t, "cause", err)
			}
		}
	}
}
