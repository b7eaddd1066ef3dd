package autonomy

import (
	"slices"
	"time"

	"bstein.dev/hux/hux"
)

// GrantStates is the state machine of a grant.
var GrantStates = hux.Machine{Name: "grant", Start: "active", Moves: map[string][]string{
	"active": {"expired", "revoked", "spent"}, "expired": {}, "revoked": {}, "spent": {},
}}

// How long a grant lives (contracts 2.7). No grant lives for ever.
const (
	MaxSessionGrant    = 12 * time.Hour // of grants for once and session; the session may end before
	DefaultAlwaysGrant = 30 * 24 * time.Hour
	MaxAlwaysGrant     = 365 * 24 * time.Hour
)

// GrantLifetime is how long a grant of a duration lives if a person asks for so
// long; 0 means the default.
func GrantLifetime(d Choice, asked time.Duration) time.Duration {
	usual, most := MaxSessionGrant, MaxSessionGrant
	if d == Always {
		usual, most = DefaultAlwaysGrant, MaxAlwaysGrant
	}
	if asked <= 0 {
		return usual
	}
	return min(asked, most)
}

// StateAt is the grant's state at a moment. An active one whose time is over has
// expired, even if the store does not say so yet.
func (g Grant) StateAt(now time.Time) string {
	switch {
	case g.State != "active":
		return g.State
	case g.Uses.Max != nil && g.Uses.Count >= *g.Uses.Max:
		return "spent"
	case !now.Before(g.ExpiresAt.Time):
		return "expired"
	}
	return g.State
}

// Live reports whether the grant counts at a moment.
func (g Grant) Live(now time.Time) bool { return g.StateAt(now) == "active" }

// Covers reports whether the grant is about a capability.
func (g Grant) Covers(c Capability) bool {
	return g.Capability == c || slices.Contains(g.Capabilities, c)
}

// Matches reports whether the grant is about a call: its tool, its exact
// arguments or its target, and its conversation or session. The target of an
// allowance is compared with the one that the catalogue finds, and an allowance
// that names neither arguments nor target matches nothing. A denial also
// matches one target of several, and the target that the agent states.
func (g Grant) Matches(call Call) bool {
	m, s := g.Match, g.Scope
	if g.Effect == Allow && m.ArgsHash == "" && m.Target == "" {
		return false
	}
	if m.Target != "" {
		m.Target = cleanTarget(m.Tool, m.Target)
		if aimed := g.Effect != Allow && call.denied(m.Target); !aimed && m.Target != call.Target {
			return false
		}
	}
	return m.Tool == call.Tool && (m.ArgsHash == "" || m.ArgsHash == call.Hash) &&
		(s.ConversationID == "" || s.ConversationID == call.ConversationID) && (s.SessionID == "" || s.SessionID == call.SessionID)
}

// Used is the grant after it has let a call pass at a moment.
func (g Grant) Used(now time.Time) Grant {
	if g.Live(now) {
		g.Uses.Count++
		g.State = g.StateAt(now)
	}
	return g
}

// Granted is the grant that a choice about an approval makes, for exactly what
// the request showed and without an envelope. It reports false if the choice
// makes no grant: deny makes none, and once is for the waiting call alone.
func (a Approval) Granted(choice Choice, sessionID string, now time.Time) (Grant, bool) {
	if choice != Session && choice != Always || !slices.Contains(a.Request.Choices, choice) {
		return Grant{}, false
	}
	g := Grant{
		Capability: a.Request.Capability, Capabilities: a.Request.Capabilities, Effect: Allow, Duration: choice,
		Match: a.Request.GrantMatch, Origin: Origin{ApprovalID: a.ID}, State: GrantStates.Start,
		ExpiresAt: hux.Time{Time: now.Add(GrantLifetime(choice, 0))},
	}
	if choice == Session {
		g.Scope = GrantScope{ConversationID: a.ConversationID, SessionID: sessionID}
	}
	return g, true
}
