package conformance_test

import (
	"slices"
	"strings"
	"testing"
)

// Who acts comes from the credential; headers say where, and can't say who
// (contracts 2.1).
func TestIdentity(t *testing.T) {
	t.Parallel()
	mine := server.capabilities.Actor
	for _, forged := range []string{"HUX-User", "HUX-Actor", "X-Forwarded-User", "X-Auth-Request-User", "X-Auth-Request-Email"} {
		for _, header := range [][]string{{forged + ": usr_0123456789abcdef0123"}, {forged + ": a", forged + ": b"}} {
			a := human().call(t, "GET", "/capabilities", "", nil, header...)
			if a.status == 400 {
				a.want(t, forged, 400, "bad_identity")
				continue
			}
			var c capabilities
			into(t, a, &c)
			if a.status != 200 || c.Actor != mine {
				t.Errorf("with %s: %d, actor %+v, want %+v as without", forged, a.status, c.Actor, mine)
			}
		}
	}
	a := human().call(t, "GET", "/capabilities", "", nil, "HUX-Request-Id: "+mark+"-1")
	if id := a.header.Get("HUX-Request-Id"); id != mark+"-1" {
		t.Errorf("HUX-Request-Id is %q, want the one sent", id)
	}
	for _, bad := range []string{"a b", strings.Repeat("x", 65), "é"} {
		if a := human().call(t, "GET", "/capabilities", "", nil, "HUX-Request-Id: "+bad); a.header.Get("HUX-Request-Id") == bad {
			t.Errorf("the malformed HUX-Request-Id %q is echoed", bad)
		}
	}
	checked("identity headers")
}

// A record says of where it comes what credential and headers said.
func TestProvenance(t *testing.T) {
	t.Parallel()
	c, why := newConversation(t)
	if why != "" {
		off(t, "provenance", why)
		return
	}
	const event = `{"kind":"tool.started","summary":"` + mark + `"}`
	runID := unique() // belongs to one conversation
	p := provenance(t, c.append(event, "HUX-Session: s:1", "HUX-Run: "+runID))
	if p.Actor != server.capabilities.Actor || p.SessionID == nil || *p.SessionID != "s:1" || p.RunID == nil || *p.RunID != runID || !slices.Contains(server.capabilities.Surfaces, p.Surface) {
		t.Errorf("provenance is %+v", p)
	}
	if p := provenance(t, c.append(event)); p.SessionID != nil || p.RunID != nil {
		t.Errorf("without HUX-Session and HUX-Run provenance is %+v", p)
	}
	refuse := func(status int, code string, header ...string) {
		t.Helper()
		c.who.call(t, "POST", events, event, c.values, append(header, newKey())...).want(t, strings.Join(header, ", "), status, code)
	}
	for _, bad := range []string{"HUX-Run: a b", "HUX-Session: <x>", "HUX-Run: " + strings.Repeat("r", 129)} {
		refuse(400, "bad_identity", bad)
	}
	refuse(403, "surface_forbidden", "HUX-Surface: nowhere")
	if agent().token == "" {
		off(t, "provenance of an agent", "no -agent-token was given")
		return
	}
	a := agent().call(t, "POST", events, event, c.values, newKey())
	a.want(t, "an agent's event", 201, "")
	if p := provenance(t, a); p.Actor.Kind != "agent" || !strings.HasPrefix(p.Actor.ID, "agt_") {
		t.Errorf("an agent's provenance is %+v", p)
	}
	checked("provenance")
}
