package reference

import (
	"slices"
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/api"
)

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
