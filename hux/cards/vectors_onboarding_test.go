package cards_test

import (
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/onboarding"
)

func TestSuggestionVectors(t *testing.T) {
	var want struct {
		Offered []struct {
			MaxShows        int  `json:"max_shows"`
			CooldownSeconds int  `json:"cooldown_seconds"`
			ContextMatches  bool `json:"context_matches"`
			Status          string
			Shows           int
			MSSinceShown    *int64 `json:"ms_since_shown"`
			FlagsOn         bool   `json:"flags_on"`
			Private         bool
			Offered         bool
		}
		Shown []struct {
			MaxShows int `json:"max_shows"`
			Shows    int
			Becomes  struct {
				Shows  int
				Status string
			}
		}
		Stopped []struct{ Status, Action, Becomes string }
	}
	vectors(t, "suggestions.json", &want)
	now := hux.Now()
	for _, v := range want.Offered {
		s := &onboarding.Suggestion{Contexts: []string{"here"}, MaxShows: v.MaxShows, CooldownSeconds: v.CooldownSeconds, RequiresFlags: []string{"hux.projects"}}
		state := &onboarding.State{Status: v.Status, Shows: v.Shows}
		if v.MSSinceShown != nil {
			state.LastShownAt = &hux.Time{Time: now.Add(-time.Duration(*v.MSSinceShown) * time.Millisecond)}
		}
		m := onboarding.Moment{Context: "here", Private: v.Private, Enabled: func(string) bool { return v.FlagsOn }, Now: now.Time}
		if !v.ContextMatches {
			m.Context = "elsewhere"
		}
		if got, why := onboarding.Offered(s, state, m); got != v.Offered {
			t.Errorf("%+v: %v, %s", v, got, why)
		}
	}
	for _, v := range want.Shown {
		got := onboarding.Shown(&onboarding.Suggestion{MaxShows: v.MaxShows}, onboarding.State{Status: onboarding.Active, Shows: v.Shows}, hux.SurfaceChat, now)
		if got.Shows != v.Becomes.Shows || got.Status != v.Becomes.Status {
			t.Errorf("%+v: %+v", v, got)
		}
	}
	actions := map[string]string{"dismiss": onboarding.Dismissed, "never": onboarding.NeverAgain, "acted": onboarding.Acted}
	for _, v := range want.Stopped {
		if got := onboarding.Stop(v.Status, actions[v.Action]); got != v.Becomes {
			t.Errorf("%+v: %s", v, got)
		}
	}
	if len(want.Offered) == 0 || len(want.Shown) == 0 || len(want.Stopped) == 0 {
		t.Error("a list is empty")
	}
}
