package timeline_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux/api"
)

// Whatever stands in the path and the query of a route that reads, it is found
// or refused in our words; a name that the OpenAPI document does not have, or
// one that comes twice, is refused.
func FuzzParameters(f *testing.F) {
	r := newRig(f)
	var routes []api.Route
	for _, rt := range r.routes {
		if rt.Method == http.MethodGet && rt.Handler != nil {
			routes = append(routes, rt)
		}
	}
	slices.SortFunc(routes, func(a, b api.Route) int { return strings.Compare(a.Path, b.Path) })
	for _, query := range []string{"", "limit=1", "limit=0", "limit=%31", "after_seq=0", "after_seq=00", "epoch=x&after_seq=99", "cursor=", "cursor=AAAA", "state=active", "state=%zz", "tag=a&tag=a", "Limit=1", "project_id=null", ";", "%00=%00"} {
		f.Add(r.id, query)
		f.Add("cnv_0", query)
	}
	f.Add("", "")
	f.Add("../"+r.id, "")
	f.Add("\x00", "")
	f.Fuzz(func(t *testing.T, id, query string) {
		names, malformed := url.ParseQuery(query)
		for _, rt := range routes {
			method := http.MethodGet
			if rt.Answer == api.Stream {
				method = http.MethodHead // ends
			}
			req := httptest.NewRequest(method, "/", nil)
			req.SetPathValue("id", id)
			req.URL.RawQuery = query
			w := httptest.NewRecorder()
			err := rt.Serve(api.NewDoor(r.schemas), w, req, r.call)
			if err != nil && !refused(err) {
				t.Errorf("%s of %q with %q: %v", rt.Path, id, query, err)
			}
			if err != nil || rt.Query == nil {
				continue
			}
			for name, values := range names {
				if len(values) > 1 || !slices.Contains(rt.Query, name) {
					t.Errorf("%s takes the query %q", rt.Path, query)
				}
			}
			if malformed != nil || strings.Contains(rt.Path, "{id}") && id != r.id {
				t.Errorf("%s of %q takes the query %q", rt.Path, id, query)
			}
		}
	})
}
