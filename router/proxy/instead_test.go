package proxy

import (
	"strings"
	"testing"
)

func TestInsteadIsInEffectWithItsFlagAlone(t *testing.T) {
	r := DefaultRules()
	for _, on := range []bool{false, true, false} {
		if err := r.Switch(func(flag string) bool { return on && flag == "hux.autonomy" }); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ method, path, off string }{
			{"POST", "/api/approval/respond", "allow"},
			{"POST", "/api/session/yolo", "deny"},
			{"POST", "/API/Session/%79olo/", "deny"},
			{"GET", "/api/approval/pending", "allow"},
			{"HEAD", "/api/approval/pending", "allow"},
			{"GET", "/api/approval/stream", "allow"},
		} {
			d := r.decide(c.method, c.path)
			got := map[bool]string{d.instead != nil: "instead", d.allow != nil: "allow", d.deny != nil: "deny"}[true]
			if want := map[bool]string{true: "instead", false: c.off}[on]; got != want {
				t.Errorf("on %v: %s %s: %s, want %s", on, c.method, c.path, got, want)
			}
		}
		if d := r.decide("GET", "/api/session/yolo"); d.allow == nil {
			t.Error("whether everything is approved can't be read")
		}
		if r.Switched("hux.autonomy") != on {
			t.Errorf("switched: %v", !on)
		}
	}
}

func TestInsteadRulesNameTheEntry(t *testing.T) {
	for rule, want := range map[string]string{
		`{"methods":["GET"],"paths":["/a"],"reason":"x","refuse":"x"}`:                          "flag and reason",
		`{"flag":"hux.x","methods":["GET"],"paths":["/a"],"reason":"x"}`:                        "one of refuse and answer",
		`{"flag":"hux.x","methods":["POST"],"paths":["/a"],"reason":"x","answer":{}}`:           "GET alone",
		`{"flag":"hux.x","methods":["GET"],"paths":["/A"],"reason":"x","refuse":"x"}`:           "lower case",
		`{"flag":"hux.x","methods":["GET"],"paths":[],"reason":"x","refuse":"x"}`:               "paths is empty",
		`{"flag":"hux.x","methods":["GET"],"paths":["/a","/a"],"reason":"x","refuse":"no one"}`: "there twice",
	} {
		_, err := LoadRules(strings.NewReader(`{"format":1,"upstream":{"name":"x"},"instead":[` + rule + `],"allow":[{"methods":["GET"],"paths":["/"]}]}`))
		if err == nil || !strings.Contains(err.Error(), "instead[0]") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
}
