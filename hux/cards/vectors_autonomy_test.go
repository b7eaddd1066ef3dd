package cards_test

import (
	"testing"

	"bstein.dev/hux/hux/autonomy"
)

func TestDecisionVectors(t *testing.T) {
	var want struct {
		Decisions []struct {
			Level      autonomy.Level
			Capability autonomy.Capability
			AllowGrant bool `json:"allow_grant"`
			DenyGrant  bool `json:"deny_grant"`
			Private    bool
			BudgetLeft bool `json:"budget_left"`
			autonomy.Ruling
		}
	}
	vectors(t, "rules.json", &want)
	for _, v := range want.Decisions {
		got := autonomy.Decide(autonomy.Situation{
			Level: v.Level, Capability: v.Capability, AllowGrant: v.AllowGrant, DenyGrant: v.DenyGrant, Private: v.Private, BudgetLeft: v.BudgetLeft,
		})
		if got != v.Ruling {
			t.Errorf("%+v: %+v", v, got)
		}
	}
	if len(want.Decisions) != 336 {
		t.Errorf("%d decisions", len(want.Decisions))
	}
}
