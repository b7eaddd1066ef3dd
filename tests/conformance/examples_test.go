package conformance_test

import (
	"slices"
	"strings"
	"testing"
)

// Each worked example of a request is accepted by the route that takes it, and
// each of the invalid ones is refused with the pointer and the rule it names,
// and changes nothing.
func TestExamplesOfRequests(t *testing.T) {
	for _, o := range server.operations {
		if o.request == "" {
			continue
		}
		t.Run(o.method+" "+strings.ReplaceAll(o.path, "/", ":"), func(t *testing.T) {
			t.Parallel()
			if !o.served() {
				off(t, "examples of "+o.request, o.why())
				return
			}
			if o.signed {
				off(t, "examples of "+o.request, "they are signed with a secret of the agent's")
				return
			}
			x, why := prepare(t, o)
			if why != "" {
				lacking(t, "examples of "+o.request, why)
				return
			}
			a := x.send(t, encoded(x.body), append(x.current(t), newKey())...)
			if a.status/100 != 2 {
				t.Errorf("the worked example of %s is refused: %d %.600s\nsent: %s", o.request, a.status, a.body, encoded(x.body))
			}
			if ignored := a.header.Get("HUX-Ignored-Fields"); ignored != "" {
				t.Errorf("of the worked example of %s members are ignored: %s", o.request, ignored)
			}
			checked("worked example of " + o.request)
			header := x.current(t)
			for _, v := range invalids(t, o.request) {
				v.refused(t, x, append(header, newKey()))
			}
			if after := x.current(t); !slices.Equal(after, header) {
				t.Errorf("invalid examples changed the record: %v, was %v", after, header)
			}
			checked("invalid examples of " + o.request)
		})
	}
}

// refused sends the worked example with the fault in it. What it refers to need
// not exist: it is refused before anything is looked for.
func (v invalid) refused(t *testing.T, x *exchange, header []string) {
	t.Helper()
	what := "examples/invalid/" + x.o.request + "/" + v.name + ".json"
	faulty, err := v.in(worked(x.o.request))
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	a := x.send(t, encoded(faulty), header...)
	if a.status/100 != 4 {
		t.Errorf("%s: accepted: %d %.300s", what, a.status, a.body)
		return
	}
	if a.code() == v.rule && v.rule != "read_only_field" {
		return // the rule is the refusal's own code
	}
	wanted := "schema_invalid"
	if v.rule == "read_only_field" {
		wanted = v.rule
	}
	var problem struct {
		Errors []struct{ Pointer, Code string }
	}
	into(t, a, &problem)
	if a.status != 422 || a.code() != wanted && !ruled(v.rule) {
		t.Errorf("%s: %d %s, want 422 %s", what, a.status, a.code(), wanted)
	}
	for _, fault := range problem.Errors {
		if fault.Code == v.rule && (ruled(v.rule) || near(fault.Pointer, v.pointer)) {
			return
		}
	}
	t.Errorf("%s: errors are %+v, want %s at %q", what, problem.Errors, v.rule, v.pointer)
}

// near reports whether a fault that was put at one place may be told at another:
// a condition of a schema is about members of one object and may name any of
// them, and a keyword about a value its object or a part of it.
func near(told, put string) bool {
	object := func(pointer string) string { return pointer[:max(0, strings.LastIndexByte(pointer, '/'))] }
	return strings.HasPrefix(put+"/", object(told)+"/") || strings.HasPrefix(told+"/", put+"/")
}

// ruled reports whether a rule is one that no schema can say, and so an error
// code or a name of its own. It may be about members that lie far apart.
func ruled(rule string) bool { return strings.Contains(rule, "_") }
