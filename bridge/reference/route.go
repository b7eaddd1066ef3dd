package reference

import (
	"fmt"
	"net/http"
	"slices"

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
	Refusals              []api.Refusal
	Served                bool // this build has it
}

func routeOf(rt api.Route, flags []Flag, served map[string]bool) Route {
	r := Route{
		ID: rt.ID(), Method: rt.Method, Path: api.Prefix + rt.Path, Summary: rt.Summary, Who: who(rt), Query: rt.Query, Request: rt.Request, Raw: rt.Raw,
		IfMatch: rt.IfMatch, Idempotent: rt.Idempotent(), Record: rt.Record, Headers: rt.Headers,
		Refusals: rt.Refusals(), Served: rt.ServedBy(served),
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
