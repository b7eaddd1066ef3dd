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
		codes = append(codes, hux.StoreBusy, hux.StoreCorrupt)
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
	slices.SortFunc(codes, func(a, b hux.Code) int {
		return cmp.Or(cmp.Compare(a.Status(), b.Status()), cmp.Compare(a, b))
	})
	return slices.Compact(codes)
}

// refusals describes the answers that are none of success: each status with
// its codes.
func (rt Route) refusals() object {
	byStatus := map[int][]string{}
	for _, code := range rt.Codes() {
		byStatus[code.Status()] = append(byStatus[code.Status()], string(code))
	}
	responses := object{"default": problem("Any other refusal.")}
	for status, codes := range byStatus {
		responses[strconv.Itoa(status)] = problem(http.StatusText(status) + ": " + strings.Join(codes, ", "))
	}
	return responses
}

// problem refers to the one form of refusals, with a description of its own
// (OpenAPI 3.1, Reference Object).
func problem(description string) object {
	return object{"$ref": "#/components/responses/problem", "description": description}
}
