package memory

import (
	"bstein.dev/hux/hux"
)

// The reasons of a transition.
const (
	Approved  = "approved"  // by a person
	Automatic = "automatic" // nobody had to approve it
	Refused   = "refused"
	Corrected = "corrected" // another entry took its place
	TimeUp    = "time_up"   // it reached its date, or decayed
	Asked     = "asked"     // a person wants it forgotten
	Cleared   = "cleared"   // it went with its conversation
)

// Move takes m to another state and writes down who did it and why. What is
// rejected or forgotten keeps its trail and loses its content. m is as it was
// where the move is not legal.
func (m *Memory) Move(to, reason string, by hux.Actor, at hux.Time) error {
	if err := States.Check(m.State, to); err != nil {
		return err
	}
	m.Transitions = append(m.Transitions, Transition{From: m.State, To: to, At: at, Actor: by, ReasonCode: reason})
	if m.State = to; to == Rejected || to == Forgotten {
		m.Content = nil
	}
	return nil
}

// Forget forgets m; changed is false where it was forgotten already, which is
// no fault.
func (m *Memory) Forget(reason string, by hux.Actor, at hux.Time) (changed bool, err error) {
	if m.State == Forgotten {
		return false, nil
	}
	return true, m.Move(Forgotten, reason, by, at)
}

// Correct lets next, which was made to correct old, take its place: one of the
// two is active before and after, never both and never none. Where it can't,
// neither is changed.
func Correct(old, next *Memory, by hux.Actor, at hux.Time) error {
	if old == next || next.Corrects == nil || *next.Corrects != old.ID {
		return hux.Errorf(hux.UnknownReference, "It does not correct that entry.")
	}
	if err := States.Check(old.State, Expired); err != nil {
		return err
	}
	if err := next.Move(Active, Approved, by, at); err != nil {
		return err
	}
	old.SupersededBy = &next.ID
	return old.Move(Expired, Corrected, by, at)
}

// MaxActive is how many entries of a person may be active (contracts 2.7).
const MaxActive = 1000

// Admit says whether one more entry may become active where so many are. A
// correction takes the place of one, and always may.
func Admit(active int, corrects bool) error {
	if corrects || active < MaxActive {
		return nil
	}
	return hux.Errorf(hux.QuotaExceeded, "There are %d entries already. Forget some first.", MaxActive)
}
