package hux_test

import (
	"slices"
	"testing"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
)

// Every one of the 4,096 subsets: a flag counts exactly when it and all that
// it depends on, however far down, are listed.
func TestFlagClosureOverAllSubsets(t *testing.T) {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	if len(registry) != 12 {
		t.Fatalf("%d flags in the registry, want twelve", len(registry))
	}
	dependsOn := map[string][]string{}
	for _, f := range registry {
		dependsOn[f.Name] = f.DependsOn
	}
	var closed func(name string, listed []string) bool
	closed = func(name string, listed []string) bool {
		if !slices.Contains(listed, name) {
			return false
		}
		for _, d := range dependsOn[name] {
			if !closed(d, listed) {
				return false
			}
		}
		return true
	}
	for bits := range 1 << len(registry) {
		var listed []string
		for i, f := range registry {
			if bits&(1<<i) != 0 {
				listed = append(listed, f.Name)
			}
		}
		flags := hux.ResolveFlags(registry, listed)
		for _, f := range registry {
			if got, want := flags.Enabled(f.Name), closed(f.Name, listed); got != want {
				t.Fatalf("listed %v: %s enabled is %v, want %v", listed, f.Name, got, want)
			}
			if s := flags.States[f.Name]; s.Listed && !s.Enabled && len(s.BlockedBy) == 0 {
				t.Fatalf("listed %v: %s is off and says not why", listed, f.Name)
			}
		}
	}
}

func TestUnknownFlagsAreReported(t *testing.T) {
	registry, err := hux.ParseFlagRegistry(contract.Flags)
	if err != nil {
		t.Fatal(err)
	}
	flags := hux.ResolveFlags(registry, []string{" hux.foundation ", "hux.nonsense", ""})
	if !slices.Equal(flags.Unknown, []string{"hux.nonsense"}) || !flags.Enabled("hux.foundation") {
		t.Errorf("unknown %v, foundation %v", flags.Unknown, flags.Enabled("hux.foundation"))
	}
	if all := hux.ResolveFlags(registry, []string{"all"}); !all.Enabled("hux.multimodal") {
		t.Error(`"all" does not enable every flag`)
	}
}

func TestFlagRegistryRefusesLooseEnds(t *testing.T) {
	for name, data := range map[string]string{
		"twice":   `{"flags":[{"name":"a"},{"name":"a"}]}`,
		"forward": `{"flags":[{"name":"a","depends_on":["b"]},{"name":"b"}]}`,
		"no json": `{`,
	} {
		if _, err := hux.ParseFlagRegistry([]byte(data)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
