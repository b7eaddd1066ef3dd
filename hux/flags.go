package hux

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Flag is one entry of the flag registry, flags.json.
type Flag struct {
	Name        string   `json:"name"`
	Card        string   `json:"card"`
	Wave        string   `json:"wave"`
	Description string   `json:"description"`
	DependsOn   []string `json:"depends_on"`
}

// FlagState says what became of a flag: Listed where it was asked for, Enabled
// where its whole dependency chain was too, else BlockedBy names what is off.
type FlagState struct {
	Enabled   bool     `json:"enabled"`
	Listed    bool     `json:"listed"`
	DependsOn []string `json:"depends_on"`
	BlockedBy []string `json:"blocked_by"`
}

// Flags is the closure of a list of flags over the registry. All are off by
// default (HUX contracts, "Cards, owners, waves, flags").
type Flags struct {
	States  map[string]FlagState
	Unknown []string // names that the registry lacks; ignored, and reported at start
}

// ParseFlagRegistry reads flags.json. A dependency must stand before what
// depends on it, so that there are no cycles.
func ParseFlagRegistry(data []byte) ([]Flag, error) {
	var file struct {
		Flags []Flag `json:"flags"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, f := range file.Flags {
		if seen[f.Name] {
			return nil, fmt.Errorf("flag %s stands twice", f.Name)
		}
		for _, d := range f.DependsOn {
			if !seen[d] {
				return nil, fmt.Errorf("flag %s depends on %s, which does not stand before it", f.Name, d)
			}
		}
		seen[f.Name] = true
	}
	return file.Flags, nil
}

// ResolveFlags works out which of registry's flags count when names are
// listed: a flag is enabled when it and all that it depends on are listed.
// The name "all" lists every flag.
func ResolveFlags(registry []Flag, names []string) Flags {
	listed := map[string]bool{}
	for _, n := range names {
		if n = strings.TrimSpace(n); n != "" {
			listed[n] = true
		}
	}
	all := listed["all"]
	delete(listed, "all")
	flags := Flags{States: map[string]FlagState{}}
	for _, f := range registry {
		s := FlagState{Listed: all || listed[f.Name], DependsOn: append([]string{}, f.DependsOn...), BlockedBy: []string{}}
		for _, d := range f.DependsOn {
			if !flags.States[d].Enabled {
				s.BlockedBy = append(s.BlockedBy, d)
			}
		}
		s.Enabled = s.Listed && len(s.BlockedBy) == 0
		flags.States[f.Name] = s
		delete(listed, f.Name)
	}
	for n := range listed {
		flags.Unknown = append(flags.Unknown, n)
	}
	slices.Sort(flags.Unknown)
	return flags
}

// Enabled reports whether name counts.
func (f Flags) Enabled(name string) bool { return f.States[name].Enabled }
