package reference

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

// Route is a line of /hux/v1.
type Route struct {
	ID                    string // its anchor, and its operationId in the OpenAPI document
	Method, Path, Summary string
	Flags                 []Flag // any of them serves it
	Who                   string
	Query                 []string
	Request               string // schema of its body
	Raw                   bool   // its body is bytes instead
	Body                  int64  // how many bytes its body may have, 0 where it has none
	IfMatch, Idempotent   bool
	Success               string // the statuses, such as 201 Created
	Form                  string // in which it gives its record, such as "pages of"; "bytes" where it gives no JSON
	Record                string
	Headers               []string
	Refusals              []Refusal
	Served                bool // this build has a handler for it
}

// Refusal is a status and the codes that a route refuses with by it.
type Refusal struct {
	Status int
	Codes  []hux.Code
}

func routeOf(rt api.Route, flags []Flag) Route {
	r := Route{
		ID: rt.ID(), Method: rt.Method, Path: api.Prefix + rt.Path, Summary: rt.Summary, Who: who(rt), Query: rt.Query, Request: rt.Request, Raw: rt.Raw,
		IfMatch: rt.IfMatch, Idempotent: rt.Idempotent(), Record: rt.Record, Headers: rt.Headers, Served: rt.Handler != nil,
	}
	for _, f := range flags {
		if slices.Contains(rt.Flags, f.Name) {
			r.Flags = append(r.Flags, f)
		}
	}
	var names []string
	for _, status := range rt.Statuses() {
		names = append(names, fmt.Sprintf("%d %s", status, http.StatusText(status)))
	}
	r.Success = list(names, "or")
	r.Form = map[api.Answer]string{api.Page: "pages of", api.Stream: "a stream of", api.Bytes: "bytes"}[rt.Answer]
	if rt.Request != "" || rt.Raw {
		r.Body = rt.BodyLimit()
	}
	for _, code := range rt.Codes() {
		if n := len(r.Refusals); n == 0 || r.Refusals[n-1].Status != code.Status() {
			r.Refusals = append(r.Refusals, Refusal{Status: code.Status()})
		}
		last := &r.Refusals[len(r.Refusals)-1]
		last.Codes = append(last.Codes, code)
	}
	return r
}

// who says who may call a route.
func who(rt api.Route) string {
	if rt.Signed {
		return "whoever can sign it"
	}
	if rt.Kinds == nil && !rt.Operator {
		if rt.Anyone {
			return "whoever is signed in"
		}
		return "whoever has a tenant"
	}
	var kinds []string
	if rt.Operator {
		kinds = append(kinds, "an operator")
	}
	for _, k := range rt.Kinds {
		kinds = append(kinds, map[hux.Kind]string{hux.KindHuman: "a person", hux.KindAgent: "an agent", hux.KindWorker: "a worker", hux.KindSystem: "the router"}[k])
	}
	return list(kinds, "or")
}

// Flag is a flag and what became of it in this router.
type Flag struct {
	hux.Flag
	State string // on, waits, blocked or off
	Says  string // the same for people
}

// flagsOf gives the flags and a picture of what each depends on. What a flag
// needs by way of another is not drawn twice.
func flagsOf(s Sources) ([]Flag, Picture) {
	served := api.Served(s.Routes)
	g := graph{}
	var flags []Flag
	var says []string
	class := map[string]string{}
	needs := map[string][]string{} // all, by way of others too
	for _, f := range s.Registry {
		flag := Flag{Flag: f}
		state := s.Flags.States[f.Name]
		switch {
		case state.Enabled && served[f.Name]:
			flag.State, flag.Says = "on", "On"
		case state.Enabled:
			flag.State, flag.Says = "waits", "Listed; not in this build"
		case state.Listed:
			flag.State, flag.Says = "blocked", "Listed; waits for "+list(state.BlockedBy, "and")
		default:
			flag.State, flag.Says = "off", "Off"
		}
		flags = append(flags, flag)
		class[f.Name] = flag.State
		g.nodes = append(g.nodes, f.Name)
		if len(f.DependsOn) > 0 {
			says = append(says, f.Name+" needs "+list(f.DependsOn, "and"))
		}
		for _, d := range f.DependsOn {
			needs[f.Name] = append(append(needs[f.Name], d), needs[d]...)
		}
		for _, d := range f.DependsOn {
			implied := slices.ContainsFunc(f.DependsOn, func(other string) bool { return slices.Contains(needs[other], d) })
			if !implied {
				g.edges = append(g.edges, [2]string{d, f.Name})
			}
		}
	}
	g.class = func(name string) string { return class[name] }
	p := draw(g)
	p.ID, p.Title, p.Says = "flags", "What each flag depends on", strings.Join(says, "; ")+"."
	return flags, p
}

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
