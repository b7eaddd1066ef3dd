// Package cards joins the cards, which know nothing of each other: the one list
// of what /hux/v1 consists of besides its foundation.
package cards

import (
	"context"
	"maps"
	"slices"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
	"bstein.dev/hux/hux/artifacts"
	"bstein.dev/hux/hux/autonomy"
	"bstein.dev/hux/hux/conversation"
	"bstein.dev/hux/hux/event"
	"bstein.dev/hux/hux/memory"
	"bstein.dev/hux/hux/modes"
	"bstein.dev/hux/hux/onboarding"
	"bstein.dev/hux/hux/privacy"
	"bstein.dev/hux/hux/projects"
	"bstein.dev/hux/hux/record"
	"bstein.dev/hux/hux/releases"
	"bstein.dev/hux/hux/research"
	"bstein.dev/hux/hux/schema"
	"bstein.dev/hux/hux/timeline"
)

// Parts is what the cards are made of.
type Parts struct {
	*record.Frame
	Schemas *schema.Set
	Cursors *api.Cursors
	Flags   hux.Flags
	Closing context.Context // ends when the router does
	Build   hux.Build
	Stop    func(ctx context.Context, t hux.Tenant, owner hux.User, runID, sessionID string) error // see autonomy.Parts, as for those below

	StopBypassed bool
	Alarmed      func(t hux.Tenant, now autonomy.Oversight, alarms []autonomy.Bypass)
}

// Routes are the cards' lines of /hux/v1. The zero Parts make a list to look
// at, which nobody may call.
func Routes(p Parts) []api.Route { return New(p).Routes }

// Cards are the cards, as far as there is more to them than routes.
type Cards struct {
	Routes   []api.Route
	Autonomy *autonomy.Service
}

// New makes the cards.
func New(p Parts) *Cards {
	if p.Frame == nil {
		p.Frame = &record.Frame{}
	}
	conversations := conversation.New(p.Frame, p.Cursors, p.Flags)
	var line *timeline.Service // it and autonomy tell each other
	autonomous := autonomy.New(autonomy.Parts{
		Frame: p.Frame, Closing: p.Closing, Conversations: conversations, Schemas: p.Schemas, Cursors: p.Cursors, Build: p.Build,
		Stop: p.Stop, StopBypassed: p.StopBypassed, Alarmed: p.Alarmed,
		Report: func(ch *record.Change, c *conversation.Conversation, e event.Event) error {
			return line.Report(ch, c, e)
		},
	})
	line = timeline.New(p.Frame, conversations, autonomous)
	routes := slices.Concat(
		conversations.Routes(),
		line.Routes(),
		memory.Routes(),
		projects.New(p.Frame, p.Cursors).Routes(),
		artifacts.New(p.Frame, p.Cursors).Routes(),
		autonomous.Routes(),
		modes.Routes(),
		research.Routes(),
		onboarding.Routes(),
		privacy.Routes(),
		releases.Routes(),
	)
	return &Cards{Routes: routes, Autonomy: autonomous}
}

// Machines are the contract's nine state machines (contracts 4), whose moves the
// vectors list pair by pair. Projects and artifacts have states too, but theirs
// are not among the contract's moves: each has a machine of its own package.
func Machines() []hux.Machine {
	return []hux.Machine{
		conversation.States,
		memory.States,
		autonomy.ApprovalStates,
		autonomy.GrantStates,
		autonomy.CancelStates,
		research.SourceStates,
		onboarding.States,
		privacy.NoticeStates,
		releases.States,
	}
}

// Rules are what the schemas can't say of single records and bodies, by the
// name of the schema.
func Rules() map[string]schema.Rule {
	rules := map[string]schema.Rule{}
	for _, own := range []map[string]schema.Rule{artifacts.Rules, conversation.Rules, timeline.Rules, memory.Rules, autonomy.Rules, modes.Rules, projects.Rules, research.Rules, onboarding.Rules, privacy.Rules, releases.Rules} {
		maps.Copy(rules, own)
	}
	return rules
}
