package onboarding

import "bstein.dev/hux/hux"

// Suggestion is hux.suggestion.v1: an entry of the catalogue.
type Suggestion struct {
	Schema          string   `json:"schema"`
	ID              string   `json:"id"` // a stable key, sug_…
	Title           string   `json:"title"`
	Body            string   `json:"body"`
	Contexts        []string `json:"contexts"` // of Contexts
	Action          Action   `json:"action"`
	MaxShows        int      `json:"max_shows"` // 1 to 5
	CooldownSeconds int      `json:"cooldown_seconds"`
	Dismissable     bool     `json:"dismissable"` // always true
	RequiresFlags   []string `json:"requires_flags,omitempty"`

	Provenance hux.Provenance `json:"provenance"` // of the answer that it is given in
}

// Action is what a suggestion offers.
type Action struct {
	Kind   string `json:"kind"`   // open_page or choose_mode
	Target string `json:"target"` // the page's name, or the mode
}

// State is hux.suggestion_state.v1: what became of a suggestion for one person,
// on all of their surfaces. It is known by owner and suggestion, and has no id
// besides.
type State struct {
	Schema       string         `json:"schema"`
	SuggestionID string         `json:"suggestion_id"`
	Owner        hux.User       `json:"owner"`
	Revision     int            `json:"revision"`
	Status       string         `json:"status"`
	Shows        int            `json:"shows"`
	LastShownAt  *hux.Time      `json:"last_shown_at"`
	ChangedAt    hux.Time       `json:"changed_at"` // when it came into this status
	Surface      hux.Surface    `json:"surface"`    // where that was
	CreatedAt    hux.Time       `json:"created_at"`
	UpdatedAt    hux.Time       `json:"updated_at"`
	Provenance   hux.Provenance `json:"provenance"`
}

// The names of the records.
const (
	SuggestionSchema = "hux.suggestion.v1"
	StateSchema      = "hux.suggestion_state.v1"
)

// The statuses of a suggestion.
const (
	Active     = "active"
	Dismissed  = "dismissed"
	NeverAgain = "never_again"
	Acted      = "acted"
	Exhausted  = "exhausted" // shown as often as it may be
)

// States is the state machine of a suggestion's status. None leads back to
// active: what has stopped has stopped for good.
var States = hux.Machine{Name: "suggestion_state", Start: Active, Moves: map[string][]string{
	Active:    {Dismissed, NeverAgain, Acted, Exhausted},
	Dismissed: {NeverAgain}, Acted: {NeverAgain}, Exhausted: {NeverAgain}, NeverAgain: {},
}}
