package cards_test

import (
	"math"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/memory"
)

func TestMemoryVectors(t *testing.T) {
	var want struct {
		Decay []struct {
			HalfLifeDays int     `json:"half_life_days"`
			AgeMS        int64   `json:"age_ms"`
			Score        float64 `json:"score"`
		}
		Expiry []struct {
			CreatedAt hux.Time         `json:"created_at"`
			Retention memory.Retention `json:"retention"`
			ExpiresAt *hux.Time        `json:"expires_at"`
		}
		SensitiveRetention []struct {
			CreatedAt hux.Time         `json:"created_at"`
			Retention memory.Retention `json:"retention"`
			Allowed   bool             `json:"allowed"`
		} `json:"sensitive_retention"`
		ApprovalMode []struct {
			Asked, Sensitivity, Source string
			Actor                      hux.Kind
			ApprovalMode               string `json:"approval_mode"`
		} `json:"approval_mode"`
		Content []struct {
			Text   string  `json:"text"`
			States *string `json:"states"`
		} `json:"content"`
	}
	vectors(t, "memory.json", &want)
	made := hux.Now()
	for _, v := range want.Decay {
		m := memory.Memory{State: memory.Active, Retention: memory.Retention{Kind: "decay", HalfLifeDays: &v.HalfLifeDays}}
		m.CreatedAt = made
		if got := m.Score(made.Add(time.Duration(v.AgeMS) * time.Millisecond)); math.Abs(got-v.Score) > 1e-9 {
			t.Errorf("%+v: %v", v, got)
		}
	}
	for _, v := range want.Expiry {
		at, ends := v.Retention.Until(v.CreatedAt.Time)
		if ends != (v.ExpiresAt != nil) || ends && !at.Equal(v.ExpiresAt.Time) {
			t.Errorf("%+v: %v, %v", v, at, ends)
		}
	}
	for _, v := range want.SensitiveRetention {
		until, ends := v.Retention.Until(v.CreatedAt.Time)
		if allowed := ends && until.Sub(v.CreatedAt.Time) <= memory.MaxSensitive; allowed != v.Allowed {
			t.Errorf("%+v: allowed %v", v, allowed)
		}
	}
	for _, v := range want.ApprovalMode {
		if got := memory.ApprovalMode(v.Asked, v.Sensitivity, v.Source, v.Actor); got != v.ApprovalMode {
			t.Errorf("%+v: %s", v, got)
		}
	}
	for _, v := range want.Content {
		if got := memory.StatesOf(v.Text); got != "" != (v.States != nil) || v.States != nil && got != *v.States {
			t.Errorf("%q states %q", v.Text, got)
		}
	}
	if len(want.Content) == 0 || len(want.Decay) == 0 || len(want.Expiry) == 0 || len(want.SensitiveRetention) == 0 || len(want.ApprovalMode) == 0 {
		t.Error("a list is empty")
	}
}
