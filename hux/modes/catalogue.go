package modes

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"bstein.dev/hux/hux/api"
)

// Locality says where a route runs.
type Locality string

// The localities of routes.
const (
	Local  Locality = "local"
	Hosted Locality = "hosted"
)

// Route is a line of the route catalogue.
type Route struct {
	ID         string   `yaml:"id"`
	Locality   Locality `yaml:"locality"`
	Candidates []string `yaml:"candidates"` // the routes that it chooses from; none: it is one itself
}

// Switchyard is the routes that there are, by id.
type Switchyard map[string]Route

// ReadSwitchyard reads the route catalogue out of Switchyard's ConfigMap. It
// refuses one in which a route has no locality, stands twice, chooses from what
// is not there, or says local and may run hosted.
func ReadSwitchyard(configMap []byte) (Switchyard, error) {
	var file struct {
		Data map[string]string `yaml:"data"`
	}
	if err := yaml.Unmarshal(configMap, &file); err != nil {
		return nil, fmt.Errorf("switchyard: %w", err)
	}
	var list struct {
		Routes []Route `yaml:"routes"`
	}
	if err := yaml.Unmarshal([]byte(file.Data["routes.yaml"]), &list); err != nil {
		return nil, fmt.Errorf("switchyard: routes.yaml: %w", err)
	}
	routes := Switchyard{}
	for _, r := range list.Routes {
		if _, twice := routes[r.ID]; twice || r.ID == "" || r.Locality != Local && r.Locality != Hosted {
			return nil, fmt.Errorf("switchyard: the route %q has no id or locality of its own", r.ID)
		}
		routes[r.ID] = r
	}
	for _, r := range routes {
		for _, id := range r.Candidates {
			if c, ok := routes[id]; !ok || r.Locality == Local && c.Locality != Local {
				return nil, fmt.Errorf("switchyard: the route %q can't choose %q", r.ID, id)
			}
		}
	}
	return routes, nil
}

// Manifest is the member modes_catalog of the manifest.
func (s Switchyard) Manifest() []api.ManifestMode {
	list := make([]api.ManifestMode, len(Catalogue))
	for i, m := range Catalogue {
		_, there := s[m.DefaultRoute]
		list[i] = api.ManifestMode{Mode: m.Mode, DefaultRoute: m.DefaultRoute, InSwitchyard: there}
	}
	return list
}
