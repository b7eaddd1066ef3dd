package modes

import (
	"strings"

	"bstein.dev/hux/hux"
	"bstein.dev/hux/hux/schema"
)

// Rules are what the schema can't say of a mode. That no route names a vendor
// is in the routes' own format.
var Rules = map[string]schema.Rule{
	Schema: schema.RuleOf(func(m *Mode) schema.Faults {
		var faults schema.Faults
		for at, text := range map[string]string{"/label": m.Label, "/description": m.Description} {
			faults.AddIf(hux.NamesVendor(text), at, string(hux.VendorName), "has the name of a vendor or of a model in it")
		}
		if m.Mode == Private && m.Constraints != atHome {
			faults.Add("/constraints", "private_constraints", "must be local only, without memory and web, ephemeral and not overridable")
		}
		return faults
	}),
}

// Resolve is the route that a conversation takes in a mode: the pinned one, or
// the mode's own where pin is nil. The error is an *hux.Error: vendor_name,
// unknown_route for what is not in the catalogue or can't be pinned,
// mode_route_conflict where the mode forbids the route, schema_invalid for a
// mode that there is not. Private never leaves the local routes, whatever the
// catalogue says.
func (s Switchyard) Resolve(mode string, pin *string) (Route, error) {
	m, ok := Find(mode)
	if !ok {
		return Route{}, hux.Errorf(hux.SchemaInvalid, "There is no such mode.")
	}
	id := m.DefaultRoute
	if pin != nil {
		id = *pin
		if hux.NamesVendor(id) {
			return Route{}, hux.Errorf(hux.VendorName, "A route is named without its vendor or model.")
		}
		if !strings.HasPrefix(id, strings.TrimPrefix(m.PinPattern, "^")) {
			return Route{}, hux.Errorf(hux.UnknownRoute, "No such route can be pinned.")
		}
	}
	route, ok := s[id]
	switch {
	case !ok:
		return Route{}, hux.Errorf(hux.UnknownRoute, "There is no such route.")
	case m.Constraints.Locality == "local_only" && route.Locality != Local:
		return Route{}, hux.Errorf(hux.ModeRouteConflict, "This mode only takes routes that run locally.")
	}
	return route, nil
}
