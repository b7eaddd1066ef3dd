package autonomy

import (
	"math"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
)

// UserScope is the scope of the policy that applies wherever no other does.
const UserScope = "user"

// ProjectScope is the scope of a project's policy.
func ProjectScope(id string) string { return "project:" + id }

// ConversationScope is the scope of a conversation's policy.
func ConversationScope(id string) string { return "conversation:" + id }

// NoPolicy is the id of the policy that applies while nobody has set one.
const NoPolicy = "pol_00000000000000000000000000000000"

// DefaultPolicy is what GET /policy gives while nobody has set a policy for
// scope: it asks first, has no budgets, and is at revision 0.
func DefaultPolicy(meta hux.Meta, scope string, private bool, now time.Time) Policy {
	meta.Schema, meta.ID, meta.Revision = PolicySchema, NoPolicy, 0
	p := Policy{Meta: meta, Scope: scope, Level: AskFirst, Budgets: []Budget{}}
	p.Effective = EffectiveNow(p, private, now)
	return p
}

// isScope reports whether a policy may have this scope.
func isScope(scope string) bool {
	kind, _, named := strings.Cut(scope, ":")
	return scope == UserScope || named && (kind == "project" || kind == "conversation")
}

// Scopes are the scopes that a conversation is in, the narrowest first. The
// first one with a policy applies. projectID is nil if it belongs to no
// project.
func Scopes(conversationID string, projectID *string) []string {
	if projectID == nil {
		return []string{ConversationScope(conversationID), UserScope}
	}
	return []string{ConversationScope(conversationID), ProjectScope(*projectID), UserScope}
}

// LevelAt is the level at a moment: autonomous falls back to ask_first when
// its time is over.
func (p Policy) LevelAt(now time.Time) Level {
	if p.Level == Autonomous && p.LevelExpiresAt != nil && !now.Before(p.LevelExpiresAt.Time) {
		return AskFirst
	}
	return p.Level
}

// counts reports whether a budget is about a capability. No budget is about
// reading.
func (b Budget) counts(c Capability) bool {
	return c != Read && (b.Kind != NetworkCalls || c == Network)
}

// BudgetLeft reports whether a capability may be used once more.
func BudgetLeft(budgets []Budget, c Capability) bool {
	for _, b := range budgets {
		if b.counts(c) && b.Spent >= b.Limit {
			return false
		}
	}
	return true
}

// SpendCall gives the budgets after a call was allowed: one more is spent of
// each budget of calls that is about any of its capabilities.
func SpendCall(budgets []Budget, capabilities []Capability) []Budget {
	return spend(budgets, func(b Budget) int64 {
		for _, c := range capabilities {
			if b.Kind != Seconds && b.counts(c) {
				return 1
			}
		}
		return 0
	})
}

// SpendTime gives the budgets after a tool ran for so long. A second that has
// begun counts as a whole one.
func SpendTime(budgets []Budget, took time.Duration) []Budget {
	seconds := int64(math.Ceil(max(took, 0).Seconds()))
	return spend(budgets, func(b Budget) int64 {
		if b.Kind == Seconds {
			return seconds
		}
		return 0
	})
}

func spend(budgets []Budget, by func(Budget) int64) []Budget {
	out := make([]Budget, len(budgets))
	for i, b := range budgets {
		b.Spent += min(by(b), math.MaxInt64-max(b.Spent, 0))
		out[i] = b
	}
	return out
}

// ResetBudgets gives the budgets with nothing spent where a new window begins:
// at the end of a day, and for a new run.
func ResetBudgets(budgets []Budget, newRun bool, now time.Time) []Budget {
	out := make([]Budget, len(budgets))
	for i, b := range budgets {
		switch {
		case b.Window == PerDay && (b.ResetsAt == nil || !now.Before(b.ResetsAt.Time)):
			b.Spent, b.ResetsAt = 0, &hux.Time{Time: midnightAfter(now)}
		case b.Window == PerRun && newRun:
			b.Spent, b.ResetsAt = 0, nil
		}
		out[i] = b
	}
	return out
}

func midnightAfter(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}

// loosens reports whether a policy allows anything that the one before it did
// not: by its level, for a longer time, or with a larger budget. fresh says
// that the budgets begin anew, which matters only if the level does not become
// stricter.
func (p Policy) loosens(before Policy, fresh bool, now time.Time) bool {
	order := []Level{Safe, AskFirst, Autonomous}
	level, levelBefore := p.LevelAt(now), before.LevelAt(now)
	rise := slices.Index(order, level) - slices.Index(order, levelBefore)
	if rise > 0 {
		return true
	}
	fresh = fresh && rise == 0
	if end := before.LevelExpiresAt; level == Autonomous && end != nil && (p.LevelExpiresAt == nil || p.LevelExpiresAt.After(end.Time)) {
		return true
	}
	return slices.ContainsFunc(before.Budgets, func(b Budget) bool {
		return fresh || !slices.ContainsFunc(p.Budgets, func(a Budget) bool { return a.Kind == b.Kind && a.Window == b.Window && a.Limit <= b.Limit })
	})
}
