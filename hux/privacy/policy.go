package privacy

import (
	_ "embed" // for the policy
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bstein.dev/hux/hux"
)

//go:embed policy.json
var policy []byte

// Default is the policy that applies where nobody has set another.
func Default() Policy {
	var p Policy
	if err := json.Unmarshal(policy, &p); err != nil {
		panic(fmt.Sprintf("privacy: policy.json: %v", err)) // embedded, and tested
	}
	return p
}

// Topic is what the policy says of a topic, bound to what holds whatever a
// policy says: some topics are never written; what is sensitive stays in its
// conversation and on its surface, and for 30 days at most. A topic that the
// policy does not name counts as sensitive.
func (p *Policy) Topic(name string) Topic {
	t := Topic{Topic: name, Class: Sensitive}
	if i := slices.IndexFunc(p.Topics, func(t Topic) bool { return t.Topic == name }); i >= 0 {
		t = p.Topics[i]
	}
	if slices.Contains(hux.ForbiddenTopics, name) {
		t.Class = NeverWrite
	}
	days := hux.MaxSensitiveDays
	switch t.Class {
	case Normal:
		return t
	case NeverWrite:
		days = 0
	default:
		if t.Class = Sensitive; t.MaxAgeDays != nil {
			days = min(days, *t.MaxAgeDays)
		}
	}
	t.Scope, t.ShareAcrossSurfaces, t.MaxAgeDays = "conversation", false, &days
	return t
}

// Class is the strictest class of any of the topics; normal for none.
func (p *Policy) Class(topics ...string) string {
	class := Normal
	for _, name := range topics {
		switch p.Topic(name).Class {
		case NeverWrite:
			return NeverWrite
		case Sensitive:
			class = Sensitive
		}
	}
	return class
}

// Place is where something is said or read. Conversation and Project are ids,
// "" for none.
type Place struct {
	Conversation string
	Project      string
	Surface      hux.Surface
}

// Reaches reports whether what was said about the topics in one place may be
// read in another.
func (p *Policy) Reaches(topics []string, said, read Place) bool {
	for _, name := range topics {
		t := p.Topic(name)
		if t.Class == NeverWrite || said.Surface != read.Surface && !t.ShareAcrossSurfaces {
			return false
		}
		same := said.Conversation == read.Conversation && said.Conversation != ""
		if t.Scope == "project" {
			same = same || said.Project == read.Project && said.Project != ""
		}
		if t.Scope != "user" && !same {
			return false
		}
	}
	return true
}

// Expires is when what was said about the topics at a moment is to be gone, by
// the shortest of their ages. ok is false where it may stay until it is
// forgotten.
func (p *Policy) Expires(topics []string, said time.Time) (at time.Time, ok bool) {
	for _, name := range topics {
		if days := p.Topic(name).MaxAgeDays; days != nil {
			if end := daysAfter(said, *days); !ok || end.Before(at) {
				at, ok = end, true
			}
		}
	}
	return at, ok
}

// Overdue reports whether what has been kept since a moment should be gone by
// the rule.
func (r Retention) Overdue(since, now time.Time) bool {
	return r.MaxAgeDays != nil && !now.Before(daysAfter(since, *r.MaxAgeDays))
}

// daysAfter counts in UTC, where each day has 24 hours.
func daysAfter(t time.Time, days int) time.Time { return t.UTC().AddDate(0, 0, days) }
