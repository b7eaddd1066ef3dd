package hux_test

import (
	"errors"
	"reflect"
	"testing"

	"bstein.dev/hux/hux"
)

func TestMachineAllowsItsMovesAlone(t *testing.T) {
	m := hux.Machine{Name: "lamp", Start: "off", Moves: map[string][]string{"off": {"on"}, "on": {"off", "broken"}, "broken": {}}}
	for from := range m.Moves {
		for _, to := range []string{"off", "on", "broken", "", "nonsense"} {
			legal := from == "off" && to == "on" || from == "on" && (to == "off" || to == "broken")
			err := m.Check(from, to)
			var e *hux.Error
			switch {
			case legal && err == nil:
			case legal || !errors.As(err, &e) || e.Code != hux.InvalidTransition:
				t.Errorf("%s to %s: %v", from, to, err)
			case e.Members["from"] != from || e.Members["to"] != to || !reflect.DeepEqual(e.Members["allowed"], append([]string{}, m.Moves[from]...)):
				t.Errorf("%s to %s: %v", from, to, e.Members)
			}
		}
	}
	if m.Terminal("on") || !m.Terminal("broken") {
		t.Error("only broken is an end")
	}
}
