package schema

import (
	"cmp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"bstein.dev/hux/hux"
)

// Fault is one entry of an error's errors (contracts 3, hux.error.v1). Neither
// pointer nor message quotes a value.
type Fault struct {
	Pointer string `json:"pointer"` // RFC 6901, into the request's body
	Code    string `json:"code"`    // the keyword of JSON Schema that the value breaks, or an error code
	Message string `json:"message"` // what is wrong, without a subject
}

// maxFaults bounds how many faults an answer lists.
const maxFaults = 20

// inOrder sorts faults by where they are and then by their code: rules and
// schemas find them in any order.
func inOrder(list []Fault) {
	slices.SortFunc(list, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code))
	})
}

func refusal(code hux.Code, detail string, list []Fault) *hux.Error {
	inOrder(list)
	e := hux.Errorf(code, "%s", detail)
	e.Members = map[string]any{"errors": list[:min(len(list), maxFaults)]}
	return e
}

// pointer writes tokens as RFC 6901 wants it. It ends before a token that is
// no plain word: a member's name may itself be somebody's text.
func pointer(tokens []string) string {
	var b strings.Builder
	for _, t := range tokens {
		if len(t) == 0 || len(t) > 64 || strings.ContainsFunc(t, notPlain) {
			break
		}
		b.WriteByte('/')
		b.WriteString(t)
	}
	return b.String()
}

func notPlain(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' && r != '.'
}

// faults lists the leaves of the library's tree of errors.
func faults(e *jsonschema.ValidationError) []Fault {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		// One for each, where the member should be.
		list := make([]Fault, len(k.Missing))
		for i, name := range k.Missing {
			list[i] = Fault{pointer(append(slices.Clip(e.InstanceLocation), name)), "required", "is missing"}
		}
		return list
	case *kind.AnyOf:
		// X or null: only what X says is of use.
		if causes := slices.DeleteFunc(slices.Clone(e.Causes), wantsNull); len(causes) == 1 {
			return faults(causes[0])
		}
	case *kind.PropertyNames:
		return []Fault{{pointer(e.InstanceLocation), "propertyNames", "has a member whose name is not allowed"}}
	}
	if len(e.Causes) == 0 {
		return []Fault{faultOf(e)}
	}
	var list []Fault
	for _, cause := range e.Causes {
		if list = append(list, faults(cause)...); len(list) >= maxFaults {
			break
		}
	}
	return list
}

func wantsNull(e *jsonschema.ValidationError) bool {
	k, ok := e.ErrorKind.(*kind.Type)
	return ok && len(k.Want) == 1 && k.Want[0] == "null"
}

func faultOf(e *jsonschema.ValidationError) Fault {
	code, message := "invalid", "is not allowed"
	if path := e.ErrorKind.KeywordPath(); len(path) > 0 {
		code = path[0]
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		message = "must be " + strings.Join(k.Want, " or ")
	case *kind.Const, *kind.Enum:
		message = "is not one of the values allowed here"
	case *kind.Format:
		if k.Want == routeFormat {
			code, message = string(hux.VendorName), "has the name of a vendor or of a model in it"
			break
		}
		message = "does not have the format " + k.Want
	case *kind.Pattern:
		message = "does not match " + k.Want
	case *kind.MinLength:
		message = atLeast(k.Want, "character")
	case *kind.MaxLength:
		message = atMost(k.Want, "character")
	case *kind.MinItems:
		message = atLeast(k.Want, "item")
	case *kind.MaxItems:
		message = atMost(k.Want, "item")
	case *kind.MinProperties:
		message = atLeast(k.Want, "member")
	case *kind.MaxProperties:
		message = atMost(k.Want, "member")
	case *kind.UniqueItems:
		message = "has an item twice"
	case *kind.Minimum:
		message = "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		message = "must be at most " + k.Want.RatString()
	}
	return Fault{pointer(e.InstanceLocation), code, message}
}

func atLeast(n int, what string) string { return "must have at least " + hux.Count(n, what) }
func atMost(n int, what string) string  { return "must have at most " + hux.Count(n, what) }

func readOnly(pointer string) Fault {
	return Fault{pointer, string(hux.ReadOnlyField), "is set by the server"}
}

func tooMany(tokens []string, keyword string, limit int, what string) Fault {
	return Fault{pointer(tokens), keyword, atMost(limit, what)}
}

// Refused is the error of faults that schemas and rules found, nil where there are none:
// the code of the first, in their order, that is one of the contract's, else
// schema_invalid.
func Refused(list []Fault) error {
	if len(list) == 0 {
		return nil
	}
	inOrder(list)
	code := hux.SchemaInvalid
	for _, f := range list {
		if c := hux.Code(f.Code); c.Meaning() != "" {
			code = c
			break
		}
	}
	return refusal(code, "The body breaks a rule; errors says which and where.", list)
}
