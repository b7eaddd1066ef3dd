package privacy_test

import (
	"errors"
	"slices"
	"testing"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/privacy"
)

func TestResolve(t *testing.T) {
	at := hux.Time{Time: noon}
	shown := privacy.Notice{ControlsOffered: []string{privacy.DisableMemory, privacy.Dismiss}}
	for name, c := range map[string]struct {
		notice privacy.Notice
		chosen string
		code   hux.Code // "" where it is resolved
		effect bool
	}{
		"a control":        {shown, privacy.DisableMemory, "", true},
		"dismissed":        {shown, privacy.Dismiss, "", false},
		"not offered":      {shown, privacy.ForgetThis, hux.ChoiceNotAllowed, false},
		"unknown":          {shown, "delete_account", hux.ChoiceNotAllowed, false},
		"none":             {shown, "", hux.ChoiceNotAllowed, false},
		"answered before":  {privacy.Notice{ControlsOffered: shown.ControlsOffered, Chosen: &shown.ControlsOffered[1]}, privacy.Dismiss, hux.NoticeAlreadyResolved, false},
		"nothing to offer": {privacy.Notice{}, privacy.Dismiss, hux.ChoiceNotAllowed, false},
	} {
		got, err := c.notice.Resolve(c.chosen, at, "cnv_0198f3a17c3e7d54b1a2c3d4e5f60718")
		var refused *hux.Error
		switch {
		case c.code != "":
			if !errors.As(err, &refused) || refused.Code != c.code {
				t.Errorf("%s: %v, want %s", name, err, c.code)
			}
			if got.State() != c.notice.State() {
				t.Errorf("%s: it is %s now", name, got.State())
			}
		case err != nil || got.State() != privacy.Chosen || *got.Chosen != c.chosen || *got.ChosenAt != at || (got.EffectRef != nil) != c.effect:
			t.Errorf("%s: %+v, %v", name, got, err)
		case privacy.NoticeStates.Check(c.notice.State(), got.State()) != nil:
			t.Errorf("%s: from %s to %s is no legal move", name, c.notice.State(), got.State())
		}
		if c.code == "" {
			if _, err := got.Resolve(c.chosen, at, ""); err == nil {
				t.Errorf("%s: it is resolved twice", name)
			}
		}
	}
}

func TestRulesAreTotal(t *testing.T) {
	for name, rule := range privacy.Rules {
		for _, text := range []string{`{}`, `{"topics":[{},{}],"retention":[{},{}]}`, `{"rules":[{},{}]}`, `{"chosen":"dismiss"}`} {
			if _, err := rule([]byte(text)); err != nil {
				t.Errorf("%s: %s: %v", name, text, err)
			}
		}
		if _, err := rule([]byte(`[`)); err == nil {
			t.Errorf("%s: no JSON is no error", name)
		}
	}
	list, err := privacy.Rules[privacy.PolicySchema]([]byte(`{"topics":[]}`))
	if err != nil || !slices.Equal(codesOf(list), []string{"/topics topic_missing"}) {
		t.Errorf("%v %v", list, err)
	}
}
