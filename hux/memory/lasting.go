package memory

import (
	"math"
	"time"

	"bstein.dev/hux/hux"
)

const day = 24 * time.Hour

// MaxSensitive is how long a sensitive entry may last (contracts 2.7).
const MaxSensitive = hux.MaxSensitiveDays * day

// perHalfLife is how long a decaying entry lasts for each day of its half-life:
// 4.32 days, since 0.5^4.32 is 0.05.
const perHalfLife = 432 * day / 100

// maxHalfLife bounds a half-life, in days, so that no date overflows.
const maxHalfLife = 3650

// Until is when an entry that was made at a time expires; ok is false where it
// never does. A retention that does not say what it must ends at once.
func (r Retention) Until(made time.Time) (at time.Time, ok bool) {
	switch r.Kind {
	case "none":
		return time.Time{}, false
	case "expire":
		if r.ExpiresAt != nil {
			return r.ExpiresAt.Time, true
		}
	case "decay":
		return made.Add(time.Duration(r.halfLife()) * perHalfLife), true
	}
	return made, true
}

// halfLife is in days, and 0 where there is none.
func (r Retention) halfLife() int {
	if r.Kind != "decay" || r.HalfLifeDays == nil {
		return 0
	}
	return min(max(*r.HalfLifeDays, 0), maxHalfLife)
}

// Due is when m is to move to expired; ok is false where it never is.
func (m *Memory) Due() (at time.Time, ok bool) {
	if m.State != Active {
		return time.Time{}, false
	}
	return m.Retention.Until(m.CreatedAt.Time)
}

// Score is what an entry is worth at a time, from 1 when it is new to 0: by half
// for each half-life that has passed, or all at once when it expires.
func (m *Memory) Score(now time.Time) float64 {
	if until, ends := m.Retention.Until(m.CreatedAt.Time); ends && !now.Before(until) {
		return 0
	}
	half := time.Duration(m.Retention.halfLife()) * day
	if half == 0 {
		return 1
	}
	return math.Pow(0.5, float64(max(now.Sub(m.CreatedAt.Time), 0))/float64(half))
}

// Reading is where somebody reads memory for a prompt.
type Reading struct {
	Conversation string
	Project      string // "" for none
	ProjectOnly  bool   // the project's conversations read no memory but its own
	Surface      hux.Surface
	Off          bool // the conversation does not read memory, or is private
	At           time.Time
}

// Retrievable reports whether m may be given to the assistant there. Only what
// is active and switched on may, in its scope and until its time is up, be it
// that nobody has expired it yet.
func (m *Memory) Retrievable(in Reading) bool {
	if in.Off || m.State != Active || !m.Retrieval.Enabled || m.Content == nil || m.Score(in.At) == 0 {
		return false
	}
	return m.Scope.reaches(in)
}

func (s Scope) reaches(in Reading) bool {
	on := false
	for _, surface := range s.Surfaces {
		on = on || surface == in.Surface
	}
	if !on {
		return false
	}
	switch s.Level {
	case "conversation":
		return s.ConversationID != nil && *s.ConversationID == in.Conversation
	case "project":
		return s.ProjectID != nil && in.Project != "" && *s.ProjectID == in.Project
	case "user":
		return in.Project == "" || !in.ProjectOnly
	}
	return false
}
