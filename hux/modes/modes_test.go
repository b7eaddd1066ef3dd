package modes_test

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/quick"

	contract "bstein.dev/hux"
	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/modes"
)

func switchyard(t *testing.T) modes.Switchyard {
	t.Helper()
	s, err := modes.ReadSwitchyard(contract.Switchyard)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reach is where a route may run, by itself and by what it chooses from.
func reach(s modes.Switchyard, r modes.Route) []modes.Locality {
	found := []modes.Locality{r.Locality}
	for _, id := range r.Candidates {
		found = append(found, reach(s, s[id])...)
	}
	return found
}

// Each mode's own route is in Switchyard and runs where the mode may; a route
// that can be pinned is there too, of either locality.
func TestModesAreInSwitchyard(t *testing.T) {
	s := switchyard(t)
	for _, m := range modes.Catalogue {
		route, err := s.Resolve(m.Mode, nil)
		if err != nil || route.ID != m.DefaultRoute {
			t.Fatalf("%s: %+v, %v", m.Mode, route, err)
		}
		where := reach(s, route)
		if m.Mode == modes.Private {
			if slices.Contains(where, modes.Hosted) || m.Constraints.Overridable || !m.Constraints.Ephemeral {
				t.Errorf("%s may run %v: %+v", m.Mode, where, m.Constraints)
			}
			continue
		}
		if len(route.Candidates) < 2 || slices.Contains(where, modes.Local) || m.Constraints.Locality != "any" {
			t.Errorf("%s chooses from %v; both hosted providers are meant", m.Mode, route.Candidates)
		}
	}
	pins := map[modes.Locality]int{}
	for id, r := range s {
		if hux.NamesVendor(id) {
			t.Errorf("%s names a vendor", id)
		}
		if regexp.MustCompile(modes.Catalogue[0].PinPattern).MatchString(id) {
			pins[r.Locality]++
		}
	}
	if pins[modes.Local] == 0 || pins[modes.Hosted] < 2 {
		t.Errorf("routes to pin: %v", pins)
	}
	for _, m := range s.Manifest() {
		if !m.InSwitchyard {
			t.Errorf("%+v", m)
		}
	}
	for _, m := range (modes.Switchyard{}).Manifest() {
		if m.InSwitchyard {
			t.Errorf("%+v, and there is none", m)
		}
	}
}

func TestModesAreTheFive(t *testing.T) {
	want := []string{"fast", "thoughtful", "research", "create", "private"}
	var got []string
	for _, m := range modes.Catalogue {
		got = append(got, m.Mode)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if _, ok := modes.Find("turbo"); ok {
		t.Error("a mode that nobody made")
	}
}

func code(err error) hux.Code {
	var e *hux.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

func TestResolve(t *testing.T) {
	s := switchyard(t)
	pin := func(id string) *string { return &id }
	for name, c := range map[string]struct {
		mode  string
		route *string
		want  hux.Code
	}{
		"own":                      {"fast", nil, ""},
		"pinned, hosted":           {"create", pin("atlas/manual/hosted-one"), ""},
		"pinned, local":            {"create", pin("atlas/manual/local"), ""},
		"private":                  {"private", nil, ""},
		"private, pinned":          {"private", pin("atlas/manual/local-small"), ""},
		"private, hosted":          {"private", pin("atlas/manual/hosted-one"), hux.ModeRouteConflict},
		"private, a mode's route":  {"private", pin("atlas/auto/fast"), hux.UnknownRoute},
		"another mode's route":     {"fast", pin("atlas/auto/create"), hux.UnknownRoute},
		"a mode's name":            {"fast", pin("create"), hux.UnknownRoute},
		"unknown":                  {"fast", pin("atlas/manual/x"), hux.UnknownRoute},
		"empty":                    {"fast", pin(""), hux.UnknownRoute},
		"a vendor":                 {"fast", pin("openai/gpt-4o"), hux.VendorName},
		"a model behind the slash": {"fast", pin("atlas/manual/Claude-3"), hux.VendorName},
		"a model in private":       {"private", pin("atlas/manual/llama3"), hux.VendorName},
		"no mode":                  {"", nil, hux.SchemaInvalid},
		"another mode":             {"turbo", pin("atlas/manual/local"), hux.SchemaInvalid},
	} {
		route, err := s.Resolve(c.mode, c.route)
		if code(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %+v, %v, want %q", name, route, err, c.want)
		}
	}
}

// Whatever is asked for and whatever the catalogue says, private stays local.
func TestPrivateStaysLocal(t *testing.T) {
	whole := switchyard(t)
	ids := []string{"", "atlas/manual/"}
	for id := range whole {
		ids = append(ids, id)
	}
	err := quick.Check(func(n uint, other string, pinned bool, hosted []uint) bool {
		s := modes.Switchyard{}
		for id, r := range whole {
			s[id] = r
		}
		for _, i := range hosted {
			id := ids[i%uint(len(ids))]
			s[id] = modes.Route{ID: id, Locality: modes.Hosted}
		}
		pin := append(ids, other)[n%uint(len(ids)+1)]
		route, err := s.Resolve(modes.Private, map[bool]*string{true: &pin}[pinned])
		return err != nil || route.Locality == modes.Local
	}, &quick.Config{MaxCount: 5000})
	if err != nil {
		t.Error(err)
	}
}

func TestReadSwitchyardRefuses(t *testing.T) {
	for name, routes := range map[string]string{
		"no locality":        "- {id: a}",
		"another locality":   "- {id: a, locality: moon}",
		"no id":              "- {locality: local}",
		"twice":              "- {id: a, locality: local}\n- {id: a, locality: local}",
		"nothing to choose":  "- {id: a, locality: local, candidates: [b]}",
		"local that is not":  "- {id: a, locality: local, candidates: [b]}\n- {id: b, locality: hosted}",
		"local by way of it": "- {id: a, locality: local, candidates: [b]}\n- {id: b, locality: local, candidates: [c]}\n- {id: c, locality: hosted}",
		"no list":            "a",
	} {
		text := "data:\n  routes.yaml: |\n    routes:\n      " + strings.ReplaceAll(routes, "\n", "\n      ") + "\n"
		if s, err := modes.ReadSwitchyard([]byte(text)); err == nil {
			t.Errorf("%s: %v", name, s)
		}
	}
	if _, err := modes.ReadSwitchyard([]byte("data: [")); err == nil {
		t.Error("no YAML")
	}
}

func TestNamesVendor(t *testing.T) {
	for text, want := range map[string]bool{
		"atlas/manual/hosted-one": false, "atlas/auto/private": false, "": false, "ein Bild": false, "metal": false,
		"gpt": true, "GPT-4o": true, "atlas/manual/gpt4o": true, "x/claude_3": true, "llama3": true, "ai21": true, "mistral-large": true, "Gemini": true,
	} {
		if got := hux.NamesVendor(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
