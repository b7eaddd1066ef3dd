package autonomy_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

var machines = []hux.Machine{autonomy.ApprovalStates, autonomy.GrantStates, autonomy.CancelStates}

// No sequence of moves escapes a machine, and each moves once.
func TestMachines(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	for _, m := range machines {
		names := []string{"", "nonsense"}
		for state := range m.Moves {
			names = append(names, state)
		}
		for range 500 {
			state, moved := m.Start, 0
			for range 10 {
				if to := pick(r, names...); m.Check(state, to) == nil {
					state = to
					moved++
				}
			}
			if _, ok := m.Moves[state]; !ok || moved > 1 || moved == 1 != m.Terminal(state) {
				t.Fatalf("%s: %s after %d moves", m.Name, state, moved)
			}
		}
	}
}

func TestGrantLifetime(t *testing.T) {
	for _, c := range []struct {
		duration    autonomy.Choice
		asked, want time.Duration
	}{
		{autonomy.Once, 0, 12 * time.Hour}, {autonomy.Session, 0, 12 * time.Hour}, {autonomy.Always, 0, 30 * 24 * time.Hour},
		{autonomy.Session, time.Minute, time.Minute}, {autonomy.Session, 13 * time.Hour, 12 * time.Hour},
		{autonomy.Always, 400 * 24 * time.Hour, 365 * 24 * time.Hour}, {autonomy.Always, 90 * 24 * time.Hour, 90 * 24 * time.Hour},
		{"", time.Duration(1<<63 - 1), 12 * time.Hour}, {autonomy.Always, -1, 30 * 24 * time.Hour},
	} {
		if got := autonomy.GrantLifetime(c.duration, c.asked); got != c.want {
			t.Errorf("%s, %s asked: %s, want %s", c.duration, c.asked, got, c.want)
		}
	}
}

func TestGrantsOverTime(t *testing.T) {
	two := int64(2)
	g := autonomy.Grant{State: "active", ExpiresAt: at(noon), Uses: autonomy.Uses{Max: &two}}
	before := noon.Add(-time.Second)
	if !g.Live(before) || g.Live(noon) || g.StateAt(noon) != "expired" {
		t.Errorf("at its end %s", g.StateAt(noon))
	}
	g = g.Used(before)
	if !g.Live(before) || g.Uses.Count != 1 {
		t.Errorf("used once: %+v", g)
	}
	g = g.Used(before)
	if g.State != "spent" || g.Live(before) {
		t.Errorf("used twice: %+v", g)
	}
	if again := g.Used(before); again.Uses.Count != 2 {
		t.Errorf("used when spent: %+v", again)
	}
	for _, state := range []string{"revoked", "expired", "spent", ""} {
		if (autonomy.Grant{State: state, ExpiresAt: at(noon)}).Live(before) {
			t.Errorf("%q is live", state)
		}
	}
}

// A choice grants exactly what was shown.
func TestGranted(t *testing.T) {
	args := map[string]any{"command": "go test ./..."}
	hash := func(args map[string]any) string {
		t.Helper()
		h, err := autonomy.EvidenceHash("terminal", args, "")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	shown := hash(args)
	needs := autonomy.Capabilities("terminal", args)
	a := autonomy.Approval{ConversationID: "c1", Status: "pending", Request: autonomy.Request{
		Capability: autonomy.Network, Capabilities: needs, Tool: "terminal", Choices: autonomy.Choices(needs, true),
		GrantMatch: autonomy.MatchOf("terminal", args, shown),
	}}
	call := autonomy.Call{Tool: "terminal", Capabilities: needs, Hash: shown, ConversationID: "c1", SessionID: "s1"}
	other := map[string]autonomy.Call{"the same": call}
	change := func(name string, fn func(*autonomy.Call)) {
		c := call
		fn(&c)
		other[name] = c
	}
	change("another argument", func(c *autonomy.Call) { c.Hash = hash(map[string]any{"command": "go test ./x"}) })
	change("more of it", func(c *autonomy.Call) { c.Hash = hash(map[string]any{"command": "go test ./... && rm -r x"}) })
	change("another tool", func(c *autonomy.Call) { c.Tool = "execute_code" })
	change("another session", func(c *autonomy.Call) { c.SessionID = "s2" })
	change("another conversation", func(c *autonomy.Call) { c.ConversationID = "c2" })
	change("a deployment", func(c *autonomy.Call) { c.Capabilities = append(slices.Clone(needs), autonomy.Deploy) })
	for choice, passes := range map[autonomy.Choice][]string{
		autonomy.Once: {}, autonomy.DenyChoice: {}, "": {}, autonomy.Session: {"the same"}, autonomy.Always: {"the same", "another session", "another conversation"},
	} {
		var grants []autonomy.Grant
		if g, ok := a.Granted(choice, "s1", noon); ok {
			grants = append(grants, g)
		}
		for name, c := range other {
			v := autonomy.Judge(c, autonomy.Policy{Level: autonomy.Safe}, grants, noon.Add(time.Hour))
			if (v.Effect == autonomy.Allow) != slices.Contains(passes, name) {
				t.Errorf("%s, then %s: %s (%s)", choice, name, v.Effect, v.Reason)
			}
			if v := autonomy.Judge(c, autonomy.Policy{Level: autonomy.Safe}, grants, noon.Add(366*24*time.Hour)); v.Effect == autonomy.Allow {
				t.Errorf("%s, then %s, after a year: %s", choice, name, v.Effect)
			}
		}
	}
	a.Request.Choices = autonomy.Choices([]autonomy.Capability{autonomy.Deploy}, true)
	if g, ok := a.Granted(autonomy.Always, "s1", noon); ok {
		t.Errorf("granted though it was not offered: %+v", g)
	}
}

func TestMatches(t *testing.T) {
	call := autonomy.Call{Tool: "web_extract", Hash: "h", Target: "example.org"}
	for name, c := range map[string]struct {
		match  autonomy.Match
		effect autonomy.Effect
		want   bool
	}{
		"hash":                    {autonomy.Match{Tool: "web_extract", ArgsHash: "h"}, autonomy.Allow, true},
		"another hash":            {autonomy.Match{Tool: "web_extract", ArgsHash: "i"}, autonomy.Allow, false},
		"target":                  {autonomy.Match{Tool: "web_extract", Target: "example.org"}, autonomy.Allow, true},
		"another target":          {autonomy.Match{Tool: "web_extract", Target: "www.example.org"}, autonomy.Allow, false},
		"both, and one is not so": {autonomy.Match{Tool: "web_extract", Target: "example.org", ArgsHash: "i"}, autonomy.Allow, false},
		"tool alone":              {autonomy.Match{Tool: "web_extract"}, autonomy.Allow, false},
		"tool alone, denied":      {autonomy.Match{Tool: "web_extract"}, autonomy.Deny, true},
		"no tool":                 {autonomy.Match{}, autonomy.Deny, false},
	} {
		if got := (autonomy.Grant{Match: c.match, Effect: c.effect}).Matches(call); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
