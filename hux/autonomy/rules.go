package autonomy

import (
	"slices"
	"strconv"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/redact"
	"bstein.dev/hux/hux/schema"
)

// Rules check what the schemas can't say of single records and bodies.
var Rules = map[string]schema.Rule{
	PolicySchema:             schema.RuleOf(faultsOfPolicy),
	"hux.policy.put.v1":      schema.RuleOf(faultsOfPolicyPut),
	GrantSchema:              schema.RuleOf(faultsOfGrant),
	"hux.grant.create.v1":    schema.RuleOf(faultsOfGrantCreate),
	ApprovalSchema:           schema.RuleOf(faultsOfApproval),
	"hux.approval.create.v1": schema.RuleOf(faultsOfApprovalCreate),
	DecisionSchema:           schema.RuleOf(faultsOfDecision),
	"hux.decision.create.v1": schema.RuleOf(func(d *DecisionCreate) schema.Faults {
		f := faultsOfRun(d.Run)
		faultsOfCall(&f, "", d.Tool, d.Args, d.Target)
		notSecret(&f, "/tool_call_id", d.ToolCallID)
		return f
	}),
	ReceiptSchema: schema.RuleOf(func(r *Receipt) schema.Faults { return faultsOfStop(r.Outcome, r.SideEffects) }),
	"hux.receipt.create.v1": schema.RuleOf(func(r *ReceiptCreate) schema.Faults {
		return append(faultsOfRun(r.Run), faultsOfStop(r.Outcome, r.SideEffects)...)
	}),
}

// Texts of several rules.
const (
	deployAllowed = "allows a deployment, which only a person can, each time"
	atBudget      = "/budgets/"
)

func faultsOfPolicy(p *Policy) schema.Faults {
	var f schema.Faults
	seen := map[string]bool{}
	for i, b := range p.Budgets {
		at := atBudget + strconv.Itoa(i)
		onceEach(&f, seen, at, b.Kind, b.Window)
		f.AddIf((b.Window == PerDay) != (b.ResetsAt != nil), at+"/resets_at", "reset_of_window", "is of a day's budget, and only of that")
	}
	f.AddIf(p.Effective[Deploy].Effect == Allow, "/effective/deploy/effect", string(hux.DeployNotGrantable), deployAllowed)
	return f
}

func faultsOfPolicyPut(p *PolicyPut) schema.Faults {
	var f schema.Faults
	seen := map[string]bool{}
	for i, b := range p.Budgets {
		onceEach(&f, seen, atBudget+strconv.Itoa(i), b.Kind, b.Window)
	}
	return f
}

// onceEach adds a fault for a budget whose kind and window were seen before.
func onceEach(f *schema.Faults, seen map[string]bool, at, kind, window string) {
	key := kind + " " + window
	f.AddIf(seen[key], at, "budget_twice", "is of the kind and window of another")
	seen[key] = true
}

func faultsOfGrant(g *Grant) schema.Faults {
	var f schema.Faults
	grantable(&f, g.Effect, g.Duration, g.Capability, g.Capabilities, g.Match, g.Scope)
	f.AddIf((g.Origin.ApprovalID != "") == g.Origin.Manual, "/origin", "origin_required", "must name an approval or say that it is manual")
	lives := g.ExpiresAt.Sub(g.CreatedAt.Time)
	f.AddIf(lives < 0 || lives > GrantLifetime(g.Duration, MaxAlwaysGrant), "/expires_at", "lifetime", "is later than a grant of this duration may live, or before it was made")
	f.AddIf(g.Duration == Once && (g.Uses.Max == nil || *g.Uses.Max != 1), "/uses/max", "single_use", "must be 1 where the grant is for one call")
	f.AddIf(g.Uses.Max != nil && g.Uses.Count > *g.Uses.Max, "/uses/count", "uses_exceeded", "is more than max")
	f.AddIf(g.State == "spent" && (g.Uses.Max == nil || g.Uses.Count < *g.Uses.Max), "/state", "uses_left", "can't be so while there are uses left")
	return f
}

func faultsOfGrantCreate(g *GrantCreate) schema.Faults {
	var f schema.Faults
	grantable(&f, g.Effect, g.Duration, g.Capability, g.Capabilities, g.Match, g.Scope)
	f.AddIf(g.ExpiresInMS > GrantLifetime(g.Duration, MaxAlwaysGrant).Milliseconds(), "/expires_in_ms", "lifetime", "is longer than a grant of this duration may live")
	return f
}

// grantable adds what is wrong with a grant, as a record or as a body.
func grantable(f *schema.Faults, effect Effect, duration Choice, one Capability, all []Capability, m Match, s GrantScope) {
	f.AddIf(effect == Allow && (one == Deploy || slices.Contains(all, Deploy)), "/capability", string(hux.DeployNotGrantable), deployAllowed)
	f.AddIf(len(all) > 0 && !slices.Contains(all, one), "/capabilities", "capability_missing", "must have the capability among them")
	both, none := m.ArgsHash != "" && m.Target != "", m.ArgsHash == "" && m.Target == ""
	f.AddIf(both || none && effect == Allow, "/match", "match_one", "must have args_hash or target, and not both")
	_, ok := grantTarget(m)
	f.AddIf(!ok, "/match/target", "no_target", "is no target of the tool; a host is written in ASCII, as example.org")
	f.AddIf(duration == Session && s == (GrantScope{}), "/scope", "scope_required", "must say where the grant holds")
}

func faultsOfApproval(a *Approval) schema.Faults {
	var f schema.Faults
	r := a.Request
	all := append([]Capability{r.Capability}, r.Capabilities...)
	f.AddIf(len(r.Capabilities) > 0 && !slices.Contains(r.Capabilities, r.Capability), "/request/capabilities", "capability_missing", "must have the capability among them")
	f.AddIf(!slices.Contains(r.Choices, DenyChoice), "/request/choices", "deny_missing", "must have deny among them")
	for i, c := range r.Choices {
		f.AddIf(!slices.Contains(Choices(all, true), c), "/request/choices/"+strconv.Itoa(i), string(hux.ChoiceNotAllowed), "can't be chosen about a deployment")
	}
	m := r.GrantMatch
	f.AddIf(m.Tool != r.Tool || (m.ArgsHash != "") == (m.Target != "") ||
		m.ArgsHash != "" && !slices.ContainsFunc(r.Evidence, func(e hux.EvidenceRef) bool { return e.Hash != nil && *e.Hash == m.ArgsHash }) ||
		m.Target != "" && (r.Target == nil || *r.Target != m.Target),
		"/request/grant_match", "grant_match", "must be of the request's tool, and of its hash or its target")
	lives := a.ExpiresAt.Sub(a.CreatedAt.Time)
	f.AddIf(lives < 0 || lives > MaxApproval, "/expires_at", "lifetime", "is later than an approval may wait, or before it was made")
	if d := a.Decision; d != nil {
		f.AddIf(!slices.Contains(r.Choices, d.Choice), "/decision/choice", string(hux.ChoiceNotAllowed), "was not offered")
		f.AddIf((d.Choice == Session || d.Choice == Always) && d.GrantID == nil, "/decision/grant_id", "grant_missing", "must name what was granted")
		f.AddIf(d.Choice == DenyChoice && d.GrantID != nil, "/decision/grant_id", "grant_missing", "names a grant, and nothing was granted")
	}
	return f
}

func faultsOfApprovalCreate(a *ApprovalCreate) schema.Faults {
	f, r := faultsOfRun(a.Run), a.Request
	hash := faultsOfCall(&f, "/request", r.Tool, r.Args, r.Target)
	for i, e := range r.Evidence {
		at := "/request/evidence/" + strconv.Itoa(i)
		f.AddIf(hash != "" && e.Hash != nil && *e.Hash != hash, at+"/hash", string(hux.EvidenceMismatch), "is not the hash of this tool, these arguments and this target")
		notSecret(&f, at+"/id", e.ID)
	}
	return f
}

// faultsOfRun is what is wrong with how an agent names its run.
func faultsOfRun(r Run) schema.Faults {
	var f schema.Faults
	notSecret(&f, "/run_id", r.RunID)
	notSecret(&f, "/turn_id", r.TurnID)
	if r.Session != nil {
		notSecret(&f, "/session/id", r.Session.ID)
	}
	return f
}

// faultsOfCall adds what is wrong with a tool call that an agent asks about, and
// gives its hash; "" if it can't be hashed. The target that an agent states must
// be one that the catalogue finds in the arguments, if the tool has any.
func faultsOfCall(f *schema.Faults, at, tool string, args map[string]any, stated *string) (hash string) {
	target := ""
	if stated != nil {
		target = *stated
	}
	hash, err := EvidenceHash(tool, args, target)
	f.AddIf(err != nil, at+"/args", "not_canonical", "holds a number that can't be hashed")
	notSecret(f, at+"/tool", tool)
	notSecret(f, at+"/target", target)
	f.AddIf(target != "" && hasTarget(tool) && !slices.Contains(aimsOf(tool, args).targets, cleanTarget(tool, target)),
		at+"/target", "target_mismatch", "is not the one that the arguments name")
	return hash
}

// notSecret adds a fault for an id or a name that looks like a secret.
func notSecret(f *schema.Faults, at, name string) {
	f.AddIf(redact.Secretive(name), at, "looks_secret", "looks like a secret, and must not be one")
}

func faultsOfDecision(d *Decision) schema.Faults {
	var f schema.Faults
	seen := map[Capability]bool{}
	strictest, same := Allow, false
	for i, c := range d.Capabilities {
		at := "/capabilities/" + strconv.Itoa(i)
		f.AddIf(seen[c.Capability], at, "capability_twice", "is of the capability of another")
		f.AddIf(c.Capability == Deploy && c.Effect == Allow, at+"/effect", string(hux.DeployNotGrantable), deployAllowed)
		seen[c.Capability] = true
		if strictness(c.Effect) > strictness(strictest) {
			strictest = c.Effect
		}
		same = same || c.Ruling == d.Ruling
	}
	f.AddIf(d.Effect != strictest, "/effect", "not_strictest", "is not the strictest of its capabilities'")
	f.AddIf(!same, "/reason", "not_strictest", "is of none of its capabilities")
	return f
}

// faultsOfStop is what is wrong with the outcome of a stop and its effects.
func faultsOfStop(outcome string, effects []SideEffect) schema.Faults {
	var f schema.Faults
	for i, e := range effects {
		at := "/side_effects/" + strconv.Itoa(i)
		f.AddIf(e.Reverted && outcome == Unknown, at+"/reverted", "reverted_unseen", "must be false where nobody knows how the run ended")
		f.AddIf(e.Reverted && !e.Reversible, at+"/reverted", "not_reversible", "is true of what can't be reverted")
		f.AddIf(!e.Reverted && e.RevertEvidence != nil, at+"/revert_evidence", "revert_evidence", "is evidence of what did not happen")
	}
	return f
}
