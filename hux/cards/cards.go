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

// Options are what New needs.
type Options struct {
	*record.Frame
	Schemas *schema.Set
	Cursors *api.Cursors
	Flags   hux.Flags
	Closing context.Context // ends when the router does
	Build   hux.Build

	// For autonomy.Options:
	Stop         func(ctx context.Context, t hux.Tenant, owner hux.User, runID, sessionID string) error
	StopBypassed bool
	Alarmed      func(t hux.Tenant, now autonomy.Oversight, alarms []autonomy.Bypass)
}

// Routes are the cards' lines of /hux/v1. The zero Options make a list to look
// at, which nobody may call.
func Routes(o Options) []api.Route { return New(o).Routes }

// Cards are the routes of all cards, and the one card that the router also calls
// itself.
type Cards struct {
	Routes   []api.Route
	Autonomy *autonomy.Service
}

// New makes the cards.
func New(o Options) *Cards {
	if o.Frame == nil {
		o.Frame = &record.Frame{}
	}
	conversations := conversation.New(o.Frame, o.Cursors, o.Flags)
	line := timeline.New(o.Frame, conversations)
	autonomous := autonomy.New(autonomy.Options{
		Frame: o.Frame, Closing: o.Closing, Conversations: conversations, Schemas: o.Schemas, Cursors: o.Cursors, Build: o.Build,
		Stop: o.Stop, StopBypassed: o.StopBypassed, Alarmed: o.Alarmed,
		Report: line.Report,
	})
	line.Tell(autonomous)
	routes := slices.Concat(
		conversations.Routes(),
		line.Routes(),
		memory.Routes(),
		projects.New(o.Frame, o.Cursors).Routes(),
		artifacts.New(o.Frame, o.Cursors).Routes(),
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

// Rules check what the schemas can't say of single records and bodies, by the name
// of the schema.
func Rules() map[string]schema.Rule {
	rules := map[string]schema.Rule{}
	for _, own := range []map[string]schema.Rule{
		artifacts.Rules, conversation.Rules, timeline.Rules, memory.Rules, autonomy.Rules, modes.Rules, projects.Rules, research.Rules,
		onboarding.Rules, privacy.Rules, releases.Rules,
	} {
		maps.Copy(rules, own)
	}
	return rules
}
