package contract_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"bstein.dev/hux/hux"
)

// change is one difference between two states of the contract.
type change struct {
	name   string // of the schema, the route or the code, as a changelog should have it
	what   string
	breaks bool // a client may rely on what was there
}

// compare lists how the contract has changed. What belongs to a card that was
// never served may change in any way. Of the rest, new things are accepted that
// nobody has to know: a schema, a route, a code, an optional member, a name in a
// query, somebody else who may call a route.
func compare(before, now *lock) []change {
	var changes []change
	if before.Contract != now.Contract {
		changes = append(changes, change{now.Contract, "is the contract's version, which was " + before.Contract, false})
	}
	for name, was := range before.Routes {
		is, there := now.Routes[name]
		kept := before.served(was.Flags)
		if !there {
			changes = append(changes, change{name, "is gone", kept})
			continue
		}
		changes = append(changes, compareRoutes(name, was, is, kept)...)
	}
	changes = append(changes, added(before.Routes, now.Routes)...)
	for code, was := range before.Codes {
		is, there := now.Codes[code]
		switch {
		case !there:
			changes = append(changes, change{string(code), "is gone", true})
		case is != was:
			changes = append(changes, change{string(code), fmt.Sprintf("has the status %d instead of %d", is, was), true})
		}
	}
	changes = append(changes, added(before.Codes, now.Codes)...)
	for name, was := range before.Schemas {
		is, there := now.Schemas[name]
		switch {
		case !there:
			changes = append(changes, change{name, "is gone", before.keeps(name)})
		case was.SHA256 != is.SHA256 || !maps.Equal(was.Members, is.Members):
			changes = append(changes, compareMembers(name, was.Members, is.Members, before.keeps(name))...)
		}
	}
	changes = append(changes, added(before.Schemas, now.Schemas)...)
	slices.SortFunc(changes, func(a, b change) int { return strings.Compare(a.name+a.what, b.name+b.what) })
	return changes
}

func compareRoutes(name string, was, is lockedRoute, kept bool) (changes []change) {
	for what, how := range map[string]struct{ same, wider bool }{
		"flags":         {same: slices.Equal(was.Flags, is.Flags)},
		"callers":       {slices.Equal(was.Kinds, is.Kinds), was.Kinds != nil && (is.Kinds == nil || within(was.Kinds, is.Kinds))},
		"for operators": {was.Operator == is.Operator, is.Operator},
		"signed":        {same: was.Signed == is.Signed},
		"query":         {slices.Equal(was.Query, is.Query), within(was.Query, is.Query)},
		"body":          {same: was.Request == is.Request},
		"If-Match":      {same: was.IfMatch == is.IfMatch},
		"status":        {same: slices.Equal(was.Status, is.Status)},
		"record":        {same: was.Record == is.Record},
		"form":          {same: was.Answer == is.Answer},
		"wait":          {same: was.Waits == is.Waits},
	} {
		switch {
		case how.same:
		case how.wider:
			changes = append(changes, change{name, "allows more: " + what, false})
		default:
			changes = append(changes, change{name, "differs: " + what, kept})
		}
	}
	return changes
}

// within reports whether all of some are among others.
func within[T comparable](some, others []T) bool {
	return !slices.ContainsFunc(some, func(one T) bool { return !slices.Contains(others, one) })
}

func added[K ~string, V any](before, now map[K]V) (changes []change) {
	for name := range now {
		if _, there := before[name]; !there {
			changes = append(changes, change{string(name), "is new", false})
		}
	}
	return changes
}

func compareMembers(name string, before, now map[string]string, kept bool) (changes []change) {
	for place, was := range before {
		is, there := now[place]
		switch {
		case !there:
			changes = append(changes, change{name, place + " is gone", kept})
		case is != was:
			changes = append(changes, change{name, fmt.Sprintf("%s is %q instead of %q", place, is, was), kept})
		}
	}
	for place, is := range now {
		if _, there := before[place]; there {
			continue
		}
		c := change{name, place + " is new", false}
		// What is required of a new optional member is required of nobody yet.
		if _, inOld := before[place[:strings.LastIndex(place, "/")]]; inOld && !strings.HasPrefix(is, optional) {
			c = change{name, place + " is new and required", kept}
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 {
		changes = []change{{name, "is worded otherwise", false}}
	}
	return changes
}

// served reports whether any of flags was ever served.
func (l *lock) served(flags []string) bool {
	return slices.ContainsFunc(flags, func(f string) bool { return slices.Contains(l.Served, f) })
}

// keeps reports whether clients may rely on a schema: one of a route that was
// served, that of errors, and, once all routes were, all there are.
func (l *lock) keeps(schema string) bool {
	named, all := false, true
	for _, rt := range l.Routes {
		all = all && l.served(rt.Flags)
		if rt.Request == schema || rt.Record == schema {
			if l.served(rt.Flags) {
				return true
			}
			named = true
		}
	}
	return schema == "hux.error.v1" || !named && all
}

const optional = "optional"

// flatten gives the rules of each place in a schema: "/evidence/*/owner" is the
// member owner of the items of evidence. References are followed, and words for
// people left out.
func flatten(schema, defs map[string]any) map[string]string {
	flat := map[string]string{}
	flattenAt("", optional, expand(schema, defs), flat)
	return flat
}

func flattenAt(place, need string, schema any, flat map[string]string) {
	s, ok := schema.(map[string]any)
	if !ok { // true or false
		flat[place] = fmt.Sprint(need, " ", schema)
		return
	}
	if x, ok := orNull(s); ok {
		rest := maps.Clone(s)
		delete(rest, "anyOf")
		flattenAt(place, need+" or null", merge(rest, x), flat)
		return
	}
	members, _ := s["properties"].(map[string]any)
	needed, _ := s["required"].([]any)
	rules := []string{need}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		switch value := s[keyword]; keyword {
		case "properties", "required":
		case "items", "additionalProperties":
			flattenAt(place+"/*", optional, value, flat)
		default:
			text, _ := json.Marshal(value)
			rules = append(rules, keyword+" "+string(text))
		}
	}
	for _, name := range needed {
		if _, described := members[name.(string)]; !described { // a name in a map
			rules = append(rules, "requires "+name.(string))
		}
	}
	for name, member := range members {
		need := optional
		if slices.Contains(needed, any(name)) {
			need = "required"
		}
		flattenAt(place+"/"+name, need, member, flat)
	}
	flat[place] = strings.Join(rules, ", ")
}

// expand puts what a schema refers to in the place of the references, and
// leaves out what is for people.
func expand(schema any, defs map[string]any) any {
	s, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	whole := map[string]any{}
	for keyword, value := range s {
		switch keyword {
		case "$schema", "$id", "$ref", "title", "description", "examples":
			continue
		case "properties":
			members := map[string]any{}
			for name, member := range value.(map[string]any) {
				members[name] = expand(member, defs)
			}
			whole[keyword] = members
			continue
		}
		if list, ok := value.([]any); ok {
			expanded := make([]any, len(list))
			for i, item := range list {
				expanded[i] = expand(item, defs)
			}
			value = expanded
		}
		whole[keyword] = expand(value, defs)
	}
	if ref, ok := s["$ref"].(string); ok {
		target := expand(defs[ref[strings.LastIndex(ref, "/")+1:]], defs)
		return merge(whole, target.(map[string]any))
	}
	return whole
}

// merge gives what s says, and besides it what other does.
func merge(s, other map[string]any) map[string]any {
	both := maps.Clone(other)
	for keyword, value := range s {
		both[keyword] = value
	}
	return both
}

// orNull gives X where a schema is anyOf [X, null].
func orNull(s map[string]any) (map[string]any, bool) {
	branches, _ := s["anyOf"].([]any)
	if len(branches) != 2 {
		return nil, false
	}
	x, ok := branches[0].(map[string]any)
	null, _ := branches[1].(map[string]any)
	return x, ok && null["type"] == "null"
}

func TestCompare(t *testing.T) {
	const lamp = `{"title": "Lamp", "type": "object", "properties": {
		"colour": {"type": "string", "enum": ["red", "green"], "maxLength": 20},
		"place": {"$ref": "defs.json#/$defs/place"},
		"owner": {"anyOf": [{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}, {"type": "null"}]},
		"notes": {"type": "object", "required": ["en"], "additionalProperties": {"type": "string"}},
		"uses": {"type": "array", "maxItems": 20, "items": {"type": "object", "properties": {"at": {"type": "integer"}}}}
	}, "required": ["colour"], "allOf": [{"if": {"required": ["owner"]}, "then": {"required": ["place"]}}]}`
	const room = `{"type": "string", "maxLength": 40}`
	of := func(lampText, placeText string) map[string]lockedSchema {
		return map[string]lockedSchema{
			"hux.lamp.v1":  {hashOf(lampText), flatten(object(t, []byte(lampText)), map[string]any{"place": any(object(t, []byte(placeText)))})},
			"hux.error.v1": {"", map[string]string{"": "optional", "/code": "required"}},
			"hux.dark.v1":  {"", map[string]string{"": "optional", "/a": "required"}},
			"hux.alone.v1": {"", map[string]string{"": "optional", "/a": "required"}},
		}
	}
	fresh := func() *lock {
		return &lock{
			Contract: "1.1.0", Served: []string{"hux.light"}, Schemas: of(lamp, room), Codes: map[hux.Code]int{"too_dark": 409, "gone": 410},
			Routes: map[string]lockedRoute{
				"GET /lamps": {Flags: []string{"hux.light"}, Kinds: []hux.Kind{"human"}, Query: []string{"cursor", "colour"}, Status: []int{200}, Record: "hux.lamp.v1", Answer: "page"},
				"GET /dark":  {Flags: []string{"hux.dark"}, Record: "hux.dark.v1"},
			},
		}
	}
	member := func(old, changed string) func(*lock) {
		return func(l *lock) {
			text := strings.Replace(lamp, old, changed, 1)
			if text == lamp {
				t.Fatalf("the lamp has no %s", old)
			}
			l.Schemas = of(text, room)
		}
	}
	lamps := func(change func(*lockedRoute)) func(*lock) {
		return func(l *lock) {
			rt := l.Routes["GET /lamps"]
			change(&rt)
			l.Routes["GET /lamps"] = rt
		}
	}
	for name, c := range map[string]struct {
		change func(*lock)
		want   string // names of what has changed, with ! where it breaks
	}{
		"nothing":                      {func(*lock) {}, ""},
		"another title":                {member(`"Lamp"`, `"A lamp"`), "hux.lamp.v1"},
		"optional member":              {member(`"colour": {`, `"height": {"type": "integer"}, "colour": {`), "hux.lamp.v1"},
		"optional member that is deep": {member(`{"name": {"type": "string"}`, `{"name": {"type": "string"}, "age": {"type": "integer"}`), "hux.lamp.v1"},
		"optional member, its own required": {
			member(`"colour": {`, `"bulb": {"type": "object", "properties": {"watts": {"type": "integer"}}, "required": ["watts"]}, "colour": {`),
			"hux.lamp.v1 hux.lamp.v1",
		},
		"new required member":                {member(`["colour"]`, `["colour", "place"]`), "hux.lamp.v1!"},
		"new member, required":               {member(`"name": {"type": "string"}}, "required": ["name"]`, `"name": {"type": "string"}, "age": {}}, "required": ["name", "age"]`), "hux.lamp.v1!"},
		"no longer required":                 {member(`["colour"]`, `[]`), "hux.lamp.v1!"},
		"removed member":                     {member(`"place": {"$ref": "defs.json#/$defs/place"},`, ``), "hux.lamp.v1!"},
		"narrowed enum":                      {member(`["red", "green"]`, `["red"]`), "hux.lamp.v1!"},
		"widened enum":                       {member(`["red", "green"]`, `["red", "green", "blue"]`), "hux.lamp.v1!"},
		"changed type":                       {member(`"at": {"type": "integer"}`, `"at": {"type": "string"}`), "hux.lamp.v1!"},
		"another name in a map":              {member(`["en"]`, `["en", "fr"]`), "hux.lamp.v1!"},
		"narrowed bound":                     {member(`"maxItems": 20`, `"maxItems": 10`), "hux.lamp.v1!"},
		"no longer null":                     {member(`, {"type": "null"}`, ``), "hux.lamp.v1! hux.lamp.v1!"},
		"changed condition":                  {member(`"then": {"required": ["place"]}`, `"then": {"required": ["uses"]}`), "hux.lamp.v1!"},
		"changed definition, in a condition": {member(`"then": {"required": ["place"]}`, `"then": {"properties": {"place": {"$ref": "defs.json#/$defs/place", "maxLength": 3}}}`), "hux.lamp.v1!"},
		"changed definition":                 {func(l *lock) { l.Schemas = of(lamp, `{"type": "string", "maxLength": 30}`) }, "hux.lamp.v1!"},
		"removed schema":                     {func(l *lock) { delete(l.Schemas, "hux.lamp.v1") }, "hux.lamp.v1!"},
		"new schema":                         {func(l *lock) { l.Schemas["hux.lamp.v2"] = lockedSchema{} }, "hux.lamp.v2"},
		"schema never served":                {func(l *lock) { l.Schemas["hux.dark.v1"] = lockedSchema{} }, "hux.dark.v1 hux.dark.v1"},
		"schema of no route":                 {func(l *lock) { delete(l.Schemas, "hux.alone.v1") }, "hux.alone.v1"},
		"schema of errors":                   {func(l *lock) { delete(l.Schemas, "hux.error.v1") }, "hux.error.v1!"},
		"new route":                          {func(l *lock) { l.Routes["PUT /lamps"] = lockedRoute{} }, "PUT /lamps"},
		"removed route":                      {func(l *lock) { delete(l.Routes, "GET /lamps") }, "GET /lamps!"},
		"another flag":                       {lamps(func(rt *lockedRoute) { rt.Flags = []string{"hux.dark"} }), "GET /lamps!"},
		"another record":                     {lamps(func(rt *lockedRoute) { rt.Record = "hux.dark.v1" }), "GET /lamps!"},
		"another body":                       {lamps(func(rt *lockedRoute) { rt.Request = "hux.dark.v1" }), "GET /lamps!"},
		"for others instead":                 {lamps(func(rt *lockedRoute) { rt.Kinds = []hux.Kind{"agent"} }), "GET /lamps!"},
		"for others too":                     {lamps(func(rt *lockedRoute) { rt.Kinds = []hux.Kind{"agent", "human"} }), "GET /lamps"},
		"for everybody":                      {lamps(func(rt *lockedRoute) { rt.Kinds = nil }), "GET /lamps"},
		"for operators too":                  {lamps(func(rt *lockedRoute) { rt.Operator = true }), "GET /lamps"},
		"signed":                             {lamps(func(rt *lockedRoute) { rt.Signed = true }), "GET /lamps!"},
		"a name less in the query":           {lamps(func(rt *lockedRoute) { rt.Query = []string{"cursor"} }), "GET /lamps!"},
		"a name more in the query":           {lamps(func(rt *lockedRoute) { rt.Query = []string{"colour", "cursor", "room"} }), "GET /lamps"},
		"an If-Match":                        {lamps(func(rt *lockedRoute) { rt.IfMatch = true }), "GET /lamps!"},
		"another status":                     {lamps(func(rt *lockedRoute) { rt.Status = []int{201} }), "GET /lamps!"},
		"another form":                       {lamps(func(rt *lockedRoute) { rt.Answer = "stream" }), "GET /lamps!"},
		"a wait":                             {lamps(func(rt *lockedRoute) { rt.Waits = true }), "GET /lamps!"},
		"route never served":                 {func(l *lock) { delete(l.Routes, "GET /dark") }, "GET /dark"},
		"no longer served":                   {func(l *lock) { l.Served = nil; delete(l.Routes, "GET /lamps") }, "GET /lamps!"},
		"new code":                           {func(l *lock) { l.Codes["too_bright"] = 409 }, "too_bright"},
		"removed code":                       {func(l *lock) { delete(l.Codes, "gone") }, "gone!"},
		"a code's status":                    {func(l *lock) { l.Codes["gone"] = 404 }, "gone!"},
		"version of the contract":            {func(l *lock) { l.Contract = "1.2.0" }, "1.2.0"},
	} {
		now := fresh()
		c.change(now)
		var got []string
		for _, change := range compare(fresh(), now) {
			if change.breaks {
				change.name += "!"
			}
			got = append(got, change.name)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	alone := fresh()
	alone.Served = []string{"hux.light", "hux.dark"}
	if !alone.keeps("hux.alone.v1") {
		t.Error("with all served, a schema of no route may still go")
	}
}

func TestChangesMustBeNamed(t *testing.T) {
	old, news := "- `hux.lamp.v1` is new.", "- `hux.lamp.v1` has a height, and\n  `GET /lamps` is new."
	changes := []change{{name: "hux.lamp.v1"}, {name: "GET /lamps"}}
	for name, c := range map[string]struct {
		entries []string
		want    int
	}{
		"nothing": {nil, 2}, "an old entry": {[]string{old}, 2}, "a new one": {[]string{old, news}, 0},
		"a part":         {[]string{"- `GET /lamps` is new."}, 1},
		"a longer name":  {[]string{"- `GET /lamps/{id}` and `hux.lamp.v12`."}, 2},
		"in other words": {[]string{"- Lamps."}, 2},
	} {
		if got := unnamed(changes, c.entries, []string{hashOf(old)}); len(got) != c.want {
			t.Errorf("%s: %v, want %d", name, got, c.want)
		}
	}
}
