package reference

import (
	"fmt"
	"slices"

	"bstein.dev/hux/hux"
)

// Machine is a state machine and its picture.
type Machine struct {
	Name, Start string
	Ends        []string
	Moves       []Move // of every state, in the order in which they are reached, ends last
	Picture     Picture
}

// Move is where a state may go; an end goes nowhere.
type Move struct {
	From string
	To   []string
}

// recordOfMachine is the record whose states a machine has.
func recordOfMachine(name string) string {
	switch name {
	case "notice":
		name = "privacy_notice"
	case "run_cancel":
		name = "cancel"
	}
	return "hux." + name + ".v1"
}

func machineOf(m hux.Machine) Machine {
	v := Machine{Name: m.Name, Start: m.Start}
	states := []string{m.Start}
	for i := 0; i < len(states); i++ {
		for _, to := range m.Moves[states[i]] {
			if !slices.Contains(states, to) {
				states = append(states, to)
			}
		}
	}
	slices.SortStableFunc(states, func(a, b string) int { // ends last
		switch {
		case m.Terminal(a) == m.Terminal(b):
			return 0
		case m.Terminal(b):
			return -1
		}
		return 1
	})
	g := graph{nodes: states, dot: true, class: func(state string) string {
		if m.Terminal(state) {
			return "end"
		}
		return ""
	}}
	for _, from := range states {
		v.Moves = append(v.Moves, Move{from, m.Moves[from]})
		if m.Terminal(from) {
			v.Ends = append(v.Ends, from)
		}
		for _, to := range m.Moves[from] {
			g.edges = append(g.edges, [2]string{from, to})
		}
	}
	v.Picture = draw(g)
	v.Picture.ID, v.Picture.Title, v.Picture.Says = m.Name, "States: "+m.Name, v.says()
	return v
}

// says describes the machine in sentences.
func (m Machine) says() string {
	text := fmt.Sprintf("It begins as %s.", m.Start)
	for _, move := range m.Moves {
		if len(move.To) > 0 {
			text += fmt.Sprintf(" From %s it goes to %s.", move.From, list(move.To, "or"))
		}
	}
	if len(m.Ends) > 0 {
		text += fmt.Sprintf(" It ends as %s.", list(m.Ends, "or"))
	}
	return text
}
