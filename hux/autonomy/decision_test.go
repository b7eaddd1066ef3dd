package autonomy_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

var (
	noon         = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	levels       = []autonomy.Level{autonomy.Safe, autonomy.AskFirst, autonomy.Autonomous}
	strictness   = map[autonomy.Effect]int{autonomy.Allow: 0, autonomy.Ask: 1, autonomy.Deny: 2}
	capabilities = append(slices.Clone(autonomy.AllCapabilities), "", "admin")
)

func at(t time.Time) hux.Time { return hux.Time{Time: t} }

// situations are all that there are, and some of a level or a capability that
// there is not.
func situations(yield func(autonomy.Situation) bool) {
	for _, level := range append(slices.Clone(levels), "", "yolo") {
		for _, c := range capabilities {
			for bits := range 16 {
				if !yield(autonomy.Situation{
					Level: level, Capability: c,
					DenyGrant: bits&1 != 0, AllowGrant: bits&2 != 0, Private: bits&4 != 0, BudgetLeft: bits&8 != 0,
				}) {
					return
				}
			}
		}
	}
}

func TestDecide(t *testing.T) {
	for s := range situations {
		d := autonomy.Decide(s)
		if _, ok := strictness[d.Effect]; !ok || d.Reason == "" {
			t.Errorf("%+v: %+v is no decision", s, d)
		}
		if s.DenyGrant && d != (autonomy.Ruling{Effect: autonomy.Deny, Reason: autonomy.GrantDeny}) {
			t.Errorf("%+v: %+v, and a grant denies it", s, d)
		}
		if s.Capability == autonomy.Deploy && d.Effect == autonomy.Allow {
			t.Errorf("%+v: %+v, and it deploys", s, d)
		}
		if s.Private && s.Capability == autonomy.Network && d.Effect != autonomy.Deny {
			t.Errorf("%+v: %+v, and it is private", s, d)
		}
		if s.Capability == autonomy.Read && !s.DenyGrant && d.Effect != autonomy.Allow {
			t.Errorf("%+v: %+v, and it only reads", s, d)
		}
		with, without := s, s
		with.BudgetLeft, without.BudgetLeft = true, false
		rich, poor := autonomy.Decide(with), autonomy.Decide(without)
		if rich != poor && (rich.Effect != autonomy.Allow || poor != autonomy.Ruling{Effect: autonomy.Ask, Reason: autonomy.BudgetExhausted}) {
			t.Errorf("%+v: with a budget %+v, without %+v", s, rich, poor)
		}
		if with, without := s, s; !s.AllowGrant {
			with.AllowGrant = true
			if a, b := autonomy.Decide(with), autonomy.Decide(without); strictness[a.Effect] > strictness[b.Effect] {
				t.Errorf("%+v: %+v, and with a grant that allows it %+v", s, b, a)
			}
		}
		if !slices.Contains(levels, s.Level) {
			safe := s
			safe.Level = autonomy.Safe
			if d != autonomy.Decide(safe) {
				t.Errorf("%+v: %+v, and at safe %+v", s, d, autonomy.Decide(safe))
			}
		}
	}
}

// A level allows all that the one before it allows.
func TestDecideIsMonotoneInTheLevel(t *testing.T) {
	for s := range situations {
		last := 2
		for _, s.Level = range levels {
			now := strictness[autonomy.Decide(s).Effect]
			if now > last {
				t.Errorf("%+v is stricter than the level before", s)
			}
			last = now
		}
	}
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func someGrant(r *rand.Rand, i int) autonomy.Grant {
	one := int64(1)
	return autonomy.Grant{
		Meta: hux.Meta{ID: hux.NewID("grt")}, Capability: pick(r, autonomy.AllCapabilities...), Capabilities: pick(r, nil, autonomy.AllCapabilities),
		Effect: pick(r, autonomy.Allow, autonomy.Deny), State: pick(r, "active", "active", "active", "revoked", "spent", "expired"),
		Match:     autonomy.Match{Tool: pick(r, "terminal", "write_file"), ArgsHash: pick(r, "", "h1", "h2"), Target: pick(r, "", "t1")},
		Scope:     autonomy.GrantScope{ConversationID: pick(r, "", "c1", "c2"), SessionID: pick(r, "", "s1")},
		ExpiresAt: at(noon.Add(pick(r, -time.Hour, 0, time.Hour))),
		Uses:      autonomy.Uses{Count: int64(i % 2), Max: pick(r, nil, &one)},
	}
}

// What applies to a call is the strictest of what applies to what it needs;
// only live grants of the call count, in whatever order; an allowance names the
// grants that it uses.
func TestJudge(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	seen := map[autonomy.Reason]int{}
	for range 20000 {
		p := autonomy.Policy{Level: pick(r, levels...), Budgets: []autonomy.Budget{{Kind: autonomy.NetworkCalls, Limit: int64(r.IntN(2)), Window: autonomy.PerDay}}}
		var grants []autonomy.Grant
		for i := range r.IntN(5) {
			grants = append(grants, someGrant(r, i))
		}
		call := autonomy.Call{Tool: "terminal", Hash: "h1", Target: pick(r, "", "t1"), ConversationID: "c1", SessionID: "s1", Private: r.IntN(4) == 0}
		for range 1 + r.IntN(3) {
			call.Capabilities = append(call.Capabilities, pick(r, autonomy.AllCapabilities...))
		}
		v := autonomy.Judge(call, p, grants, noon)
		seen[v.Reason]++
		for _, one := range v.Each {
			if strictness[one.Effect] > strictness[v.Effect] {
				t.Fatalf("%s of a call with %+v", v.Effect, v.Each)
			}
			if one.Capability == autonomy.Deploy && v.Effect == autonomy.Allow || call.Private && one.Capability == autonomy.Network && v.Effect != autonomy.Deny {
				t.Fatalf("%s of a call with %+v", v.Effect, v.Each)
			}
		}
		for _, g := range grants {
			if g.Effect == autonomy.Deny && g.Live(noon) && g.Matches(call) && slices.ContainsFunc(call.Capabilities, g.Covers) && v.Effect != autonomy.Deny {
				t.Fatalf("%s against %+v", v.Effect, g)
			}
		}
		if (v.Effect != autonomy.Allow) && len(v.Spends) > 0 {
			t.Fatalf("%s spends %v", v.Effect, v.Spends)
		}
		for _, id := range v.Spends {
			i := slices.IndexFunc(grants, func(g autonomy.Grant) bool { return g.ID == id })
			if g := grants[i]; !g.Live(noon) || !g.Matches(call) || g.Effect != autonomy.Allow {
				t.Fatalf("spends %+v", g)
			}
		}
		r.Shuffle(len(grants), func(i, j int) { grants[i], grants[j] = grants[j], grants[i] })
		if again := autonomy.Judge(call, p, grants, noon); again.CapabilityRuling != v.CapabilityRuling || !slices.Equal(again.Each, v.Each) {
			t.Fatalf("%+v, and in another order of grants %+v", v, again)
		}
	}
	if len(seen) != 6 {
		t.Errorf("reasons seen: %v", seen)
	}
}

func TestJudgeSpeaksForTheGravest(t *testing.T) {
	p := autonomy.Policy{Level: autonomy.AskFirst}
	for name, c := range map[string]struct {
		needs []autonomy.Capability
		want  autonomy.CapabilityRuling
	}{
		"one":           {[]autonomy.Capability{autonomy.Write}, ask(autonomy.Write)},
		"alike":         {[]autonomy.Capability{autonomy.Network, autonomy.Write, autonomy.Write}, ask(autonomy.Network)},
		"a mild one":    {[]autonomy.Capability{autonomy.Read, autonomy.Execute}, ask(autonomy.Execute)},
		"none is worst": {nil, ask(autonomy.Network)},
		"one unheard of": {
			[]autonomy.Capability{autonomy.Read, "admin"},
			autonomy.CapabilityRuling{Capability: "admin", Ruling: autonomy.Ruling{Effect: autonomy.Deny, Reason: autonomy.ByMatrix}},
		},
	} {
		if v := autonomy.Judge(autonomy.Call{Tool: "x", Capabilities: c.needs}, p, nil, noon); v.CapabilityRuling != c.want {
			t.Errorf("%s: %+v, want %+v", name, v.CapabilityRuling, c.want)
		}
	}
}

func ask(c autonomy.Capability) autonomy.CapabilityRuling {
	return autonomy.CapabilityRuling{Capability: c, Ruling: autonomy.Ruling{Effect: autonomy.Ask, Reason: autonomy.ByMatrix}}
}

// A grant without a bound is used before one that it would use up.
func TestJudgeSpendsNothingInVain(t *testing.T) {
	one := int64(1)
	bounded := autonomy.Grant{Meta: hux.Meta{ID: "grt_once"}, Capability: autonomy.Write, Effect: autonomy.Allow, State: "active",
		Match: autonomy.Match{Tool: "write_file", ArgsHash: "h"}, ExpiresAt: at(noon.Add(time.Hour)), Uses: autonomy.Uses{Max: &one}}
	free := bounded
	free.ID, free.Uses = "grt_always", autonomy.Uses{}
	call := autonomy.Call{Tool: "write_file", Capabilities: []autonomy.Capability{autonomy.Write}, Hash: "h"}
	for _, c := range []struct {
		grants []autonomy.Grant
		want   string
	}{{[]autonomy.Grant{bounded, free}, "grt_always"}, {[]autonomy.Grant{free, bounded}, "grt_always"}, {[]autonomy.Grant{bounded}, "grt_once"}} {
		if v := autonomy.Judge(call, autonomy.Policy{Level: autonomy.Safe}, c.grants, noon); v.Effect != autonomy.Allow || !slices.Equal(v.Spends, []string{c.want}) {
			t.Errorf("%s spends %v, want %s", v.Effect, v.Spends, c.want)
		}
	}
}
