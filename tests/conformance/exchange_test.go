package conformance_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	repository "bstein.dev/hux"
)

// worked is the worked example of a schema, or nil.
func worked(name string) object {
	text, err := fs.ReadFile(repository.Examples, "examples/"+name+".json")
	var v object
	if err != nil || json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}

// made are the records that the suite has made to refer to, by the prefix of
// their ids.
var made struct {
	sync.Mutex
	ids map[string]string
}

// idOf gives the id of a record of the caller's, of the kind that prefix says,
// and makes it if need be. why says why there can be none.
func idOf(t testing.TB, prefix string) (id, why string) {
	t.Helper()
	made.Lock()
	id = made.ids[prefix]
	made.Unlock()
	if id != "" {
		return id, ""
	}
	o := creator(prefix)
	if o == nil {
		return "", "no route that makes a " + prefix + "_… is served"
	}
	a, why := create(t, o)
	if why != "" {
		return "", why
	}
	made.Lock()
	defer made.Unlock()
	if made.ids == nil {
		made.ids = map[string]string{}
	}
	if made.ids[prefix] == "" { // another test may have been first
		made.ids[prefix] = a.text(t, "id")
	}
	return made.ids[prefix], ""
}

// creator is the served POST that makes records with ids of a prefix.
func creator(prefix string) *operation {
	var best *operation
	for _, o := range server.operations {
		if o.method != "POST" || !o.served() || !strings.HasSuffix(o.request, ".create.v1") {
			continue
		}
		if id, _ := worked(o.record)["id"].(string); strings.HasPrefix(id, prefix+"_") && (best == nil || len(o.path) < len(best.path)) {
			best = o
		}
	}
	return best
}

// create makes a new record with its worked example.
func create(t testing.TB, o *operation) (a *answer, why string) {
	t.Helper()
	x, why := prepare(t, o)
	if why != "" {
		return nil, why
	}
	a = x.send(t, encoded(x.body), newKey())
	if a.status/100 != 2 {
		t.Fatalf("%s: the worked example of %s is refused: %d %.600s\nsent: %s", a.what, o.request, a.status, a.body, encoded(x.body))
	}
	return a, ""
}

// exchange is a request that is to be accepted.
type exchange struct {
	o      *operation
	who    caller
	values []string // of the path
	query  string   // from ? on, or ""
	body   object   // the worked example with ids that exist; nil where there is none
}

// prepare makes an exchange of an operation. why says why there can be none.
func prepare(t testing.TB, o *operation) (x *exchange, why string) {
	t.Helper()
	x = &exchange{o: o}
	if x.who, why = may(o); why != "" {
		return nil, why
	}
	if x.values, why = pathValues(t, o); why != "" {
		return nil, why
	}
	if o.request == "" {
		return x, ""
	}
	if x.body = worked(o.request); x.body == nil {
		return nil, "this repository has no worked example of " + o.request
	}
	if why = refer(t, o.request, x.body); why != "" {
		return nil, why
	}
	for _, member := range []string{"title", "summary", "name"} {
		if text, ok := x.body[member].(string); ok {
			x.body[member] = mark + ": " + text
		}
	}
	if adapt := adaptations[o.request]; adapt != nil {
		adapt(t, x)
	}
	return x, ""
}

// send sends a body, or none where it is "".
func (x *exchange) send(t testing.TB, body string, header ...string) *answer {
	t.Helper()
	return x.who.call(t, x.o.method, x.o.path+x.query, body, x.values, header...)
}

// current is If-Match with the tag of the record as it is, where the operation
// wants one.
func (x *exchange) current(t testing.TB) []string {
	t.Helper()
	if !x.o.ifMatch {
		return nil
	}
	a := x.who.call(t, "GET", x.o.path+x.query, "", x.values)
	a.want(t, "the record to change", 200, "")
	return []string{"If-Match: " + a.header.Get("ETag")}
}

// may is a caller who may call o.
func may(o *operation) (who caller, why string) {
	for _, c := range []caller{human(), agent(), worker()} {
		if (o.actors == nil || slices.Contains(o.actors, c.kind)) && c.token != "" {
			return c, ""
		}
	}
	return caller{}, "no credential was given of " + strings.Join(o.actors, " or ")
}

var (
	recordID = regexp.MustCompile(`^([a-z]{3})_[0-9a-f]{32}$`)
	segment  = regexp.MustCompile(`([a-z_]+)/\{([a-z_]+)\}`)
)

// pathValues are values for the variables of a path, of records that exist. An
// action gets a record of its own, since it may move it to where no other
// action starts from.
func pathValues(t testing.TB, o *operation) (values []string, why string) {
	t.Helper()
	for _, m := range segment.FindAllStringSubmatch(o.path, -1) {
		collection, name := m[1], m[2]
		switch name {
		case "n":
			values = append(values, "1")
		case "run_id":
			values = append(values, newRun(t, values[0]))
		case "name":
			values = append(values, "hux.event.v1")
		default:
			at := server.find("POST", "/"+collection)
			if at == nil {
				return nil, "nothing makes an id for " + m[0]
			}
			if o.method == "POST" && collection != "conversations" {
				a, why := create(t, at)
				if why != "" {
					return nil, why
				}
				values = append(values, a.text(t, "id"))
				continue
			}
			id, _ := worked(at.record)["id"].(string)
			if id, why = idOf(t, id[:min(3, len(id))]); why != "" {
				return nil, why
			}
			values = append(values, id)
		}
	}
	return values, ""
}

// newRun begins a run in a conversation.
func newRun(t testing.TB, conversation string) string {
	t.Helper()
	id := unique()
	body := `{"kind":"run.started","status":"started","summary":"` + mark + `","run_id":"` + id + `"}`
	human().call(t, "POST", events, body, []string{conversation}, newKey()).want(t, "a run", 201, "")
	return id
}

// refer puts ids that exist in the place of a worked example's. Where there can
// be none, it takes the member out if the schema lets it.
func refer(t testing.TB, schema string, body object) (why string) {
	t.Helper()
	var walk func(v any) (any, bool)
	walk = func(v any) (any, bool) {
		switch v := v.(type) {
		case string:
			m := recordID.FindStringSubmatch(v)
			if m == nil {
				return v, true
			}
			id, none := idOf(t, m[1])
			if none != "" {
				why = none
			}
			return id, none == ""
		case []any:
			list := []any{}
			for _, item := range v {
				if item, ok := walk(item); ok {
					list = append(list, item)
				}
			}
			return list, true
		case object:
			for _, name := range sorted(v) {
				if member, ok := walk(v[name]); ok {
					v[name] = member
				} else {
					delete(v, name)
				}
			}
		}
		return v, true
	}
	walk(body)
	if why != "" && validate(schema, []byte(encoded(body))) != nil {
		return why
	}
	return ""
}

// invalid is one example that must be refused.
type invalid struct {
	name    string
	pointer string
	rule    string
	value   any
	put     bool // value takes the place of what is at pointer, or else that goes
}

func invalids(t testing.TB, schema string) []invalid {
	t.Helper()
	files, err := fs.Glob(repository.Examples, "examples/invalid/"+schema+"/*.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []invalid
	for _, file := range files {
		text, err := fs.ReadFile(repository.Examples, file)
		if err != nil {
			t.Fatal(err)
		}
		var o object
		if err := json.Unmarshal(text, &o); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		v := invalid{name: strings.TrimSuffix(path.Base(file), ".json")}
		v.pointer, _ = o["pointer"].(string)
		v.rule, _ = o["rule"].(string)
		v.value, v.put = o["value"]
		list = append(list, v)
	}
	return list
}

// in gives a body with the fault in it.
func (v invalid) in(body any) (any, error) {
	if v.pointer == "" {
		return v.value, nil
	}
	tokens := strings.Split(v.pointer[1:], "/")
	return v.place(body, tokens)
}

func (v invalid) place(at any, tokens []string) (any, error) {
	if len(tokens) == 0 {
		return v.value, nil
	}
	switch at := at.(type) {
	case object:
		if len(tokens) == 1 && !v.put {
			delete(at, tokens[0])
			return at, nil
		}
		if _, ok := at[tokens[0]]; !ok && len(tokens) > 1 {
			return nil, fmt.Errorf("%s leads nowhere", v.pointer)
		}
		member, err := v.place(at[tokens[0]], tokens[1:])
		at[tokens[0]] = member
		return at, err
	case []any:
		i, err := strconv.Atoi(tokens[0])
		if err != nil || i > len(at) || i == len(at) && len(tokens) > 1 {
			return nil, fmt.Errorf("%s leads nowhere", v.pointer)
		}
		if i == len(at) {
			at = append(at, nil)
		}
		item, err := v.place(at[i], tokens[1:])
		at[i] = item
		return at, err
	}
	return nil, fmt.Errorf("%s leads nowhere", v.pointer)
}
