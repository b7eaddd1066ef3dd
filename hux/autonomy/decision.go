package autonomy

import (
	"slices"
	"time"
)

// matrix is what applies by the level alone, without grants, budgets or a
// private conversation (contracts 5).
var matrix = map[Level]map[Capability]Effect{
	Safe:       {Read: Allow, Write: Ask, Execute: Ask, Message: Ask, MemoryWrite: Ask, Network: Deny, Deploy: Ask},
	AskFirst:   {Read: Allow, Write: Ask, Execute: Ask, Message: Ask, MemoryWrite: Ask, Network: Ask, Deploy: Ask},
	Autonomous: {Read: Allow, Write: Allow, Execute: Allow, Message: Allow, MemoryWrite: Allow, Network: Allow, Deploy: Ask},
}

// Matrix is what applies to a capability by the level alone. An unknown level
// counts as safe; an unknown capability is denied.
func Matrix(level Level, c Capability) Effect {
	row, ok := matrix[level]
	if !ok {
		row = matrix[Safe]
	}
	if effect, ok := row[c]; ok {
		return effect
	}
	return Deny
}

// Situation is all that a decision about one capability depends on.
type Situation struct {
	Level      Level
	Capability Capability
	DenyGrant  bool // a live grant denies it
	AllowGrant bool // a live grant allows it
	Private    bool // the conversation is private now
	BudgetLeft bool
}

// Decide gives the effective decision (contracts 5): that of the first rule that
// applies. An allowance for which no budget is left becomes ask.
func Decide(s Situation) Ruling {
	d := decideWithoutBudget(s)
	if d.Effect == Allow && s.Capability != Read && !s.BudgetLeft {
		return Ruling{Ask, BudgetExhausted}
	}
	return d
}

func decideWithoutBudget(s Situation) Ruling {
	switch {
	case s.DenyGrant:
		return Ruling{Deny, GrantDeny}
	case s.Private && s.Capability == Network:
		return Ruling{Deny, ModePrivate}
	case s.Capability == Deploy:
		return Ruling{Ask, DeployAlwaysAsks}
	case s.AllowGrant:
		return Ruling{Allow, GrantAllow}
	}
	return Ruling{Matrix(s.Level, s.Capability), ByMatrix}
}

// strictness orders effects; an unknown one counts as deny.
func strictness(e Effect) int {
	switch e {
	case Allow:
		return 0
	case Ask:
		return 1
	}
	return 2
}

// gravity orders capabilities as AllCapabilities does.
func gravity(c Capability) int { return slices.Index(AllCapabilities, c) }

// Call is a tool call that an agent asks about, and where it asks.
type Call struct {
	Tool           string
	Capabilities   []Capability // as Capabilities finds them; with none it counts as a call of an unknown tool
	Hash           string       // as EvidenceHash makes it
	Target         string       // as Target finds it; "" for none
	Claimed        string       // the target that the agent states, which can match a denial only; "" for none
	ConversationID string
	SessionID      string
	Private        bool // the conversation is private now
	aims           aims // see Aimed
}

// Verdict is what applies to a call.
type Verdict struct {
	CapabilityRuling                    // the strictest of Each; of equally strict ones the gravest
	Each             []CapabilityRuling // in the order of AllCapabilities
	Spends           []string           // the ids of the grants that an allowance uses, each once
}

// Judge decides about a call at a moment, under the policy that applies and the
// grants of its owner. It takes the policy's budgets as they are, so
// ResetBudgets comes first.
func Judge(call Call, p Policy, grants []Grant, now time.Time) Verdict {
	needed := slices.Clone(call.Capabilities)
	if len(needed) == 0 {
		needed = slices.Clone(catalogue.Unknown)
	}
	slices.SortFunc(needed, func(a, b Capability) int { return gravity(a) - gravity(b) })
	var v Verdict
	for _, c := range slices.Compact(needed) {
		denying, allowing := applying(call, c, grants, now)
		d := CapabilityRuling{c, Decide(Situation{
			Level: p.LevelAt(now), Capability: c, Private: call.Private, BudgetLeft: BudgetLeft(p.Budgets, c),
			DenyGrant: denying != nil, AllowGrant: allowing != nil,
		})}
		v.Each = append(v.Each, d)
		if len(v.Each) == 1 || strictness(d.Effect) >= strictness(v.Effect) {
			v.CapabilityRuling = d
		}
		if d.Reason == GrantAllow && !slices.Contains(v.Spends, allowing.ID) {
			v.Spends = append(v.Spends, allowing.ID)
		}
	}
	if v.Effect != Allow {
		v.Spends = nil
	}
	return v
}

// applying finds the grants that decide about one capability of a call. Of
// several that allow it, it takes one without a limit of uses if there is one,
// so that no use is spent in vain.
func applying(call Call, c Capability, grants []Grant, now time.Time) (denying, allowing *Grant) {
	for i := range grants {
		g := &grants[i]
		switch {
		case !g.Live(now) || !g.Covers(c) || !g.Matches(call):
		case g.Effect != Allow:
			denying = g
		case allowing == nil || g.Uses.Max == nil:
			allowing = g
		}
	}
	return denying, allowing
}

// EffectiveNow is the policy's member effective: what applies to each
// capability where no grant does.
func EffectiveNow(p Policy, private bool, now time.Time) map[Capability]Ruling {
	effective := map[Capability]Ruling{}
	for _, c := range AllCapabilities {
		effective[c] = Decide(Situation{Level: p.LevelAt(now), Capability: c, Private: private, BudgetLeft: BudgetLeft(p.Budgets, c)})
	}
	return effective
}
