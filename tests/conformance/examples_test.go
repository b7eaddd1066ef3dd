package conformance_test

import (
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
			body, values, who, why := prepared(t, o)
			if why != "" {
				lacking(t, "examples of "+o.request, why)
				return
			}
			header := func() []string {
				h := []string{newKey()}
				if o.ifMatch {
					h = append(h, "If-Match: "+etag(t, who, o, values))
				}
				return h
			}
			a := who.call(t, o.method, o.path, encoded(body), values, header()...)
			if a.status/100 != 2 {
				t.Errorf("the worked example of %s is refused: %d %.600s\nsent: %s", o.request, a.status, a.body, encoded(body))
			}
			if ignored := a.header.Get("HUX-Ignored-Fields"); ignored != "" {
				t.Errorf("of the worked example of %s members are ignored: %s", o.request, ignored)
			}
			checked("worked example of " + o.request)
			for _, v := range invalids(t, o.request) {
				v.refused(t, who, o, values, header())
			}
		})
	}
}

// etag is the tag of the record that a change is about.
func etag(t testing.TB, who caller, o *operation, values []string) string {
	t.Helper()
	a := who.call(t, "GET", o.path, "", values)
	if a.status != 200 {
		t.Errorf("%s: %d", a.what, a.status)
	}
	return a.header.Get("ETag")
}

func (v invalid) refused(t *testing.T, who caller, o *operation, values, header []string) {
	t.Helper()
	what := "examples/invalid/" + o.request + "/" + v.name + ".json"
	body, _, _, _ := prepared(t, o)
	faulty, err := v.in(body)
	if err != nil {
		// A member that the example had and that was taken out, or one of a
		// capability that is off.
		off(t, what, err.Error())
		return
	}
	checked("invalid examples of " + o.request)
	a := who.call(t, o.method, o.path, encoded(faulty), values, header...)
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
		// The server may point at the object that lacks a member, or into a
		// value, where a rule is about a part of it.
		near := strings.HasPrefix(fault.Pointer+"/", v.pointer+"/") || strings.HasPrefix(v.pointer+"/", fault.Pointer+"/")
		if fault.Code == v.rule && near {
			return
		}
	}
	t.Errorf("%s: errors are %+v, want %s at %q", what, problem.Errors, v.rule, v.pointer)
}

// ruled reports whether a rule is one that no schema can say, and so an error
// code or a name of its own.
func ruled(rule string) bool { return strings.Contains(rule, "_") }
