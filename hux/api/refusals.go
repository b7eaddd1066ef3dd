package api

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bstein.dev/hux/hux"
)

// Codes are the errors that the route refuses with, by status and name: its
// own, and those that its form brings with it (contracts 2). What is refused
// before a request reaches its route is not among them.
func (rt Route) Codes() []hux.Code {
	codes := append([]hux.Code{
		hux.BadIdentity, hux.Unauthenticated, hux.SurfaceForbidden, hux.NotFound, hux.FeatureDisabled, hux.InternalError,
	}, rt.Errors...)
	if !rt.Anyone {
		codes = append(codes, hux.StoreBusy, hux.StoreCorrupt, hux.NoSlot)
	}
	switch {
	case rt.Kinds == nil:
	case !slices.Contains(rt.Kinds, hux.KindHuman):
		codes = append(codes, hux.AgentRequired)
	case len(rt.Kinds) == 1:
		codes = append(codes, hux.HumanRequired, hux.ConsoleRequired)
	default:
		codes = append(codes, hux.HumanRequired)
	}
	if rt.Operator {
		codes = append(codes, hux.OperatorRequired, hux.ConsoleRequired)
	}
	if rt.Query != nil {
		codes = append(codes, hux.BadRequest)
	}
	if slices.Contains(rt.Query, "cursor") || slices.Contains(rt.Query, "after_seq") || rt.Answer == Stream {
		codes = append(codes, hux.InvalidCursor)
	}
	if rt.Answer == Stream {
		codes = append(codes, hux.RateLimited)
	}
	if rt.writes() {
		codes = append(codes, hux.BadRequest, hux.UnsupportedMediaType, hux.Gone, hux.QuotaExceeded)
		if !rt.Signed {
			codes = append(codes, hux.CrossOrigin, hux.IdempotencyKeyRequired, hux.IdempotencyKeyReused)
		}
		if strings.HasPrefix(rt.Path, "/conversations/{id}") {
			codes = append(codes, hux.ConversationForgotten)
		}
	}
	if rt.Raw {
		codes = append(codes, hux.TooLarge)
	}
	if rt.Request != "" {
		codes = append(codes, hux.InvalidJSON, hux.TooLarge, hux.SchemaInvalid, hux.ReadOnlyField)
	}
	if rt.IfMatch {
		codes = append(codes, hux.BadPrecondition, hux.PreconditionFailed, hux.PreconditionRequired)
	}
	if rt.Signed { // it has a signature for all that a caller says of itself, and what it does not know it leaves alone
		never := []hux.Code{hux.BadIdentity, hux.Unauthenticated, hux.SurfaceForbidden, hux.UnsupportedMediaType, hux.Gone, hux.ReadOnlyField}
		codes = slices.DeleteFunc(codes, func(c hux.Code) bool { return slices.Contains(never, c) })
	}
	slices.SortFunc(codes, func(a, b hux.Code) int {
		return cmp.Or(cmp.Compare(a.Status(), b.Status()), cmp.Compare(a, b))
	})
	return slices.Compact(codes)
}

// Refusal is a status and the codes that a route refuses with by it.
type Refusal struct {
	Status int
	Codes  []hux.Code
}

// Refusals are the codes of the route by status, in order.
func (rt Route) Refusals() []Refusal {
	var all []Refusal
	for _, code := range rt.Codes() {
		if n := len(all); n == 0 || all[n-1].Status != code.Status() {
			all = append(all, Refusal{Status: code.Status()})
		}
		last := &all[len(all)-1]
		last.Codes = append(last.Codes, code)
	}
	return all
}

// refusals describes the answers that are none of success.
func (rt Route) refusals() object {
	responses := object{"default": problem("Any other refusal.")}
	for _, r := range rt.Refusals() {
		codes := make([]string, len(r.Codes))
		for i, code := range r.Codes {
			codes[i] = string(code)
		}
		responses[strconv.Itoa(r.Status)] = problem(http.StatusText(r.Status) + ": " + strings.Join(codes, ", "))
	}
	return responses
}

// problem refers to the one form of refusals, with a description of its own
// (OpenAPI 3.1, Reference Object).
func problem(description string) object {
	return object{"$ref": "#/components/responses/problem", "description": description}
}
