package memory

import (
	"fmt"
	"slices"
	"time"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// asking are the kinds of source that a person must approve: what stands there
// may have been put there by anybody.
var asking = []string{"web", "document", "tool"}

const (
	correction = "correction" // the kind of source
	sensitive  = "sensitive"
	restricted = "restricted"
	auto       = "auto"
	ask        = "ask"
)

// ApprovalMode is the mode of an entry for which asked was asked: ask wherever
// a person must approve it, whatever was asked. What an agent proposes always
// waits; a person's own entry may count at once.
func ApprovalMode(asked, sensitivity, source string, by hux.Kind) string {
	if asked == auto && sensitivity == "normal" && !slices.Contains(asking, source) && by == hux.KindHuman {
		return auto
	}
	return ask
}

// SensitivityOf is the sensitivity of an entry that is said to be so sensitive:
// a sensitive topic counts for more than what is said.
func SensitivityOf(said string, topics []string) string {
	if said == "normal" && slices.ContainsFunc(topics, func(topic string) bool { return slices.Contains(hux.SensitiveTopics, topic) }) {
		return sensitive
	}
	return said
}

// claim is what the record and the requests have in common.
type claim struct {
	content     string
	topics      []string
	scope       Scope
	sensitivity string
	retention   Retention
	source      Source
	corrects    *string
}

// Rules are what the card's schemas can't say.
var Rules = map[string]schema.Rule{
	Schema: schema.RuleOf(faultsOfMemory),
	"hux.memory.create.v1": schema.RuleOf(func(c *Create) schema.Faults {
		return slices.Concat(
			faultsOf("", claim{c.Content, c.Topics, c.Scope, c.Sensitivity, c.Retention, c.Source, c.Corrects}, time.Time{}),
			faultsOfSource(c.Source, c.Corrects),
		)
	}),
	"hux.memory.edit.v1": schema.RuleOf(faultsOfEdit),
	"hux.memory.import.v1": schema.RuleOf(func(i *Import) schema.Faults {
		faults := faultsOfSource(Source{"import", i.Evidence}, nil)
		for n, e := range i.Items {
			faults = append(faults, faultsOf(fmt.Sprintf("/items/%d", n), claim{content: e.Content, topics: e.Topics, scope: e.Scope, sensitivity: e.Sensitivity, retention: e.Retention}, time.Time{})...)
		}
		return faults
	}),
}

func faultsOfMemory(m *Memory) schema.Faults {
	content := ""
	if m.Content != nil {
		content = *m.Content
	}
	faults := slices.Concat(
		faultsOf("", claim{content, m.Topics, m.Scope, m.Sensitivity, m.Retention, m.Source, m.Corrects}, m.CreatedAt.Time),
		faultsOfSource(m.Source, m.Corrects),
		faultsOfTransitions(m),
	)
	if m.ApprovalMode == auto && ApprovalMode(auto, m.Sensitivity, m.Source.Kind, m.Provenance.Actor.Kind) == ask {
		faults.Add("/approval_mode", "approval_required", "must be ask: a person has to approve it")
	}
	faults.AddIf(SensitivityOf(m.Sensitivity, m.Topics) != m.Sensitivity, "/sensitivity", "sensitive_topic", "must be sensitive, as a topic is")
	if m.SupersededBy != nil && m.State != Expired && m.State != Forgotten {
		faults.Add("/superseded_by", "superseded_but_current", "must be null before another entry has taken its place")
	}
	return faults
}

// faultsOfEdit judges the members that an edit names; what it takes over from
// the corrected entry is judged with the entry that comes of it.
func faultsOfEdit(e *Edit) schema.Faults {
	c := claim{content: e.Content, topics: e.Topics, sensitivity: "normal"}
	if e.Sensitivity != nil {
		c.sensitivity = *e.Sensitivity
	}
	faults := faultsOfTopics("", c)
	if SensitivityOf(c.sensitivity, c.topics) != sensitive {
		return faults
	}
	if e.Scope != nil {
		faults = append(faults, faultsOfScope("", *e.Scope)...)
	}
	if e.Retention != nil {
		faults = append(faults, faultsOfRetention("", *e.Retention, time.Time{})...)
	}
	return faults
}

// faultsOf is what a claim breaks that stands at a pointer; made is when the
// entry was, zero where that is not known.
func faultsOf(at string, c claim, made time.Time) schema.Faults {
	faults := faultsOfTopics(at, c)
	if SensitivityOf(c.sensitivity, c.topics) == sensitive {
		faults = slices.Concat(faults, faultsOfScope(at, c.scope), faultsOfRetention(at, c.retention, made))
	}
	return faults
}

// faultsOfTopics finds what is never written.
func faultsOfTopics(at string, c claim) (faults schema.Faults) {
	for i, topic := range c.topics {
		if slices.Contains(hux.ForbiddenTopics, topic) {
			faults.Add(fmt.Sprintf("%s/topics/%d", at, i), string(hux.MemoryTopicForbidden), "is never remembered")
		}
	}
	faults.AddIf(StatesOf(c.content) != "", at+"/content", string(hux.MemoryTopicForbidden), "states what is never remembered")
	if c.sensitivity == restricted {
		faults.Add(at+"/sensitivity", string(hux.MemoryTopicForbidden), "is never remembered")
	}
	return faults
}

// faultsOfScope is of a sensitive entry: it stays in its conversation, on one
// surface.
func faultsOfScope(at string, s Scope) (faults schema.Faults) {
	faults.AddIf(s.Level != "conversation" || len(s.Surfaces) != 1, at+"/scope", "scope_too_wide", "must be one conversation on one surface at this sensitivity")
	return faults
}

// faultsOfRetention is of a sensitive entry. Where it is not known when the
// entry was made, its date is for whoever makes it to judge.
func faultsOfRetention(at string, r Retention, made time.Time) (faults schema.Faults) {
	until, ends := r.Until(made)
	soon := ends && (until.Sub(made) <= MaxSensitive || made.IsZero() && r.Kind == "expire")
	faults.AddIf(!soon, at+"/retention", string(hux.RetentionRequired), "must end within 30 days at this sensitivity")
	return faults
}

// faultsOfSource keeps memory from feeding on itself.
func faultsOfSource(s Source, corrects *string) (faults schema.Faults) {
	fromCorrected := false
	for i, e := range s.Evidence {
		if e.Kind != "memory" {
			continue
		}
		fromCorrected = fromCorrected || corrects != nil && e.ID == *corrects
		if s.Kind != correction {
			at := "/source/evidence"
			if s.Kind == "import" {
				at = "/evidence"
			}
			faults.Add(fmt.Sprintf("%s/%d", at, i), string(hux.SelfSourced), "what is remembered is no source of what is to be remembered")
		}
	}
	if (s.Kind == correction) != (corrects != nil) || corrects != nil && !fromCorrected {
		faults.Add("/corrects", "corrects_mismatch", "must name the entry whose place this one takes, as its evidence does, and nothing otherwise")
	}
	return faults
}

// faultsOfTransitions holds the trail against the state machine: it leads from
// the start to the state, by legal moves alone.
func faultsOfTransitions(m *Memory) (faults schema.Faults) {
	state := States.Start
	for i, t := range m.Transitions {
		if t.From != state || States.Check(t.From, t.To) != nil {
			faults.Add(fmt.Sprintf("/transitions/%d", i), string(hux.InvalidTransition), "is no move from the state before it")
			return faults
		}
		state = t.To
	}
	faults.AddIf(state != m.State, "/state", string(hux.InvalidTransition), "is not where the transitions lead")
	return faults
}
