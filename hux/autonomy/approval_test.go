package autonomy_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/autonomy"
)

func code(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestDecidable(t *testing.T) {
	hash := "sha256:aa"
	pending := autonomy.Approval{
		Status: "pending", ExpiresAt: at(noon.Add(time.Minute)),
		Request: autonomy.Request{Evidence: []hux.EvidenceRef{{Kind: "tool_call"}, {Kind: "tool_call", Hash: &hash}}, Choices: []autonomy.Choice{autonomy.Once, autonomy.DenyChoice}},
	}
	with := func(fn func(*autonomy.Approval)) autonomy.Approval {
		a := pending
		fn(&a)
		return a
	}
	decided := with(func(a *autonomy.Approval) {
		a.Status, a.Decision = "denied", &autonomy.Answer{Choice: autonomy.DenyChoice}
	})
	for name, c := range map[string]struct {
		approval autonomy.Approval
		choice   autonomy.Choice
		hash     string
		now      time.Time
		want     hux.Code
	}{
		"once":           {pending, autonomy.Once, hash, noon, ""},
		"deny":           {pending, autonomy.DenyChoice, hash, noon, ""},
		"not offered":    {pending, autonomy.Always, hash, noon, hux.ChoiceNotAllowed},
		"no choice":      {pending, "", hash, noon, hux.ChoiceNotAllowed},
		"another hash":   {pending, autonomy.Once, "sha256:bb", noon, hux.EvidenceMismatch},
		"no hash":        {pending, autonomy.Once, "", noon, hux.EvidenceMismatch},
		"late":           {pending, autonomy.Once, hash, noon.Add(time.Minute), hux.ApprovalExpired},
		"written late":   {with(func(a *autonomy.Approval) { a.Status = "expired" }), autonomy.Once, hash, noon, hux.ApprovalExpired},
		"decided":        {decided, autonomy.DenyChoice, hash, noon, hux.ApprovalAlreadyDecided},
		"decided, later": {decided, autonomy.Once, hash, noon.Add(time.Hour), hux.ApprovalAlreadyDecided},
		"cancelled":      {with(func(a *autonomy.Approval) { a.Status = "cancelled" }), autonomy.Once, hash, noon, hux.InvalidTransition},
		"nonsense":       {with(func(a *autonomy.Approval) { a.Status = "nonsense" }), autonomy.Once, hash, noon, hux.InvalidTransition},
	} {
		if err := c.approval.Decidable(c.choice, c.hash, c.now); code(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestChoices(t *testing.T) {
	for _, c := range []struct {
		needs  []autonomy.Capability
		always bool
		want   []autonomy.Choice
	}{
		{[]autonomy.Capability{autonomy.Write}, true, []autonomy.Choice{"once", "session", "always", "deny"}},
		{[]autonomy.Capability{autonomy.Write}, false, []autonomy.Choice{"once", "session", "deny"}},
		{[]autonomy.Capability{autonomy.Execute, autonomy.Deploy}, true, []autonomy.Choice{"once", "deny"}},
		{nil, false, []autonomy.Choice{"once", "session", "deny"}},
	} {
		if got := autonomy.Choices(c.needs, c.always); !slices.Equal(got, c.want) {
			t.Errorf("%v, always %v: %v, want %v", c.needs, c.always, got, c.want)
		}
	}
}

func TestApprovalLifetime(t *testing.T) {
	for _, c := range []struct {
		asked    time.Duration
		attended bool
		want     time.Duration
	}{
		{0, true, 280 * time.Second}, {time.Second, true, 10 * time.Second}, {time.Minute, true, time.Minute},
		{48 * time.Hour, true, 24 * time.Hour}, {-1, true, 280 * time.Second}, {time.Minute, false, 0},
	} {
		if got := autonomy.ApprovalLifetime(c.asked, c.attended); got != c.want {
			t.Errorf("%s, attended %v: %s, want %s", c.asked, c.attended, got, c.want)
		}
	}
}
