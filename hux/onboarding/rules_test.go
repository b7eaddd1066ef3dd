package onboarding_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/onboarding"
	"bstein.dev/hux/hux/schema"
)

var noon = hux.Time{Time: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}

func after(d time.Duration) hux.Time { return hux.Time{Time: noon.Add(d)} }

func TestOffered(t *testing.T) {
	suggestion := onboarding.Suggestion{
		Contexts: []string{"run_started", "new_conversation"}, MaxShows: 5, CooldownSeconds: 3600, RequiresFlags: []string{"hux.activity_timeline", "hux.privacy"},
	}
	seen := func(status string, shows int) *onboarding.State {
		return &onboarding.State{Status: status, Shows: shows, LastShownAt: &noon}
	}
	flags := func(on ...string) func(string) bool { return func(f string) bool { return slices.Contains(on, f) } }
	both := flags("hux.activity_timeline", "hux.privacy")
	for name, c := range map[string]struct {
		state   *onboarding.State
		context string
		private bool
		enabled func(string) bool
		after   time.Duration
		why     string // "" where it is offered
	}{
		"never seen":                  {nil, "run_started", false, both, 0, ""},
		"another of its moments":      {nil, "new_conversation", false, both, 0, ""},
		"other moment":                {nil, "answer_cited", false, both, 0, onboarding.OtherContext},
		"no moment":                   {nil, "", false, both, 0, onboarding.OtherContext},
		"private":                     {nil, "run_started", true, both, 0, onboarding.InPrivate},
		"a flag off":                  {nil, "run_started", false, flags("hux.privacy"), 0, onboarding.FlagOff},
		"nobody knows the flags":      {nil, "run_started", false, nil, 0, onboarding.FlagOff},
		"59 minutes later":            {seen(onboarding.Active, 1), "run_started", false, both, 59 * time.Minute, onboarding.ShownLately},
		"60 minutes later":            {seen(onboarding.Active, 1), "run_started", false, both, time.Hour, ""},
		"a clock that was set back":   {seen(onboarding.Active, 1), "run_started", false, both, -time.Hour, onboarding.ShownLately},
		"not shown, though known":     {&onboarding.State{Status: onboarding.Active}, "run_started", false, both, 0, ""},
		"shown five times":            {seen(onboarding.Active, 5), "run_started", false, both, 48 * time.Hour, onboarding.ShownEnough},
		"shown more than it may be":   {seen(onboarding.Active, 9), "run_started", false, both, 48 * time.Hour, onboarding.ShownEnough},
		"exhausted":                   {seen(onboarding.Exhausted, 5), "run_started", false, both, 48 * time.Hour, onboarding.Stopped},
		"dismissed":                   {seen(onboarding.Dismissed, 1), "run_started", false, both, 48 * time.Hour, onboarding.Stopped},
		"acted on":                    {seen(onboarding.Acted, 1), "run_started", false, both, 48 * time.Hour, onboarding.Stopped},
		"never again":                 {seen(onboarding.NeverAgain, 1), "run_started", false, both, 48 * time.Hour, onboarding.Stopped},
		"a status of a later version": {seen("snoozed", 1), "run_started", false, both, 48 * time.Hour, onboarding.Stopped},
	} {
		offered, why := onboarding.Offered(&suggestion, c.state, onboarding.Moment{Context: c.context, Private: c.private, Enabled: c.enabled, Now: after(c.after).Time})
		if offered != (c.why == "") || why != c.why {
			t.Errorf("%s: %v %q, want %q", name, offered, why, c.why)
		}
	}
	if offered, _ := onboarding.Offered(&onboarding.Suggestion{Contexts: []string{"x"}}, nil, onboarding.Moment{Context: "x"}); offered {
		t.Error("one that may never be shown is offered")
	}
}

func TestShown(t *testing.T) {
	suggestion := onboarding.Suggestion{MaxShows: 2}
	first := onboarding.Shown(&suggestion, onboarding.State{Status: onboarding.Active, ChangedAt: noon, Surface: hux.SurfaceChat}, hux.SurfaceVoice, after(time.Hour))
	if first.Status != onboarding.Active || first.Shows != 1 || *first.LastShownAt != after(time.Hour) || first.ChangedAt != noon || first.Surface != hux.SurfaceChat {
		t.Errorf("once: %+v", first)
	}
	second := onboarding.Shown(&suggestion, first, hux.SurfaceVoice, after(2*time.Hour))
	if second.Status != onboarding.Exhausted || second.Shows != 2 || second.ChangedAt != after(2*time.Hour) || second.Surface != hux.SurfaceVoice {
		t.Errorf("twice: %+v", second)
	}
	if third := onboarding.Shown(&suggestion, second, hux.SurfaceChat, after(3*time.Hour)); third.Shows != 2 || third.ChangedAt != after(2*time.Hour) {
		t.Errorf("three times: %+v", third)
	}
	// The catalogue may have come to allow less than was shown before.
	if less := onboarding.Shown(&suggestion, onboarding.State{Status: onboarding.Active, Shows: 4}, hux.SurfaceChat, noon); less.Status != onboarding.Exhausted || less.Shows != 4 {
		t.Errorf("more often than it may be: %+v", less)
	}
}

// Whatever is done to a suggestion, in whatever order: each change of status is
// a legal move, none leads back to active, and it is shown no more often than
// it may be, nor within its cooldown.
func TestNothingBringsASuggestionBack(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	verbs := []string{onboarding.Dismissed, onboarding.Acted, onboarding.NeverAgain, onboarding.Exhausted, onboarding.Active, "nonsense"}
	for range 2000 {
		s := onboarding.Suggestion{Contexts: []string{"run_started"}, MaxShows: 1 + r.IntN(5), CooldownSeconds: 3600 + r.IntN(7200)}
		state := onboarding.State{Status: onboarding.Active}
		now, shown := noon, 0
		for range 40 {
			now = hux.Time{Time: now.Add(time.Duration(r.IntN(90)) * time.Minute)}
			before := state
			offered, _ := onboarding.Offered(&s, &state, onboarding.Moment{Context: "run_started", Now: now.Time})
			if offered && before.LastShownAt != nil && now.Sub(before.LastShownAt.Time) < time.Duration(s.CooldownSeconds)*time.Second {
				t.Fatalf("offered %v after it was shown", now.Sub(before.LastShownAt.Time))
			}
			if r.IntN(4) > 0 {
				if offered {
					state, shown = onboarding.Shown(&s, state, hux.SurfaceChat, now), shown+1
				}
			} else {
				state.Status = onboarding.Stop(state.Status, verbs[r.IntN(len(verbs))])
			}
			if state.Status != before.Status && onboarding.States.Check(before.Status, state.Status) != nil {
				t.Fatalf("%s became %s", before.Status, state.Status)
			}
			if before.Status != onboarding.Active && offered {
				t.Fatalf("offered though it is %s", before.Status)
			}
			if state.Shows > s.MaxShows || shown > s.MaxShows {
				t.Fatalf("shown %d times, may be %d times", shown, s.MaxShows)
			}
		}
	}
}

func TestStop(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"active", "dismissed", "dismissed"},
		{"active", "acted", "acted"},
		{"active", "never_again", "never_again"},
		{"active", "exhausted", "active"}, // only being shown does that
		{"dismissed", "dismissed", "dismissed"},
		{"dismissed", "acted", "dismissed"},
		{"dismissed", "never_again", "never_again"},
		{"exhausted", "dismissed", "exhausted"},
		{"exhausted", "never_again", "never_again"},
		{"acted", "never_again", "never_again"},
		{"never_again", "dismissed", "never_again"},
		{"never_again", "active", "never_again"},
		{"snoozed", "dismissed", "snoozed"},
	} {
		if got := onboarding.Stop(c.from, c.to); got != c.want {
			t.Errorf("%s when told %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}

// Each entry of the catalogue keeps the record's rules, and names flags, modes
// and moments that there are.
func TestCatalogue(t *testing.T) {
	set, err := schema.Load(contract.Schemas, nil)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	seen, used := map[string]bool{}, map[string]bool{}
	for _, s := range onboarding.Catalogue() {
		s.Provenance = hux.Provenance{Surface: hux.SurfaceChat, Actor: hux.Actor{Kind: hux.KindHuman, ID: "usr_0123456789abcdef"}} // of who asks
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		v, err := schema.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := set.Validate(onboarding.SuggestionSchema, v); err != nil {
			t.Errorf("%s: %v", s.ID, err)
		}
		if list, err := onboarding.Rules[onboarding.SuggestionSchema](text); err != nil || len(list) > 0 {
			t.Errorf("%s: %v %v", s.ID, list, err)
		}
		for _, flag := range s.RequiresFlags {
			if !slices.ContainsFunc(registry, func(f hux.Flag) bool { return f.Name == flag }) {
				t.Errorf("%s: there is no flag %s", s.ID, flag)
			}
		}
		for _, c := range s.Contexts {
			used[c] = true
		}
		if seen[s.ID] || !strings.HasSuffix(s.Body, ".") {
			t.Errorf("%s: stands twice, or does not end as a sentence", s.ID)
		}
		seen[s.ID] = true
	}
	for _, c := range onboarding.Contexts {
		if !used[c] {
			t.Errorf("no suggestion is for the moment %s", c)
		}
	}
}
