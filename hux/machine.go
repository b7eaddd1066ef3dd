package hux

import "slices"

// Machine is a state machine of the contract: which states there are, and the
// moves between them (contracts 4).
type Machine struct {
	Name  string // as the test vectors call it, such as memory
	Start string
	Moves map[string][]string // every state, and where it may go; terminal ones go nowhere
}

// Terminal reports whether a state is an end.
func (m Machine) Terminal(state string) bool { return len(m.Moves[state]) == 0 }

// Check says whether a move is legal. The error is an *Error,
// invalid_transition, with the members from, to and allowed. To stay where one
// is is no move.
func (m Machine) Check(from, to string) error {
	if slices.Contains(m.Moves[from], to) {
		return nil
	}
	e := Errorf(InvalidTransition, "It is %s and can't become %s.", from, to)
	e.Members = map[string]any{"from": from, "to": to, "allowed": append([]string{}, m.Moves[from]...)}
	return e
}
