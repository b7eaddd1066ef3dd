package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"bstein.dev/hux/router/proxy"
	"bstein.dev/hux/router/tenant"
)

// findings is what the last self-check found off, for the log and the status
// page.
type findings struct {
	mu  sync.Mutex
	all []finding
}

type finding struct {
	Text    string `json:"text"`
	Problem bool   `json:"problem"` // otherwise it is only to be known
}

func (f *findings) list() []finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]finding{}, f.all...)
}

// runSelfCheck compares each WebUI with what the allow-list was made for,
// once it is up: a WebUI of another version may have routes that the list
// does not know.
func (s *Server) runSelfCheck(ctx context.Context) {
	checked := map[string]bool{}
	ticker := time.NewTicker(s.config.SlotHealthEvery)
	defer ticker.Stop()
	for len(checked) < len(s.config.Slots) {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		up := map[string]bool{}
		for _, st := range s.tenants.List() {
			up[st.ID] = st.State == tenant.Up
		}
		for _, slot := range s.config.Slots {
			if checked[slot.ID] || !up[slot.ID] {
				continue
			}
			checked[slot.ID] = true
			var found []finding
			for _, f := range proxy.SelfCheck(ctx, slot.URL, s.rules) {
				found = append(found, finding{"slot " + slot.ID + ": " + f.String(), f.Problem})
				level := slog.LevelInfo
				if f.Problem {
					level = slog.LevelWarn
				}
				slog.Log(ctx, level, "self-check", "slot", slot.ID, "path", f.Path, "finding", f.Text)
			}
			s.selfCheck.mu.Lock()
			s.selfCheck.all = append(s.selfCheck.all, found...)
			s.selfCheck.mu.Unlock()
		}
	}
	slog.Info("self-check done", "slots", len(checked), "findings", len(s.selfCheck.list()))
}
