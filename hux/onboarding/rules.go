package onboarding

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Rules are what the schemas can't say of one record.
var Rules = map[string]schema.Rule{SuggestionSchema: schema.RuleOf(faultsOfSuggestion)}

func faultsOfSuggestion(s *Suggestion) (faults schema.Faults) {
	for i, c := range s.Contexts {
		faults.AddIf(!slices.Contains(Contexts, c), fmt.Sprintf("/contexts/%d", i), string(hux.UnknownContext), "must be one of "+strings.Join(Contexts, ", "))
	}
	return faults
}

// Moment is what a surface says of where a person is, and what the router
// knows of it.
type Moment struct {
	Context string            // one of Contexts
	Private bool              // the conversation is private now
	Enabled func(string) bool // whether a flag is on
	Now     time.Time
}

// Why a suggestion is not offered.
const (
	OtherContext = "context"   // it is for other moments
	Stopped      = "stopped"   // it was dismissed, acted on, or stopped for good
	ShownEnough  = "max_shows" // it was shown as often as it may be
	ShownLately  = "cooldown"  // it was shown too short a time ago
	FlagOff      = "flag"      // a capability that it needs is off
	InPrivate    = "private"   // nothing is suggested in a private conversation
)

// Offered says whether a suggestion may be shown, and if not why. state is nil
// for a person who has never seen it. Asking changes nothing.
func Offered(s *Suggestion, state *State, m Moment) (offered bool, why string) {
	switch {
	case !slices.Contains(s.Contexts, m.Context):
		return false, OtherContext
	case m.Private:
		return false, InPrivate
	case slices.ContainsFunc(s.RequiresFlags, func(flag string) bool { return m.Enabled == nil || !m.Enabled(flag) }):
		return false, FlagOff
	case s.MaxShows < 1:
		return false, ShownEnough
	case state == nil:
		return true, ""
	case state.Status != Active:
		return false, Stopped
	case state.Shows >= s.MaxShows:
		return false, ShownEnough
	case state.LastShownAt != nil && m.Now.Before(state.LastShownAt.Add(time.Duration(s.CooldownSeconds)*time.Second)):
		return false, ShownLately
	}
	return true, ""
}

// Shown counts one more time that a suggestion was shown. The last one that it
// may be shown exhausts it. One that has stopped stays as it is, so that two
// pages that show it at once count it no further.
func Shown(s *Suggestion, state State, surface hux.Surface, now hux.Time) State {
	if state.Status != Active {
		return state
	}
	if state.Shows < s.MaxShows {
		state.Shows++
		state.LastShownAt = &now
	}
	if state.Shows >= s.MaxShows {
		state.Status, state.ChangedAt, state.Surface = Exhausted, now, surface
	}
	return state
}

// Stop is the status that a suggestion comes into when a person dismisses it,
// acts on it, or never wants to see it again. What has stopped already stays as
// it is, unless it is never to be seen again: so the second of two clicks is no
// error.
func Stop(status, to string) string {
	if slices.Contains(States.Moves[status], to) && to != Exhausted {
		return to
	}
	return status
}
