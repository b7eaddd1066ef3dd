package autonomy_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

func TestLevelAt(t *testing.T) {
	end := at(noon)
	for name, c := range map[string]struct {
		level   autonomy.Level
		expires *hux.Time
		now     time.Time
		want    autonomy.Level
	}{
		"for ever": {autonomy.Autonomous, nil, noon, autonomy.Autonomous},
		"before":   {autonomy.Autonomous, &end, noon.Add(-time.Millisecond), autonomy.Autonomous},
		"at":       {autonomy.Autonomous, &end, noon, autonomy.AskFirst},
		"after":    {autonomy.Autonomous, &end, noon.Add(time.Hour), autonomy.AskFirst},
		"safe":     {autonomy.Safe, &end, noon.Add(time.Hour), autonomy.Safe},
	} {
		if got := (autonomy.Policy{Level: c.level, LevelExpiresAt: c.expires}).LevelAt(c.now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestScopes(t *testing.T) {
	project := "p"
	if got := autonomy.Scopes("c", &project); !slices.Equal(got, []string{"conversation:c", "project:p", "user"}) {
		t.Error(got)
	}
	if got := autonomy.Scopes("c", nil); !slices.Equal(got, []string{"conversation:c", "user"}) {
		t.Error(got)
	}
}

func TestDefaultPolicy(t *testing.T) {
	p := autonomy.DefaultPolicy(hux.Meta{Revision: 7}, autonomy.UserScope, true, noon)
	if p.Revision != 0 || p.ID != autonomy.NoPolicy || p.Level != autonomy.AskFirst || p.Effective[autonomy.Network].Reason != autonomy.ModePrivate || len(p.Effective) != 7 {
		t.Errorf("%+v", p)
	}
}

func TestBudgets(t *testing.T) {
	budgets := []autonomy.Budget{
		{Kind: autonomy.ToolCalls, Limit: 3, Window: autonomy.PerDay}, {Kind: autonomy.NetworkCalls, Limit: 1, Window: autonomy.PerRun},
		{Kind: autonomy.Seconds, Limit: 10, Window: autonomy.PerRun},
	}
	budgets = autonomy.ResetBudgets(budgets, false, noon)
	if want := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC); budgets[0].ResetsAt == nil || !budgets[0].ResetsAt.Equal(want) || budgets[1].ResetsAt != nil {
		t.Fatalf("%+v", budgets)
	}
	spent := func(want ...int64) {
		t.Helper()
		for i, w := range want {
			if budgets[i].Spent != w {
				t.Errorf("%s: spent %d, want %d", budgets[i].Kind, budgets[i].Spent, w)
			}
		}
	}
	left := func(want bool, capabilities ...autonomy.Capability) {
		t.Helper()
		for _, c := range capabilities {
			if autonomy.BudgetLeft(budgets, c) != want {
				t.Errorf("left for %s: %v", c, !want)
			}
		}
	}
	budgets = autonomy.SpendCall(budgets, []autonomy.Capability{autonomy.Read})
	spent(0, 0, 0)
	budgets = autonomy.SpendCall(budgets, []autonomy.Capability{autonomy.Write, autonomy.Network})
	spent(1, 1, 0)
	left(false, autonomy.Network)
	left(true, autonomy.Write, autonomy.Read)
	budgets = autonomy.SpendTime(budgets, 9100*time.Millisecond)
	spent(1, 1, 10)
	left(false, autonomy.Write, autonomy.Execute, autonomy.Network)
	left(true, autonomy.Read)
	budgets = autonomy.ResetBudgets(budgets, true, noon.Add(11*time.Hour))
	spent(1, 0, 0)
	budgets = autonomy.ResetBudgets(budgets, false, noon.Add(12*time.Hour))
	spent(0, 0, 0)
	if want := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC); !budgets[0].ResetsAt.Equal(want) {
		t.Errorf("resets at %s", budgets[0].ResetsAt)
	}
	budgets[2].Spent = math.MaxInt64 - 1
	budgets = autonomy.SpendTime(budgets, time.Hour)
	spent(0, 0, math.MaxInt64)
	budgets = autonomy.SpendTime(budgets, -time.Hour)
	spent(0, 0, math.MaxInt64)
}

// Spending never makes room.
func TestSpendingLeavesLess(t *testing.T) {
	budgets := []autonomy.Budget{{Kind: autonomy.ToolCalls, Limit: 5}, {Kind: autonomy.NetworkCalls, Limit: 3}, {Kind: "unheard of", Limit: 2}}
	for range 10 {
		before := map[autonomy.Capability]bool{}
		for _, c := range capabilities {
			before[c] = autonomy.BudgetLeft(budgets, c)
		}
		budgets = autonomy.SpendCall(budgets, capabilities)
		for _, c := range capabilities {
			if autonomy.BudgetLeft(budgets, c) && !before[c] {
				t.Errorf("%s has room again", c)
			}
		}
	}
	if autonomy.BudgetLeft(budgets, autonomy.Network) || !autonomy.BudgetLeft(budgets, autonomy.Read) {
		t.Error("it is not spent, or reading is")
	}
}
